"""Make a job's pods a gang: mark the members, drop the edges that would deadlock it, add the PodGroup."""

from collections.abc import Callable
from dataclasses import dataclass

from ..capabilities import GangScheduler
from ..containers import Obj, pod_spec, role
from ..counts import total
from ..draft import Draft, Roles
from . import coscheduling, in_tree, volcano
from .choice import chosen
from .members import Gang, Group, find_gang


@dataclass(frozen=True)
class Scheduler:
    """How one gang scheduler is told.

    label: its name in the record of a job. pod_group: its object. mark: makes pods members. default: the schedulerName
    of pods that name none.
    """

    label: str
    pod_group: Callable[[Draft, Gang, str], Obj]
    mark: Callable[[Draft, Obj], None]
    default: Callable[[Draft], str]


SCHEDULERS: dict[GangScheduler, Scheduler] = {
    "in_tree": Scheduler(in_tree.LABEL, in_tree.pod_group, in_tree.mark, lambda draft: in_tree.SCHEDULER),
    "coscheduling": Scheduler(
        coscheduling.LABEL, coscheduling.pod_group, coscheduling.mark, lambda d: d.capabilities.coscheduling_scheduler
    ),
    "volcano": Scheduler(
        volcano.LABEL, volcano.pod_group, volcano.mark, lambda d: d.capabilities.volcano_scheduler or volcano.SCHEDULER
    ),
}


def groups(draft: Draft, who: Roles) -> list[Group]:
    """Return the replicated jobs of a draft as the gang rule reads them."""
    return [
        Group(
            name=str(job.get("name")),
            count=total(job),
            role=role(job),
            runs_ranks=any(job is ranked for ranked in who.ranks),
            depends_on=tuple((str(e.get("name")), str(e.get("status"))) for e in job.get("dependsOn") or []),
            pod=pod_spec(job),
        )
        for job in draft.jobs
    ]


def _priority(draft: Draft, gang: Gang) -> str:
    """Return the priority class of the gang: the last one its members name, as upstream."""
    found = ""
    for name in gang.names:
        job = draft.job(name)
        found = (pod_spec(job).get("priorityClassName") if job else "") or found
    return found


def add_gang(draft: Draft, who: Roles, edge_dropped: Callable[[Draft, Roles, str], None]) -> Gang | None:
    """Make the pods that must run together a gang, if the job asks for one.

    The PodGroup is left out while the job is suspended, because it would hold quota, and when there are no pods.
    """
    kind = chosen(draft)
    if kind is None:
        return None
    scheduler = SCHEDULERS[kind]
    gang = find_gang(groups(draft, who))
    for source in dict.fromkeys(edge.source for edge in gang.dropped_edges):
        _drop_edges(draft, gang, source)
        edge_dropped(draft, who, source)
    for name in gang.names:
        if (job := draft.job(name)) is not None:
            scheduler.mark(draft, job)
    if gang.min_member and not draft.suspended:
        draft.objects.append(scheduler.pod_group(draft, gang, _priority(draft, gang)))
    return gang


def _drop_edges(draft: Draft, gang: Gang, source: str) -> None:
    """Take the dropped dependencies out of a replicated job."""
    job = draft.job(source)
    if job is None:
        return
    dropped = {edge.target for edge in gang.dropped_edges if edge.source == source}
    left = [edge for edge in job.get("dependsOn") or [] if edge.get("name") not in dropped]
    job.pop("dependsOn", None)
    if left:
        job["dependsOn"] = left


def gang_record(draft: Draft, gang: Gang | None) -> Obj | None:
    """Return what the record of a job keeps about its gang; None without one."""
    kind = chosen(draft)
    if gang is None or kind is None or not gang.min_member:
        return None
    scheduler = SCHEDULERS[kind]
    first = draft.job(gang.names[0])
    named = pod_spec(first).get("schedulerName") if first else None
    return {
        "scheduler": scheduler.label,
        "scheduler_name": named or scheduler.default(draft),
        "podgroup": draft.name,
        "min_member": gang.min_member,
        "members": gang.names,
    }
