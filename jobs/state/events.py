"""Kubernetes events, core/v1 and events.k8s.io read alike."""

from collections.abc import Iterable

from jobs.state.reading import Object, mapping, moment, text
from jobs.state.times import newest, parse


class Event:
    """One event: what it is about, why, and when it was seen last."""

    def __init__(self, raw: Object) -> None:
        self.raw = raw
        about = mapping(raw, "involvedObject") or mapping(raw, "regarding")
        self.kind, self.name = text(about, "kind"), text(about, "name")
        self.namespace, self.uid = text(about, "namespace"), text(about, "uid")
        self.reason = text(raw, "reason")
        self.message = text(raw, "message") or text(raw, "note")
        series = parse(mapping(raw, "series").get("lastObservedTime"))
        seen = newest(series, parse(raw.get("lastTimestamp")), parse(raw.get("eventTime")))
        self.time = seen or moment(raw, "metadata", "creationTimestamp")


class Events:
    """The events of a snapshot that are of one namespace, oldest first, and found by their object."""

    def __init__(self, raw: Iterable[Object], namespace: str) -> None:
        found = [event for event in map(Event, raw) if event.namespace in ("", namespace)]
        self.all = sorted(found, key=_order)
        self._by_object: dict[tuple[str, str], list[Event]] = {}
        for event in self.all:
            self._by_object.setdefault((event.kind, event.name), []).append(event)

    def about(self, kind: str, name: str, uid: str = "") -> list[Event]:
        """Return the events about one object, oldest first; the uid counts where both are known."""
        found = self._by_object.get((kind, name), [])
        return [event for event in found if not uid or not event.uid or event.uid == uid]


def _order(event: Event) -> tuple[str, str, str, str, str, str]:
    """By time; events that are alike in all that is read of them may stand in any order."""
    time = event.time.isoformat() if event.time else ""
    return (time, event.kind, event.name, event.uid, event.reason, event.message)
