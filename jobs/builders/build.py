"""From a TrainJob and its runtime to the objects of the cluster: pure, and the same for the same input."""

from typing import Any

from jobs.spec.names import PodCount, budget_of, over_budget
from runtimes.spec.quantities import QuantityError

from . import counts
from .capabilities import Capabilities
from .containers import pod_spec, role
from .draft import Draft, Roles
from .errors import BuildError
from .gang.apply import add_gang, gang_record
from .gang.members import Gang
from .initializers import apply_initializers
from .jobset import jobset
from .keys import Keys
from .overrides import apply_resources, apply_trainer
from .policies import policy_of
from .progress import add_progress
from .snapshot import snapshot_data, snapshot_name

Obj = dict[str, Any]

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
# Each object before those that need it: pods refer to all others.
_ORDER = ("ConfigMap", "Secret", "PodGroup", "JobSet")


def _drafted(
    trainjob: Obj, runtime: Obj, capabilities: Capabilities, keys: Keys | None
) -> tuple[Draft, Roles, Gang | None]:
    """Return the finished draft of a job, who does what in it, and its gang."""
    try:
        return _draft(trainjob, runtime, capabilities, keys)
    except QuantityError as error:
        raise BuildError.of("spec.trainer.resourcesPerNode", error.code, str(error)) from error


def _draft(
    trainjob: Obj, runtime: Obj, capabilities: Capabilities, keys: Keys | None
) -> tuple[Draft, Roles, Gang | None]:
    draft = Draft.of(trainjob, runtime, capabilities, keys)
    if not draft.jobs:
        raise BuildError.of("spec.template.spec.replicatedJobs", "required", "The runtime has no replicated jobs.")
    policy = policy_of(runtime)
    for job in draft.jobs:
        pod_spec(job)
    who = policy.roles(draft)
    counts.keep_template_counts(draft)
    policy.set_counts(draft, who)
    apply_resources(draft, who)
    apply_trainer(draft, who, keep_command=policy.owns_command(draft))
    apply_initializers(draft, who)
    _check_name(draft)
    policy.configure(draft, who)
    add_progress(draft, who)
    gang = add_gang(draft, who, policy.edge_dropped)
    return draft, who, gang


def _check_name(draft: Draft) -> None:
    """Refuse a name from which no valid pod name can be made: such a job would never start, and nothing would say why."""
    pods = [PodCount(str(job.get("name")), counts.replicas(job), counts.pods(job)) for job in draft.jobs]
    if found := over_budget(draft.name, budget_of(pods)):
        raise BuildError(found)


def build(trainjob: Obj, runtime: Obj, capabilities: Capabilities, keys: Keys | None = None) -> list[Obj]:
    """Return the objects a job needs, in the order to apply them.

    trainjob, runtime: as stored, with defaults; neither is changed. The runtime is the job's own snapshot once there
    is one. capabilities: what the cluster has. keys: for the Secrets of jobs that need one; without keys these Secrets
    are left out, because they are immutable and made once.
    Nothing is returned for a job that another cluster runs (`managedBy` MultiKueue).
    Raises BuildError for what can never be built. Source: conformance/objects.json.
    """
    if (trainjob.get("spec") or {}).get("managedBy") == MULTIKUEUE:
        return []
    draft, _, _ = _drafted(trainjob, runtime, capabilities, keys)
    snapshot = draft.child("v1", "ConfigMap", snapshot_name(draft.name), data=snapshot_data(runtime))
    objects = [snapshot, *draft.objects, jobset(draft)]
    return sorted(objects, key=lambda o: (_ORDER.index(o["kind"]), o["metadata"]["name"]))


def expected(trainjob: Obj, runtime: Obj, capabilities: Capabilities) -> Obj:
    """Return what `observe` must find: `replicated_jobs` with their pods, and `gang` (None without one).

    The shape is that of `record.expected` and `record.gang`. Replicated jobs without pods are left out.
    Raises BuildError like `build`.
    """
    draft, who, gang = _drafted(trainjob, runtime, capabilities, None)
    jobs = [
        {
            "replicated_job": job.get("name"),
            "count": counts.total(job),
            "role": role(job),
            "runs_ranks": any(job is ranked for ranked in who.ranks),
        }
        for job in draft.jobs
        if counts.total(job)
    ]
    return {"replicated_jobs": jobs, "gang": gang_record(draft, gang)}


def needs_keys(runtime: Obj) -> bool:
    """Return whether jobs of a runtime have a Secret with key material of their own (`<job>-mpi-ssh-auth`, `<job>-flux-curve`)."""
    return policy_of(runtime).needs_keys


def needs_ssh_key(runtime: Obj) -> bool:
    """Return whether jobs of a runtime need an SSH key pair."""
    return policy_of(runtime).needs_ssh_key
