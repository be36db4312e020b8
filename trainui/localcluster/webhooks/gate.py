"""The gate between the API and the store: a write that webhooks must see stops here, is shown to them, and is then made again.

The store admits writes synchronously, in one piece with storing them, while a webhook answers after a while. So the first try of a write
ends with NeedsReview and changes nothing; the API asks the webhooks and repeats the request from its beginning. What they saw is compared
with what is about to be stored: after a change in between they are asked again. Writes of the controllers pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import orjson

from trainui.localcluster.admission import admit
from trainui.localcluster.admission.rules import Reader
from trainui.localcluster.objects import editable
from trainui.localcluster.patches.json_patch import json_patch
from trainui.localcluster.resources import KINDS, Obj
from trainui.localcluster.webhooks.call import ask
from trainui.localcluster.webhooks.configuration import Attempt, Hook, hooks

_CURRENT: ContextVar["Review | None"] = ContextVar("review", default=None)
# What differs between two tries of the same write.
_VOLATILE = ("uid", "creationTimestamp", "managedFields", "resourceVersion", "generation")


class NeedsReview(Exception):
    """A write was not made, because webhooks have to see it first."""

    def __init__(self, attempt: Attempt, asked: list[Hook], content: bytes) -> None:
        super().__init__("the write waits for its webhooks")
        self.attempt = attempt
        self.asked = asked
        self.content = content


@dataclass
class Review:
    """What the webhooks said of one request. manager: its field manager, as named by the client."""

    manager: str
    dry_run: bool
    warnings: list[str] = field(default_factory=list)
    _content: bytes = b""
    _changed: Obj | None = None

    @contextmanager
    def of_this_request(self) -> Iterator[None]:
        """Make the writes inside subject to webhooks."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    async def obtain(self, needed: NeedsReview) -> None:
        """Ask the webhooks that a write needs. Raises ApiError when one of them refuses."""
        attempt, changed, self.warnings = needed.attempt, False, []
        for hook in needed.asked:
            answer = await ask(hook, attempt, self.dry_run)
            self.warnings += answer.warnings
            if answer.patch:
                changed = True
                obj = json_patch(attempt.obj, answer.patch)
                attempt = Attempt(attempt.kind, attempt.operation, obj, attempt.old, attempt.manager)
        self._content, self._changed = needed.content, attempt.obj if changed else None

    def pass_on(self, reader: Reader, kind: str, old: Obj | None, stored: Obj, now: float) -> Obj:
        """Return the object as webhooks left it. Raises NeedsReview when they have not seen it."""
        attempt = Attempt(KINDS[kind], "UPDATE" if old else "CREATE", stored, old, self.manager)
        asked = hooks(reader, attempt)
        if not asked:
            return stored
        content = _content(old, stored)
        if content != self._content:
            raise NeedsReview(
                Attempt(attempt.kind, attempt.operation, editable(stored), old, self.manager), asked, content
            )
        if self._changed is None:
            return stored
        new = editable(self._changed)
        ours = {key: stored["metadata"][key] for key in ("name", *_VOLATILE) if key in stored["metadata"]}
        new["metadata"] = {**new["metadata"], **ours}
        return admit(reader, kind, old, new, None, now)


def gated(reader: Reader, kind: str, old: Obj | None, new: Obj, subresource: str | None, now: float) -> Obj:
    """Admit a write as `admit` does, and hold one of a client's until its webhooks have seen it."""
    stored = admit(reader, kind, old, new, subresource, now)
    review = _CURRENT.get()
    if review is None or subresource is not None:
        return stored
    return review.pass_on(reader, kind, old, stored, now)


def _content(old: Obj | None, new: Obj) -> bytes:
    metadata = {key: value for key, value in new["metadata"].items() if key not in _VOLATILE}
    if old is None and metadata.get("generateName"):
        metadata.pop("name", None)  # made anew at every try
    before = old["metadata"].get("resourceVersion") if old else None
    return orjson.dumps([before, {**new, "metadata": metadata}], option=orjson.OPT_SORT_KEYS)
