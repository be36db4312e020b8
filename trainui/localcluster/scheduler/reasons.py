"""The scheduler's usual words. Pure."""

from collections import Counter
from collections.abc import Container, Iterable

from trainui.localcluster.scheduler.fit import misfit, never
from trainui.localcluster.scheduler.gang import Unit
from trainui.localcluster.scheduler.place import Placement
from trainui.localcluster.scheduler.views import Machine, Pod

KEPT = "node(s) were kept for a job that is ahead in the queue"
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_NODES = "no nodes available to schedule pods"


def cause(pod: Pod, machines: Iterable[Machine], closed: Container[str] = ()) -> str:
    """Return why a pod finds no machine: `0/2 nodes are available: 2 Insufficient cpu.`

    Machines in `closed` have room, but it is kept for others.
    """
    machines = list(machines)
    if not machines:
        return NO_NODES
    found: Counter[str] = Counter()
    for machine in machines:
        reasons = misfit(pod, machine) or ([KEPT] if machine.name in closed else [])
        found.update(reasons)
    return _sentence(len(machines), found)


def preemption(pod: Pod, machines: Iterable[Machine]) -> str:
    """Return what is appended for a single pod that preemption cannot help."""
    machines = list(machines)
    found = Counter(NOT_HELPFUL if never(pod, machine) else NO_VICTIMS for machine in machines)
    return f" preemption: {_sentence(len(machines), found)}" if machines else ""


def _sentence(total: int, reasons: Counter[str]) -> str:
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{total} nodes are available: {listed}."


def short_of_minimum(unit: Unit, placement: Placement) -> str:
    """Return how far a gang came: how many would fit in this try, and how many were not tried after the first that did not."""
    fitting, remaining = tried(unit, placement)
    return f"minCount ({unit.minimum}) cannot be satisfied: {unit.held + fitting} scheduled, {remaining} remaining"


def tried(unit: Unit, placement: Placement) -> tuple[int, int]:
    """Return how many pods would fit, and how many are left besides the one that tells the cause."""
    return len(placement.placed), max(len(unit.pods) - len(placement.placed) - 1, 0)


def group_message(short: str, outcome: str) -> str:
    """Return the message of a PodGroup that is not placed; `outcome` is what preemption came to."""
    return f"{short}, pod group preemption: {outcome}"


NO_GROUP_VICTIMS = "No preemption victims found for incoming preemptor"
ONGOING = "ongoing preemption on nominated nodes"


def found_for_group(victims: int) -> str:
    """Return what is said when a gang preempts."""
    return f"found a placement for podgroup, preempting {victims} victims"


def found_for_pod(machine: str, victims: int) -> str:
    """Return what is appended when a single pod preempts."""
    return f" preemption: found a potential placement for pod on node {machine}, preempting {victims} victims"
