"""Waiting, for pods that are no gang and have no machine."""

from jobs.state import phases
from jobs.state.codes import say
from jobs.state.explain import Explanation
from jobs.state.model import Verdict
from jobs.state.reading import objects, text
from jobs.state.times import oldest
from jobs.state.view import Slot
from jobs.state.wording import after, listed, share, verb

# What the message of a pod means for the job; all other causes are Unschedulable.
_OWN_CODE = ("PvcNotFound", "VolumeNotBound")


def verdict(slots: list[Slot], needed: int, kind: str, why: Explanation | None, silence: str = "") -> Verdict:
    """Return Waiting for pods without a machine.

    slots: those that wait, of `needed` of a `kind` (nodes, initializers); why: what is known of the cause; silence: what to say
    when nobody has given one.
    """
    since = oldest(*(slot.alive.created for slot in slots if slot.alive))
    gated = [slot for slot in slots if slot.alive and slot.alive.gated]
    if gated:
        some, are = share(len(gated), needed, kind), verb(1 if needed == 1 else len(gated), "is", "are")
        return say(phases.WAITING, "SchedulingGated", some=some, are=are, detail=after(_gates(gated)), since=since)
    some = share(len(slots), needed, kind)
    if why is not None and why.code in _OWN_CODE:
        return say(phases.WAITING, why.code, some=some, detail=why.cause, since=since)
    detail = after(why.cause) if why is not None else silence
    return say(phases.WAITING, "Unschedulable", some=some, detail=detail, since=since)


def _gates(slots: list[Slot]) -> str:
    pods = [slot.alive for slot in slots if slot.alive]
    return listed(
        sorted({text(gate, "name") for pod in pods for gate in objects(pod.raw, "spec", "schedulingGates")} - {""})
    )
