"""Creating, replacing, patching and deleting objects."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from trainui.localcluster.api.accept import wanted_form
from trainui.localcluster.api.bodies import media_type, parse_document, read_body, read_document, shape
from trainui.localcluster.api.listing import json_response, render_list, render_object, selection
from trainui.localcluster.api.options import delete_options, dry_run, flag, manager, text
from trainui.localcluster.api.target import Target
from trainui.localcluster.errors import ApiError, Cause, bad_request, invalid
from trainui.localcluster.objects import check_envelope, merge_patch, timestamp
from trainui.localcluster.ownership.apply import apply, track
from trainui.localcluster.patches.json_patch import json_patch
from trainui.localcluster.patches.strategic import strategic_merge
from trainui.localcluster.resources import Obj
from trainui.localcluster.schema.kinds import SCHEMAS
from trainui.localcluster.store import Store

JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


def _rehearsed(store: Store, only: bool) -> AbstractContextManager[None]:
    return store.rehearsal() if only else nullcontext()


def _now(store: Store) -> str:
    return timestamp(store.clock())


async def create(store: Store, request: Request, target: Target) -> Response:
    """Answer a POST to a collection."""
    kind = target.kind
    if kind.namespaced and target.namespace is None:
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    obj = await read_document(request)
    check_envelope(kind, obj, target.namespace or "")
    shaped = shape(kind.kind, obj, text(request, "fieldValidation"))
    body = placed(target, shaped.obj)
    body["metadata"].pop("resourceVersion", None)
    new = track(kind.kind, None, body, manager(request), _now(store))
    with _rehearsed(store, dry_run(request)):
        stored = store.create(kind.kind, new)
    return render_object(kind, stored, wanted_form(request), store.clock(), 201, shaped.warnings)


def placed(target: Target, obj: Obj) -> Obj:
    """Return a body with the namespace and name of its URL."""
    metadata = {**obj.get("metadata", {})}
    if target.name is not None:
        metadata["name"] = target.name
    if target.kind.namespaced:
        metadata["namespace"] = target.namespace
    return {**obj, "metadata": metadata}


async def replace(store: Store, request: Request, target: Target) -> Response:
    """Answer a PUT of an object or its status."""
    kind, name = target.kind, target.name or ""
    obj = await read_document(request)
    check_envelope(kind, obj, target.namespace or "", name)
    shaped = shape(kind.kind, obj, text(request, "fieldValidation"))
    live = store.read(kind.kind, target.namespace, name)
    new = placed(target, shaped.obj)
    if kind.custom and not new["metadata"].get("resourceVersion"):
        raise invalid(
            kind, name, [Cause("metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update")]
        )
    stored = _update(store, request, target, live, new)
    return render_object(kind, stored, wanted_form(request), store.clock(), 200, shaped.warnings)


def _update(store: Store, request: Request, target: Target, live: Obj, new: Obj) -> Obj:
    owned = track(target.kind.kind, live, new, manager(request), _now(store), target.subresource)
    with _rehearsed(store, dry_run(request)):
        return store.update(target.kind.kind, owned, target.subresource or None)


Patcher = Callable[[Target, Obj, Any], Obj]


def _merged(target: Target, live: Obj, patch: Any) -> Obj:
    if not isinstance(patch, dict):
        raise bad_request("a merge patch is an object")
    found: Obj = merge_patch(live, patch)
    return found


def _strategic(target: Target, live: Obj, patch: Any) -> Obj:
    if target.kind.custom:
        message = (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )
        raise ApiError(415, "UnsupportedMediaType", message)
    if not isinstance(patch, dict):
        raise bad_request("a strategic merge patch is an object")
    found: Obj = strategic_merge(SCHEMAS[target.kind.kind], live, patch)
    return found


_PATCHERS: dict[str, Patcher] = {
    JSON_PATCH: lambda target, live, patch: json_patch(live, patch),
    MERGE_PATCH: _merged,
    STRATEGIC: _strategic,
}


async def patch_object(store: Store, request: Request, target: Target) -> Response:
    """Answer a PATCH of an object or its status."""
    media = media_type(request)
    if media == APPLY:
        return await _apply(store, request, target)
    if media not in _PATCHERS:
        accepted = ", ".join([*_PATCHERS, APPLY])
        message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise ApiError(415, "UnsupportedMediaType", message)
    patch = await read_document(request)
    live = store.read(target.kind.kind, target.namespace, target.name or "")
    new = _PATCHERS[media](target, live, patch)
    check_envelope(target.kind, new, target.namespace or "", target.name)
    shaped = shape(target.kind.kind, new, text(request, "fieldValidation"))
    stored = _update(store, request, target, live, placed(target, shaped.obj))
    return render_object(target.kind, stored, wanted_form(request), store.clock(), 200, shaped.warnings)


async def _apply(store: Store, request: Request, target: Target) -> Response:
    """Answer a server-side apply: creates what is not there."""
    kind, name = target.kind, target.name or ""
    applied = await read_document(request)
    _check_applied(request, target, applied)
    shaped = shape(kind.kind, applied, text(request, "fieldValidation"))
    twice = [cause for cause in shaped.causes if cause.reason == "FieldValueDuplicate"]
    if twice:
        raise invalid(kind, name, twice)
    live = store.get(kind.kind, target.namespace, name)
    wanted = shaped.obj.get("metadata", {})
    author, force = text(request, "fieldManager"), flag(request, "force")
    new = placed(target, apply(kind.kind, live, shaped.obj, author, _now(store), force, target.subresource))
    new["metadata"] |= {field: wanted[field] for field in ("uid", "resourceVersion") if field in wanted}
    with _rehearsed(store, dry_run(request)):
        if live is not None:
            stored = store.update(kind.kind, new, target.subresource or None)
        else:
            _check_creatable(store, target, wanted)
            stored = store.create(kind.kind, new)
    return render_object(kind, stored, wanted_form(request), store.clock(), 200 if live else 201, shaped.warnings)


def _check_applied(request: Request, target: Target, applied: Any) -> None:
    if not text(request, "fieldManager"):
        cause = Cause("fieldManager", "Required value: is required for apply patch", "FieldValueRequired")
        message = f'PatchOptions.meta.k8s.io "" is invalid: fieldManager: {cause.message}'
        raise ApiError(422, "Invalid", message, causes=[cause])
    check_envelope(target.kind, applied, target.namespace or "", target.name)
    if not applied.get("apiVersion") or not applied.get("kind"):
        raise bad_request("an applied object needs apiVersion and kind")
    if (applied.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")


def _check_creatable(store: Store, target: Target, wanted: Obj) -> None:
    if target.subresource:
        store.read(target.kind.kind, target.namespace, target.name or "")
    if wanted.get("uid"):
        message = f"uid mismatch: the provided object specified uid {wanted['uid']}, and no existing object was found"
        raise ApiError(409, "Conflict", message)


async def _options_body(request: Request) -> Any:
    body = await read_body(request)
    return parse_document(body, media_type(request)) if body.strip() else {}


async def delete_object(store: Store, request: Request, target: Target) -> Response:
    """Answer a DELETE of an object: a Status when it is gone, the object while something keeps it."""
    options = delete_options(request, await _options_body(request))
    kind, name = target.kind, target.name or ""
    with _rehearsed(store, options.dry_run):
        last = store.delete(
            kind.kind,
            target.namespace,
            name,
            options.propagation,
            options.uid,
            options.resource_version,
            options.grace,
        )
        left = store.get(kind.kind, target.namespace, name)
    if left is not None:
        return render_object(kind, left, wanted_form(request), store.clock())
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": last["metadata"]["uid"]}
    status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return json_response({**status, "details": {key: value for key, value in details.items() if value}})


async def delete_collection(store: Store, request: Request, target: Target) -> Response:
    """Answer a DELETE of a collection: every object that the selectors pick."""
    options = delete_options(request, await _options_body(request))
    kind, matches = target.kind, selection(request, target)
    if kind.namespaced and target.namespace is None:
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    picked = [
        (key, entry)
        for key, entry in store.scan(kind.kind, target.namespace or None)
        if matches is None or matches(entry.obj)
    ]
    with _rehearsed(store, options.dry_run), store.transaction() if not options.dry_run else nullcontext():
        for (namespace, name), _ in picked:
            if store.entry(kind.kind, namespace, name):
                store.delete(kind.kind, namespace, name, options.propagation, grace=options.grace)
    entries = [entry for _, entry in picked]
    return render_list(kind, entries, {"resourceVersion": store.version}, wanted_form(request), store.clock())
