"""What may go wrong with a call to the cluster, with the API server's own words kept for the user, and what to do about it."""

from typing import Any

import orjson

from trainui.cluster.advice import advice, denier, managers, unserved

MESSAGE_LIMIT = 2_000


class ClusterError(Exception):
    """A call failed: which one, on which object, what the API server said, and what helps.

    message: the server's own sentence. reason: its machine word (`Invalid`, `AlreadyExists`, ...). causes: [{field, reason, message}].
    advice: one sentence, empty where nothing is known. webhook: the admission webhook that denied or did not answer. managers:
    (field, manager) of each field that somebody else manages. carried_out: whether the call may have had its effect all the same.
    unserved_path: the path of a kind that the API server does not know.
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
        carried_out: bool = False,
        unserved_path: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.verb = verb
        self.what = what
        self.status = status
        self.reason = reason
        self.causes = causes or []
        self.retry_after = retry_after
        self.carried_out = carried_out
        self.webhook = denier(message)
        self.managers = managers(self.causes)
        self.advice = unserved(unserved_path) or advice(status, message, self.causes)

    @property
    def refused(self) -> bool:
        """Whether somebody said no, or a webhook that must agree said nothing; else a next try may just go through."""
        return bool(self.webhook) or (400 <= self.status < 500 and not self.retryable)

    def __str__(self) -> str:
        said = f"{self.verb} {self.what}: {self.message}".strip()
        return f"{said.rstrip('.: ')}. {self.advice}" if self.advice else said


class NotFound(ClusterError):
    """404: no such object, or no such kind."""


class AlreadyExists(ClusterError):
    """409 at a create: the name is taken."""


class Conflict(ClusterError):
    """409 at a change: somebody else was faster, or another field manager owns a field (`managers`)."""


class Invalid(ClusterError):
    """400, 413 or 422: the object can never be accepted as it is; `causes` names the fields."""


class Forbidden(ClusterError):
    """403: we may not, a quota is used up, the namespace is being deleted, or an admission webhook refused."""


class Unauthorized(Forbidden):
    """401: the API server does not know who we are, also after the credentials were read anew."""


class Gone(ClusterError):
    """410: the resource version, or the place in a list, is too old; list again."""


class Unavailable(ClusterError):
    """The API server did not answer, or asks to come back later."""

    retryable = True


class Unconfigured(Unavailable):
    """There are no usable credentials: asking again at once does not help."""


class Idle(Unavailable):
    """Nothing came over an open stream for so long that the connection may be dead; open it again where it was."""


_KINDS: dict[int, type[ClusterError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Unavailable,
}
_REFUSED_UNSEEN = 429  # answered before the call is looked at


def from_response(
    status: int, body: bytes, *, verb: str, what: str, retry_after: str | None = None, path: str = ""
) -> ClusterError:
    """Return the error that an HTTP answer means; the body is a Status object or plain text. path: where it was asked."""
    answer = _status_of(body)
    message = str(answer.get("message") or "") or body[:500].decode("utf-8", "replace").strip()
    reason = str(answer.get("reason") or "")
    details = answer.get("details")
    details = details if isinstance(details, dict) else {}
    causes = details.get("causes")
    cls = _KINDS.get(status, Unavailable if status >= 500 else ClusterError)
    if cls is Conflict and reason == "AlreadyExists":
        cls = AlreadyExists
    return cls(
        message[:MESSAGE_LIMIT] or f"the API server answered {status} without a word",
        verb=verb,
        what=what,
        status=status,
        reason=reason,
        causes=[cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else [],
        retry_after=_seconds(retry_after) or _seconds(details.get("retryAfterSeconds")),
        carried_out=cls is Unavailable and status != _REFUSED_UNSEEN,
        # Of an object that is not there, or its namespace, the answer tells the name.
        unserved_path=path if cls is NotFound and not details.get("name") else "",
    )


def _status_of(body: bytes) -> dict[str, Any]:
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _seconds(value: object) -> float | None:
    """Return a number of seconds; other forms of Retry-After (a date) are sent by no API server."""
    try:
        return max(0.0, float(str(value))) or None
    except ValueError:
        return None
