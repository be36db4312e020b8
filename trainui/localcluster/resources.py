"""The kinds that the local cluster serves, and how they are addressed."""

from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
"""An API object as plain JSON. What the store returns is shared: never change it, take `editable()` first."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    `status` tells whether it has a status subresource, `custom` whether it comes from a CRD on a real cluster (those take no
    strategic merge patch), `generation` whether metadata.generation counts changes of its spec.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short: tuple[str, ...] = ()
    namespaced: bool = True
    status: bool = False
    custom: bool = False
    generation: bool = False
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """The apiVersion that objects of this kind carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The plural with its group, as error messages name it: `trainjobs.trainer.kubeflow.org`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_kind(self) -> str:
        """The kind of a list of such objects."""
        return f"{self.kind}List"


TRAINER = "trainer.kubeflow.org"

_ALL = (
    Kind("", "v1", "Namespace", "namespaces", "namespace", ("ns",), namespaced=False, status=True),
    Kind("", "v1", "Node", "nodes", "node", ("no",), namespaced=False, status=True),
    Kind("", "v1", "Pod", "pods", "pod", ("po",), status=True, generation=True, categories=("all",)),
    Kind("", "v1", "ConfigMap", "configmaps", "configmap", ("cm",)),
    Kind("", "v1", "Secret", "secrets", "secret"),
    Kind("", "v1", "Service", "services", "service", ("svc",), status=True, categories=("all",)),
    Kind("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount", ("sa",)),
    Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", ("pvc",), status=True),
    Kind("", "v1", "ResourceQuota", "resourcequotas", "resourcequota", ("quota",), status=True),
    Kind("", "v1", "Event", "events", "event", ("ev",)),
    Kind("batch", "v1", "Job", "jobs", "job", status=True, generation=True, categories=("all",)),
    Kind("coordination.k8s.io", "v1", "Lease", "leases", "lease"),
    Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass", ("pc",), namespaced=False),
    Kind("scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups", "podgroup", ("pg",), status=True, generation=True),
    Kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration",
        namespaced=False,
        generation=True,
    ),
    Kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        namespaced=False,
        generation=True,
    ),
    Kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", "jobset", status=True, custom=True, generation=True),
    Kind(TRAINER, "v1alpha1", "TrainJob", "trainjobs", "trainjob", status=True, custom=True, generation=True),
    Kind(TRAINER, "v1alpha1", "TrainingRuntime", "trainingruntimes", "trainingruntime", custom=True, generation=True),
    Kind(
        TRAINER,
        "v1alpha1",
        "ClusterTrainingRuntime",
        "clustertrainingruntimes",
        "clustertrainingruntime",
        namespaced=False,
        custom=True,
        generation=True,
    ),
)

KINDS: dict[str, Kind] = {kind.kind: kind for kind in _ALL}
"""Every kind by its name; kind names are unique in the local cluster."""

_BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in _ALL}


def find(group: str, version: str, plural: str) -> Kind | None:
    """Return the kind at an API path, or None; `group` is empty for the core group."""
    return _BY_PATH.get((group, version, plural))


def groups() -> dict[str, list[str]]:
    """Return the versions served by each API group, the preferred one first; the core group is the empty name."""
    found: dict[str, list[str]] = {}
    for kind in _ALL:
        versions = found.setdefault(kind.group, [])
        if kind.version not in versions:
            versions.append(kind.version)
    return found
