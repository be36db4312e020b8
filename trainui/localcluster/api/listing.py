"""Lists: selectors, pages, and the forms in which they are answered."""

from collections.abc import Iterable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from trainui.localcluster.api.accept import PARTIAL, TABLE, Form, wanted_form
from trainui.localcluster.api.options import decode_continue, encode_continue, number, text, version
from trainui.localcluster.api.printers import definitions, row, table
from trainui.localcluster.api.target import Target
from trainui.localcluster.errors import ApiError, Cause, gone
from trainui.localcluster.resources import Kind, Obj
from trainui.localcluster.selectors import Predicate, both, field_predicate, label_predicate
from trainui.localcluster.store import Store
from trainui.localcluster.tables import Entry, Key

MAX_WARNINGS = 32
"""Warnings in one answer; clients do not take any number of headers."""


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(orjson.dumps(content), status, headers, "application/json")


def selection(request: Request, target: Target) -> Predicate | None:
    """Return the predicate of a request's selectors, with the name of a single object; None selects everything."""
    kind = target.kind.kind
    found = both(label_predicate(text(request, "labelSelector")), field_predicate(kind, text(request, "fieldSelector")))
    if target.name is not None:
        found = both(found, field_predicate(kind, {"metadata.name": target.name}))
    return found


def list_objects(store: Store, request: Request, target: Target) -> Response:
    """Answer a GET of a collection. Raises ApiError 400 for selectors, limit or continue that cannot be read."""
    form, matches = wanted_form(request), selection(request, target)
    _check_version(request, int(store.version))
    limit = number(request, "limit") or 0
    state, after = store.version, None
    if text(request, "continue"):
        state, after = decode_continue(text(request, "continue"))
    entries, last = _page(store, target, matches, limit, after)
    metadata: Obj = {"resourceVersion": state}
    if last is not None:
        metadata["continue"] = encode_continue(state, last)
        if matches is None:
            left = sum(1 for _ in store.scan(target.kind.kind, target.namespace or None, last))
            metadata["remainingItemCount"] = left
    return render_list(target.kind, entries, metadata, form, store.clock())


def _check_version(request: Request, current: int) -> None:
    """Refuse a version that is not there yet, and one that is wanted exactly but over."""
    wanted = version(request)
    if wanted is None:
        return
    if wanted > current:
        message = f"Too large resource version: {wanted}, current: {current}"
        raise ApiError(504, "Timeout", message, causes=[Cause("", message, "ResourceVersionTooLarge")])
    if text(request, "resourceVersionMatch") == "Exact" and wanted != current:
        raise gone(f"The provided resource version is too old: {wanted}")


def _page(
    store: Store, target: Target, matches: Predicate | None, limit: int, after: Key | None
) -> tuple[list[Entry], Key | None]:
    """Return up to `limit` entries (0: all), and the last key when more may follow."""
    found: list[Entry] = []
    last: Key | None = None
    for key, entry in store.scan(target.kind.kind, target.namespace or None, after):
        if matches is not None and not matches(entry.obj):
            continue
        if limit and len(found) == limit:
            return found, last
        found.append(entry)
        last = key
    return found, None


def render_list(kind: Kind, entries: list[Entry], metadata: Obj, form: Form, now: float) -> Response:
    """Return a list in the form that the client wants; whole objects are passed on as they are stored."""
    if form.name == TABLE:
        rows = [row(kind.kind, entry.obj, now, form.include) for entry in entries]
        return json_response(table(rows, definitions(kind.kind), metadata))
    if form.name == PARTIAL:
        items = [partial(entry.obj) for entry in entries]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        return json_response({**head, "items": items})
    head = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": metadata}
    return Response(with_items(head, (entry.raw for entry in entries)), 200, None, "application/json")


def with_items(head: Obj, items: Iterable[bytes]) -> bytes:
    """Return a JSON object with a last field `items` out of JSON texts."""
    return orjson.dumps(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def partial(obj: Obj) -> Obj:
    """Return an object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def render_object(
    kind: Kind, obj: Obj, form: Form, now: float, status: int = 200, warnings: Iterable[str] = ()
) -> Response:
    """Return one object in the form that the client wants, with warnings as headers."""
    content: Obj = obj
    if form.name == TABLE:
        content = table(
            [row(kind.kind, obj, now, form.include)],
            definitions(kind.kind),
            {"resourceVersion": obj["metadata"].get("resourceVersion", "")},
        )
    elif form.name == PARTIAL:
        content = partial(obj)
    response = json_response(content, status)
    add_warnings(response, warnings)
    return response


def add_warnings(response: Response, warnings: Iterable[str]) -> None:
    """Add warnings to an answer, as headers."""
    for warning in list(warnings)[:MAX_WARNINGS]:
        quoted = warning[:256].replace("\\", "\\\\").replace('"', '\\"')
        printable = "".join(char if char.isascii() and char.isprintable() else "?" for char in quoted)
        response.headers.append("Warning", f'299 - "{printable}"')
