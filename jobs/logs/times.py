"""Log stamps (RFC 3339 with nanoseconds) as integers of nanoseconds since 1970, UTC; a float or a datetime would lose digits."""

import datetime as dt
import re
from functools import lru_cache
from zoneinfo import ZoneInfo

SECOND = 1_000_000_000
LONGEST_STAMP = 40  # characters; a kubelet's stamp has 30 or 35

_EPOCH = dt.datetime(1970, 1, 1)
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))\Z")


@lru_cache(maxsize=512)
def _day_seconds(day: bytes) -> int:
    return (dt.datetime.strptime(day.decode(), "%Y-%m-%d") - _EPOCH).days * 86400


@lru_cache(maxsize=1024)
def _second(text: bytes) -> int:
    """Nanoseconds of `YYYY-MM-DDTHH:MM:SS` in UTC; consecutive lines share it, so that most lines cost one look-up."""
    return parse_stamp(text + b"Z")


def parse_stamp(stamp: bytes | str) -> int:
    """Return the nanoseconds since 1970 of an RFC 3339 stamp with any offset; `:60` is read as the next second.

    Raises ValueError for anything else. Digits beyond nanoseconds are cut.
    """
    raw = stamp.encode() if isinstance(stamp, str) else stamp
    if len(raw) == 30 and raw.endswith(b"Z") and raw[19:20] == b"." and raw[20:29].isdigit():
        return _second(raw[:19]) + int(raw[20:29])
    match = _STAMP.match(raw)
    if not match:
        raise ValueError(f"not an RFC 3339 stamp: {raw[:LONGEST_STAMP]!r}")
    day, hour, minute, second, fraction, sign, off_hour, off_minute = match.groups()
    if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        raise ValueError(f"no such time: {raw[:LONGEST_STAMP]!r}")
    seconds = _day_seconds(day) + int(hour) * 3600 + int(minute) * 60 + int(second)
    if sign:
        offset = int(off_hour) * 3600 + int(off_minute) * 60
        seconds += offset if sign == b"-" else -offset
    return seconds * SECOND + int((fraction or b"").ljust(9, b"0"))


def format_stamp(ns: int) -> str:
    """Return the RFC 3339 stamp in UTC with nine decimals, as the kubelet writes it."""
    seconds, rest = divmod(ns, SECOND)
    return f"{_EPOCH + dt.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def since_time(ns: int) -> str:
    """Return the `sinceTime` that asks the kubelet for this stamp and later; it counts whole seconds."""
    return f"{_EPOCH + dt.timedelta(seconds=ns // SECOND):%Y-%m-%dT%H:%M:%SZ}"


def local_iso(ns: int, zone: str) -> str:
    """Return the local time of a time zone in ISO form, whole seconds with the offset. Raises ZoneInfoNotFoundError."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=ns // SECOND)
    return moment.astimezone(ZoneInfo(zone)).isoformat(timespec="seconds")
