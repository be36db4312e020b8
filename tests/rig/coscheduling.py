"""A second scheduler with the Coscheduling plugin, and the controller of its pod groups."""

from tests.rig import programs
from tests.rig.site import Site

SCHEDULER_NAME = "gang-scheduler"
PERMIT_SECONDS = 10


def start(site: Site) -> None:
    """Start scheduler and controller; the CRDs are there already."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": site.kubeconfig(), "qps": 300, "burst": 600},
        "profiles": [
            {
                "schedulerName": SCHEDULER_NAME,
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                    "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
                },
                "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": PERMIT_SECONDS}}],
            }
        ],
    }
    path = site.write("gang-scheduler.yaml", config)
    site.processes.run(
        "gang-scheduler", [programs.binary(programs.GANG_SCHEDULER), f"--config={path}", "--secure-port=0"]
    )
    command = [programs.binary(programs.GANG_CONTROLLER), f"--kubeconfig={site.kubeconfig()}"]
    command += [
        f"--metricsAddr=127.0.0.1:{site.port('gang-metrics')}",
        f"--probeAddr=127.0.0.1:{site.port('gang-probe')}",
    ]
    # The defaults of 5 and 10 let the status of big groups lag.
    site.processes.run("gang-controller", [*command, "--qps=300", "--burst=600"])
