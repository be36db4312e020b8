"""What the record remembers of the last observation, for the time when the objects that showed it are gone.

The record holds phase and code, and under `state` the last JobState as plain data. Of a job that goes on nothing is remembered but
since when; of one that has ended, the sentence, the cause and the last that was seen of each node.
"""

from dataclasses import fields
from datetime import datetime
from typing import Any

from jobs.state.codes import CODES, title, tone
from jobs.state.model import Cause, NodeState, Verdict
from jobs.state.reading import Object, mapping, objects, text
from jobs.state.times import parse
from jobs.state.view import View


def kept(view: View) -> Verdict:
    """Return the finished state that the record holds: a job that has ended stays as it ended."""
    phase, code = text(view.record, "phase"), text(view.record, "code")
    sentence = _text(view, "sentence") or f"{title(phase, code) or phase}."
    since = when(view, "since") or when(view, "finished_at")
    return Verdict(phase, code, _text(view, "tone") or tone(phase, code), sentence, since, cause=cause(view))


def failure(view: View) -> Verdict | None:
    """Return the failure that the record holds, if it holds one whose code is known."""
    known = ("Failed", text(view.record, "code")) in CODES and text(view.record, "phase") == "Failed"
    return kept(view) if known else None


def has_sentence(view: View) -> bool:
    """Return whether the record holds the sentence of its state."""
    return bool(_text(view, "sentence"))


def when(view: View, key: str) -> datetime | None:
    """Return a time that the record holds, itself or in its last state."""
    return parse(_value(view, key))


def cause(view: View) -> Cause | None:
    """Return the cause of the failure that the record holds, or None."""
    found = mapping(_value(view, "cause"))
    if not found or not isinstance(found.get("reason"), str):
        return None
    values = {field.name: found.get(field.name) for field in fields(Cause)}
    return Cause(**(values | {"message": text(found, "message")}))  # type: ignore[arg-type]


def nodes(view: View) -> dict[tuple[str, int, int], Object]:
    """Return what was last seen of each node, by replicated job, job index and index."""
    found: dict[tuple[str, int, int], Object] = {}
    for node in objects(view.record, "state", "nodes"):
        place = (node.get("replicated_job"), node.get("job_index"), node.get("index"))
        if isinstance(place[0], str) and isinstance(place[1], int) and isinstance(place[2], int):
            found[place[0], place[1], place[2]] = node
    return found


def node(last: Object, fresh: NodeState) -> NodeState:
    """Return a node as it was last seen; what had not ended by then was stopped with the job."""
    values: dict[str, Any] = {
        field.name: last.get(field.name, getattr(fresh, field.name)) for field in fields(NodeState)
    }
    if values["state"] not in ("succeeded", "failed", "lost"):
        values |= {"state": "lost", "reason": "Stopped", "message": None}
    return NodeState(**values)


def _value(view: View, key: str) -> Any:
    own = view.record.get(key)
    return own if own is not None else mapping(view.record, "state").get(key)


def _text(view: View, key: str) -> str:
    found = _value(view, key)
    return found if isinstance(found, str) else ""
