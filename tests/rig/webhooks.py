"""What controllers outside the cluster need: their CRDs, a serving certificate, and webhook configurations that name an address instead of a service."""

import base64
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.rig import programs
from tests.rig.api import Api, Refused, documents
from tests.rig.processes import listens
from tests.rig.site import Site


def create_crds(api: Api, program: programs.Program, group: str = "") -> list[str]:
    """Make the CRDs of a module's manifests that are not there yet, and return the names of all."""
    names = []
    for path in programs.manifests(program):
        for crd in documents(path):
            if crd.get("kind") == "CustomResourceDefinition" and crd["spec"]["group"].endswith(group):
                _create(api, crd)
                names.append(crd["metadata"]["name"])
    return names


def _create(api: Api, crd: dict[str, Any]) -> None:
    try:
        api.create(crd)
    except Refused as refused:
        if refused.status != 409:
            raise


def wait_until_served(site: Site, names: list[str]) -> None:
    """Wait until the API server serves these CRDs."""
    api = site.api()

    def served() -> bool:
        return all(_serves(api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)) for name in names)

    site.processes.wait_for(served, "the CRDs to be served", "kube-apiserver")


def _serves(crd: dict[str, Any] | None) -> bool:
    conditions = (crd or {}).get("status", {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def serving_certificate(site: Site, name: str) -> Path:
    """Put a controller's certificate where controller-runtime looks for it, and return the temporary folder (TMPDIR) that makes it so."""
    home = site.folder / name
    served = home / "k8s-webhook-server" / "serving-certs"
    served.mkdir(parents=True, exist_ok=True)
    certificate, key = site.authority.issue(name, f"{name}-webhook", ("127.0.0.1",))
    (served / "tls.crt").write_bytes(certificate.read_bytes())
    (served / "tls.key").write_bytes(key.read_bytes())
    return home


def install(site: Site, program: programs.Program, name: str, only: Collection[str] = ()) -> None:
    """Wait until a controller listens, then let the API server ask it; the modules all name their configurations alike.

    only: names of the webhooks that are wanted, where it is not all.
    """
    port = site.port(name)
    site.processes.wait_for(lambda: listens(port), f"the webhooks of {name}", name)
    api = site.api()
    bundle = base64.b64encode(site.authority.pem).decode()
    for path in programs.manifests(program, "webhook/manifests.yaml"):
        for configuration in documents(path):
            configuration["metadata"]["name"] = f"{name}-{configuration['metadata']['name']}"
            configuration["webhooks"] = [w for w in configuration["webhooks"] if not only or w["name"] in only]
            for webhook in configuration["webhooks"]:
                url = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
                webhook["clientConfig"] = {"url": url, "caBundle": bundle}
            api.apply(configuration)


def remove(site: Site, name: str) -> None:
    """Take away the webhooks of a controller, which would refuse everything once it has ended."""
    for kind in ("Mutating", "Validating"):
        site.api().delete(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": f"{name}-{kind.lower()}-webhook-configuration"},
            }
        )
