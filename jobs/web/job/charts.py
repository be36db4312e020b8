"""A metric as a line that the server draws: an SVG path, round ticks, numbers in few characters. Pure."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600.0, 220.0
_PAD = 6.0


@dataclass(frozen=True)
class Tick:
    """A line of the grid: where, and what is written on it."""

    at: float
    label: str

    @property
    def percent(self) -> float:
        """How far down the box it is, for text that must not be stretched with it."""
        return round(100 * self.at / HEIGHT, 1)


@dataclass(frozen=True)
class Line:
    """A drawn series in a box of `width` × `height`. area: the same line closed along the bottom. end: the newest point."""

    path: str
    area: str
    end: tuple[float, float]
    ticks: list[Tick]
    seconds: float
    width: float = WIDTH
    height: float = HEIGHT


def draw(times: Sequence[float], values: Sequence[float]) -> Line | None:
    """Return the line of a series; None when there is nothing to draw. Values that are no numbers are left out."""
    points = [(t, v) for t, v in zip(times, values, strict=True) if math.isfinite(v)]
    if not points:
        return None
    low, high = _range([v for _, v in points])
    first, last = points[0][0], points[-1][0]
    span = (last - first) or 1.0
    placed = [(_x(t, first, span), _y(v, low, high)) for t, v in points]
    if len(placed) == 1:
        placed = [(0.0, placed[0][1]), (WIDTH, placed[0][1])]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
    area = f"{path}L{placed[-1][0]:.1f} {HEIGHT:g}L{placed[0][0]:.1f} {HEIGHT:g}Z"
    ticks = [Tick(round(_y(v, low, high), 1), number(v)) for v in round_steps(low, high)]
    return Line(path, area, placed[-1], ticks, last - first)


def round_steps(low: float, high: float, most: int = 4) -> list[float]:
    """Return round values (1, 2 or 5 times a power of ten apart) inside a range, at most about `most`."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1, 2, 5, 10) if m * power >= raw), 10 * power)
    first = math.ceil(low / step)
    return [round(n * step, 12) for n in range(first, math.floor(high / step) + 1)]


def number(value: float | None) -> str:
    """Say a number in few characters: `0.0123`, `1.5e-5`, `12,345`, `2.1e+9`; a dash for None. `static/js/chart.js` says the same."""
    if value is None:
        return "—"
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "NaN")
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        return re.sub(r"\.?0*e([+-])0*", r"e\1", f"{value:.2e}")
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}".removesuffix(".0") if size >= 1000 else f"{value:.4g}"


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if high == low:
        pad = abs(high) * 0.1 or 1.0
        return low - pad, high + pad
    return low, high


def _x(t: float, first: float, span: float) -> float:
    return (t - first) / span * WIDTH


def _y(v: float, low: float, high: float) -> float:
    return _PAD + (high - v) / (high - low) * (HEIGHT - 2 * _PAD)
