"""What the rules of all kinds share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from trainui.localcluster.errors import Cause
from trainui.localcluster.resources import Obj
from trainui.localcluster.schema.conform import show

IMMUTABLE = "field is immutable"


class Reader(Protocol):
    """The part of the store that rules may look into."""

    def get(self, kind: str, namespace: str | None, name: str) -> Obj | None:
        """Return an object, or None."""

    def list(
        self,
        kind: str,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | None = None,
        fields: str | Mapping[str, str] | None = None,
    ) -> tuple[list[Obj], str]:
        """Return the objects of a kind and the resourceVersion."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write on its way in: the object before (None when it is created) and after, what else there is, the time."""

    old: Obj | None
    new: Obj
    reader: Reader
    now: float


Rule = Callable[[Write], list[Cause]]
"""Finds what is wrong with a write; may raise ApiError where the refusal is not one of fields."""
Defaulter = Callable[[Write], None]
"""Completes `write.new` in place (it is a private copy), before its schema is applied."""


def invalid_value(field: str, value: Any, message: str) -> Cause:
    """Return the cause for a value that breaks a rule; composite values are not quoted."""
    shown = "" if isinstance(value, dict | list) or value is None else f"{show(value)}: "
    return Cause(field, f"Invalid value: {shown}{message}")


def required(field: str, message: str = "") -> Cause:
    """Return the cause for a value that is missing."""
    return Cause(field, f"Required value: {message}" if message else "Required value", "FieldValueRequired")


def forbidden_field(field: str, message: str) -> Cause:
    """Return the cause for a value that may not be there."""
    return Cause(field, f"Forbidden: {message}", "FieldValueForbidden")


def unsupported(field: str, value: Any, supported: tuple[str, ...]) -> Cause:
    """Return the cause for a value that is none of a few."""
    names = ", ".join(f'"{name}"' for name in supported)
    return Cause(field, f"Unsupported value: {show(value)}: supported values: {names}", "FieldValueNotSupported")


def changed(old: Mapping[str, Any], new: Mapping[str, Any], path: str, *names: str) -> list[Cause]:
    """Return a cause for each named field that differs, also where it was absent or went away."""
    return [
        invalid_value(f"{path}.{name}", new.get(name), IMMUTABLE) for name in names if old.get(name) != new.get(name)
    ]


def changed_if_both(old: Mapping[str, Any], new: Mapping[str, Any], path: str, *names: str) -> list[Cause]:
    """Return a cause for each named field that differs and was there before and after: a CRD's transition rule."""
    return [cause for name in names if name in old and name in new for cause in changed(old, new, path, name)]


def spec_of(obj: Obj | None) -> dict[str, Any]:
    """Return the spec of an object, empty when it has none."""
    spec = (obj or {}).get("spec")
    return spec if isinstance(spec, dict) else {}
