"""Step 6: the set-up of the gang: what keeps a scheduler from ever placing it."""

from dataclasses import dataclass

from jobs.state import phases
from jobs.state.codes import say
from jobs.state.model import GangState, Verdict
from jobs.state.reading import Object, number, text
from jobs.state.times import words
from jobs.state.view import GRACE, Slot, View
from jobs.state.wording import listed


@dataclass(frozen=True)
class Scheduler:
    """A way of gang scheduling: the API group of its PodGroup (the first is today's), and its CRD if it needs one."""

    name: str
    groups: tuple[str, ...]
    crd: str | None


SCHEDULERS = {
    scheduler.name: scheduler
    for scheduler in (
        Scheduler("volcano", ("scheduling.volcano.sh",), "podgroups.scheduling.volcano.sh"),
        Scheduler("coscheduling", ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io"), "podgroups.scheduling.x-k8s.io"),
        Scheduler("in-tree", ("scheduling.k8s.io",), None),
    )
}


def decide(view: View) -> Verdict | None:
    """Return what is wrong with the gang's set-up, or None. A gang that is placed already needs no pod group any more."""
    if not view.gang:
        return None
    wrong = _wrong_scheduler(view)
    if placed(view) >= view.needed:
        return wrong
    return _no_crd(view) or _no_group(view) or _deadlock(view) or wrong


def placed(view: View) -> int:
    """Return how many members have a machine, or have finished on one."""
    return sum(1 for slot in view.member_slots if slot.alive and slot.alive.placed)


def created(view: View) -> int:
    """Return how many members have a pod that counts."""
    return sum(1 for slot in view.member_slots if slot.alive)


def scheduler(view: View) -> Scheduler:
    """Return the way the gang is placed; one that is not known has no PodGroup to look for."""
    name = text(view.gang, "scheduler")
    return SCHEDULERS.get(name) or Scheduler(name, (), None)


def pod_group(view: View) -> Object:
    """Return the job's PodGroup, of the kind that its scheduler reads; one of another kind with the same name is not ours."""
    groups = scheduler(view).groups
    name = text(view.gang, "podgroup")
    for item in view.podgroups:
        group = text(item, "apiVersion").partition("/")[0]
        same = text(item, "metadata", "name") == name and text(item, "metadata", "namespace") in ("", view.namespace)
        if same and group in groups:
            return item
    return {}


def minimum(group: Object) -> int:
    """Return how many pods a PodGroup waits for, in any of the APIs; 0 if it does not say."""
    return number(group, "spec", "minMember") or number(group, "spec", "schedulingPolicy", "gang", "minCount")


def _no_crd(view: View) -> Verdict | None:
    way = scheduler(view)
    if view.crds is None or way.crd is None or way.crd in view.crds:
        return None
    if any(f"podgroups.{group}" in view.crds for group in way.groups):
        return None
    return say(
        phases.MISCONFIGURED,
        "PodGroupCRDMissing",
        kind="PodGroup",
        group=way.groups[0],
        scheduler=way.name,
        since=view.began,
    )


def _no_group(view: View) -> Verdict | None:
    way = scheduler(view)
    age = view.age(view.began)
    name = text(view.gang, "podgroup")
    if not way.groups or not name or pod_group(view) or age <= GRACE:
        return None
    return say(
        phases.MISCONFIGURED,
        "PodGroupMissing",
        podgroup=name,
        group=way.groups[0],
        age=words(age),
        scheduler=way.name,
        since=view.began,
    )


def _deadlock(view: View) -> Verdict | None:
    asked = max(minimum(pod_group(view)), number(view.gang, "min_member"))
    possible = sum(group.count for group in view.members)
    if not possible or asked <= possible:
        return None
    return say(phases.MISCONFIGURED, "GangDeadlock", asked=asked, possible=possible, since=view.began)


def _wrong_scheduler(view: View) -> Verdict | None:
    wanted = text(view.gang, "scheduler_name")
    wrong = [slot for slot in view.member_slots if wanted and _names_other(slot, wanted)]
    if not wrong:
        return None
    found = listed(sorted({slot.pod.scheduler for slot in wrong if slot.pod}))
    needed = sum(group.count for group in view.members)
    return say(
        phases.MISCONFIGURED,
        "WrongScheduler",
        count=len(wrong),
        needed=needed,
        found=found,
        wanted=wanted,
        since=view.began,
    )


def _names_other(slot: Slot, wanted: str) -> bool:
    return slot.alive is not None and not slot.alive.over and slot.alive.scheduler != wanted


def state(view: View, verdict: Verdict) -> GangState | None:
    """Return the gang as the page shows it, or None for a job without one."""
    if not view.gang:
        return None
    here, have = created(view), placed(view)
    members = tuple(group.name for group in view.members)
    return GangState(
        scheduler=text(view.gang, "scheduler"),
        min=view.needed,
        members=members,
        podgroup=text(view.gang, "podgroup"),
        created=here,
        placed=have,
        sentence=_sentence(view, verdict, here, have),
    )


def _sentence(view: View, verdict: Verdict, here: int, have: int) -> str:
    need = view.needed
    if verdict.phase in (phases.SUCCEEDED, phases.FAILED, phases.CANCELLED, phases.LOST):
        return "The job has ended; the gang holds nothing."
    if verdict.phase in (phases.WAITING, phases.QUEUED, phases.MISCONFIGURED, phases.PREEMPTED, phases.DEGRADED):
        return verdict.sentence
    if view.suspended:
        return "The job is suspended; there is no gang until it is resumed."
    if here < need:
        return f"{here} of the {need} pods that must run together are created."
    if have < need:
        return f"{have} of the {need} pods that must run together have a machine."
    return f"Placed: {have} of {max(need, sum(group.count for group in view.members))} nodes have a machine, {need} must run together."
