"""When a finished JobSet is to be deleted: ttlSecondsAfterFinished. Pure."""

from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.meta import find_condition, parse_time, status_of

Obj = dict[str, Any]


def seconds_left(jobset: Obj, now: datetime) -> float | None:
    """Return the seconds until a finished JobSet is to be deleted (zero or less: now), or None when it stays."""
    ttl = jobset["spec"].get("ttlSecondsAfterFinished")
    if ttl is None:
        return None
    for kind in ("Completed", "Failed"):
        condition = find_condition(status_of(jobset).get("conditions"), kind)
        finished = parse_time((condition or {}).get("lastTransitionTime"))
        if condition and condition.get("status") == "True" and finished:
            return float(ttl) - (now - finished).total_seconds()
    return None
