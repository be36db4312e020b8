"""Gangs of Volcano: PodGroup of scheduling.volcano.sh/v1beta1."""

from ..containers import Obj, pod_spec, pod_template
from ..draft import Draft
from ..errors import BuildError
from ..resources import as_quantities
from .members import Gang

LABEL = "volcano"
SCHEDULER = "volcano"
POD_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE = "scheduling.volcano.sh/queue-name"


def pod_group(draft: Draft, gang: Gang, priority: str) -> Obj:
    """Return the PodGroup of a gang, in the queue the runtime names.

    Raises BuildError for a queue annotation without a value.
    """
    policy = ((draft.runtime.get("spec") or {}).get("podGroupPolicy") or {}).get("volcano") or {}
    queue = ((draft.template.get("metadata") or {}).get("annotations") or {}).get(QUEUE)
    if queue == "":
        raise BuildError.of("spec.annotations[scheduling.volcano.sh/queue-name]", "required", "The queue has no name.")
    spec: Obj = {"minMember": gang.min_member}
    if amounts := as_quantities(gang.min_resources):
        spec["minResources"] = amounts
    if queue:
        spec["queue"] = queue
    if priority:
        spec["priorityClassName"] = priority
    topology = policy.get("networkTopology") or {}
    kept = ("mode", "highestTierAllowed", "highestTierName")
    if copied := {key: topology[key] for key in kept if topology.get(key) is not None}:
        spec["networkTopology"] = copied
    return draft.child("scheduling.volcano.sh/v1beta1", "PodGroup", draft.name, spec=spec)


def mark(draft: Draft, job: Obj) -> None:
    """Make the pods of a replicated job members of the gang."""
    annotations = pod_template(job).setdefault("metadata", {}).setdefault("annotations", {})
    annotations[POD_ANNOTATION] = draft.name
    if draft.capabilities.volcano_scheduler:
        pod_spec(job).setdefault("schedulerName", draft.capabilities.volcano_scheduler)
