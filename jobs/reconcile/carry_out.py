"""Carrying out what was planned for the children of a TrainJob: nothing is taken from others, and a JobSet that cannot change is made anew."""

from dataclasses import dataclass
from datetime import datetime

from jobs.reconcile.children import Applied, Object, Plan, entry, key_of, owned_by
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.errors import Conflict, Invalid, NotFound

UNPROCESSABLE = 422


class Blocked(Exception):
    """An object that belongs to somebody else has the name of a child. It may go away again."""


class Refused(Exception):
    """The API server will never take a child as it is (`error`)."""

    def __init__(self, error: Invalid) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Done:
    """What is applied now. again: something has to end or to stop first. kept: a change could not reach the JobSet, and why."""

    applied: Applied
    again: bool = False
    kept: str = ""


def carry_out(cluster: Cluster, todo: Plan, owner_uid: str, now: datetime) -> Done:
    """Do what the plan says. Raises ClusterError, Blocked, Refused; what was done before it is done again harmlessly."""
    done = Done(dict(todo.applied))
    for obj in todo.apply:
        if key_of(obj) in todo.new:
            _check_free(cluster, obj, owner_uid)
        _apply(cluster, obj, now, done)
    for obj in todo.delete:
        try:
            cluster.delete(
                kinds.kind_of(obj), obj["metadata"]["namespace"], obj["metadata"]["name"], uid=obj["metadata"]["uid"]
            )
        except (NotFound, Conflict):  # gone, or another one has the name by now
            continue
    return done


def _check_free(cluster: Cluster, obj: Object, owner_uid: str) -> None:
    """Refuse to apply over an object that is not a child of this job: a forced apply would take it away from its owner."""
    live = _live(cluster, obj)
    if live is not None and not owned_by(live, owner_uid):
        name = f"{obj['kind']} {obj['metadata']['name']}"
        raise Blocked(f"{name} exists already and belongs to somebody else; the job goes on once it is removed")


def _apply(cluster: Cluster, obj: Object, now: datetime, done: Done) -> None:
    try:
        done.applied[key_of(obj)] = entry(obj, cluster.apply(obj, force=True), now)
        return
    except Invalid as error:
        if error.status != UNPROCESSABLE:
            raise
        live = _live(cluster, obj)
        if live is None:
            _apply_new(cluster, obj, now, done)
            return
        if obj["kind"] != kinds.JOB_SET.kind:
            raise
        kept = _cannot_change(cluster, obj, live)
        if kept:
            done.applied[key_of(obj)] = entry(obj, live, now) | {"seen": True}
            done.kept = f"{kept} {error.message}"  # ours first: JobSet's webhook repeats the whole field, more than an event holds
        else:
            done.again = True


def _apply_new(cluster: Cluster, obj: Object, now: datetime, done: Done) -> None:
    """Apply an object that is not there (any more): what was refused as a change of one that went meanwhile may be fine; as new it is for good."""
    try:
        done.applied[key_of(obj)] = entry(obj, cluster.apply(obj, force=True), now)
    except Invalid as error:
        if error.status == UNPROCESSABLE and _live(cluster, obj) is None:
            raise Refused(error) from error
        raise


def _cannot_change(cluster: Cluster, obj: Object, live: Object) -> str:
    """Bring a JobSet forward whose fields are immutable; return why it stays as it is, or an empty text when a later pass goes on.

    While it runs only `suspend` is set: the change waits until the job stands still. Then it is made anew, unless its volumes would go
    with it (kubeflow/trainer#3995: upstream leaves such a job hanging).
    """
    kind, metadata = kinds.JOB_SET, live["metadata"]
    wanted, held = bool(obj["spec"].get("suspend")), bool(live["spec"].get("suspend"))
    if metadata.get("deletionTimestamp"):
        return ""
    if held and not _has_claims(live):
        cluster.delete(kind, metadata["namespace"], metadata["name"], propagation="Foreground", uid=metadata["uid"])
        return ""
    if wanted != held:
        cluster.merge_patch(kind, metadata["namespace"], metadata["name"], {"spec": {"suspend": wanted}})
        return ""
    return (
        "The JobSet stays as it is, because its volumes would go with it."
        if held
        else "The change of the JobSet waits until it is suspended."
    )


def _has_claims(jobset: Object) -> bool:
    policies = jobset["spec"].get("volumeClaimPolicies") or []
    return any((policy.get("retentionPolicy") or {}).get("whenDeleted", "Delete") == "Delete" for policy in policies)


def _live(cluster: Cluster, obj: Object) -> Object | None:
    try:
        return cluster.get(kinds.kind_of(obj), obj["metadata"]["namespace"], obj["metadata"]["name"])
    except NotFound:
        return None
