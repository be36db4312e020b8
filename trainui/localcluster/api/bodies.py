"""Reading request bodies: JSON or YAML, of bounded size, with a check for fields that a kind does not have."""

from dataclasses import dataclass
from typing import Any

import orjson
import yaml
from starlette.requests import Request

from trainui.localcluster.api import protobuf
from trainui.localcluster.errors import ApiError, Cause, bad_request, invalid
from trainui.localcluster.resources import KINDS
from trainui.localcluster.schema.conform import conform
from trainui.localcluster.schema.kinds import SCHEMAS

MAX_BODY = 3 * 1024 * 1024
_YAML = ("application/yaml", "application/apply-patch+yaml", "text/yaml")
_JSON = (
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "",
)
_KEPT = "trainui.localcluster.body"
STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"


def media_type(request: Request) -> str:
    """Return the content type of a request, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request) -> bytes:
    """Return the body, also a second time. Raises ApiError 413 when it is longer than 3 MiB, without reading on."""
    kept: bytes | None = request.scope.get(_KEPT)
    if kept is not None:
        return kept
    too_large = ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY}")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BODY:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise too_large
        parts.append(part)
    body = request.scope[_KEPT] = b"".join(parts)
    return body


async def read_document(request: Request) -> Any:
    """Return the parsed body. Raises ApiError: 400 for one that cannot be read, 413, 415 for another media type."""
    kind = media_type(request)
    if kind not in (*_YAML, *_JSON, protobuf.MEDIA_TYPE):
        accepted = ", ".join(sorted({*_YAML, *_JSON, protobuf.MEDIA_TYPE} - {""}))
        message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise ApiError(415, "UnsupportedMediaType", message)
    body = await read_body(request)
    return parse_document(body, kind)


def parse_document(body: bytes, kind: str) -> Any:
    """Return a body of a known media type as plain JSON. Raises ApiError: 400, or 415 for protobuf that is not read here."""
    try:
        if kind == protobuf.MEDIA_TYPE:
            return protobuf.read_object(body)
        return _parse_yaml(body) if kind in _YAML else orjson.loads(body)
    except protobuf.Unreadable as error:
        raise ApiError(415, "UnsupportedMediaType", f"the protobuf body cannot be read: {error}") from error
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"the body of the request cannot be read: {error}") from error


class _Loader(yaml.CSafeLoader):  # type: ignore[misc, unused-ignore]
    """Reads YAML as Kubernetes does: times stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _parse_yaml(body: bytes) -> Any:
    """Return the one document of a YAML text as plain JSON; aliases are refused, since a small text can stand for a huge object."""
    if body.lstrip()[:1] in (b"{", b"["):
        try:
            return orjson.loads(body)
        except ValueError:
            pass
    if b"*" in body and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(body, Loader=yaml.CSafeLoader)):
        raise ValueError("YAML aliases are not supported")
    document = yaml.load(body, Loader=_Loader)  # noqa: S506 - a safe loader
    return orjson.loads(orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS))


@dataclass(frozen=True, slots=True)
class Shaped:
    """A body with only the fields that its kind has; a warning for each other one, and what else is wrong with it."""

    obj: dict[str, Any]
    warnings: list[str]
    causes: list[Cause]


def shape(kind: str, obj: dict[str, Any], mode: str) -> Shaped:
    """Return a body in the form of its kind: unknown fields and nulls are dropped, nothing is filled in.

    Raises ApiError: 422 where a value has another type than the kind gives it, so that what comes after may rely on types; 400 naming
    unknown fields when `mode` is Strict.
    """
    if mode not in (STRICT, WARN, IGNORE, ""):
        message = f'fieldValidation: Unsupported value: "{mode}": supported values: "Ignore", "Strict", "Warn"'
        raise ApiError(422, "Invalid", message, causes=[Cause("fieldValidation", message, "FieldValueNotSupported")])
    shaped, report = conform(SCHEMAS[kind], obj, custom=KINDS[kind].custom, defaults=False)
    if any(cause.reason == "FieldValueTypeInvalid" for cause in report.causes):
        name = (obj.get("metadata") or {}).get("name", "")
        raise invalid(KINDS[kind], str(name), report.causes)
    texts = [f'unknown field "{path}"' for path in report.unknown]
    if texts and mode == STRICT:
        causes = [Cause(path, "unknown field", "UnknownField") for path in report.unknown]
        raise ApiError(400, "BadRequest", f"strict decoding error: {', '.join(texts)}", causes=causes)
    return Shaped(shaped, [] if mode == IGNORE else texts, report.causes)
