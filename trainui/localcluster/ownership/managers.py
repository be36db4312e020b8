"""The entries of metadata.managedFields: one for each manager, operation and subresource."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trainui.localcluster.errors import bad_request
from trainui.localcluster.ownership.fields import NONE, Path, Paths, from_fields_v1, to_fields_v1

APPLY, UPDATE = "Apply", "Update"


@dataclass(frozen=True, slots=True)
class Manager:
    """Who writes: its name, whether by apply, and to which subresource."""

    name: str
    operation: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What a manager owns, and since when."""

    paths: Paths
    api_version: str
    time: str


Managers = dict[Manager, Ownership]


def read_managers(metadata: Mapping[str, Any]) -> Managers:
    """Return the managers of an object. Raises ApiError 400 for entries that cannot be read."""
    found: Managers = {}
    for entry in metadata.get("managedFields") or ():
        if not entry:
            continue
        try:
            manager = Manager(entry.get("manager", ""), entry["operation"], entry.get("subresource", ""))
            paths = from_fields_v1(entry.get("fieldsV1") or {})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise bad_request(f"metadata.managedFields cannot be read: {error}") from error
        if manager.operation not in (APPLY, UPDATE):
            raise bad_request('metadata.managedFields: operation must be "Apply" or "Update"')
        before = found.get(manager)
        found[manager] = Ownership(
            paths | (before.paths if before else NONE), entry.get("apiVersion", ""), entry.get("time", "")
        )
    return found


def write_managers(managers: Managers) -> list[dict[str, Any]]:
    """Return the entries of metadata.managedFields; a manager that owns nothing is left out."""
    entries = []
    for manager, owned in managers.items():
        if not owned.paths:
            continue
        entry = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": owned.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(owned.paths),
        }
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    return entries


def without(managers: Managers, paths: Iterable[Path], but: Manager) -> Managers:
    """Return the managers with some paths taken from all but one."""
    lost = frozenset(paths)
    return {
        manager: owned if manager == but else replace(owned, paths=owned.paths - lost)
        for manager, owned in managers.items()
    }
