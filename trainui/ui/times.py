"""Pure wording of times and durations; `static/js/app.js` says the same in the browser."""

from __future__ import annotations

import math
from datetime import datetime

# (below this many seconds, unit in seconds, short name)
_UNITS = ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h"), (float("inf"), 86400, "d"))


def relative(at: datetime, now: datetime) -> str:
    """Say how far `at` is from `now`: `just now`, `12 s ago`, `3 min ago`, `in 2 d`."""
    seconds = (now - at).total_seconds()
    size = abs(seconds)
    if size < 2:
        return "just now"
    unit, name = next((unit, name) for limit, unit, name in _UNITS if size < limit)
    return f"{int(size // unit)} {name} ago" if seconds > 0 else f"in {math.ceil(size / unit)} {name}"


def duration(seconds: float) -> str:
    """Say a length of time in its two largest units: `4 s`, `2 min 05 s`, `3 h 20 min`, `2 d 4 h`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def exact(at: datetime) -> str:
    """Return the exact time with its offset, as shown on hover."""
    return at.strftime("%Y-%m-%d %H:%M:%S %z").rstrip()
