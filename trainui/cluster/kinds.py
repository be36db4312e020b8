"""The kinds that trainui reads or writes, each named in full: `PodGroup` alone exists in three groups."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A resource of the API: where it is served and how objects name it.

    older: versions that older clusters serve in place of `version`, newest first; their objects read the same.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    older: tuple[str, ...] = ()

    @property
    def shapes(self) -> tuple["Kind", ...]:
        """The kind in each of its versions, the newest first."""
        return (self, *(replace(self, version=version, older=()) for version in self.older))

    @property
    def api_version(self) -> str:
        """`apiVersion` of objects of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> str:
        """`group/Kind`, by which rows name the kind (`/Pod` for the core group)."""
        return f"{self.group}/{self.kind}"

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection (no name) or of one object."""
        parts = ["", "apis" if self.group else "api", *([self.group] if self.group else []), self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else []), *([subresource] if subresource else [])]
        return "/".join(parts)


TRAINER = "trainer.kubeflow.org"
TRAIN_JOB = Kind(TRAINER, "v1alpha1", "TrainJob", "trainjobs")
TRAINING_RUNTIME = Kind(TRAINER, "v1alpha1", "TrainingRuntime", "trainingruntimes")
CLUSTER_TRAINING_RUNTIME = Kind(
    TRAINER, "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False
)
JOB_SET = Kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
JOB = Kind("batch", "v1", "Job", "jobs")
POD = Kind("", "v1", "Pod", "pods")
POD_GROUP = Kind("scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups", older=("v1alpha2",))  # 1.37, and 1.36
COSCHEDULING_POD_GROUP = Kind("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")
VOLCANO_POD_GROUP = Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
SERVICE = Kind("", "v1", "Service", "services")
EVENT = Kind("", "v1", "Event", "events")
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
RESOURCE_QUOTA = Kind("", "v1", "ResourceQuota", "resourcequotas")
KUEUE = "kueue.x-k8s.io"
WORKLOAD = Kind(KUEUE, "v1beta2", "Workload", "workloads")
CLUSTER_QUEUE = Kind(KUEUE, "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False)
PENDING_WORKLOADS = Kind(f"visibility.{KUEUE}", "v1beta2", "LocalQueue", "localqueues")
_ADMISSION = "admissionregistration.k8s.io"
MUTATING_WEBHOOKS = Kind(
    _ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
VALIDATING_WEBHOOKS = Kind(
    _ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
SELF_SUBJECT_ACCESS_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)

ALL = (
    TRAIN_JOB, TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME, JOB_SET, JOB, POD, POD_GROUP, COSCHEDULING_POD_GROUP, VOLCANO_POD_GROUP,
    CONFIG_MAP, SECRET, SERVICE, EVENT, NAMESPACE, NODE, LEASE, PERSISTENT_VOLUME_CLAIM, MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS, RESOURCE_QUOTA, WORKLOAD, CLUSTER_QUEUE, PENDING_WORKLOADS, TOKEN_REVIEW, SELF_SUBJECT_ACCESS_REVIEW,
)  # fmt: skip
_BY_NAME = {(shape.api_version, shape.kind): shape for kind in ALL for shape in kind.shapes}


def kind_of(obj: dict[str, Any]) -> Kind:
    """Return the kind of an object by its apiVersion and kind.

    Raises KeyError for a kind that trainui does not handle.
    """
    return _BY_NAME[obj["apiVersion"], obj["kind"]]
