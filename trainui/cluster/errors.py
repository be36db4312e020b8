"""What may go wrong with a call to the cluster, with the API server's own words kept for the user."""

from typing import Any

import orjson


class ClusterError(Exception):
    """A call failed: which one, on which object, and what the API server said.

    message: the server's own sentence. reason: its machine word (`Invalid`, `AlreadyExists`, ...). causes: [{field, reason, message}].
    """

    retryable = False

    def __init__(
        self,
        message: str,
        *,
        verb: str = "",
        what: str = "",
        status: int = 0,
        reason: str = "",
        causes: list[dict[str, Any]] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.verb = verb
        self.what = what
        self.status = status
        self.reason = reason
        self.causes = causes or []
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.verb} {self.what}: {self.message}".strip()


class NotFound(ClusterError):
    """404: no such object, or no such kind."""


class AlreadyExists(ClusterError):
    """409 at a create: the name is taken."""


class Conflict(ClusterError):
    """409 at a change: somebody else was faster, or another field manager owns a field."""


class Invalid(ClusterError):
    """400 or 422: the object can never be accepted as it is; `causes` names the fields."""


class Forbidden(ClusterError):
    """401 or 403: we may not, or an admission webhook refused."""


class Gone(ClusterError):
    """410: the resource version is too old; list again."""


class Unavailable(ClusterError):
    """The API server did not answer, or asks to come back later."""

    retryable = True


def from_response(status: int, body: bytes, *, verb: str, what: str, retry_after: str | None = None) -> ClusterError:
    """Return the error that an HTTP answer means; the body is a Status object or plain text."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = {}
    answer: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    message = (
        answer.get("message") or body[:500].decode("utf-8", "replace").strip() or f"the API server answered {status}"
    )
    reason = answer.get("reason", "")
    kinds: dict[int, type[ClusterError]] = {
        400: Invalid,
        401: Forbidden,
        403: Forbidden,
        404: NotFound,
        410: Gone,
        413: Invalid,
        415: Invalid,
        422: Invalid,
        429: Unavailable,
    }
    if status == 409:
        cls: type[ClusterError] = AlreadyExists if reason == "AlreadyExists" else Conflict
    else:
        cls = kinds.get(status, Unavailable if status >= 500 else ClusterError)
    details = answer.get("details") or {}
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
    return cls(
        message,
        verb=verb,
        what=what,
        status=status,
        reason=reason,
        causes=details.get("causes") or [],
        retry_after=seconds,
    )
