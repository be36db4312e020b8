"""`manage.py watch`: the one process that mirrors the cluster and captures logs; leader by a lease, so a second one only stands by."""

import logging
import signal
import threading
import uuid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import InterfaceError, OperationalError

from jobs.reconcile.doorbell import ring_survey
from jobs.reconcile.lease import Leadership
from jobs.reconcile.log_rows import follow, follow_all, start_captures
from jobs.reconcile.survey import note_claim
from jobs.reconcile.watch import WATCHED, MirrorSink, Selected, Writer
from trainui.claimed import claimed
from trainui.cluster.claim import Taken
from trainui.cluster.errors import ClusterError
from trainui.cluster.reflector import Reflector
from trainui.database import borrowed_connection

log = logging.getLogger(__name__)
RENEW_SECONDS = 3.0


class Command(BaseCommand):
    """Runs reflectors, the mirror's writer and the log followers while it leads."""

    help = "Mirror the cluster into the database and capture the logs of jobs."

    def handle(self, *args: Any, **options: Any) -> None:
        """Lead, or wait for the lead, until SIGTERM."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        leadership = Leadership("watch")
        while not stop.is_set() and not leadership.renew():
            stop.wait(RENEW_SECONDS)
        if self._claim(leadership, stop):
            self._lead(leadership, stop)
        leadership.resign()

    def _claim(self, leadership: Leadership, stop: threading.Event) -> bool:
        """Wait until the cluster is ours to reconcile; False when told to stop first. Says once who has it."""
        said = ""
        while not stop.is_set():
            try:
                claimed()
                note_claim("")
                return True
            except Taken as error:
                if str(error) != said:
                    log.error("watch does not start: %s", error)
                    note_claim(said := str(error))
            except (
                ClusterError
            ):  # nobody can tell: the reflectors say what is wrong, and workers write nothing meanwhile
                return True
            stop.wait(RENEW_SECONDS)
            leadership.renew()
        return False

    def _lead(self, leadership: Leadership, stop: threading.Event) -> None:
        captures = start_captures(leadership.held)
        sink = MirrorSink()

        def pods_changed(job_ids: set[uuid.UUID]) -> None:
            follow(captures, job_ids)

        writer = Writer(sink, stop, pods_changed, leadership.held)
        source = Selected(settings.KUBECONFIG)
        threads = [
            threading.Thread(target=Reflector(source, kind, sink, stop).run, name=f"watch-{kind.plural}", daemon=True)
            for kind in WATCHED
        ]
        writer.start()
        for thread in threads:
            thread.start()
        threading.Thread(target=_keep_claim, args=(stop,), name="claim", daemon=True).start()
        follow_all(captures)
        ring_survey()
        while not stop.wait(RENEW_SECONDS):
            if not _keeps(leadership):
                log.error("another watch took the lead; this one ends and stands by again")
                stop.set()
        captures.stop()
        writer.join(5)


def _keep_claim(stop: threading.Event) -> None:
    """Renew the claim on the cluster, and stop when somebody else has it now; a thread, because calls may take longer than the lead lasts."""
    while not stop.wait(RENEW_SECONDS):
        try:
            claimed()
        except Taken as error:
            log.error("watch ends: %s", error)
            note_claim(str(error))
            stop.set()
        except ClusterError:  # the reflectors say so
            continue


def _keeps(leadership: Leadership) -> bool:
    """Renew the lead; False when another process took it. While the database is away nobody can take it."""
    try:
        with borrowed_connection():
            return leadership.renew()
    except (OperationalError, InterfaceError) as error:
        log.error("the lead cannot be renewed, trying again: %s", error)
        return True
