"""The thin shell around pure decisions: one dispatcher of changes, one work queue and one task per controller."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Create, Delete, Note, Plan, Update
from trainui.localcluster.controllers.queue import WorkQueue
from trainui.localcluster.controllers.recorder import Recorder
from trainui.localcluster.errors import ApiError
from trainui.localcluster.store import Store

log = logging.getLogger(__name__)


class Controller:
    """Brings what its keys stand for to what it should be.

    A reconcile reads and writes without an `await`, so nothing changes under it; it is repeated with back-off when it raises.
    """

    name: ClassVar[str] = "controller"
    kinds: ClassVar[frozenset[str]] = frozenset()
    """The kinds whose changes `keys` wants to see."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.recorder = Recorder(store, self.name)
        self.queue: WorkQueue[str] = WorkQueue(asyncio.get_running_loop().time)

    def keys(self, change: Change) -> Iterable[str]:
        """Return the keys that a change makes due."""
        raise NotImplementedError

    def all_keys(self) -> Iterable[str]:
        """Return every key there is, for the look at the start."""
        raise NotImplementedError

    def reconcile(self, key: str) -> float | None:
        """Do what is due for a key; return the seconds after which to look again, None for when something changes."""
        raise NotImplementedError

    def now(self) -> datetime:
        """Return the time of the store's clock."""
        return datetime.fromtimestamp(self.store.clock(), UTC)

    async def run(self) -> None:
        """Work until cancelled."""
        for key in self.all_keys():
            self.queue.add(key)
        while True:
            key = await self.queue.take()
            try:
                again = self.reconcile(key)
            except Exception:
                log.exception("%s: %s failed, next try in %.2f s", self.name, key, self.queue.failed(key))
            else:
                self.queue.succeeded(key)
                if again is not None:
                    self.queue.add_after(key, again)
            # Others in this loop (the API) get their turn between two keys.
            await asyncio.sleep(0)

    def carry_out(self, plan: Plan) -> list[tuple[Create, ApiError]]:
        """Carry out the actions of a plan in one transaction; return the creations that were refused.

        Raises ApiError for any other refusal: then nothing of the plan has happened.
        """
        refused: list[tuple[Create, ApiError]] = []
        if not plan.actions:
            return refused
        with self.store.transaction():
            for action in plan.actions:
                if isinstance(action, Create):
                    try:
                        self.created(action, self.store.create(action.kind, action.obj))
                    except ApiError as error:
                        if error.code >= 500:
                            raise
                        refused.append((action, error))
                elif isinstance(action, Update):
                    self._update(action)
                elif isinstance(action, Delete):
                    self._delete(action)
                else:
                    self.note(action)
        return refused

    def created(self, action: Create, obj: dict[str, object]) -> None:
        """Called after each creation of a plan."""

    def note(self, note: Note) -> None:
        """Record an event."""
        self.recorder.note(note.about, note.type, note.reason, note.message, self.now())

    def _update(self, action: Update) -> None:
        # A plan may write an object twice, and nobody else writes in between: the version that was read is of no use.
        metadata = {key: value for key, value in action.obj["metadata"].items() if key != "resourceVersion"}
        try:
            self.store.update(action.kind, {**action.obj, "metadata": metadata}, action.subresource)
        except ApiError as error:
            if error.code != 404:
                raise

    def _delete(self, action: Delete) -> None:
        try:
            self.store.delete(
                action.kind, action.namespace, action.name, action.propagation, action.uid or None, grace=action.grace
            )
        except ApiError as error:
            if error.code != 404:
                raise


async def run_all(store: Store, controllers: Sequence[Controller]) -> None:
    """Feed changes to controllers and run them until cancelled."""
    subscription = store.subscribe()
    by_kind: dict[str, list[Controller]] = {}
    for controller in controllers:
        for kind in controller.kinds:
            by_kind.setdefault(kind, []).append(controller)

    async def dispatch() -> None:
        try:
            while True:
                await subscription.wait()
                for change in subscription.take():
                    for controller in by_kind.get(change.kind, ()):
                        _dispatch_one(controller, change)
                await asyncio.sleep(0)
        finally:
            subscription.close()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(dispatch(), name="localcluster-changes")
        for controller in controllers:
            tasks.create_task(controller.run(), name=f"localcluster-{controller.name}")


def _dispatch_one(controller: Controller, change: Change) -> None:
    try:
        for key in controller.keys(change):
            controller.queue.add(key)
    except Exception:
        name = change.obj["metadata"].get("name")
        log.exception("%s: cannot tell what a change of %s %s means", controller.name, change.kind, name)
