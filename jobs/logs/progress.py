"""Metrics from what a program prints: JSON objects with a step or a loss, and `name=number` pairs, for code that reports no progress itself.

{"step": 120, "loss": 0.31, "accuracy": 0.9}        {'loss': 0.31, 'epoch': 2.0}        step 120: loss=0.31 accuracy=0.9
"""

import json
import math
import re
from dataclasses import dataclass

MAX_LINE = 2000
MAX_NAMES = 64
_STEP_NAMES = ("step", "global_step", "iteration", "iter")
_LEADERS = re.compile(
    r"loss|acc|perplexity|ppl|reward|error|f1|auc|bleu|rouge|throughput|tokens_per|samples_per|\blr\b|learning_rate",
    re.I,
)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PAIR = re.compile(rf"(?<![\w./=-])([A-Za-z_][\w./-]{{0,63}})=({_NUMBER})(?![\w.])")
_STEP = re.compile(r"\b(?:global_)?(?:step|iter(?:ation)?)[ =:]+(\d{1,15})\b", re.I)
_PYTHON_PAIR = re.compile(rf"'([A-Za-z_][\w./-]{{0,63}})': ({_NUMBER})(?=[,}}])")
_ESCAPE = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one metric. stamp: nanoseconds, of its line."""

    name: str
    value: float
    step: int | None
    stamp: int


def parse_line(data: bytes, stamp: int) -> list[Sample]:
    """Return the samples of one line, [] for an ordinary one. Of a progress bar the last redraw counts; values that are not finite are left out."""
    data = data.rstrip(b"\r")[-MAX_LINE:].rpartition(b"\r")[2]
    if b"=" not in data and b"{" not in data:
        return []
    text = _ESCAPE.sub(b"", data).decode("utf-8", "replace").strip()
    pairs, step = _json_pairs(text) if text.startswith("{") else _text_pairs(text)
    return [
        Sample(name, value, step, stamp)
        for name, value in pairs[:MAX_NAMES]
        if name not in _STEP_NAMES and math.isfinite(value)
    ]


def _json_pairs(text: str) -> tuple[list[tuple[str, float]], int | None]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        found = [(name, float(value)) for name, value in _PYTHON_PAIR.findall(text)]
        return (found, _step_of(dict(found))) if any(_LEADERS.search(name) for name, _ in found) else ([], None)
    if not isinstance(parsed, dict):
        return [], None
    pairs = [
        (name[:64], float(value))
        for name, value in parsed.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and name
    ]
    names = {name for name, _ in pairs}
    if not names & set(_STEP_NAMES) and not any(_LEADERS.search(name) for name in names):
        return [], None
    return pairs, _step_of(dict(pairs))


def _text_pairs(text: str) -> tuple[list[tuple[str, float]], int | None]:
    pairs = [(name, float(value)) for name, value in _PAIR.findall(text)]
    if not any(_LEADERS.search(name) for name, _ in pairs):
        return [], None
    step = _step_of(dict(pairs))
    if step is None and (match := _STEP.search(text)):
        step = int(match[1])
    return pairs, step


def _step_of(values: dict[str, float]) -> int | None:
    for name in _STEP_NAMES:
        if name in values and values[name].is_integer() and 0 <= values[name] < 1 << 62:
            return int(values[name])
    return None


class MetricParser:
    """Samples of one container's log, at most one of each metric per interval of log time; the last one of all is never lost (`flush`)."""

    def __init__(self, interval_seconds: float = 1.0) -> None:
        self._interval = int(interval_seconds * 1e9)
        self._given: dict[str, int] = {}
        self._open = b""
        self._held: dict[str, Sample] = {}

    def part(self, data: bytes, stamp: int, first: bool, last: bool) -> list[Sample]:
        """Return the samples that are due of a line that comes in parts, once its `last` part is there; of a long one its end is looked at."""
        if first and last:
            return self.line(data, stamp)
        whole = data if first else self._open + data
        self._open = b"" if last else whole[-2 * MAX_LINE :]
        return self.line(whole, stamp) if last else []

    def line(self, data: bytes, stamp: int) -> list[Sample]:
        """Return the samples of a line that are due."""
        due = []
        for sample in parse_line(data, stamp):
            last = self._given.get(sample.name)
            if last is None and len(self._given) >= MAX_NAMES:
                continue
            if last is None or sample.stamp >= last + self._interval:
                self._given[sample.name] = sample.stamp
                self._held.pop(sample.name, None)
                due.append(sample)
            else:
                self._held[sample.name] = sample
        return due

    def flush(self) -> list[Sample]:
        """Return the samples that were held back."""
        held, self._held = list(self._held.values()), {}
        return held
