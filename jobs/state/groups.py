"""The replicated jobs that a job should have: from our own build, or, where there is none, from the JobSet that is there."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.state.reading import Object, mapping, number, objects, text

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


@dataclass(frozen=True)
class Group:
    """A replicated job. `late`: it starts after the nodes are ready, as a launcher does."""

    name: str
    count: int
    role: str | None
    runs_ranks: bool
    initializer: bool
    late: bool
    first_rank: int | None


def groups(record: Object, jobset: Object) -> tuple[Group, ...]:
    """Return the expected replicated jobs in the order of their ranks; the order of `record.expected` does not matter.

    Ranks follow `first_rank` where the record has it, else the order in the JobSet, else launcher first, then by name.
    """
    entries = [entry for entry in objects(record, "expected") if text(entry, "replicated_job")]
    entries = entries or _of_jobset(jobset)
    ranked = {text(entry, "replicated_job") for entry in entries if _runs_ranks(entry)}
    order = {text(item, "name"): n for n, item in enumerate(objects(jobset, "spec", "replicatedJobs"))}
    found = [_group(entry, bool(ranked - {text(entry, "replicated_job")})) for entry in entries]
    return tuple(sorted(found, key=lambda group: _order(group, order)))


def pods_per_job(group: Group, jobset: Object, job_indexes: Sequence[int]) -> int:
    """Return how many pods each Job of a replicated job has; one Job has them all unless JobSet or pods say otherwise."""
    for item in objects(jobset, "spec", "replicatedJobs"):
        if text(item, "name") == group.name:
            return max(1, _parallelism(item))
    return max(1, -(-group.count // (1 + max(job_indexes, default=0))))


def _order(group: Group, order: dict[str, int]) -> tuple[tuple[bool, int], int, bool, str, int, str]:
    return (
        unknown_last(group.first_rank),
        order.get(group.name, 0),
        group.name != "launcher",
        group.name,
        group.count,
        repr(group),
    )


def _group(entry: Object, others_rank: bool) -> Group:
    name, first = text(entry, "replicated_job"), entry.get("first_rank")
    runs_ranks = _runs_ranks(entry)
    return Group(
        name=name,
        count=number(entry, "count"),
        role=text(entry, "role") or None,
        runs_ranks=runs_ranks,
        initializer=_initializer(entry),
        late=not _initializer(entry) and others_rank and (not runs_ranks or name == "launcher"),
        first_rank=first if isinstance(first, int) else None,
    )


def _initializer(entry: Object) -> bool:
    return (text(entry, "role") or text(entry, "replicated_job")).endswith("-initializer")


def _runs_ranks(entry: Object) -> bool:
    return entry.get("runs_ranks") is not False and not _initializer(entry)


def _of_jobset(jobset: Object) -> list[Object]:
    found: list[Object] = []
    for item in objects(jobset, "spec", "replicatedJobs"):
        replicas = number(item, "replicas") if "replicas" in item else 1
        role = text(item, "template", "metadata", "labels", ANCESTOR)
        found.append({"replicated_job": text(item, "name"), "count": replicas * _parallelism(item), "role": role})
    return [entry for entry in found if entry["replicated_job"]]


def _parallelism(replicated_job: Object) -> int:
    """How many pods a Job of a replicated job has; 0 is a number, too."""
    spec = mapping(replicated_job, "template", "spec")
    held = (spec.get(key) for key in ("parallelism", "completions"))
    return next((count for count in held if isinstance(count, int)), 1)


def unknown_last(value: int | None) -> tuple[bool, int]:
    """Return a key that sorts None behind every number."""
    return (value is None, value or 0)
