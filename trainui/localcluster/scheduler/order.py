"""Who goes first. Pure.

Strict order: priority, then age. A unit that finds no room keeps every machine that one of its pods could ever use; what comes after it
may use only the others, so it can never delay it, and a large gang is never starved by small ones. Two things do not wait for that:

- what a job that has started still needs (the launcher that comes when the workers are ready, a pod that is made anew): the job holds room
  that others wait for, and would hold it for ever;
- nothing is kept for what could not run even on empty machines, or for pods of a gang beyond its minCount.
"""

from collections.abc import Iterable, Mapping

from trainui.localcluster.scheduler.fit import misfit
from trainui.localcluster.scheduler.gang import Unit
from trainui.localcluster.scheduler.place import place
from trainui.localcluster.scheduler.views import Machine


def in_order(units: Iterable[Unit], arrivals: Mapping[str, int]) -> list[Unit]:
    """Return units in the order in which to try them.

    `arrivals` numbers what was seen first, by uid: creation times have whole seconds, and many jobs come within one.
    """

    def rank(unit: Unit) -> tuple[int, bool, str, int, str]:
        return (-unit.priority, not unit.started, unit.created, arrivals.get(unit.uid, 1 << 62), unit.name)

    return sorted(units, key=rank)


def kept_machines(unit: Unit, machines: Mapping[str, Machine]) -> set[str]:
    """Return the machines that have to be kept for a unit that finds no room now."""
    if unit.optional:
        return set()
    empty = {name: machine.empty() for name, machine in machines.items()}
    if len(place(unit.pods, empty).placed) < unit.needed:
        return set()
    return {name for name, machine in empty.items() if any(not misfit(pod, machine) for pod in unit.pods)}
