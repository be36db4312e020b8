"""`manage.py webhooks`: the webhook configurations of this installation, for kubectl."""

import base64
from pathlib import Path
from typing import Any

import yaml
from django.core.management.base import BaseCommand, CommandError

from jobs.admission.configuration import of_service


class Command(BaseCommand):
    """Prints deploy/webhooks.yaml with the token of this installation, which nobody but the API server should know."""

    help = "Print the admission webhook configurations: manage.py webhooks --ca FILE | kubectl apply -f -"

    def add_arguments(self, parser: Any) -> None:
        """Add --ca and --service."""
        parser.add_argument(
            "--ca", required=True, help="file with the CA certificate (PEM) of the Service's certificate"
        )
        parser.add_argument("--service", default="trainui/trainui-hooks", help="NAMESPACE/NAME of the Service")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print both objects as YAML. Raises CommandError for a file that is no certificate."""
        try:
            pem = Path(options["ca"]).read_bytes()
        except OSError as error:
            raise CommandError(f"--ca names a file that cannot be read: {error}") from None
        if b"-----BEGIN CERTIFICATE-----" not in pem:
            raise CommandError(f"--ca names a file without a certificate: {options['ca']}")
        namespace, slash, name = options["service"].partition("/")
        if not slash:
            raise CommandError("--service is NAMESPACE/NAME")
        objects = of_service(namespace, name, base64.b64encode(pem).decode())
        self.stdout.write(yaml.safe_dump_all(objects, sort_keys=False).rstrip())
