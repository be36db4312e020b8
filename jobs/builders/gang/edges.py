"""Dependencies between replicated jobs: how JobSet orders their start, and taking one out without losing what it implied."""

import itertools

from ..containers import Obj

IN_ORDER = "InOrder"


def depends_on(job: Obj) -> list[Obj]:
    """Return the `dependsOn` entries of a replicated job."""
    return job.get("dependsOn") or []


def drop_edge(job: Obj, target: Obj) -> None:
    """Take the dependency on `target` out of a replicated job, and let it wait for what `target` waits for instead.

    Without that a launcher would be created while the initializers of its nodes still run.
    """
    left = [edge for edge in depends_on(job) if edge.get("name") != target.get("name")]
    names = {edge.get("name") for edge in left} | {job.get("name")}
    left += [dict(edge) for edge in depends_on(target) if edge.get("name") not in names]
    job.pop("dependsOn", None)
    if left:
        job["dependsOn"] = left


def spell_out_order(spec: Obj) -> None:
    """Replace `startupPolicy: InOrder` by what it means: each replicated job depends on the one before it being Ready.

    A gang whose members lie in several replicated jobs can only be placed if edges between members can be dropped one
    by one.
    """
    policy = spec.get("startupPolicy") or {}
    if policy.get("startupPolicyOrder") != IN_ORDER:
        return
    spec["startupPolicy"] = {**policy, "startupPolicyOrder": "AnyOrder"}
    jobs: list[Obj] = spec["replicatedJobs"]
    for before, job in itertools.pairwise(jobs):
        if all(edge.get("name") != before.get("name") for edge in depends_on(job)):
            job["dependsOn"] = [*depends_on(job), {"name": before.get("name"), "status": "Ready"}]
