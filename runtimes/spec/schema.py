"""Structural schemas of the Kubernetes API: check, prune and default plain dicts by a schema that is data.

The dialect is the one of CustomResourceDefinitions (openAPIV3Schema): `properties`, `additionalProperties`, `items`, `required`,
`enum`, the usual limits, `default`, `format`, `x-kubernetes-list-type` (map, set), `x-kubernetes-int-or-string` and
`x-kubernetes-preserve-unknown-fields`. Besides them `x-quantity` marks Kubernetes quantities. CEL rules are functions elsewhere.
"""

import copy
import datetime
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from runtimes.spec.findings import Finding
from runtimes.spec.quantities import QuantityError, parse

Schema = dict[str, Any]
Keys = Sequence[str | int]

# No valid key is longer: a label key has at most 317 characters.
MAX_KEY = 320
# Nobody reads more findings of one object.
MAX_FINDINGS = 100

_INTEGERS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TYPE_NAMES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "list",
    dict: "map",
    type(None): "null",
}


def shortened(value: Any, limit: int = 60) -> str:
    """Return a value as text for a message, cut where it is long: whoever sends a megabyte must not get it back."""
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def field_path(keys: Keys) -> str:
    """Return the Kubernetes field path of a list of keys: `spec.trainer.env[1].name`, odd keys in brackets, overlong ones cut."""
    path = ""
    for key in keys:
        key = shortened(key, MAX_KEY) if isinstance(key, str) else key
        if isinstance(key, int) or not _PLAIN_KEY.fullmatch(key):
            path += f"[{key}]"
        else:
            path += f".{key}" if path else key
    return path


def type_name(value: Any) -> str:
    """Return the name of a JSON type for people."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def check(schema: Schema, value: Any) -> list[Finding]:
    """Return what the schema says against the value, in the order of its fields, at most MAX_FINDINGS; unknown fields are not its matter.

    Types come first: if a type is wrong, only wrong types are returned, because nothing else can be judged.
    """
    errors = [_finding(error) for error in _Validator(schema).iter_errors(value)]
    wrong = [finding for finding in errors if finding.code == "wrong_type"]
    return (wrong or errors)[:MAX_FINDINGS]


def unknown_fields(schema: Schema, value: Any) -> list[Keys]:
    """Return the keys of the fields that the schema does not know (the outermost of each branch, at most MAX_FINDINGS)."""
    return list(itertools.islice(_unknown(schema, value, ()), MAX_FINDINGS))


def prune(schema: Schema, value: Any) -> Any:
    """Return a copy without unknown fields and without nulls, as the API server stores it."""
    if isinstance(value, dict):
        return {
            key: prune(child, item)
            for key, item in value.items()
            if item is not None and (child := _child(schema, key)) is not None
        }
    if isinstance(value, list):
        return [prune(schema.get("items", _ANYTHING), item) for item in value]
    return copy.deepcopy(value)


def without_nulls(value: Any) -> Any:
    """Return a copy without the fields that are null: to the API server they are not there."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_defaults(schema: Schema, value: Any) -> Any:
    """Return a copy with the schema's defaults filled in."""
    if isinstance(value, dict):
        filled = {key: with_defaults(_child(schema, key) or _ANYTHING, item) for key, item in value.items()}
        for key, child in schema.get("properties", {}).items():
            if key not in filled and "default" in child:
                filled[key] = with_defaults(child, copy.deepcopy(child["default"]))
        return filled
    if isinstance(value, list):
        return [with_defaults(schema.get("items", _ANYTHING), item) for item in value]
    return value


_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}


def _child(schema: Schema, key: str) -> Schema | None:
    """The schema of one field, or None if the schema does not know it."""
    properties = schema.get("properties", {})
    if key in properties:
        found: Schema = properties[key]
        return found
    if isinstance(schema.get("additionalProperties"), dict):
        values: Schema = schema["additionalProperties"]
        return values
    return _ANYTHING if schema.get("x-kubernetes-preserve-unknown-fields") else None


def _unknown(schema: Schema, value: Any, keys: tuple[str | int, ...]) -> Iterator[Keys]:
    if isinstance(value, dict):
        for key, item in value.items():
            child = _child(schema, key)
            if child is None:
                yield (*keys, key)
            else:
                yield from _unknown(child, item, (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(schema.get("items", _ANYTHING), item, (*keys, index))


def _finding(error: ValidationError) -> Finding:
    code = _CODES.get(str(error.validator), "invalid")
    params: dict[str, Any] = {}
    if isinstance(error.cause, QuantityError):
        code = "invalid_quantity" if error.cause.code == "unknown_unit" else error.cause.code
    elif str(error.validator) == "format":
        code = "wrong_type" if isinstance(error.instance, int) else "invalid"
    elif str(error.validator) in _PARAMS:
        params = {_PARAMS[str(error.validator)]: error.validator_value}
    return Finding(field_path(list(error.absolute_path)), code, error.message, params)


_CODES = {
    "type": "wrong_type",
    "x-kubernetes-int-or-string": "wrong_type",
    "required": "required",
    "enum": "not_supported",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
    "maxLength": "too_long",
    "minLength": "too_short",
    "maxItems": "too_many",
    "minItems": "too_few",
    "minProperties": "required",
    "x-kubernetes-list-type": "duplicate",
    "x-quantity": "invalid_quantity",
}
_PARAMS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "maxLength": "max_length",
    "maxItems": "max_items",
    "enum": "choices",
}


def _is_integer(_checker: Any, value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _type(validator: Validator, wanted: str, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if not validator.is_type(value, wanted):
        hint = ": quote it" if wanted == "string" and isinstance(value, bool | int | float) else ""
        yield ValidationError(f"must be of type {_WANTED.get(wanted, wanted)}, not {type_name(value)}{hint}")


_WANTED = {"object": "map", "array": "list"}


def _int_or_string(validator: Validator, wanted: bool, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if wanted and not (isinstance(value, str) or validator.is_type(value, "integer")):
        yield ValidationError(f"must be of type integer or string, not {type_name(value)}")


def _required(validator: Validator, names: list[str], value: Any, schema: Schema) -> Iterator[ValidationError]:
    for name in names:
        if isinstance(value, dict) and value.get(name) is None:
            yield ValidationError("is required", path=[name])


def _enum(validator: Validator, values: list[Any], value: Any, schema: Schema) -> Iterator[ValidationError]:
    if value not in values:
        known = ", ".join(f'"{v}"' for v in values)
        yield ValidationError(f'"{shortened(value)}" is not supported: supported values are {known}')


def _minimum(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and value < bound:
        yield ValidationError(f"{value} is too small: must be at least {bound}")


def _maximum(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and value > bound:
        yield ValidationError(f"{value} is too large: must be at most {bound}")


def _max_length(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, str) and len(value) > bound:
        yield ValidationError(f"is too long: may have at most {bound} characters, has {len(value)}")


def _min_length(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, str) and len(value) < bound:
        yield ValidationError("must not be empty" if bound == 1 else f"must have at least {bound} characters")


def _max_items(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, list) and len(value) > bound:
        yield ValidationError(f"has too many items: may have at most {bound}, has {len(value)}")


def _min_items(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, list) and len(value) < bound:
        yield ValidationError(f"has too few items: must have at least {bound}")


def _min_properties(validator: Validator, bound: int, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, dict) and len(value) < bound:
        yield ValidationError("must not be empty")


def _pattern(validator: Validator, pattern: str, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, str) and not re.search(pattern, value):
        yield ValidationError(f'"{shortened(value)}" does not match {pattern}')


def _list_type(validator: Validator, kind: str, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if not isinstance(value, list) or kind not in ("map", "set"):
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        names = schema.get("x-kubernetes-list-map-keys", [])
        key = {n: item.get(n) for n in names} if kind == "map" and isinstance(item, dict) else item
        if kind == "map" and not (isinstance(key, dict) and any(part is not None for part in key.values())):
            continue
        if repr(key) in seen:
            shown = ", ".join(f"{n} {v}" for n, v in key.items()) if isinstance(key, dict) else key
            yield ValidationError(f"is listed twice: {shortened(shown)}", path=[index])
        seen.add(repr(key))


def _format(validator: Validator, name: str, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if name in _INTEGERS and validator.is_type(value, "integer"):
        low, high = _INTEGERS[name]
        if not low <= value <= high:
            yield ValidationError(f"{int(value)} does not fit into an {name}")
    if name == "date-time" and isinstance(value, str) and not _is_date_time(value):
        yield ValidationError(f'"{shortened(value)}" is not a time such as 2026-01-31T12:00:00Z')


def _is_date_time(text: str) -> bool:
    try:
        return bool(_DATE_TIME.fullmatch(text) and datetime.datetime.fromisoformat(text.upper()))
    except ValueError:
        return False


def _quantity(validator: Validator, wanted: bool, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, str):
        try:
            parse(value)
        except QuantityError as error:
            yield ValidationError(str(error), cause=error)


_VALIDATORS: dict[str, Any] = {
    "type": _type,
    "x-kubernetes-int-or-string": _int_or_string,
    "properties": jsonschema.Draft4Validator.VALIDATORS["properties"],
    "additionalProperties": jsonschema.Draft4Validator.VALIDATORS["additionalProperties"],
    "items": jsonschema.Draft4Validator.VALIDATORS["items"],
    "required": _required,
    "enum": _enum,
    "minimum": _minimum,
    "maximum": _maximum,
    "maxLength": _max_length,
    "minLength": _min_length,
    "maxItems": _max_items,
    "minItems": _min_items,
    "minProperties": _min_properties,
    "pattern": _pattern,
    "format": _format,
    "x-kubernetes-list-type": _list_type,
    "x-quantity": _quantity,
}

_Validator = jsonschema.validators.create(
    meta_schema={},
    validators=_VALIDATORS,
    version="kubernetes-structural",
    type_checker=jsonschema.Draft4Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def obj(properties: dict[str, Schema], required: Iterable[str] = (), **more: Any) -> Schema:
    """Return the schema of an object with known fields."""
    schema: Schema = {"type": "object", "properties": properties, **more}
    return schema | {"required": list(required)} if required else schema


def mapping(values: Schema, **more: Any) -> Schema:
    """Return the schema of a map from any text to `values`."""
    return {"type": "object", "additionalProperties": values, **more}


def array(items: Schema, keys: Iterable[str] = (), **more: Any) -> Schema:
    """Return the schema of a list; with `keys` it is a Kubernetes list-map whose entries are unique by them."""
    schema: Schema = {"type": "array", "items": items, **more}
    keys = list(keys)
    return schema | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys} if keys else schema


def text(**more: Any) -> Schema:
    """Return the schema of a text."""
    return {"type": "string", **more}


def integer(format: str = "int32", **more: Any) -> Schema:
    """Return the schema of an integer (int32 unless said otherwise)."""
    return {"type": "integer", "format": format, **more}


def flag(**more: Any) -> Schema:
    """Return the schema of a boolean."""
    return {"type": "boolean", **more}


def anything(**more: Any) -> Schema:
    """Return the schema of an object whose fields we leave to the API server."""
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **more}


QUANTITY: Schema = {"x-kubernetes-int-or-string": True, "x-quantity": True}
