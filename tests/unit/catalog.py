"""The catalog as the product loads it, for tests that each want a fresh one: loaded once per process, then stored from memory."""

import copy

from runtimes.models import Runtime
from runtimes.services import load_blueprints

_FIELDS = [field.name for field in Runtime._meta.concrete_fields if not field.primary_key]
_rows: list[dict[str, object]] = []


def fill_catalog() -> None:
    """Store every blueprint of ours in an empty catalog."""
    if _rows:
        Runtime.objects.bulk_create([Runtime(**copy.deepcopy(row)) for row in _rows])
    else:
        _rows.extend(copy.deepcopy({name: getattr(row, name) for name in _FIELDS}) for row in load_blueprints())
