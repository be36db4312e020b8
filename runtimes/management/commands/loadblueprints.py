"""`manage.py loadblueprints`: bring the catalog in line with the blueprint files."""

from typing import Any

from django.core.management.base import BaseCommand

from runtimes.services import load_blueprints


class Command(BaseCommand):
    """Loads every file of runtimes/blueprints; workers then apply their runtimes to the cluster."""

    help = "Load the blueprint files into the catalog."

    def handle(self, *args: Any, **options: Any) -> None:
        """Load and say what was loaded."""
        rows = load_blueprints()
        self.stdout.write(f"{len(rows)} blueprints: {', '.join(row.name for row in rows)}")
