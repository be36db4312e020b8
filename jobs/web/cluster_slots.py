"""A machine as bars of slots: which job holds which part of its GPUs, CPUs and memory. Pure, but for the jobs that it names."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from jobs.models import TrainJob
from jobs.queries.cluster import CORDONED, NOT_READY, READY, SILENT, Machine
from runtimes.spec.quantities import is_byte_resource

COLOURS = 8
OTHER = "another project"
_LETTERS, _LEAST_LETTERS = 38, 5  # across a bar, and what still says something
MOST_SLOTS = 32  # more are drawn as one length, without lines between them
_TONES = {
    READY: ("ok", "check-circle"),
    CORDONED: ("warn", "no-symbol"),
    NOT_READY: ("error", "x-circle"),
    SILENT: ("unknown", "question-mark-circle"),
}
_UNITS = ((Decimal(2**40), "TiB"), (Decimal(2**30), "GiB"), (Decimal(2**20), "MiB"), (Decimal(2**10), "KiB"))


@dataclass(frozen=True)
class Segment:
    """What one pod holds of a bar, in percent of it. label: as much of a name as there is room for. colour: None for jobs of other projects."""

    start: float
    width: float
    label: str
    title: str
    job: TrainJob | None
    colour: int | None


@dataclass(frozen=True)
class Bar:
    """One resource of a machine. lines: where slots meet, in percent."""

    name: str
    used: str
    capacity: str
    free: str
    segments: list[Segment]
    lines: list[float]


@dataclass(frozen=True)
class Holder:
    """One job on a machine, or all jobs of other projects together."""

    job: TrainJob | None
    colour: int | None
    pods: int


@dataclass(frozen=True)
class Card:
    """One machine ready to show."""

    machine: Machine
    tone: str
    icon: str
    bars: list[Bar]
    holders: list[Holder]


def cards_of(machines: Sequence[Machine]) -> list[Card]:
    """Return the machines ready to show; a job has one colour wherever it is."""
    colours = colours_of(held.job for machine in machines for held in machine.held)
    return [_card(machine, colours) for machine in machines]


def colours_of(jobs: Iterable[TrainJob | None]) -> dict[uuid.UUID, int]:
    """Return a colour for each job, in the order in which jobs appear; beyond COLOURS they repeat."""
    order = dict.fromkeys(job.pk for job in jobs if job is not None)
    return {job_id: number % COLOURS for number, job_id in enumerate(order)}


def bars_of(machine: Machine, colours: dict[uuid.UUID, int]) -> list[Bar]:
    """Return the bars of a machine: devices first, then CPUs, then memory."""
    devices = sorted(name for name in machine.capacity if "/" in name and machine.capacity[name] > 0)
    shown = [*devices, *(name for name in ("cpu", "memory") if machine.capacity.get(name, 0) > 0)]
    return [_bar(machine, name, colours) for name in shown]


def fitted(name: str, percent: float) -> str:
    """Return as much of a name as a segment of so many percent has room for on the narrowest card; "" for too little of it."""
    room = int(percent * _LETTERS / 100) - 1
    if len(name) <= room:
        return name
    head = (room - 1) // 2  # runs of one series differ at the end
    return f"{name[:head]}…{name[-(room - 1 - head) :]}" if room >= _LEAST_LETTERS else ""


def amount(value: Decimal, resource: str) -> str:
    """Say an amount: `1.5`, `12 GiB`."""
    if is_byte_resource(resource):
        for size, unit in _UNITS:
            if value >= size:
                return f"{_short(value / size)} {unit}"
        return f"{_short(value)} B"
    return _short(value)


def word_of(resource: str) -> str:
    """Say a resource: `GPU` for nvidia.com/gpu, `CPU`, `Memory`."""
    if resource in ("cpu", "memory"):
        return {"cpu": "CPU", "memory": "Memory"}[resource]
    name = resource.rpartition("/")[2]
    return "GPU" if name == "gpu" else name


def _card(machine: Machine, colours: dict[uuid.UUID, int]) -> Card:
    tone, icon = _TONES[machine.state]
    counts: dict[uuid.UUID | None, Holder] = {}
    for held in machine.held:
        key = held.job.pk if held.job else None
        before = counts.get(key)
        counts[key] = Holder(held.job, colours[key] if key else None, (before.pods if before else 0) + 1)
    return Card(machine, tone, icon, bars_of(machine, colours), list(counts.values()))


def _bar(machine: Machine, resource: str, colours: dict[uuid.UUID, int]) -> Bar:
    capacity, used = machine.capacity[resource], machine.used.get(resource, Decimal(0))
    whole = max(capacity, used)  # pods of a machine that shrank may hold more than it has
    segments, place = [], Decimal(0)
    for held in machine.held:
        wanted = held.amounts.get(resource, Decimal(0))
        if wanted <= 0:
            continue
        name = held.job.name if held.job else OTHER
        said = f"{amount(wanted, resource)} {word_of(resource)}"
        title = f"{name}, {held.pod}: {said}" if held.job else f"{name}: {said}"
        colour = colours[held.job.pk] if held.job else None
        width = _percent(wanted, whole)
        segments.append(Segment(_percent(place, whole), width, fitted(name, width), title, held.job, colour))
        place += wanted
    slots = int(whole) if whole == int(whole) and not is_byte_resource(resource) and 1 < whole <= MOST_SLOTS else 0
    lines = [_percent(Decimal(n), whole) for n in range(1, slots)]
    free = amount(max(capacity - used, Decimal(0)), resource)
    return Bar(word_of(resource), amount(used, resource), amount(capacity, resource), free, segments, lines)


def _percent(part: Decimal, whole: Decimal) -> float:
    return round(float(100 * part / whole), 3)


def _short(value: Decimal) -> str:
    rounded = round(value, 1 if value >= 10 else 2)
    return f"{rounded.normalize():f}" if rounded != int(rounded) else f"{int(rounded):,}"
