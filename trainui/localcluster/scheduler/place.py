"""Where the pods of one unit go. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from trainui.localcluster.scheduler.fit import misfit, never
from trainui.localcluster.scheduler.views import Machine, Pod


@dataclass(slots=True)
class Placement:
    """Pods with the machine each would get, in the order they were tried, and those for which there was none."""

    placed: list[tuple[Pod, str]] = field(default_factory=list)
    left: list[Pod] = field(default_factory=list)


def place(pods: Iterable[Pod], machines: dict[str, Machine], closed: Container[str] = ()) -> Placement:
    """Return a placement of as many pods as fit, without using the machines in `closed`; `machines` stays as it is.

    Pods that can go to fewer machines and larger ones come first; each goes where the least room is left over, so that large holes stay
    whole for large pods and the pods of a gang end up close together.
    """
    found = Placement()
    books = {name: machine.copy() for name, machine in machines.items() if name not in closed}
    for pod in difficult_first(pods, books):
        best = _tightest(pod, books.values())
        if best is None:
            found.left.append(pod)
            continue
        best.place(pod)
        found.placed.append((pod, best.name))
    return found


def _tightest(pod: Pod, machines: Iterable[Machine]) -> Machine | None:
    fitting = [machine for machine in machines if not misfit(pod, machine)]
    return min(fitting, key=lambda machine: (_left_over(pod, machine), machine.name), default=None)


def difficult_first(pods: Iterable[Pod], machines: dict[str, Machine]) -> list[Pod]:
    """Return pods in the order in which to place them."""

    def difficulty(pod: Pod) -> tuple[int, float, int, str]:
        possible = [machine for machine in machines.values() if never(pod, machine) is None]
        shares = [_share(pod, machine) for machine in possible]
        return (len(possible), -max(shares, default=0.0), pod.index, pod.name)

    return sorted(pods, key=difficulty)


def _share(pod: Pod, machine: Machine) -> float:
    known = {name: amount for name, amount in pod.requests.items() if machine.allocatable.get(name)}
    return sum(amount / machine.allocatable[name] for name, amount in known.items())


def _left_over(pod: Pod, machine: Machine) -> float:
    shares = [
        (machine.free.get(name, 0) - amount) / machine.allocatable[name]
        for name, amount in pod.requests.items()
        if machine.allocatable.get(name)
    ]
    return sum(shares) / len(shares) if shares else 0.0
