"""How long a Job waits before it replaces a failed pod. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from trainui.localcluster.controllers.meta import created, find_condition, parse_time, status_of

Obj = dict[str, Any]

DEFAULT_BASE = 10.0
LONGEST = 600.0


@dataclass(frozen=True, slots=True)
class BackoffRecord:
    """Failures of a Job's pods since its last success, and when the last one was."""

    failures: int = 0
    last: datetime | None = None


def finished_at(pod: Obj) -> datetime | None:
    """Return when a pod ended.

    The latest end of its containers if all have ended, else when it stopped being ready, else when its deletion was asked for, else its
    creation: the order in which Kubernetes looks.
    """
    status = status_of(pod)
    ends = [
        parse_time(((container.get("state") or {}).get("terminated") or {}).get("finishedAt"))
        for container in _long_lived(pod, status)
    ]
    known = [end for end in ends if end is not None]
    if known and len(known) == len(ends):
        return max(known)
    ready = find_condition(status.get("conditions"), "Ready")
    stopped = parse_time((ready or {}).get("lastTransitionTime"))
    if ready and ready.get("status") == "False" and stopped:
        return stopped
    deletion = parse_time(pod["metadata"].get("deletionTimestamp"))
    if deletion:
        return deletion - timedelta(seconds=pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    return created(pod)


def _long_lived(pod: Obj, status: Obj) -> list[Obj]:
    """Return the statuses of containers and sidecars, which all have an end when the pod has."""
    init = (pod.get("spec") or {}).get("initContainers") or ()
    sidecars = {container["name"] for container in init if container.get("restartPolicy") == "Always"}
    found = list(status.get("containerStatuses") or ())
    return found + [c for c in status.get("initContainerStatuses") or () if c.get("name") in sidecars]


def next_record(record: BackoffRecord, succeeded: Iterable[Obj], failed: Iterable[Obj], now: datetime) -> BackoffRecord:
    """Return the record after these pods have newly ended: a success starts the count again."""
    successes = sorted(end for end in map(finished_at, succeeded) if end)
    failures = sorted(min(end, now) for end in map(finished_at, failed) if end)
    if successes:
        later = [end for end in failures if end > successes[-1]]
        return BackoffRecord(len(later), later[-1] if later else None)
    if not failures:
        return record
    last = failures[-1] if record.last is None else max(record.last, failures[-1])
    return BackoffRecord(record.failures + len(failures), last)


def seconds_left(failures: int, last: datetime | None, now: datetime, base: float = DEFAULT_BASE) -> float:
    """Return the seconds until a pod may be created: `base`, doubled with each failure up to ten minutes, after the last failure.

    After a failure in the future (the clock was set back) there is no wait: nobody could tell when it is over.
    """
    if failures <= 0 or last is None or last > now:
        return 0.0
    wait = min(base * 2.0 ** min(failures - 1, 30), LONGEST)
    return max(wait - (now - last).total_seconds(), 0.0)
