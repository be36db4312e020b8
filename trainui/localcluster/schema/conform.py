"""Bring a value into the form of its schema: nulls dropped, unknown fields taken out, defaults filled in, faults named."""

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from trainui.localcluster.errors import Cause
from trainui.localcluster.schema.types import MISSING, TYPES_OF, Schema


@dataclass
class Report:
    """What was found on the way: faults, and the paths of unknown fields."""

    custom: bool = False
    defaults: bool = True
    causes: list[Cause] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(self, path: str, reason: str, message: str) -> None:
        """Note a fault."""
        self.causes.append(Cause(path, message, reason))


def conform(
    schema: Schema, value: Any, path: str = "", custom: bool = False, defaults: bool = True
) -> tuple[Any, Report]:
    """Return the value as it is stored, and what was found; the argument is not changed.

    Built-in kinds write quantities as text; `custom` kinds keep them as they are, and refuse fractions that are no text.
    Without `defaults` nothing is filled in. The messages are those of Kubernetes' schema validation, so that clients that know them understand ours.
    """
    report = Report(custom, defaults)
    return _conform(schema, value, path, report), report


def show(value: Any) -> str:
    """Return a value as messages quote it."""
    return orjson.dumps(value).decode()


def type_name(value: Any) -> str:
    """Return the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names[type(value)]


def _conform(schema: Schema, given: Any, path: str, report: Report) -> Any:
    value: Any = given
    kind = schema.type
    if kind == "any":
        return value
    if kind == "int-or-string":
        return _int_or_string(schema, value, path, report)
    if not isinstance(given, TYPES_OF[kind]) or (isinstance(given, bool) and kind != "boolean"):
        if kind == "integer" and isinstance(given, float) and given.is_integer() and abs(given) < 2**63:
            return _conform(schema, int(given), path, report)
        found = type_name(value)
        message = f'Invalid value: "{found}": {path} in body must be of type {kind}: "{found}"'
        report.add(path, "FieldValueTypeInvalid", message)
        return value
    if kind == "object":
        return _object(schema, value, path, report)
    if kind == "array":
        return _array(schema, value, path, report)
    if kind == "string":
        _string(schema, value, path, report)
    elif kind in ("integer", "number"):
        _number(schema, value, path, report)
    return value


def _int_or_string(schema: Schema, value: Any, path: str, report: Report) -> Any:
    found = type_name(value)
    if found == "number" and schema.pattern and not report.custom:
        value, found = repr(value), "string"
    if found not in ("integer", "string"):
        message = f'Invalid value: "{found}": {path} in body must be of type integer,string: "{found}"'
        report.add(path, "FieldValueTypeInvalid", message)
    elif schema.pattern:
        if not re.fullmatch(schema.pattern, str(value)):
            report.add(path, "FieldValueInvalid", f"Invalid value: {show(value)}: {schema.message}")
        return value if report.custom else str(value)
    return value


def _string(schema: Schema, value: str, path: str, report: Report) -> None:
    if schema.enum and value not in schema.enum:
        supported = ", ".join(f'"{allowed}"' for allowed in schema.enum)
        report.add(path, "FieldValueNotSupported", f"Unsupported value: {show(value)}: supported values: {supported}")
    if schema.max_size is not None and len(value) > schema.max_size:
        report.add(path, "FieldValueTooLong", f"Too long: may not be more than {schema.max_size} bytes")
    if schema.min_size is not None and len(value) < schema.min_size:
        message = f"Invalid value: {show(value)}: {path} in body should be at least {schema.min_size} chars long"
        report.add(path, "FieldValueInvalid", message)
    if schema.pattern and not re.fullmatch(schema.pattern, value):
        report.add(path, "FieldValueInvalid", f"Invalid value: {show(value)}: {schema.message}")


def _number(schema: Schema, value: float, path: str, report: Report) -> None:
    if schema.minimum is not None and value < schema.minimum:
        message = f"Invalid value: {value}: {path} in body should be greater than or equal to {schema.minimum}"
        report.add(path, "FieldValueInvalid", message)
    if schema.maximum is not None and value > schema.maximum:
        message = f"Invalid value: {value}: {path} in body should be less than or equal to {schema.maximum}"
        report.add(path, "FieldValueInvalid", message)


def _object(schema: Schema, value: dict[str, Any], path: str, report: Report) -> dict[str, Any]:
    made: dict[str, Any] = {}
    fields = schema.fields
    for name, item in value.items():
        if item is None:
            continue
        inner = f"{path}.{name}" if path else name
        shape = fields.get(name) if fields is not None else schema.values
        if shape is None:
            report.unknown.append(inner)
        else:
            made[name] = _conform(shape, item, inner, report)
    if schema.min_size is not None and len(made) < schema.min_size:
        message = f"Invalid value: {len(made)}: {path} in body should have at least {schema.min_size} properties"
        report.add(path, "FieldValueInvalid", message)
    for name in schema.required:
        if name not in made:
            report.add(f"{path}.{name}" if path else name, "FieldValueRequired", "Required value")
    if fields and report.defaults:
        for name, shape in fields.items():
            if shape.default is not MISSING and name not in made:
                made[name] = _conform(shape, shape.default, path, report)
    return made


def _array(schema: Schema, value: list[Any], path: str, report: Report) -> list[Any]:
    if schema.max_size is not None and len(value) > schema.max_size:
        message = f"Too many: {len(value)}: must have at most {schema.max_size} items"
        report.add(path, "FieldValueTooMany", message)
    if schema.min_size is not None and len(value) < schema.min_size:
        message = f"Invalid value: {len(value)}: {path} in body should have at least {schema.min_size} items"
        report.add(path, "FieldValueInvalid", message)
    assert schema.items is not None
    made = [_conform(schema.items, item, f"{path}[{index}]", report) for index, item in enumerate(value)]
    if schema.keys or schema.is_set:
        _find_duplicates(schema, made, path, report)
    return made


def _find_duplicates(schema: Schema, items: list[Any], path: str, report: Report) -> None:
    seen = set()
    for index, item in enumerate(items):
        named = item_key(schema, item) if schema.keys else item
        text = show(named)
        if text in seen and named is not None:
            report.add(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {text}")
        seen.add(text)


def item_key(schema: Schema, item: Any) -> dict[str, Any] | None:
    """Return the keys and values that tell an item of a map list apart, or None when it has none of them."""
    if not isinstance(item, dict):
        return None
    found = {}
    for name in schema.keys:
        value = item.get(name, schema.key_defaults.get(name))
        if value is not None:
            found[name] = value
    return found or None
