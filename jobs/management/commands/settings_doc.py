"""`manage.py settings_doc`: the table of environment variables in README."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from trainui.up.config import documented


class Command(BaseCommand):
    """Prints every variable that trainui reads, as a Markdown table."""

    help = "Print the environment variables as a Markdown table."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the table."""
        self.stdout.write("| variable | kind | default | what it does |\n|---|---|---|---|")
        of_supervisor = documented()
        known = {v.name for v in settings.ENV.variables}
        for v in [*settings.ENV.variables, *(v for v in of_supervisor if v.name not in known)]:
            self.stdout.write(f"| `{v.name}` | {v.kind} | {v.default} | {v.help} |")
