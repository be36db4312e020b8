"""When a JobSet has succeeded. Pure."""

from typing import Any

from trainui.localcluster.controllers.jobset import names
from trainui.localcluster.controllers.jobset.children import Children, rjob_name_of

Obj = dict[str, Any]


def has_succeeded(jobset: Obj, children: Children) -> bool:
    """Tell whether the success policy is met: Any one, or All Jobs of the replicated jobs that it targets (all by default).

    A JobSet never succeeds before one Job has, whatever the policy counts.
    """
    if not children.succeeded:
        return False
    policy = jobset["spec"].get("successPolicy") or {}
    targets = set(policy.get("targetReplicatedJobs") or ())
    done = sum(1 for job in children.succeeded if not targets or rjob_name_of(job) in targets)
    if policy.get("operator", "All") == "Any":
        return done >= 1
    wanted = [rjob for rjob in names.replicated_jobs(jobset) if not targets or rjob["name"] in targets]
    return done >= sum(names.replicas_of(rjob) for rjob in wanted)
