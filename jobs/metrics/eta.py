"""How long a program will still take, from how its percentage grew. Pure: plain numbers, the time is an argument."""

import itertools
from collections.abc import Sequence

Point = tuple[float, float]  # epoch seconds, percent
LEAST_POINTS = 3
LEAST_SECONDS = 5.0
LOOK_BACK = 24  # of the newest points: the pace of an hour ago tells little
_LONGEST = 2**31 - 1


def advanced(history: Sequence[Sequence[float]], at: float, percent: float) -> list[list[float]]:
    """Return a history with one more report: it holds when each percent was first reached, so it never has more than about a hundred points.

    A percentage that falls begins a new history: the program was started again. A report older than the newest one changes nothing.
    """
    points = [[float(t), float(p)] for t, p in history]
    if points and at < points[-1][0]:
        return points
    if points and percent < points[-1][1]:
        points = []
    if not points or percent >= points[-1][1] + 1:
        points.append([at, percent])
    return points


def remaining(history: Sequence[Sequence[float]], now: float, since: float | None = None) -> int | None:
    """Return the seconds that a program will still take, None as long as nobody can tell.

    since: when it began to run; what it reached before (it was suspended, it waited) says nothing about its pace.
    The pace is a mean without the extremes, so one long checkpoint does not spoil it and regular ones count; when the next percent is
    overdue, the pace is what the wait allows at best.
    """
    points = [(float(t), float(p)) for t, p in history if since is None or t >= since][-LOOK_BACK:]
    if not points or points[-1][1] >= 100:
        return 0 if points else None
    at, percent = points[-1]
    if len(points) < LEAST_POINTS or at - points[0][0] < LEAST_SECONDS:
        return None
    pace = _pace(points)
    waited = max(now - at, 0.0)
    step = max(min(q - p for (_, p), (_, q) in itertools.pairwise(points)), 1.0)
    if waited > step / pace:
        return min(round((100 - percent - step) / (step / waited)), _LONGEST) if percent + step < 100 else None
    return min(round((100 - percent) / pace - waited), _LONGEST)


def _pace(points: Sequence[Point]) -> float:
    """Percent per second; a tenth of the steps at either end, at least one of five, is left out."""
    steps = [(u - t, q - p) for (t, p), (u, q) in itertools.pairwise(points)]
    steps.sort(key=lambda step: step[0] / step[1])
    cut = max(len(steps) // 10, 1 if len(steps) >= 5 else 0)
    kept = steps[cut : len(steps) - cut]
    return sum(percent for _, percent in kept) / max(sum(seconds for seconds, _ in kept), 1e-9)
