"""What the two databases would do differently if nothing saw to it."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection, connections, transaction
from django.test import Client
from django.utils import timezone

from jobs.metrics.progress import note_progress
from jobs.metrics.store import Point, keep_points
from jobs.models import JobEvent, Lease, MetricSeries, TrainJob, TrainJobDetail
from jobs.reconcile.lease import Leadership
from trainui.accounts.models import Project, User
from trainui.database import POOL, borrowed_connection, configuration

SHOWN = {"sqlite": "\0", "postgres": "\ufffd"}
THREADS = 8
# The names of all applications: only then does Django's clean-up cascade, which the table of the token model that ours replaces needs.
COMMITS = pytest.mark.django_db(transaction=True, available_apps=settings.INSTALLED_APPS)


def on_postgres(test: Callable[[], None]) -> Callable[[], None]:
    """Run a test on PostgreSQL alone: it commits, and asks for what SQLite has not."""
    marks = (
        COMMITS,
        pytest.mark.usefixtures("database"),
        pytest.mark.parametrize("database", ["postgres"], indirect=True),
    )
    for mark in marks:
        test = mark(test)
    return test


def make_job() -> TrainJob:
    now = timezone.now()
    job = TrainJob.objects.create(
        project=Project.objects.get_or_create(name="team-nlp")[0], namespace="team-nlp", name=f"job-{uuid.uuid4().hex[:8]}",
        created_at=now, runtime_kind="ClusterTrainingRuntime", runtime_name="plain",
    )  # fmt: skip
    TrainJobDetail.objects.create(job=job, manifest={})
    return job


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Do something in several threads that start together, each with a connection of its own, and return what they return."""
    barrier = threading.Barrier(THREADS)

    def one(number: int) -> Any:
        barrier.wait(60)
        try:
            return work(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


@pytest.mark.django_db
def test_it_is_the_database_that_the_test_names(database: str) -> None:
    assert connection.vendor == {"sqlite": "sqlite", "postgres": "postgresql"}[database]


@pytest.mark.django_db
def test_the_models_have_their_migrations() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    call_command("migrate", check_unapplied=True, verbosity=0)


@pytest.mark.django_db
def test_text_with_nul_costs_the_character_and_not_the_row(database: str) -> None:
    job, nul = make_job(), SHOWN[database]
    keep_points(job.pk, [Point("lo\0ss", timezone.now(), 1.0)])
    assert MetricSeries.objects.get(job=job).name == f"lo{nul}ss"
    raw = {"ke\0y": ["a\0\0b", "\\u0000", "\\\0", "it's", "é\ud7ff😀"]}
    now = timezone.now()
    event = JobEvent.objects.create(
        job=job, uid="e", type="Normal", reason="r", message="exit: \0", object_kind="Pod", object_name="p", first_at=now, last_at=now, raw=raw
    )  # fmt: skip
    event.refresh_from_db()
    assert event.message == f"exit: {nul}"
    assert event.raw == {f"ke{nul}y": [f"a{nul}{nul}b", "\\u0000", f"\\{nul}", "it's", "é\ud7ff😀"]}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/jobs?q=a%00b", "/jobs?project=%00", "/api/v1/trainjobs?q=%00", "/jobs?after=%00"]
)
def test_an_address_with_nul_is_no_failure_of_ours(address: str) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x" * 12))
    assert client.get(address).status_code < 500


@COMMITS
def test_values_that_come_at_once_are_all_counted() -> None:
    job, now = make_job(), timezone.now()

    def report(number: int) -> None:
        with transaction.atomic():
            note_progress(job.pk, number, None, now)
            keep_points(job.pk, [Point(f"metric-{n}", now, float(number)) for n in range(3)])

    at_once(report)
    assert [(s.seen, s.lowest, s.highest) for s in MetricSeries.objects.filter(job=job)] == [(THREADS, 0.0, 7.0)] * 3


@COMMITS
def test_reports_and_reconcile_do_not_wait_for_each_other_for_ever() -> None:
    job = make_job()

    def work(number: int) -> None:
        for percent in range(20):
            with transaction.atomic():
                if number % 2:
                    note_progress(job.pk, percent, None, timezone.now())
                else:  # as reconcile writes what it saw
                    TrainJob.objects.filter(pk=job.pk).update(sentence=str(percent))
                    TrainJobDetail.objects.filter(pk=job.pk).update(state={"percent": percent})

    at_once(work)
    job.refresh_from_db()
    assert (job.progress_percent, job.sentence) == (19, "19")


@on_postgres
def test_the_lead_stays_until_the_transaction_that_asked_for_it_ends() -> None:
    lead = Leadership("watch")
    assert lead.renew()

    def take() -> None:
        try:
            with transaction.atomic():
                Lease.objects.select_for_update(nowait=True).get(name="watch")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            assert lead.held()
            with pytest.raises(OperationalError):
                elsewhere.submit(take).result()
        elsewhere.submit(take).result()


@on_postgres
def test_threads_that_wait_hold_no_connection_of_the_pool() -> None:
    threads = 2 * POOL["max_size"]
    all_through = threading.Barrier(threads)
    job = make_job()

    def one(_: int) -> bool:
        with borrowed_connection():
            known = TrainJob.objects.filter(pk=job.pk).exists()
        all_through.wait(60)
        return known

    with ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(one, range(threads)))


@on_postgres
def test_a_connection_that_the_server_ended_is_replaced() -> None:
    job = make_job()
    connections.close_all()  # back in the pool, where it is ended
    with psycopg.connect(**without_pool(), autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert TrainJob.objects.filter(pk=job.pk).exists()


def without_pool() -> dict[str, Any]:
    """Return how to connect to the database beside Django."""
    wanted = ("host", "user", "dbname")
    return {key: value for key, value in connection.get_connection_params().items() if key in wanted}


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("postgres://u:p@h/n?sslmode=require", {"sslmode": "require", "connect_timeout": 5}),
        ("postgres://u:p@h/n?connect_timeout=9", {"connect_timeout": 9}),
        ("postgresql://u:p@%2Frun/n", {"connect_timeout": 5}),
    ],
)
def test_options_of_the_address_are_kept(url: str, options: dict[str, Any]) -> None:
    assert configuration(url)["OPTIONS"] == options | {"pool": POOL}


@pytest.mark.parametrize("url", ["mysql://u:p@h/n", "oracle://u:p@h/n", "odd://u:p@h/n", "postgres"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ValueError):
        configuration(url)
