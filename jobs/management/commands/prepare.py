"""`manage.py prepare`: everything an installation needs before its processes start. Running it again changes nothing."""

import fcntl
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection, transaction

from jobs import services
from jobs.admission.configuration import install as install_webhooks
from runtimes.models import Runtime
from runtimes.services import blueprint_of, load_blueprints
from runtimes.spec.parameters import bind
from trainui.accounts.models import Membership, Project, Role, User
from trainui.cluster.connection import connect
from trainui.env import BadSetting

ADMIN = "admin"
PROJECT = "default"
SAMPLE_BLUEPRINT = "sample-mnist"
SAMPLE_NAME = "sample"
MAX_RANKS = 4  # more ranks than that only wait for each other on so small a network


class Command(BaseCommand):
    """Migrates, loads blueprints, collects static files; makes an admin with a random password (printed once), a project, and the sample job."""

    help = "Bring database, catalog and static files up to date; create the first admin and project; submit the sample job once."

    def add_arguments(self, parser: Any) -> None:
        """Add --no-sample and --no-static."""
        parser.add_argument("--no-sample", action="store_true", help="do not submit the sample job")
        parser.add_argument(
            "--no-static", action="store_true", help="static files were collected when the image was built"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create what is missing and say what people must know."""
        self._connect()
        call_command("migrate", interactive=False, verbosity=0)
        if not options["no_static"]:
            self._static_files()
        load_blueprints()
        if settings.OWN_CLUSTER:
            install_webhooks(connect(settings.KUBECONFIG))
        marker = settings.DATA_DIR / "bootstrapped"
        with transaction.atomic():
            admin = self._admin()
            project = self._project(admin)
        if marker.exists() or options["no_sample"]:
            return
        self._sample(admin, project)
        marker.write_text("The sample job was submitted; remove this file to have it submitted again.\n")

    def _connect(self) -> None:
        """Pass when the database answers. Raises BadSetting, which repeats nothing of the address: it may hold a password."""
        probe = connection.copy()
        probe.settings_dict["OPTIONS"].pop("pool", None)  # a pool tries again and again, and does not say why
        try:
            probe.ensure_connection()
            probe.close()
        except (DatabaseError, ImproperlyConfigured) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise BadSetting("DATABASE_URL", f"names a database that does not answer: {said}") from None

    def _static_files(self) -> None:
        """Collect static files; one at a time, because instances of one checkout share the folder and replace each other's files."""
        folder = Path(settings.STATIC_ROOT)
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            call_command("collectstatic", interactive=False, verbosity=0)

    def _admin(self) -> User:
        admin = User.objects.filter(is_superuser=True).order_by("pk").first()
        if admin is None:
            password = secrets.token_urlsafe(12)
            admin = User.objects.create_superuser(ADMIN, password=password)
            self.stdout.write(
                f"Sign in as  {ADMIN}  with the password  {password}  (shown only now; change it in the user menu)"
            )
        return admin

    def _project(self, admin: User) -> Project:
        project = Project.objects.order_by("created_at").first()
        if project is None:
            project = Project.objects.create(
                name=PROJECT, title="Default", description="The first project. Make one for each team."
            )
            Membership.objects.create(project=project, user=admin, role=Role.ADMIN)
        return project

    def _sample(self, admin: User, project: Project) -> None:
        row = Runtime.objects.filter(name=SAMPLE_BLUEPRINT, managed=True).first()
        if row is None:
            return
        ranks = max(1, (os.cpu_count() or 1) // 2)  # on each of the two nodes
        values = {"processes_per_node": min(ranks, MAX_RANKS)}
        manifest, findings = bind(blueprint_of(row), SAMPLE_NAME, project.namespace, values, channel="api")
        if findings.refused:
            raise SystemExit(f"the sample's own blueprint is not acceptable: {findings.refused[0].message}")
        services.submit(
            admin, project, services.Submission(manifest, key="sample", blueprint=SAMPLE_BLUEPRINT, parameters=values)
        )
        self.stdout.write("The sample job trains a small network on 2 nodes now: open it to watch.")
