"""The Job controller: reads a Job's pods, carries out what `sync` says."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Create, Note, Plan, Update
from trainui.localcluster.controllers.job.backoff import DEFAULT_BASE, BackoffRecord
from trainui.localcluster.controllers.job.pods import TRACKING
from trainui.localcluster.controllers.job.sync import is_finished, release, sync
from trainui.localcluster.controllers.meta import (
    controller_of,
    has_finalizer,
    is_controlled_by,
    name_of,
    namespace_of,
    pod_ended,
    uid_of,
)
from trainui.localcluster.controllers.shell import Controller
from trainui.localcluster.errors import ApiError
from trainui.localcluster.store import Store

Obj = dict[str, Any]

FIRST_RETRY = 1.0
LONGEST_RETRY = 60.0


class JobController(Controller):
    """Keys are uids of Jobs, also of Jobs that are gone while pods of theirs are left."""

    name: ClassVar[str] = "job-controller"
    kinds: ClassVar[frozenset[str]] = frozenset({"Job", "Pod", "ResourceQuota", "PriorityClass"})

    def __init__(self, store: Store, backoff: float = DEFAULT_BASE) -> None:
        """`backoff` is the wait before the first replacement of a failed pod, in seconds."""
        super().__init__(store)
        self._base = backoff
        self._records: dict[str, BackoffRecord] = {}
        self._refusals: dict[str, tuple[str, int]] = {}
        """Jobs whose pods were refused: the namespace, and how often in a row."""
        self._about: Obj | None = None

    def keys(self, change: Change) -> Iterable[str]:
        """A Job itself, the Job of a pod, and the Jobs that were refused pods once a namespace has more room."""
        if change.kind == "Job":
            return [uid_of(change.obj)]
        if change.kind != "Pod":
            return self._refused_in(namespace_of(change.obj) or None)
        owner = controller_of(change.obj)
        keys = []
        if owner is not None:
            keys = [owner["uid"]] if owner.get("kind") == "Job" else []
        elif has_finalizer(change.obj, TRACKING):
            keys = [uid_of(change.obj)]
        if self._refusals and (change.type == "DELETED" or pod_ended(change.obj)):
            keys += self._refused_in(namespace_of(change.obj))
        return keys

    def _refused_in(self, namespace: str | None) -> list[str]:
        return [uid for uid, (where, _) in self._refusals.items() if namespace in (None, where)]

    def all_keys(self) -> Iterable[str]:
        """Every Job, and what is left of Jobs that are gone."""
        keys = dict.fromkeys(uid_of(job) for job in self.store.list("Job")[0])
        for pod in self.store.list("Pod")[0]:
            if has_finalizer(pod, TRACKING):
                owner = controller_of(pod)
                keys[owner["uid"] if owner else uid_of(pod)] = None
        return keys

    def reconcile(self, key: str) -> float | None:
        """Look at one Job."""
        found = self.store.by_uid(key)
        if found is None or found[0] != "Job":
            self._forget(key)
            self._let_go(key, found)
            return None
        job = found[1]
        pods = [obj for kind, obj in self.store.dependents(key) if kind == "Pod" and is_controlled_by(obj, job)]
        plan, record = sync(job, pods, self._records.get(key, BackoffRecord()), self.now(), self._base)
        self._about = job
        try:
            refused = self._carry_out(plan)
        finally:
            self._about = None
        self._records[key] = record
        if is_finished(job):
            self._forget(key)
        if refused is None:
            self._refusals.pop(key, None)
            return plan.again
        return self._wait_after_refusal(job, plan)

    def _forget(self, key: str) -> None:
        self._records.pop(key, None)
        self._refusals.pop(key, None)

    def _let_go(self, key: str, found: tuple[str, Obj] | None) -> None:
        """Take the finalizer off pods that no Job counts any more."""
        pods = [obj for kind, obj in self.store.dependents(key) if kind == "Pod"]
        if found is not None and found[0] == "Pod":
            pods = [found[1]]
        self.carry_out(Plan([release(pod) for pod in pods if has_finalizer(pod, TRACKING)]))

    def created(self, action: Create, obj: Obj) -> None:
        """Tell of each pod that was created."""
        if self._about is not None and action.kind == "Pod":
            self.note(Note(self._about, "Normal", "SuccessfulCreate", f"Created pod: {name_of(obj)}"))

    def _carry_out(self, plan: Plan) -> ApiError | None:
        """Carry out a plan; when a pod is refused, none is created after it, and the status counts only what is there."""
        job = self._about
        creations = [action for action in plan.actions if isinstance(action, Create)]
        others = [action for action in plan.actions if not isinstance(action, Create)]
        refused: ApiError | None = None
        with self.store.transaction():
            missing = len(creations)
            for creation in creations:
                errors = self.carry_out(Plan([creation]))
                if errors:
                    refused = errors[0][1]
                    break
                missing -= 1
            self.carry_out(
                Plan([_fewer_active(action, missing) if isinstance(action, Update) else action for action in others])
            )
            if refused is not None and job is not None:
                self.note(Note(job, "Warning", "FailedCreate", f"Error creating: {refused.message}"))
        return refused

    def _wait_after_refusal(self, job: Obj, plan: Plan) -> float:
        _, times = self._refusals.get(uid_of(job), ("", 0))
        self._refusals[uid_of(job)] = (namespace_of(job), times + 1)
        wait = min(FIRST_RETRY * 2.0 ** min(times, 10), LONGEST_RETRY)
        return wait if plan.again is None else min(wait, plan.again)


def _fewer_active(action: Update, missing: int) -> Update:
    """Return the write of a Job's status without the pods that could not be created."""
    if action.kind != "Job" or not missing:
        return action
    status = action.obj["status"]
    return replace(action, obj={**action.obj, "status": {**status, "active": status["active"] - missing}})
