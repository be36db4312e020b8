"""Times and durations: RFC 3339 in, RFC 3339 out, and words for people."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)?")


def parse(value: Any) -> datetime | None:
    """Return the time of an RFC 3339 text or a datetime, in UTC; None for anything else. Finer than a microsecond is cut."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    match = _STAMP.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return None
    day, clock, fraction, zone = match.groups()
    offset = "+00:00" if zone in (None, "Z", "z") else zone
    try:
        return datetime.fromisoformat(f"{day}T{clock}{(fraction or '')[:7]}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def stamp(time: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC (a fraction only where there is one), or None."""
    if time is None:
        return None
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def newest(*times: datetime | None) -> datetime | None:
    """Return the latest of the times that are known, or None."""
    return max((time for time in times if time is not None), default=None)


def oldest(*times: datetime | None) -> datetime | None:
    """Return the earliest of the times that are known, or None."""
    return min((time for time in times if time is not None), default=None)


def words(span: timedelta) -> str:
    """Return a duration in the two largest units that matter: `4 s`, `10 min`, `2 h 5 min`, `3 d 4 h`."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86400:
        hours, minutes = seconds // 3600, seconds % 3600 // 60
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = seconds // 86400, seconds % 86400 // 3600
    return f"{days} d {hours} h" if hours else f"{days} d"
