"""What the API server or a webhook answered, as findings at the fields it named."""

import re
from collections.abc import Mapping
from typing import Any

from runtimes.spec.access import as_list, as_map, dig
from runtimes.spec.findings import Finding

CODE = "rejected_by_cluster"

_DENIED = re.compile(r'admission webhook "[^"]+" denied the request: ')
# `spec.trainer.env: Invalid value: ...`, several of them in brackets and with commas.
_CAUSE = re.compile(
    r"(?P<field>(?:spec|metadata|status)\b[\w.\[\]/-]*|<nil>): "
    r"(?P<message>(?:Invalid value|Forbidden|Required value|Unsupported value|Duplicate value|Too long|Too many|Not found|Internal error)\b"
    r".*?)(?=, (?:spec|metadata|status)\b[\w.\[\]/-]*: (?:Invalid|Forbidden|Required|Unsupported|Duplicate|Too|Not|Internal)|\]?$)",
    re.DOTALL,
)
_DECODE = re.compile(
    r"cannot unmarshal (?P<found>\S+)(?: .*?)? into Go struct field \w+\.(?P<field>[\w.]+) of type (?P<type>\S+)"
)
_UNKNOWN = re.compile(r'unknown field "(?P<field>[^"]+)"')
# Upstream's webhooks name a Go field here.
_SPELLINGS = {"spec.RuntimeRef": "spec.runtimeRef"}


def findings_of_status(status: Mapping[str, Any]) -> list[Finding]:
    """Return the findings of a refusal (a Kubernetes Status object), all with the code `rejected_by_cluster`.

    Causes are used if there are any; else the message is searched for fields, as admission webhooks and the JSON decoder write them. At
    least one finding comes back. `http_status` and the API server's `reason` are in the params.
    """
    params = {"http_status": status.get("code"), "reason": status.get("reason", "")}
    causes = [cause for cause in as_list(dig(status, "details", "causes")) if isinstance(cause, dict)]
    found = [(str(c.get("field") or ""), str(c.get("message") or "")) for c in causes] or _in_message(
        str(status.get("message") or "")
    )
    return [Finding(_SPELLINGS.get(field, field), CODE, message, dict(params)) for field, message in found]


def _in_message(message: str) -> list[tuple[str, str]]:
    text = _DENIED.sub("", message, count=1)
    if decoded := _DECODE.search(text):
        return [(decoded["field"], f"must be of type {decoded['type']}, not {decoded['found']}")]
    if unknown := [(match["field"], f'unknown field "{match["field"]}"') for match in _UNKNOWN.finditer(text)]:
        return unknown
    causes = [("" if m["field"] == "<nil>" else m["field"], m["message"].rstrip("]")) for m in _CAUSE.finditer(text)]
    return causes or [("", text or "the API server refused the object without a reason")]


def is_final(status: Mapping[str, Any]) -> bool:
    """Whether the same request will be refused again: 422 or 400, not a quota (403) or a webhook that is down (500)."""
    return as_map(status).get("code") in (400, 422)
