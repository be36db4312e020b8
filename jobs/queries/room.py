"""How large a gang of a job's shape would fit now: its built pods against what watch saw of machines and of the pods on them."""

from decimal import Decimal
from typing import Any

from django.db.models import Count

from jobs.builders.counts import total
from jobs.builders.demand import members_of
from jobs.builders.resources import pod_requests
from jobs.models import MirrorObject, TrainJob
from jobs.queries.cluster import READY, amounts_of, machine_of
from jobs.state.fit import Fit, Room, Shape, largest
from runtimes.spec.quantities import QuantityError
from trainui.cluster import kinds


def largest_gang(job: TrainJob) -> Fit | None:
    """Return the largest gang of the job's shape that fits now, whatever it holds itself; None before it is built.

    Pods that are no job's of trainui are not mirrored and count as free room: it is an upper bound.
    """
    try:
        gang = job.detail.expected.get("gang")
        members = members_of(job.detail.objects_built, gang)
        shapes = [_shape(member) for member in members]
    except (QuantityError, AttributeError, KeyError, TypeError):  # a template that nobody can place
        return None
    return largest(shapes, rooms(job)) if shapes else None


def rooms(without: TrainJob) -> list[Room]:
    """Return the machines that take pods and what they have free, as if one job held nothing."""
    free = _free_of_machines()
    if not free:
        return []
    pods = MirrorObject.objects.exclude(machine="").exclude(job=without)
    for machine, holds, number in pods.order_by().values_list("machine", "holds").annotate(number=Count("pk")):
        room = free.get(machine)
        if room is None:
            continue
        for name, amount in (amounts_of(holds) | {"pods": Decimal(1)}).items():
            room.free[name] = room.free.get(name, Decimal(0)) - amount * number  # type: ignore[index]  # a dict of ours
    return [free[name] for name in sorted(free)]


def _free_of_machines() -> dict[str, Room]:
    nodes = MirrorObject.objects.filter(kind=kinds.NODE.key)
    found = {}
    for name, metadata, spec, status in nodes.values_list("name", "raw__metadata", "raw__spec", "raw__status"):
        raw = {"spec": spec or {}, "status": status or {}}
        if machine_of(name, raw).state == READY:
            labels = {str(k): str(v) for k, v in ((metadata or {}).get("labels") or {}).items()}
            taints = tuple((spec or {}).get("taints") or ())
            found[name] = Room(name, amounts_of((status or {}).get("allocatable") or {}), labels, taints)
    return found


def _shape(member: dict[str, Any]) -> Shape:
    spec = member["template"]["spec"]["template"]["spec"]
    return Shape(str(member["name"]), total(member), pod_requests(spec), spec)
