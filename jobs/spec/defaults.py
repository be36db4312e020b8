"""What the API server and Trainer's mutating webhook fill into a TrainJob when it is stored."""

import copy
import datetime
from typing import Any

from jobs.spec.schema import TRAIN_JOB
from runtimes.spec.access import as_map, dig, maps
from runtimes.spec.schema import prune, with_defaults


def timestamp(now: datetime.datetime) -> str:
    """Return a time as Kubernetes writes it: UTC, whole seconds. A time without zone is taken as UTC."""
    aware = now if now.tzinfo else now.replace(tzinfo=datetime.UTC)
    return aware.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def default_trainjob(
    trainjob: dict[str, Any], now: datetime.datetime, old: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the TrainJob as it is stored: unknown fields and nulls gone, defaults filled in, runtime patches stamped.

    now: the time of the request. old: the stored object if this is an update; a patch that did not change keeps its time, a changed one
    gets now. The rules are those of the CRD and of Trainer's mutating webhook (v2.3.0). Values of a wrong type stay: validation reports them.
    """
    stored: dict[str, Any] = with_defaults(TRAIN_JOB, prune(TRAIN_JOB, trainjob))
    spec = dig(stored, "spec")
    if isinstance(spec, dict):
        before = {p.get("manager"): p for p in maps(dig(old, "spec", "runtimePatches"))}
        for patch in maps(spec.get("runtimePatches")):
            _stamp(patch, before.get(patch.get("manager")), timestamp(now))
    return stored


def _stamp(patch: dict[str, Any], before: dict[str, Any] | None, now: str) -> None:
    if before is None:
        patch.setdefault("time", now)
    elif untimed(patch) == untimed(before):
        patch["time"] = before.get("time", now)
    else:
        patch["time"] = now


def untimed(patch: dict[str, Any]) -> dict[str, Any]:
    """Return a runtime patch without its time: what decides whether it changed."""
    return {key: value for key, value in patch.items() if key != "time"}


def effective_trainer(trainjob: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of `spec.trainer`; an absent one is an empty one (upstream injects nothing then, trainer#4076)."""
    return copy.deepcopy(as_map(dig(trainjob, "spec", "trainer")))
