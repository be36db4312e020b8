"""Query parameters and delete options."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request

from trainui.localcluster.errors import ApiError, Cause, bad_request
from trainui.localcluster.tables import Key

MAX_MANAGER = 128


def text(request: Request, name: str, default: str = "") -> str:
    """Return a query parameter."""
    return request.query_params.get(name, default)


def flag(request: Request, name: str) -> bool:
    """Return a yes-or-no query parameter. Raises ApiError 400."""
    value = text(request, name)
    if value.lower() in ("", "0", "f", "false"):
        return False
    if value.lower() in ("1", "t", "true"):
        return True
    raise bad_request(f"{name} must be true or false, not {value!r}")


def number(request: Request, name: str, least: int = 0) -> int | None:
    """Return a whole-number query parameter, None when it is not given. Raises ApiError 400."""
    value = text(request, name)
    if not value:
        return None
    try:
        found = int(value)
    except ValueError:
        raise bad_request(f"{name} must be a whole number, not {value!r}") from None
    if found < least:
        raise bad_request(f"{name} must be at least {least}")
    return found


def version(request: Request) -> int | None:
    """Return the resourceVersion that a request asks for, None when it does not. Raises ApiError 400."""
    value = text(request, "resourceVersion")
    if not value:
        return None
    if not value.isdigit():
        raise bad_request(f'Invalid value: "{value}": resourceVersion is not a number')
    return int(value)


def dry_run(request: Request) -> bool:
    """Tell whether nothing shall be stored. Raises ApiError 422 for an unknown mode."""
    modes = request.query_params.getlist("dryRun")
    return _dry_run([mode for mode in modes if mode])


def _dry_run(modes: list[Any]) -> bool:
    for mode in modes:
        if mode != "All":
            message = f'dryRun: Unsupported value: "{mode}": supported values: "All"'
            raise ApiError(422, "Invalid", message, causes=[Cause("dryRun", message, "FieldValueNotSupported")])
    return bool(modes)


def manager(request: Request) -> str:
    """Return who writes: the parameter fieldManager, or the client's name as its User-Agent begins."""
    name = text(request, "fieldManager")
    if name and (len(name) > MAX_MANAGER or not name.isprintable()):
        message = f"fieldManager: Invalid value: must be printable and no more than {MAX_MANAGER} characters"
        raise ApiError(422, "Invalid", message, causes=[Cause("fieldManager", message)])
    return name or request.headers.get("user-agent", "unknown").partition("/")[0][:MAX_MANAGER] or "unknown"


def encode_continue(resource_version: str, last: Key) -> str:
    """Return the token with which a client gets the page behind `last`."""
    return base64.urlsafe_b64encode(orjson.dumps([resource_version, *last])).decode().rstrip("=")


def decode_continue(value: str) -> tuple[str, Key]:
    """Return the resourceVersion of the first page and the last key. Raises ApiError 400."""
    try:
        found = orjson.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
        resource_version, namespace, name = map(str, found)
    except (ValueError, TypeError, binascii.Error):
        raise bad_request("continue key is not valid") from None
    return resource_version, (namespace, name)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete."""

    propagation: str = "Background"
    grace: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


def delete_options(request: Request, body: Any) -> DeleteOptions:
    """Return the options from the body and, where it does not say, the query. Raises ApiError 400 or 422."""
    options = body if isinstance(body, dict) else {}
    preconditions = options.get("preconditions") or {}
    grace = options.get("gracePeriodSeconds")
    if grace is not None and (isinstance(grace, bool) or not isinstance(grace, int)):
        raise bad_request("gracePeriodSeconds must be a whole number")
    if grace is None:
        grace = number(request, "gracePeriodSeconds")
    propagation = options.get("propagationPolicy") or text(request, "propagationPolicy")
    orphan = options.get("orphanDependents")
    if not propagation and (orphan or (orphan is None and flag(request, "orphanDependents"))):
        propagation = "Orphan"
    return DeleteOptions(
        propagation=str(propagation or "Background"),
        grace=grace,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=_dry_run(options.get("dryRun") or []) or dry_run(request),
    )
