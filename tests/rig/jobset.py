"""The JobSet controller outside the cluster, with its webhooks."""

from tests.rig import programs, webhooks
from tests.rig.site import Site


def start(site: Site) -> None:
    """Start the controller; its CRD is served already."""
    home = webhooks.serving_certificate(site, "jobset")
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": site.port("jobset")},
        "metrics": {"bindAddress": f"127.0.0.1:{site.port('jobset-metrics')}"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{site.port('jobset-health')}"},
    }
    command = [programs.binary(programs.JOBSET), f"--config={site.write('jobset/config.yaml', config)}"]
    site.processes.run("jobset", [*command, f"--kubeconfig={site.kubeconfig()}"], TMPDIR=str(home))


def install_webhooks(site: Site) -> None:
    """Wait until the controller answers, then let the API server ask it."""
    webhooks.install(site, programs.JOBSET, "jobset")
