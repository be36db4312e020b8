"""The words in which kinds are described."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()

TYPES_OF: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Schema:
    """One value: its type and rules.

    `type` is a JSON type, `int-or-string`, or `any` (kept as it is). An object has `fields` (others are unknown) or `values` (a map). A
    list is replaced as a whole unless `keys` make it a map of its items or `is_set` a set. `atomic` makes a map or struct be owned and
    replaced as a whole. `merge_key` is the key of a strategic merge, where it is not the first of `keys`.
    """

    type: str
    fields: Mapping[str, "Schema"] | None = None
    values: "Schema | None" = None
    items: "Schema | None" = None
    keys: tuple[str, ...] = ()
    merge_key: str = ""
    is_set: bool = False
    atomic: bool = False
    required: tuple[str, ...] = ()
    default: Any = MISSING
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_size: int | None = None
    max_size: int | None = None
    pattern: str = ""
    message: str = ""
    key_defaults: Mapping[str, Any] = field(default_factory=dict)

    def having(self, **changes: Any) -> "Schema":
        """Return the same schema with some rules changed."""
        return replace(self, **changes)


ANY = Schema("any")
STR = Schema("string")
BOOL = Schema("boolean")
INT = Schema("integer")
INT32 = Schema("integer", minimum=-(2**31), maximum=2**31 - 1)
COUNT = Schema("integer", minimum=0, maximum=2**31 - 1)
NUMBER = Schema("number")
INT_OR_STRING = Schema("int-or-string")
QUANTITY = Schema(
    "int-or-string",
    pattern=r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?",
    message="quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
)
TIME = Schema(
    "string",
    pattern=r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)",
    message="must be a time as RFC 3339 writes it, such as 2026-11-01T12:00:00Z",
)
OPEN = Schema("object", values=ANY)


def struct(fields: Mapping[str, Schema], required: str = "", **rules: Any) -> Schema:
    """Return an object with these fields; `required` names the needed ones, parted by spaces."""
    return Schema("object", fields=fields, required=tuple(required.split()), **rules)


def map_of(values: Schema, **rules: Any) -> Schema:
    """Return an object whose keys are free."""
    return Schema("object", values=values, **rules)


def list_of(items: Schema, **rules: Any) -> Schema:
    """Return a list that is replaced as a whole."""
    return Schema("array", items=items, **rules)


def map_list(items: Schema, *keys: str, **rules: Any) -> Schema:
    """Return a list whose items are told apart by `keys`; a key with a default in the item's schema may be left out."""
    fields = items.fields or {}
    defaults = {key: fields[key].default for key in keys if key in fields and fields[key].default is not MISSING}
    return Schema("array", items=items, keys=keys, key_defaults=defaults, **rules)


def set_of(items: Schema, **rules: Any) -> Schema:
    """Return a list of scalars in which each counts once."""
    return Schema("array", items=items, is_set=True, **rules)


def each(names: str, schema: Schema) -> dict[str, Schema]:
    """Return fields of the same schema; `names` are parted by spaces."""
    return dict.fromkeys(names.split(), schema)


def one_of(*values: str, default: Any = MISSING) -> Schema:
    """Return a string out of a few."""
    return Schema("string", enum=values, default=default)


STRINGS = map_of(STR)
QUANTITIES = map_of(QUANTITY)
LABEL_SELECTOR = struct(
    {
        "matchLabels": STRINGS,
        "matchExpressions": list_of(struct({"key": STR, "operator": STR, "values": list_of(STR)}, "key operator")),
    },
    atomic=True,
)
CONDITION = struct(
    each("type status reason message", STR)
    | each("lastTransitionTime lastProbeTime lastHeartbeatTime lastUpdateTime", TIME)
    | {"observedGeneration": INT},
    "type status",
)
CONDITIONS = map_list(CONDITION, "type")
OBJECT_REFERENCE = struct(each("apiVersion kind namespace name uid resourceVersion fieldPath", STR), atomic=True)
LOCAL_REFERENCE = struct({"name": STR}, atomic=True)
OWNER = struct(
    each("apiVersion kind name uid", STR) | each("controller blockOwnerDeletion", BOOL),
    "apiVersion kind name uid",
    atomic=True,
)
METADATA = struct(
    each("name generateName namespace uid resourceVersion selfLink", STR)
    | each("creationTimestamp deletionTimestamp", TIME)
    | each("generation deletionGracePeriodSeconds", INT)
    | each("labels annotations", STRINGS)
    | {"ownerReferences": map_list(OWNER, "uid"), "finalizers": set_of(STR), "managedFields": list_of(OPEN)}
)
TEMPLATE_METADATA = struct(
    each("name generateName namespace", STR)
    | each("labels annotations", STRINGS)
    | {"finalizers": set_of(STR), "creationTimestamp": TIME}
)


def top(spec: Mapping[str, Schema], required: str = "") -> Schema:
    """Return a whole object: the given fields beside apiVersion, kind and metadata."""
    return struct({"apiVersion": STR, "kind": STR, "metadata": METADATA, **spec}, required)
