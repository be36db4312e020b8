"""Keeping the children of a TrainJob as the builders say: applied when missing, changed or edited; pod groups removed when not wanted."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from jobs.reconcile.mirror import Mirror
from trainui.cluster import kinds

Object = dict[str, Any]
Applied = dict[str, dict[str, Any]]
UNSEEN_GRACE = timedelta(seconds=5)  # how long watch may take to show what was applied before it counts as gone
SECRET_PREFIX = "/Secret/"  # noqa: S105  of keys in Applied
PROGRESS_SUFFIX = "-trainui-progress"
POD_GROUPS = (kinds.POD_GROUP, kinds.COSCHEDULING_POD_GROUP, kinds.VOLCANO_POD_GROUP)


@dataclass
class Plan:
    """What to do to the children now, and when to look again for those that watch has not shown yet."""

    apply: list[Object] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)
    new: set[str] = field(default_factory=set)  # those to apply that this job never had
    applied: Applied = field(default_factory=dict)
    recheck_at: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is to be done."""
        return not self.apply and not self.delete


def plan(
    desired: list[Object], mirror: Mirror, applied: Applied, owner_uid: str, now: datetime, stop: bool = False
) -> Plan:
    """Compare what should be with what watch saw and what was applied before; pure.

    stop: the job was ended by us, so its JobSet goes, again and again until it is gone (kubeflow/trainer#3833: upstream tries once).
    """
    result = Plan()
    for obj in desired:
        key, kind = key_of(obj), kinds.kind_of(obj)
        observed, before, digest = mirror.one(kind, obj["metadata"]["name"]), applied.get(key), _digest(obj)
        if obj["kind"] == "Secret" and observed is not None:  # made once: its key material is not made again
            result.applied[key] = (before or {"hash": digest, "version": version(observed), "at": now.isoformat()}) | {
                "seen": True
            }
        elif before is None or before["hash"] != digest:
            result.apply.append(obj)
        elif observed is not None:
            result.applied[key] = before | {"seen": True}
            if version(observed) != before["version"]:
                result.apply.append(obj)
        elif before["seen"] or not _fresh(before, now):
            result.apply.append(obj)
        else:
            result.applied[key] = before
            result.recheck_at = datetime.fromisoformat(before["at"]) + UNSEEN_GRACE
    result.new = {key_of(obj) for obj in result.apply} - applied.keys()
    wanted = {key_of(obj) for obj in desired}
    result.applied |= {
        key: _seen(before, key, mirror)
        for key, before in applied.items()
        if key.startswith(SECRET_PREFIX) and key not in wanted
    }
    result.delete = [
        obj
        for obj in mirror.all(*((kinds.JOB_SET,) if stop else ()), *POD_GROUPS)
        if key_of(obj) not in wanted and owned_by(obj, owner_uid) and not obj["metadata"].get("deletionTimestamp")
    ]
    return result


def has_keys(mirror: Mirror, applied: Applied, now: datetime) -> bool:
    """Whether the job's key material is in the cluster, or was put there a moment ago: it is made once."""
    if any(not name.endswith(PROGRESS_SUFFIX) for name in mirror.objects.get(kinds.SECRET.key, {})):
        return True
    fresh = [
        entry
        for key, entry in applied.items()
        if key.startswith(SECRET_PREFIX) and not key.endswith(PROGRESS_SUFFIX) and not entry["seen"]
    ]
    return any(_fresh(entry, now) for entry in fresh)


def _fresh(before: dict[str, Any], now: datetime) -> bool:
    """Whether watch may not have shown yet what was applied; not when it was applied in the future, since the clock was set back."""
    return timedelta(0) <= now - datetime.fromisoformat(before["at"]) < UNSEEN_GRACE


def entry(obj: Object, stored: Object, now: datetime) -> dict[str, Any]:
    """Return what is remembered of an object that was applied as `obj` and is `stored` now."""
    return {"hash": _digest(obj), "version": version(stored), "at": now.isoformat(), "seen": False}


def version(obj: Object) -> str:
    """Return what changes when somebody edits an object, but not when a controller writes its status."""
    metadata = obj["metadata"]
    if metadata.get("generation"):
        return f"{metadata['generation']}:{_digest([metadata.get('labels') or {}, metadata.get('annotations') or {}])[:16]}"
    return str(metadata.get("resourceVersion", ""))


def key_of(obj: Object) -> str:
    """Return `group/Kind/name`."""
    group = obj["apiVersion"].rpartition("/")[0]
    return f"{group}/{obj['kind']}/{obj['metadata']['name']}"


def _digest(value: Any) -> str:
    """Digest of a value; of a Secret without its values, which are made anew at every build."""
    if isinstance(value, dict) and value.get("kind") == "Secret":
        value = {k: v for k, v in value.items() if k not in ("data", "stringData")}
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _seen(before: dict[str, Any], key: str, mirror: Mirror) -> dict[str, Any]:
    there = key.removeprefix(SECRET_PREFIX) in mirror.objects.get(kinds.SECRET.key, {})
    return before | {"seen": before["seen"] or there}


def owned_by(obj: Object, uid: str) -> bool:
    """Return whether an object names this uid as an owner."""
    return any(o.get("uid") == uid for o in obj["metadata"].get("ownerReferences") or [])
