"""Gangs that are too large for the way in which their scheduler places them: what happens then, said at submission.

Limits as measured on Kubernetes 1.37 and scheduler-plugins 0.35: the in-tree scheduler tries a gang in one go, in which it places nobody else;
Coscheduling wants all pods of a gang parked within one time-out, and else starts again for ever.
"""

from runtimes.spec.findings import Finding

from ..containers import Obj

IN_TREE_PODS = 2_000
PARKED_PER_SECOND = 100
CODE = "gang_too_large"


def too_large(objects: list[Obj], gang: Obj | None) -> list[Finding]:
    """Return a warning for a built gang that its scheduler can hardly place; nothing for one that it can."""
    if not gang:
        return []
    pods, scheduler = int(gang["min_member"]), gang["scheduler"]
    if scheduler == "in-tree" and pods > IN_TREE_PODS:
        message = (
            f"A gang of {pods:,} pods is more than Kubernetes' own scheduler places well: it is tried in one go, for "
            f"minutes, and no other pod of the cluster is placed meanwhile. Up to {IN_TREE_PODS:,} pods are no trouble."
        )
        return [Finding("spec.trainer.numNodes", CODE, message, {"pods": pods, "most": IN_TREE_PODS})]
    timeout = _timeout(objects)
    if scheduler == "coscheduling" and timeout is not None and pods > timeout * PARKED_PER_SECOND:
        most = timeout * PARKED_PER_SECOND
        message = (
            f"A gang of {pods:,} pods may never be placed: Coscheduling gives all of them {timeout} s to find a machine "
            f"and begins again when they do not, and about {most:,} pods do. Set scheduleTimeoutSeconds of the runtime's "
            f"podGroupPolicy to {-(-pods // (PARKED_PER_SECOND // 2))} or more."
        )
        return [Finding("spec.trainer.numNodes", CODE, message, {"pods": pods, "most": most})]
    return []


def _timeout(objects: list[Obj]) -> int | None:
    group = next((obj for obj in objects if obj.get("apiVersion") == "scheduling.x-k8s.io/v1alpha1"), None)
    return int(group["spec"]["scheduleTimeoutSeconds"]) if group else None
