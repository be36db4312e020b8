"""The JobSet controller: reads what exists, carries out what `sync` says."""

from collections.abc import Iterable
from typing import Any, ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Create, Note
from trainui.localcluster.controllers.jobset import names
from trainui.localcluster.controllers.jobset.create import build_claims
from trainui.localcluster.controllers.jobset.sync import Observed, sync
from trainui.localcluster.controllers.meta import controller_of, is_controlled_by, name_of, namespace_of, uid_of
from trainui.localcluster.controllers.shell import Controller
from trainui.localcluster.errors import ApiError
from trainui.localcluster.store import Store

Obj = dict[str, Any]

FIRST_RETRY = 1.0
LONGEST_RETRY = 60.0
_REASONS = {
    "Job": "JobCreationFailed",
    "Service": "HeadlessServiceCreationFailed",
    "PersistentVolumeClaim": "PVCCreationFailed",
}


class JobSetController(Controller):
    """Keys are uids of JobSets."""

    name: ClassVar[str] = "jobset"
    kinds: ClassVar[frozenset[str]] = frozenset({"JobSet", "Job", "Service", "PersistentVolumeClaim"})

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._refusals: dict[str, int] = {}
        """How often in a row a JobSet was refused something that it wanted to create."""

    def keys(self, change: Change) -> Iterable[str]:
        """A JobSet itself, and the JobSet that controls a child."""
        if change.kind == "JobSet":
            return [uid_of(change.obj)]
        owner = controller_of(change.obj)
        return [owner["uid"]] if owner and owner.get("kind") == "JobSet" else []

    def all_keys(self) -> Iterable[str]:
        """Every JobSet."""
        return [uid_of(jobset) for jobset in self.store.list("JobSet")[0]]

    def reconcile(self, key: str) -> float | None:
        """Look at one JobSet."""
        found = self.store.by_uid(key)
        if found is None or found[0] != "JobSet":
            self._refusals.pop(key, None)
            return None
        jobset = found[1]
        plan = sync(jobset, self._observe(jobset), self.now())
        refused = self.carry_out(plan)
        for action, error in refused:
            self.note(Note(jobset, "Warning", _REASONS[action.kind], _creation_error(action, error)))
        if not refused:
            self._refusals.pop(key, None)
            return plan.again
        times = self._refusals[key] = self._refusals.get(key, 0) + 1
        return min(FIRST_RETRY * 2.0 ** min(times - 1, 10), LONGEST_RETRY)

    def _observe(self, jobset: Obj) -> Observed:
        namespace = namespace_of(jobset)
        jobs = [
            obj
            for kind, obj in self.store.dependents(uid_of(jobset))
            if kind == "Job" and is_controlled_by(obj, jobset)
        ]
        services = {names.subdomain(jobset)}
        claims = {name_of(claim) for claim in build_claims(jobset)}
        return Observed(
            jobs,
            frozenset(name for name in services if self.store.get("Service", namespace, name)),
            frozenset(name for name in claims if self.store.get("PersistentVolumeClaim", namespace, name)),
        )


def _creation_error(action: Create, error: ApiError) -> str:
    if action.kind == "Job":
        return f'job "{name_of(action.obj)}" creation failed with error: {error.message}'
    return error.message
