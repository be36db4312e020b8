"""Gangs of scheduler-plugins: PodGroup of scheduling.x-k8s.io/v1alpha1."""

from ..containers import Obj, pod_spec, pod_template
from ..draft import Draft
from ..resources import as_quantities
from .members import Gang

LABEL = "coscheduling"
DEFAULT_TIMEOUT = 60
PLACED_PER_SECOND = 50  # all pods of a gang must be parked within the time-out, or all of them start again
POD_LABEL = "scheduling.x-k8s.io/pod-group"


def pod_group(draft: Draft, gang: Gang, priority: str) -> Obj:
    """Return the PodGroup of a gang; priority is read from the pods by this scheduler."""
    policy = ((draft.runtime.get("spec") or {}).get("podGroupPolicy") or {}).get("coscheduling") or {}
    timeout = policy.get("scheduleTimeoutSeconds")
    spec: Obj = {
        "minMember": gang.min_member,
        "scheduleTimeoutSeconds": _timeout(gang) if timeout is None else timeout,
    }
    if amounts := as_quantities(gang.min_resources):
        spec["minResources"] = amounts
    return draft.child("scheduling.x-k8s.io/v1alpha1", "PodGroup", draft.name, spec=spec)


def _timeout(gang: Gang) -> int:
    """Upstream's default, and longer for gangs that are placed for longer."""
    return max(DEFAULT_TIMEOUT, -(-gang.min_member // PLACED_PER_SECOND))


def mark(draft: Draft, job: Obj) -> None:
    """Make the pods of a replicated job members of the gang."""
    labels = pod_template(job).setdefault("metadata", {}).setdefault("labels", {})
    labels[POD_LABEL] = draft.name
    if draft.capabilities.coscheduling_scheduler:
        pod_spec(job).setdefault("schedulerName", draft.capabilities.coscheduling_scheduler)
