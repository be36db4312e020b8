"""Kubernetes' own gangs: PodGroup of scheduling.k8s.io, v1beta1 (1.37) or v1alpha2 (1.36). A Workload object is not needed.

The two versions differ in nothing that is written here.
"""

from ..containers import Obj, pod_spec
from ..draft import Draft
from .members import Gang

SCHEDULER = "default-scheduler"
LABEL = "in-tree"


def pod_group(draft: Draft, gang: Gang, priority: str) -> Obj:
    """Return the PodGroup of a gang."""
    spec: Obj = {"schedulingPolicy": {"gang": {"minCount": gang.min_member}}}
    if priority:
        spec["priorityClassName"] = priority
    return draft.child(f"scheduling.k8s.io/{draft.capabilities.in_tree_version}", "PodGroup", draft.name, spec=spec)


def mark(draft: Draft, job: Obj) -> None:
    """Make the pods of a replicated job members of the gang."""
    pod_spec(job)["schedulingGroup"] = {"podGroupName": draft.name}
