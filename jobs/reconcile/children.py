"""Keeping the children of a TrainJob as the builders say: applied when missing, changed or edited; pod groups removed when not wanted."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from jobs.reconcile.mirror import Mirror
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.errors import NotFound

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
    applied: Applied = field(default_factory=dict)
    recheck_at: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is to be done."""
        return not self.apply and not self.delete


def plan(desired: list[Object], mirror: Mirror, applied: Applied, owner_uid: str, now: datetime) -> Plan:
    """Compare what should be with what watch saw and what was applied before; pure."""
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
        elif before["seen"] or now - datetime.fromisoformat(before["at"]) >= UNSEEN_GRACE:
            result.apply.append(obj)
        else:
            result.applied[key] = before
            result.recheck_at = datetime.fromisoformat(before["at"]) + UNSEEN_GRACE
    wanted = {key_of(obj) for obj in desired}
    result.applied |= {
        key: _seen(entry, key, mirror)
        for key, entry in applied.items()
        if key.startswith(SECRET_PREFIX) and key not in wanted
    }
    result.delete = [
        g
        for g in mirror.all(*POD_GROUPS)
        if key_of(g) not in wanted and _owned(g, owner_uid) and not g["metadata"].get("deletionTimestamp")
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
    return any(now - datetime.fromisoformat(entry["at"]) < UNSEEN_GRACE for entry in fresh)


def carry_out(cluster: Cluster, todo: Plan, now: datetime) -> Applied:
    """Do what the plan says and return what is applied now. Raises ClusterError; what was done before it is done again harmlessly."""
    applied = dict(todo.applied)
    for obj in todo.apply:
        stored = cluster.apply(obj)
        applied[key_of(obj)] = {"hash": _digest(obj), "version": version(stored), "at": now.isoformat(), "seen": False}
    for obj in todo.delete:
        try:
            cluster.delete(
                kinds.kind_of(obj), obj["metadata"]["namespace"], obj["metadata"]["name"], uid=obj["metadata"]["uid"]
            )
        except NotFound:
            continue
    return applied


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


def _seen(entry: dict[str, Any], key: str, mirror: Mirror) -> dict[str, Any]:
    there = key.removeprefix(SECRET_PREFIX) in mirror.objects.get(kinds.SECRET.key, {})
    return entry | {"seen": entry["seen"] or there}


def _owned(obj: Object, uid: str) -> bool:
    return any(o.get("uid") == uid for o in obj["metadata"].get("ownerReferences") or [])
