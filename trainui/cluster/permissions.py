"""Every call that trainui makes to a cluster, by account: deploy/rbac.yaml grants these and no more, and the cluster page asks for each."""

from dataclasses import dataclass

from trainui.cluster import kinds
from trainui.cluster.kinds import Kind

SERVICE, WEB = "trainui", "trainui-web"
LEASE_NAMESPACE, LEASE_NAME = "kube-system", "trainui"
UPSTREAM_LEASE = "trainer.kubeflow.org"
_READ = ("get", "list", "watch")
_FOLLOW = ("list", "watch")


@dataclass(frozen=True)
class Need:
    """What one account does to one resource, and what for. namespace, name: where it is restricted to one."""

    account: str
    kind: Kind
    verbs: tuple[str, ...]
    purpose: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        """The resource as a role names it: `pods/log`."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


def _service(kind: Kind, verbs: tuple[str, ...], purpose: str, subresource: str = "", **where: str) -> Need:
    return Need(SERVICE, kind, verbs, purpose, subresource, **where)


_CHILD = (*_READ, "create", "patch")
NEEDS: tuple[Need, ...] = (
    _service(kinds.TRAIN_JOB, (*_READ, "create", "patch", "delete"), "submit, follow, suspend and cancel jobs"),
    _service(kinds.TRAIN_JOB, ("patch",), "write the state of jobs", "status"),
    # Owner references that block deletion need it where the OwnerReferencesPermissionEnforcement plugin is on.
    _service(kinds.TRAIN_JOB, ("update",), "own the objects of jobs", "finalizers"),
    _service(kinds.CLUSTER_TRAINING_RUNTIME, _CHILD, "keep blueprints in the cluster"),
    _service(kinds.TRAINING_RUNTIME, _FOLLOW, "show runtimes of projects"),
    _service(kinds.JOB_SET, (*_CHILD, "delete"), "run jobs"),
    *(
        _service(kind, (*_CHILD, "delete"), "place gangs")
        for kind in (kinds.POD_GROUP, kinds.COSCHEDULING_POD_GROUP, kinds.VOLCANO_POD_GROUP)
    ),
    _service(kinds.CONFIG_MAP, _CHILD, "give jobs their host files and scripts"),
    _service(kinds.SECRET, _CHILD, "give jobs their keys"),
    _service(kinds.JOB, _FOLLOW, "follow jobs"),
    _service(kinds.POD, _FOLLOW, "follow the nodes of jobs"),
    _service(kinds.POD, ("get",), "capture logs", "log"),
    _service(kinds.NODE, _FOLLOW, "show machines"),
    _service(kinds.EVENT, (*_FOLLOW, "create"), "keep events, and say why a job cannot be built"),
    _service(kinds.NAMESPACE, ("create",), "make the namespace of a new project"),
    _service(kinds.RESOURCE_QUOTA, ("list",), "show quotas"),
    _service(kinds.WORKLOAD, ("list", "patch"), "hold and explain jobs in Kueue’s queues"),
    _service(kinds.CLUSTER_QUEUE, ("list",), "show Kueue’s queues"),
    _service(kinds.PENDING_WORKLOADS, ("get",), "tell the place in a queue", "pendingworkloads"),
    _service(kinds.LEASE, ("list",), "see whether Kubeflow's controller runs", name=UPSTREAM_LEASE),
    _service(kinds.LEASE, ("create",), "be the only installation", namespace=LEASE_NAMESPACE),
    _service(kinds.LEASE, ("get", "patch"), "be the only installation", namespace=LEASE_NAMESPACE, name=LEASE_NAME),
    _service(kinds.SELF_SUBJECT_ACCESS_REVIEW, ("create",), "know what is permitted"),
    Need(WEB, kinds.TRAIN_JOB, ("create",), "have the API server judge a job before it is submitted (dry run)"),
    Need(WEB, kinds.CLUSTER_TRAINING_RUNTIME, ("get", "create", "patch"), "admission; put a blueprint back"),
    Need(WEB, kinds.TRAINING_RUNTIME, ("get",), "admission"),
    Need(WEB, kinds.JOB_SET, ("get",), "admission"),
    Need(WEB, kinds.TOKEN_REVIEW, ("create",), "check who reports progress"),
)
