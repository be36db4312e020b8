"""Refusals of the local cluster, each of which is one Kubernetes Status object."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trainui.localcluster.resources import Kind


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with an object, at a field path such as `spec.trainer.numNodes`."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class ApiError(Exception):
    """A refusal with the HTTP code, the reason and the details that Kubernetes would give."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        causes: Iterable[Cause] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.causes = tuple(causes)

    def status(self) -> dict[str, Any]:
        """Return the Status object that a client receives."""
        details = dict(self.details)
        if self.causes:
            details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in self.causes]
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status |= {"message": self.message, "reason": self.reason}
        if details:
            status["details"] = details
        status["code"] = self.code
        return status


def _details(kind: Kind, name: str) -> dict[str, Any]:
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in details.items() if value}


def not_found(kind: Kind, name: str) -> ApiError:
    """Return the 404 of an object that does not exist."""
    return ApiError(404, "NotFound", f'{kind.resource} "{name}" not found', _details(kind, name))


def already_exists(kind: Kind, name: str) -> ApiError:
    """Return the 409 of a name that is taken."""
    return ApiError(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', _details(kind, name))


def conflict(kind: Kind, name: str, why: str, causes: Iterable[Cause] = ()) -> ApiError:
    """Return the 409 of a write that was made against another state of the object."""
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(kind, name), causes)


def stale(kind: Kind, name: str) -> ApiError:
    """Return the 409 of a write whose resourceVersion is not the current one."""
    return conflict(
        kind, name, "the object has been modified; please apply your changes to the latest version and try again"
    )


def invalid(kind: Kind, name: str, causes: Iterable[Cause]) -> ApiError:
    """Return the 422 that lists what is wrong with an object, field by field."""
    found = tuple(causes)
    texts = [f"{c.field}: {c.message}" if c.field else c.message for c in found]
    text = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    message = f'{kind.kind}{"." + kind.group if kind.group else ""} "{name}" is invalid: {text}'
    return ApiError(422, "Invalid", message, _details(kind, name) | {"kind": kind.kind}, found)


def bad_request(message: str) -> ApiError:
    """Return the 400 of a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str) -> ApiError:
    """Return the 403 of a write that the state of the cluster does not allow."""
    message = f'{kind.resource} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(kind, name))


def gone(message: str) -> ApiError:
    """Return the 410 of a version whose changes are no longer kept: list again."""
    return ApiError(410, "Expired", message)
