"""Small pieces of sentences that several steps share."""

from collections.abc import Iterable, Sequence

from jobs.state.groups import Group
from jobs.state.view import Slot, View


def who(slot: Slot) -> str:
    """Return how a sentence calls the pod of a slot: `Rank 3`, `The launcher`, `The dataset-initializer`."""
    if slot.rank is not None:
        return f"Rank {slot.rank}"
    return f"The {slot.group.name}" if slot.group.count == 1 else f"{slot.group.name} {slot.index}"


def ranks(slots: Iterable[Slot], most: int = 4) -> str:
    """Return the pods of some slots for the middle of a sentence: `rank 3`, `ranks 0, 2 and 5`, `ranks 0, 1, 2 and 9 more`, `the launcher`."""
    slots = list(slots)
    ranked = [slot.rank for slot in slots if slot.rank is not None]
    others = sorted({f"the {slot.group.name}" for slot in slots if slot.rank is None})
    parts = []
    if ranked:
        shown = [str(rank) for rank in ranked[:most]]
        more = len(ranked) - len(shown)
        parts.append(f"{'rank' if len(ranked) == 1 else 'ranks'} {listed([*shown, f'{more} more'] if more else shown)}")
    return listed([*parts, *others])


def listed(parts: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the right number: `1 node`, `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def what(groups: Iterable[Group]) -> str:
    """Return what the pods of some groups are called together: initializers, nodes or pods."""
    kinds = {"initializers" if group.initializer else "nodes" if group.runs_ranks else "pods" for group in groups}
    return kinds.pop() if len(kinds) == 1 else "pods"


def verb(number: int, one: str, many: str) -> str:
    """Return the form of a verb that goes with a number."""
    return one if number == 1 else many


def share(number: int, total: int, kind: str) -> str:
    """Return the subject of a sentence about some of the pods: `2 of 4 nodes`; `The node` where there is only one."""
    return f"The {kind.removesuffix('s')}" if total == 1 else f"{number} of {total} {kind}"


def created_of(here: int, total: int, kind: str) -> str:
    """Return how many of the pods are created, as a sentence without its stop."""
    if total == 1:
        return f"{share(here, total, kind)} is {'created' if here else 'not created yet'}"
    return f"{share(here, total, kind)} {verb(here, 'is', 'are')} created"


def placed_of(have: int, total: int, kind: str) -> str:
    """Return how many of the pods have a machine, as a sentence without its stop."""
    if total == 1:
        return f"{share(have, total, kind)} has {'a' if have else 'no'} machine"
    return f"{share(have, total, kind)} {verb(have, 'has', 'have')} a machine"


def after(detail: str, before: str = ": ") -> str:
    """Return a detail with what comes before it, or nothing without a detail."""
    return f"{before}{detail}" if detail else ""


def capital(sentence: str) -> str:
    """Return a sentence with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


def restart_limit(view: View) -> int | None:
    """Return how many restarts the JobSet allows, if it says so."""
    policy = view.jobset.get("spec") or {}
    limit = (policy.get("failurePolicy") or {}).get("maxRestarts") if isinstance(policy, dict) else None
    return limit if isinstance(limit, int) else None
