"""Events of the controllers: core/v1, repeated ones counted, many similar ones combined."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from trainui.localcluster.controllers.meta import Obj, format_time, name_of, namespace_of, uid_of
from trainui.localcluster.errors import ApiError
from trainui.localcluster.store import Store

REMEMBERED = 4096
MOST_SIMILAR = 10
"""So many different messages with one reason about one object are events of their own; further ones are combined."""
SIMILAR_WINDOW = 600.0
LONGEST_MESSAGE = 1024
COMBINED = "(combined from similar events): "


@dataclass(slots=True)
class _Similar:
    """How many different messages there were with one reason about one object, since when."""

    since: float
    messages: int = 0


class Recorder:
    """Writes the events of one component, such as `job-controller`."""

    def __init__(self, store: Store, component: str) -> None:
        self._store = store
        self._component = component
        self._known: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._similar: OrderedDict[tuple[str, ...], _Similar] = OrderedDict()

    def note(self, about: Obj, type_: str, reason: str, message: str, now: datetime) -> None:
        """Record an event about an object.

        The same event again raises its count. An event that cannot be written is let go: it is news, not state.
        """
        uid = uid_of(about)
        message = self._combined((uid, type_, reason), message, now.timestamp())
        key = (uid, type_, reason, COMBINED if message.startswith(COMBINED) else message)
        namespace = namespace_of(about) or "default"
        known = self._store.get("Event", namespace, self._known.get(key, ""))
        try:
            if known is not None:
                again = {**known, "message": message, "count": known.get("count", 1) + 1}
                self._store.update("Event", again | {"lastTimestamp": format_time(now)})
                self._known.move_to_end(key)
            else:
                self._known[key] = name_of(self._store.create("Event", self._event(about, type_, reason, message, now)))
        except ApiError as error:
            if error.code >= 500:
                raise
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _combined(self, key: tuple[str, ...], message: str, now: float) -> str:
        message = message[:LONGEST_MESSAGE]
        if (*key, message) in self._known:
            return message
        similar = self._similar.get(key)
        if similar is None or now - similar.since > SIMILAR_WINDOW:
            similar = self._similar[key] = _Similar(now)
        self._similar.move_to_end(key)
        while len(self._similar) > REMEMBERED:
            self._similar.popitem(last=False)
        similar.messages += 1
        return message if similar.messages <= MOST_SIMILAR else (COMBINED + message)[:LONGEST_MESSAGE]

    def _event(self, about: Obj, type_: str, reason: str, message: str, now: datetime) -> Obj:
        stamp = format_time(now)
        metadata = about["metadata"]
        involved = {
            "apiVersion": about.get("apiVersion", ""),
            "kind": about.get("kind", ""),
            "name": name_of(about),
            "uid": uid_of(about),
            "resourceVersion": metadata.get("resourceVersion", ""),
        }
        if namespace_of(about):
            involved["namespace"] = namespace_of(about)
        return {
            "metadata": {
                "name": f"{name_of(about)[:200]}.{secrets.token_hex(8)}",
                "namespace": namespace_of(about) or "default",
            },
            "involvedObject": involved,
            "type": type_,
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
