"""Pure encoding of server-sent events (HTML Living Standard, section 9.2)."""

import re

_LINE_END = re.compile(r"\r\n|\r|\n")


def encode(data: str, event: str = "", event_id: str = "", retry_ms: int | None = None) -> bytes:
    """Return one event as bytes.

    A CR in data would start a new field and let log text forge events (django-eventstream#185), so data is split at CR, LF and CRLF,
    and line ends are taken out of `event` and `event_id`.
    """
    lines = []
    if event_id:
        lines.append("id: " + _LINE_END.sub(" ", event_id).replace("\0", ""))
    if event:
        lines.append("event: " + _LINE_END.sub(" ", event))
    if retry_ms is not None:
        lines.append(f"retry: {retry_ms}")
    lines.extend("data: " + part for part in _LINE_END.split(data))
    return ("\n".join(lines) + "\n\n").encode()


def comment(text: str) -> bytes:
    """Return a comment line, which keeps a connection alive and is no event."""
    return f": {_LINE_END.sub(' ', text)}\n\n".encode()
