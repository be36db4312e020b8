"""Kueue's controller outside the cluster, with its webhooks and the API that tells the order of its queues; on a cluster of one's own."""

import base64

from tests.rig import programs, webhooks
from tests.rig.api import Object
from tests.rig.processes import listens
from tests.rig.site import Site

NAME = "kueue"
NAMESPACE = "kueue-system"
VISIBILITY = "visibility-server"
FRAMEWORKS = ["batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"]
# Of the frameworks above and of its own kinds. Pods are none of them: it would say yes to each.
WEBHOOKS = {
    f"{side}{kind}.kb.io"
    for side in ("m", "v")
    for kind in ("job", "jobset", "trainjob", "workload", "clusterqueue", "cohort", "resourceflavor")
}


def start(site: Site) -> None:
    """Start the controller and install its CRDs, webhooks and API; it is built already."""
    api = site.api()
    webhooks.wait_until_served(site, webhooks.create_crds(api, programs.KUEUE))
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    site.processes.run(NAME, _command(site))
    webhooks.install(site, programs.KUEUE, NAME, WEBHOOKS)
    _serve_visibility(site)


def stop(site: Site) -> None:
    """Stop the controller and take away its webhooks and its API, without which no namespace could be deleted."""
    site.processes.stop(NAME)
    webhooks.remove(site, NAME)
    for obj in reversed(_visibility(site)):
        site.api().delete(obj)


def _command(site: Site) -> list[str]:
    """Return how it is started: it reads its certificate from a fixed folder of /etc, so it gets an /etc that holds nothing else."""
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": site.port(NAME), "certDir": programs.KUEUE_CERTIFICATES},
        "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": site.port("kueue-visibility")},
        "metrics": {"bindAddress": f"127.0.0.1:{site.port('kueue-metrics')}"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{site.port('kueue-health')}"},
        "clientConnection": {"qps": 300, "burst": 600},
        "integrations": {"frameworks": FRAMEWORKS},
    }
    etc = site.folder / NAME / "etc"
    certificates = etc.parent / programs.KUEUE_CERTIFICATES.removeprefix("/")
    certificates.mkdir(parents=True, exist_ok=True)
    hosts = ("127.0.0.1", f"{VISIBILITY}.{NAMESPACE}.svc")
    for issued in site.authority.issue(NAME, "kueue-webhook", hosts):
        (certificates / f"tls{issued.suffix}").write_bytes(issued.read_bytes())
    alone = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc)]
    command = [programs.binary(programs.KUEUE), f"--config={site.write('kueue/config.yaml', config)}"]
    return [*alone, *command, f"--kubeconfig={site.kubeconfig()}"]


def _serve_visibility(site: Site) -> None:
    """Let the API server forward to it, as it does to the Service in a cluster."""
    api, port = site.api(), site.port("kueue-visibility")
    site.processes.wait_for(lambda: listens(port), "Kueue's visibility API", NAME)
    objects = _visibility(site)
    for obj in objects:
        api.apply(obj)
    name = objects[-1]["metadata"]["name"]

    def available() -> bool:
        found = api.get("apiregistration.k8s.io/v1", "APIService", "", name) or {}
        conditions = found.get("status", {}).get("conditions") or []
        return any(c["type"] == "Available" and c["status"] == "True" for c in conditions)

    site.processes.wait_for(available, "the API server to forward to Kueue", "kube-apiserver")


def _visibility(site: Site) -> list[Object]:
    """Return the Service, which names this computer, and the API behind it."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": VISIBILITY, "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    spec = {
        "group": "visibility.kueue.x-k8s.io",
        "version": "v1beta2",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "caBundle": base64.b64encode(site.authority.pem).decode(),
        "service": {"name": VISIBILITY, "namespace": NAMESPACE, "port": site.port("kueue-visibility")},
    }
    forwarded = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{spec['version']}.{spec['group']}"},
        "spec": spec,
    }
    return [service, forwarded]
