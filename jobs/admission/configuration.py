"""Telling a cluster to ask us: a MutatingWebhookConfiguration and a ValidatingWebhookConfiguration."""

from collections.abc import Callable
from typing import Any

from django.conf import settings

from jobs.admission.views import admission_token
from trainui.cluster import kinds
from trainui.cluster.client import FIELD_MANAGER, Cluster

Obj = dict[str, Any]
NAME = "trainui"
SECONDS = 10


def configurations(url: str, authority: str = "") -> list[Obj]:
    """Return both configurations for an installation that is reached at an address.

    authority: its CA certificate as base64 of PEM, for an https address.
    """
    return _configurations(lambda path: {"url": f"{url}/{path}"}, admission_token(), authority)


def of_service(namespace: str, name: str, authority: str, token: str = "") -> list[Obj]:
    """Return both configurations for an installation that runs in the cluster, behind a Service at port 443."""
    service = {"namespace": namespace, "name": name, "port": 443}
    return _configurations(
        lambda path: {"service": service | {"path": f"/{path}"}}, token or admission_token(), authority
    )


def _configurations(reach: Callable[[str], Obj], token: str, authority: str) -> list[Obj]:
    """Return both configurations; `reach` says how the API server comes to a path.

    The policy is to refuse what cannot be checked, as Kubeflow's is. What we write ourselves was checked before, so it does not wait for
    us: a submission reaches the cluster also while web is down.
    """
    found = []
    for kind, what, extra in (
        (kinds.MUTATING_WEBHOOKS, "defaults", {"reinvocationPolicy": "Never"}),
        (kinds.VALIDATING_WEBHOOKS, "rules", {}),
    ):
        client = reach(f"admission/{token}/{what}") | ({"caBundle": authority} if authority else {})
        hook = {
            "name": f"{what}.trainjobs.trainui.dev",
            "clientConfig": client,
            "rules": [
                {
                    "apiGroups": [kinds.TRAIN_JOB.group],
                    "apiVersions": [kinds.TRAIN_JOB.version],
                    "resources": [kinds.TRAIN_JOB.plural],
                    "operations": ["CREATE", "UPDATE"],
                    "scope": "Namespaced",
                }
            ],
            "matchConditions": [{"name": "not-by-trainui", "expression": _not_by(FIELD_MANAGER)}],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": SECONDS,
        }
        found.append(
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": NAME}},
                "webhooks": [hook | extra],
            }
        )
    return found


def install(cluster: Cluster) -> None:
    """Put the configurations of this installation into its local cluster. Raises ClusterError."""
    for obj in configurations(settings.PUBLIC_URL):
        cluster.apply(obj, force=True)


def _not_by(manager: str) -> str:
    return f"!has(request.options.fieldManager) || request.options.fieldManager != '{manager}'"
