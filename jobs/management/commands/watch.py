"""`manage.py watch`: the one process that mirrors the cluster and captures logs; leader by a lease, so a second one only stands by."""

import logging
import signal
import threading
import uuid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from jobs.reconcile.lease import Leadership
from jobs.reconcile.log_rows import follow, follow_all, start_captures
from jobs.reconcile.watch import WATCHED, MirrorSink, Selected, Writer
from trainui.cluster.reflector import Reflector

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
        if not stop.is_set():
            self._lead(leadership, stop)
        leadership.resign()

    def _lead(self, leadership: Leadership, stop: threading.Event) -> None:
        captures = start_captures()
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
        follow_all(captures)
        while not stop.wait(RENEW_SECONDS):
            if not leadership.renew():
                log.error("another watch took the lead; this one ends and stands by again")
                stop.set()
        captures.stop()
        writer.join(5)
