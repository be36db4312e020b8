"""The JobSet controller outside the cluster, with its webhooks, and the CRDs of the Kubeflow Trainer (no controller of it: that is what trainui is)."""

import base64
from typing import Any

from tests.rig import programs
from tests.rig.api import Api, documents
from tests.rig.processes import listens
from tests.rig.site import Site


def apply_crds(api: Api, program: programs.Program, group: str = "") -> list[str]:
    """Apply the CRDs of a module's manifests and return their names."""
    names = []
    for path in programs.manifests(program):
        for crd in documents(path):
            if crd.get("kind") == "CustomResourceDefinition" and crd["spec"]["group"].endswith(group):
                api.apply(crd)
                names.append(crd["metadata"]["name"])
    return names


def established(api: Api, names: list[str]) -> bool:
    """Say whether the API server serves all these CRDs."""
    return all(_serves(api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)) for name in names)


def _serves(crd: dict[str, Any] | None) -> bool:
    conditions = (crd or {}).get("status", {}).get("conditions", [])
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def start(site: Site) -> None:
    """Start the controller."""
    home = site.folder / "jobset"
    certificate, key = site.authority.issue("jobset", "jobset-webhook", ("127.0.0.1",))
    served = home / "k8s-webhook-server" / "serving-certs"  # its default folder, below the temporary one
    served.mkdir(parents=True)
    (served / "tls.crt").write_bytes(certificate.read_bytes())
    (served / "tls.key").write_bytes(key.read_bytes())
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


def install_webhooks(site: Site, program: programs.Program = programs.JOBSET, port: str = "jobset") -> None:
    """Wait until the controller answers, then let the API server ask it."""
    number = site.port(port)
    site.processes.wait_for(lambda: listens(number), f"the webhooks of {port}", port)
    api = site.api()
    bundle = base64.b64encode(site.authority.pem).decode()
    for path in programs.manifests(program, "webhook/manifests.yaml"):
        for configuration in documents(path):
            for webhook in configuration["webhooks"]:
                service = webhook["clientConfig"].pop("service")
                url = f"https://127.0.0.1:{number}{service['path']}"
                webhook["clientConfig"] = {"url": url, "caBundle": bundle}
            api.apply(configuration)
