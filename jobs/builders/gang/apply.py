"""Make a job's pods a gang: mark the members, drop the edges that would deadlock it, add the PodGroup."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

from ..capabilities import GangScheduler
from ..containers import Obj, pod_spec, role
from ..counts import total
from ..draft import Draft, Roles
from . import coscheduling, in_tree, volcano
from .choice import chosen, is_replaced
from .edges import depends_on, drop_edge, spell_out_order
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


def groups(jobs: list[Obj], who: Roles) -> list[Group]:
    """Return replicated jobs as the gang rule reads them."""
    ranks = {job.get("name") for job in who.ranks}
    return [
        Group(
            name=str(job.get("name")),
            count=total(job),
            role=role(job),
            runs_ranks=job.get("name") in ranks,
            depends_on=tuple((str(edge.get("name")), str(edge.get("status"))) for edge in depends_on(job)),
            pod=pod_spec(job),
        )
        for job in jobs
    ]


def _priority(draft: Draft, gang: Gang) -> str:
    """Return the priority class of the gang: the last one its members name, as upstream."""
    found = ""
    for name in gang.names:
        job = draft.job(name)
        found = (pod_spec(job).get("priorityClassName") if job else "") or found
    return found


def _find(draft: Draft, who: Roles) -> Gang:
    """Return the gang, and spell out the order of the start where an implied dependency has to be dropped."""
    spelled = copy.deepcopy(draft.template["spec"])
    spell_out_order(spelled)
    gang = find_gang(groups(spelled["replicatedJobs"], who))
    if gang.dropped_edges:
        spell_out_order(draft.template["spec"])
    return gang


def add_gang(draft: Draft, who: Roles, edge_dropped: Callable[[Draft, Roles, str], None]) -> Gang | None:
    """Make the pods that must run together a gang, if the job asks for one.

    The PodGroup is left out while the job is suspended, because it would hold quota, and when there are no pods.
    """
    kind = chosen(draft)
    if kind is None:
        return None
    scheduler = SCHEDULERS[kind]
    gang = _find(draft, who)
    for edge in gang.dropped_edges:
        source, target = draft.job(edge.source), draft.job(edge.target)
        if source is not None and target is not None:
            drop_edge(source, target)
    for name in dict.fromkeys(edge.source for edge in gang.dropped_edges):
        edge_dropped(draft, who, name)
    if is_replaced(draft):
        for job in draft.jobs:
            pod_spec(job).pop("schedulerName", None)
    for name in gang.names:
        if (member := draft.job(name)) is not None:
            scheduler.mark(draft, member)
    if gang.min_member and not draft.suspended:
        draft.objects.append(scheduler.pod_group(draft, gang, _priority(draft, gang)))
    return gang


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
