"""Changing the catalog: loading blueprints, and what a catalog admin may do to one."""

from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from runtimes.models import Runtime
from runtimes.spec.blueprint import Blueprint, load_blueprint
from runtimes.spec.parameter import Parameter
from runtimes.sync import sync_runtime
from trainui.accounts.models import User
from trainui.accounts.permissions import require
from trainui.audit.services import record
from trainui.events.changes import Change, publish_on_commit

BLUEPRINTS_DIR = Path(settings.BASE_DIR) / "runtimes" / "blueprints"


def load_blueprints(folder: Path = BLUEPRINTS_DIR) -> list[Runtime]:
    """Load every blueprint file of a folder into the catalog; a blueprint whose file is gone becomes an ordinary runtime.

    Raises BlueprintError, which names the file's field, before anything is stored.
    """
    loaded = [(load_blueprint(path.read_text(encoding="utf-8")), path) for path in sorted(folder.glob("*.yaml"))]
    rows = []
    with transaction.atomic():
        for position, (blueprint, path) in enumerate(loaded):
            values = {
                "managed": True,
                "title": blueprint.card.title,
                "summary": blueprint.card.summary,
                "framework": blueprint.card.framework,
                "position": position,
                "card": asdict(blueprint.card),
                "parameters": [_plain(p) for p in blueprint.parameters],
                "manifest": blueprint.runtime,
                "source": path.read_text(encoding="utf-8"),
            }
            row, _ = Runtime.objects.update_or_create(
                kind=Runtime.CLUSTER_KIND, namespace="", name=blueprint.name, defaults=values
            )
            rows.append(row)
        names = [row.name for row in rows]
        Runtime.objects.filter(managed=True, kind=Runtime.CLUSTER_KIND).exclude(name__in=names).update(managed=False)
        publish_on_commit(Change("runtime-changed", "", "catalog"))
    return rows


def blueprint_of(row: Runtime) -> Blueprint:
    """Return the blueprint of a catalog row. Raises ValueError for a runtime without card and parameters."""
    if not row.source:
        raise ValueError(f"{row} is a runtime without a form")
    return load_blueprint(row.source)


def restore(user: User, row: Runtime) -> Runtime:
    """Put a drifted blueprint's runtime back to what the blueprint says; jobs that exist keep their own copy.

    Raises PermissionDenied for all but catalog admins.
    """
    require(user, "curate", "catalog")
    record(user, "runtime.restore", row)
    sync_runtime(row, overwrite=True)
    return row


def _plain(parameter: Parameter) -> dict[str, Any]:
    """Return a parameter as JSON data; numbers of any size stay exact as text."""
    return {k: str(v) if isinstance(v, Decimal) else v for k, v in asdict(parameter).items()}
