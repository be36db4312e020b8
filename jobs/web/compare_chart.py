"""Several curves in one box, drawn by the server: paths, ticks of both axes, and which way a metric is better. Pure."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from jobs.web.job.charts import number, round_steps

WIDTH, HEIGHT = 1000.0, 400.0
_PAD = 8.0
STEP, TIME, RELATIVE = "step", "time", "relative"
_DURATIONS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800)
_LOWER = re.compile(r"loss|error|perplexity|\bppl\b|\b[wcm]er\b|rmse|\bma?e\b|\bmse\b|seconds|latency|time\b", re.I)
_HIGHER = re.compile(
    r"acc|f1|auc|bleu|rouge|reward|precision|recall|\bmap\b|score|\br2\b|throughput|per_sec|tokens_s|iou", re.I
)
Xy = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A line of the grid: where in percent of the box, and what is written on it."""

    percent: float
    label: str


@dataclass(frozen=True)
class Line:
    """One curve. path: "" without points. end: its last point in percent of the box."""

    path: str
    end: Xy | None


@dataclass(frozen=True)
class Chart:
    """The drawn box, `width` × `height` units stretched to any size; `lines` are in the order of the curves.

    left, right, low, high: what the box spans; low and high are exponents of ten with `log`, `pad` is the part above high and below low.
    """

    lines: list[Line]
    across: list[Mark]
    up: list[Mark]
    title: str
    left: float
    right: float
    low: float
    high: float
    width: float = WIDTH
    height: float = HEIGHT
    pad: float = _PAD / HEIGHT


def draw(curves: Sequence[Sequence[Xy]], axis: str, log: bool = False) -> Chart | None:
    """Return the chart of curves of (x, y); None when there is nothing to draw.

    axis: STEP, TIME (x is epoch seconds) or RELATIVE (seconds). log: draw logarithms; values that have none are left out.
    """
    kept = [[(x, _scaled(y, log)) for x, y in curve if math.isfinite(x) and math.isfinite(y) and (not log or y > 0)] for curve in curves]  # fmt: skip
    xs = [x for curve in kept for x, _ in curve]
    ys = [y for curve in kept for _, y in curve]
    if not xs:
        return None
    left, right = _range(min(xs), max(xs), pad=0.0)
    low, high = _range(min(ys), max(ys), pad=0.1)
    lines = [_line(curve, left, right, low, high) for curve in kept]
    up = [Mark(_percent(_y(v, low, high), HEIGHT), text) for v, text in y_marks(low, high, log)]
    across = [Mark(_percent(_x(v, left, right), WIDTH), text) for v, text in x_marks(left, right, axis)]
    title = {STEP: "step", TIME: "time (UTC)", RELATIVE: "time since the start"}[axis]
    return Chart(lines, across, up, title, left, right, low, high)


def x_marks(left: float, right: float, axis: str, most: int = 6) -> list[tuple[float, str]]:
    """Return round places of the x axis, and what to write there."""
    span = right - left
    if axis == STEP:
        return [(v, number(v)) for v in round_steps(left, right, most)]
    step = next((s for s in _DURATIONS if span / s <= most), _DURATIONS[-1] * math.ceil(span / most / _DURATIONS[-1]))
    first = math.ceil(left / step)
    places = [n * step for n in range(first, math.floor(right / step) + 1)]
    if axis == RELATIVE:
        return [(v, _length(v)) for v in places]
    return [(v, _clock(v, step)) for v in places]


def y_marks(low: float, high: float, log: bool, most: int = 5) -> list[tuple[float, str]]:
    """Return round places of the y axis, and what to write there; with `log` places are exponents of ten."""
    if log:
        for factors in ((1, 2, 5), (1,)):
            powers = range(math.floor(low), math.ceil(high) + 1)
            places = [math.log10(f) + p for p in powers for f in factors if low <= math.log10(f) + p <= high]
            if 2 <= len(places) <= most:
                return [(v, number(float(f"{10**v:.6g}"))) for v in places]
    return [(v, number(float(f"{10**v:.2g}")) if log else number(v)) for v in round_steps(low, high)]


def best_is(metric: str) -> str:
    """Return whether "low" or "high" values of a metric are the better ones by its name, "" when that does not tell."""
    if _LOWER.search(metric):
        return "low"
    return "high" if _HIGHER.search(metric) else ""


def _clock(at: float, step: float) -> str:
    moment = datetime.fromtimestamp(at, tz=UTC)
    if step >= 86400:
        return f"{moment:%d %b}"
    return f"{moment:%H:%M}" if step >= 60 else f"{moment:%H:%M:%S}"


def _length(seconds: float) -> str:
    """A round length of time, in few characters: `40 s`, `2:30 min`, `10 min`, `1:30 h`, `2 d`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s" if whole else "0"
    size, part, unit = (60, 1, "min") if whole < 3600 else (3600, 60, "h") if whole < 172800 else (86400, 3600, "d")
    rest = whole % size // part
    return f"{whole // size}:{rest:02d} {unit}" if rest else f"{whole // size} {unit}"


def _line(curve: Sequence[Xy], left: float, right: float, low: float, high: float) -> Line:
    if not curve:
        return Line("", None)
    placed = [(_x(x, left, right), _y(y, low, high)) for x, y in curve]
    end = (_percent(placed[-1][0], WIDTH), _percent(placed[-1][1], HEIGHT))
    return Line("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in placed), end)


def _scaled(value: float, log: bool) -> float:
    return math.log10(value) if log and value > 0 else value


def _range(low: float, high: float, pad: float) -> Xy:
    if high > low:
        return low, high
    around = abs(high) * pad or 1.0
    return low - around * bool(pad), high + around


def _x(x: float, left: float, right: float) -> float:
    return (x - left) / (right - left) * WIDTH


def _y(y: float, low: float, high: float) -> float:
    return _PAD + (high - y) / (high - low) * (HEIGHT - 2 * _PAD)


def _percent(place: float, of: float) -> float:
    return round(100 * place / of, 2)
