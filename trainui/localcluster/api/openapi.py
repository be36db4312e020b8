"""OpenAPI v3 of what is served: enough for kubectl's validation, apply and explain."""

import hashlib
from functools import cache
from typing import Any

import orjson

from trainui.localcluster.resources import KINDS, Kind, groups
from trainui.localcluster.schema.kinds import SCHEMAS
from trainui.localcluster.schema.types import MISSING, Schema


def group_path(group: str, version: str) -> str:
    """Return the part of a URL that stands for a group and version."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


@cache
def index() -> dict[str, Any]:
    """Return the answer of GET /openapi/v3: one document for each group and version."""
    paths = {}
    for group, versions in groups().items():
        for version in versions:
            path = group_path(group, version)
            digest = hashlib.sha256(document(path) or b"").hexdigest()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


@cache
def document(path: str) -> bytes | None:
    """Return the OpenAPI document of a group and version by its URL part, or None."""
    kinds = [kind for kind in KINDS.values() if group_path(kind.group, kind.version) == path]
    if not kinds:
        return None
    content = {
        "openapi": "3.0.0",
        "info": {"title": "trainui local cluster", "version": "v1"},
        "paths": {url: item for kind in kinds for url, item in _paths(kind, path).items()},
        "components": {"schemas": {_schema_name(kind): _component(kind) for kind in kinds}},
    }
    return orjson.dumps(content)


def _schema_name(kind: Kind) -> str:
    group = ".".join(reversed(kind.group.split("."))) if "." in kind.group else f"io.k8s.api.{kind.group or 'core'}"
    return f"{group}.{kind.version}.{kind.kind}"


def _type_of(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _component(kind: Kind) -> dict[str, Any]:
    return {**to_openapi(SCHEMAS[kind.kind]), "x-kubernetes-group-version-kind": [_type_of(kind)]}


def _paths(kind: Kind, prefix: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{_schema_name(kind)}"}
    body = {"content": {"application/json": {"schema": reference}}}
    names = ["dryRun", "fieldManager", "fieldValidation"]

    def operation(action: str, *extra: str) -> dict[str, Any]:
        text = {"type": "string", "uniqueItems": True}
        parameters = [{"name": name, "in": "query", "schema": text} for name in (*names, *extra)]
        found: dict[str, Any] = {
            "operationId": f"{action}{kind.kind}",
            "parameters": parameters,
            "responses": {"200": {"description": "OK", **body}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _type_of(kind),
        }
        if action != "get":
            found["requestBody"] = body
        return found

    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    collection = f"/{prefix}{scope}/{kind.plural}"
    return {
        collection: {"get": operation("list"), "post": operation("post")},
        f"{collection}/{{name}}": {
            "get": operation("get"),
            "put": operation("put"),
            "patch": operation("patch", "force"),
            "delete": operation("delete"),
        },
    }


def to_openapi(schema: Schema) -> dict[str, Any]:
    """Return a schema in OpenAPI's words."""
    if schema.type == "any":
        return {"x-kubernetes-preserve-unknown-fields": True}
    if schema.type == "int-or-string":
        return {"x-kubernetes-int-or-string": True, "oneOf": [{"type": "integer"}, {"type": "string"}]}
    found: dict[str, Any] = {"type": schema.type}
    if schema.fields is not None:
        found["properties"] = {name: to_openapi(part) for name, part in schema.fields.items()}
    if schema.values is not None:
        found["additionalProperties"] = to_openapi(schema.values)
    if schema.items is not None:
        found["items"] = to_openapi(schema.items)
    if schema.required:
        found["required"] = list(schema.required)
    if schema.enum:
        found["enum"] = list(schema.enum)
    if schema.default is not MISSING:
        found["default"] = schema.default
    return found | _ranges(schema) | _list_words(schema)


def _ranges(schema: Schema) -> dict[str, Any]:
    suffix = {"string": "Length", "array": "Items", "object": "Properties"}.get(schema.type, "")
    rules = {
        "minimum": schema.minimum,
        "maximum": schema.maximum,
        f"min{suffix}": schema.min_size,
        f"max{suffix}": schema.max_size,
    }
    return {name: value for name, value in rules.items() if value is not None}


def _list_words(schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if schema.type == "array":
        found["x-kubernetes-list-type"] = "map" if schema.keys else "set" if schema.is_set else "atomic"
        if schema.keys:
            found["x-kubernetes-list-map-keys"] = list(schema.keys)
        key = schema.merge_key or (schema.keys[0] if schema.keys else "")
        if key:
            found |= {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": key}
    elif schema.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    return found
