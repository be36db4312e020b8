"""Kubeflow's own Trainer controller, which tests and benches ask for when they compare with it or let it reconcile."""

from tests.rig import programs, webhooks
from tests.rig.site import Site

NAME = "trainer"
UPSTREAM_USER = "kubeflow-trainer"  # an administrator of its own, so that the audit log tells its calls


def start_trainer(site: Site) -> None:
    """Start the controller, built first where it is missing, and install its webhooks."""
    programs.ensure((programs.TRAINER,))
    home = webhooks.serving_certificate(site, NAME)
    config = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": site.port(NAME)},
        "metrics": {"bindAddress": f"127.0.0.1:{site.port('trainer-metrics')}", "secureServing": False},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{site.port('trainer-health')}"},
    }
    command = [programs.binary(programs.TRAINER), f"--config={site.write('trainer/config.yaml', config)}"]
    site.processes.run(NAME, [*command, f"--kubeconfig={site.kubeconfig(UPSTREAM_USER)}"], TMPDIR=str(home))
    webhooks.install(site, programs.TRAINER, NAME)


def stop_trainer(site: Site) -> None:
    """Stop the controller and take its webhooks away."""
    site.processes.stop(NAME)
    webhooks.remove(site, NAME)
