"""Names of TrainJobs: the DNS rules, and how long a name may be so that every child name still fits.

The longest child is a pod, `<job>-<replicated job>-<replica>-<index>-abcde`, of at most 63 characters. A longer name is taken by the API
server and then nothing happens (trainer#2735), so it is said at submission.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runtimes.spec.access import ancestor_step, as_map, dig, policies, replicated_jobs
from runtimes.spec.dns import LABEL_1035_MESSAGE, LABEL_MAX, is_label_1035
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import ANNOTATION_NUM_NODES, LAUNCHER, NODE, STEP_DATASET, STEP_MODEL, STEP_TRAINER

_POD_SUFFIX = len("-abcde")
# What the API server appends to generateName.
_GENERATED = 5


@dataclass(frozen=True)
class PodCount:
    """How many pods a replicated job has: `replicas` Jobs of `pods` each."""

    name: str
    replicas: int
    pods: int


@dataclass(frozen=True)
class NameBudget:
    """How long a job's name may be, and the replicated job whose pods leave that much room."""

    max_length: int
    replicated_job: str
    pods: int


def num_nodes(trainjob: dict[str, Any]) -> int | None:
    """Return the nodes a TrainJob asks for (our resize annotation first), or None if the runtime decides; 0 means the default."""
    resized = dig(trainjob, "metadata", "annotations", ANNOTATION_NUM_NODES)
    if isinstance(resized, str) and resized.isascii() and resized.isdigit() and 0 < int(resized) < 2**31:
        return int(resized)
    asked = dig(trainjob, "spec", "trainer", "numNodes")
    return asked if isinstance(asked, int) and asked > 0 else None


def pod_counts(runtime: dict[str, Any] | None, nodes: int | None) -> list[PodCount]:
    """Return the pods of each replicated job of a runtime when a TrainJob asks for `nodes` (None: the runtime decides)."""
    jobs = replicated_jobs(runtime)
    policy = as_map(dig(runtime, "spec", "mlPolicy"))
    total = nodes or _positive(policy.get("numNodes"))
    if "mpi" in policies(runtime):
        return _mpi_counts(jobs, bool(dig(policy, "mpi", "runLauncherAsNode")), total)
    counted = bool(nodes) or dig(runtime, "spec", "mlPolicy") is not None
    return [
        PodCount(str(job.get("name", "")), 1, total)
        if counted and ancestor_step(job) == STEP_TRAINER
        else _own_count(job)
        for job in jobs
    ]


def _mpi_counts(jobs: list[dict[str, Any]], launcher_is_node: bool, total: int) -> list[PodCount]:
    names = [job.get("name") for job in jobs]
    workers = total - 1 if launcher_is_node and LAUNCHER in names else total
    counts = []
    for job in jobs:
        name = str(job.get("name", ""))
        if name == LAUNCHER or (ancestor_step(job) == STEP_TRAINER and name != NODE):
            counts.append(PodCount(name, 1, 1))
        elif ancestor_step(job) in (STEP_DATASET, STEP_MODEL) or (NODE in names and name != NODE):
            counts.append(_own_count(job))
        else:
            counts.append(PodCount(name, 1, workers))
    return counts


def _own_count(job: dict[str, Any]) -> PodCount:
    pods = dig(job, "template", "spec", "parallelism")
    return PodCount(str(job.get("name", "")), _positive(job.get("replicas")), _positive(pods))


def _positive(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def budget_of(counts: Iterable[PodCount]) -> NameBudget:
    """Return the budget that the longest pod name of these replicated jobs leaves; 63 if there are none."""
    best = NameBudget(LABEL_MAX, "", 0)
    for count in counts:
        suffix = f"-{count.name}-{max(count.replicas - 1, 0)}-{max(count.pods - 1, 0)}"
        room = LABEL_MAX - _POD_SUFFIX - len(suffix)
        if room < best.max_length:
            best = NameBudget(room, count.name, count.replicas * count.pods)
    return best


def name_budget(runtime: dict[str, Any] | None, num_nodes: int | None) -> NameBudget:
    """Return how long the name of a job of this runtime with so many nodes may be (None: as many as the runtime says)."""
    return budget_of(pod_counts(runtime, num_nodes))


def check_job_name(
    raw: Any, budget: NameBudget, trim: bool = False, path: str = "metadata.name"
) -> tuple[str, list[Finding]]:
    """Return the name and what is wrong with it: required, wrong_type, invalid_name or too_long (with max_length).

    trim: take outer blanks away first (forms do, the API does not).
    """
    if raw is not None and not isinstance(raw, str):
        return "", [Finding(path, "wrong_type", "a name is text")]
    name = (raw or "").strip() if trim else raw or ""
    if not name:
        return name, [Finding(path, "required", "a job needs a name")]
    if not is_label_1035(name):
        return name, [Finding(path, "invalid_name", LABEL_1035_MESSAGE)]
    return name, over_budget(name, budget, path)


def over_budget(name: str, budget: NameBudget, path: str = "metadata.name") -> list[Finding]:
    """Return the finding of a name that is longer than the budget."""
    if len(name) <= budget.max_length:
        return []
    if budget.max_length < 1:
        message = (
            f"no job can run with this runtime: the name of its replicated job {budget.replicated_job} is too long"
        )
        return [Finding("spec.runtimeRef", "too_long", message, {"max_length": 0})]
    pods = f"{budget.pods} pod{'s' if budget.pods != 1 else ''}"
    message = (
        f"is {len(name)} characters long: with {pods} of {budget.replicated_job} the name may have at most {budget.max_length}, "
        "because pod names are made from it"
    )
    return [Finding(path, "too_long", message, {"max_length": budget.max_length, "length": len(name)})]


def longest_generated(prefix: str) -> str:
    """Return a name as long as the API server makes it from generateName."""
    return prefix + "x" * _GENERATED
