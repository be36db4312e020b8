"""The process that keeps a test cluster: it starts everything, stops and starts programs when asked, and ends everything when it is told to, or when the
process that owns the cluster is gone, however that ended.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig import kueue, programs, upstream
from tests.rig.cluster import Cluster
from tests.rig.programs import RigError
from tests.rig.site import Site

LOOK_SECONDS = 1.0
FACTS = "rig.json"  # written when the cluster is usable
FAILURE = "failure.txt"  # written when it could not be started, or a program of it ended by itself
CONTROL = "control.sock"
Facts = dict[str, Any]
# Controllers that only run when asked for: how each starts and stops.
CONTROLLERS: dict[str, tuple[Callable[[Site], None], Callable[[Site], None]]] = {
    upstream.NAME: (upstream.start_trainer, upstream.stop_trainer),
    kueue.NAME: (kueue.start, kueue.stop),
}
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Keeper:
    """Keeps one cluster for an owner."""

    def __init__(self, folder: Path, owner: int, with_machine: bool) -> None:
        self.folder = folder
        self.owner = owner
        self.with_machine = with_machine

    def run(self, announce: Callable[[Facts], None] | None = None) -> int:
        """Start the cluster, keep it and end it; return 1 when it could not be started."""
        for number in _ENDING:
            signal.signal(number, _interrupt)
        if self.owner:
            threading.Thread(target=_end_with, args=(self.owner,), daemon=True).start()
        self.folder.mkdir(parents=True, exist_ok=True)
        cluster: Cluster | None = None
        try:
            began = time.monotonic()
            programs.ensure()
            built = time.monotonic()
            cluster = Cluster(self.folder, self.owner, self.with_machine)
            cluster.start()
            facts = self._facts(cluster, built - began, time.monotonic() - built)
            _write(self.folder / FACTS, json.dumps(facts, indent=1))
            if announce:
                announce(facts)
            self._keep(cluster)
        except RigError as error:
            _write(self.folder / FAILURE, str(error))
            print(f"test cluster: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            pass
        except Exception as error:
            _write(self.folder / FAILURE, f"{type(error).__name__}: {error}")
            raise
        finally:
            for number in _ENDING:
                signal.signal(number, signal.SIG_IGN)
            if cluster:
                cluster.stop()
        return 0

    def _facts(self, cluster: Cluster, build_seconds: float, start_seconds: float) -> Facts:
        return cluster.describe() | {
            "keeper": os.getpid(),
            "owner": self.owner,
            "build_seconds": round(build_seconds, 1),
            "start_seconds": round(start_seconds, 1),
        }

    def _keep(self, cluster: Cluster) -> None:
        """Answer its users and watch the programs until a signal comes."""
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(str(self.folder / CONTROL))
            control.listen()
            while True:
                ready, _, _ = select.select([control], [], [], LOOK_SECONDS)
                if ready:
                    self._answer(cluster, control)
                self._watch(cluster)

    def _answer(self, cluster: Cluster, control: socket.socket) -> None:
        connection, _ = control.accept()
        with connection, connection.makefile("rw") as stream:
            asked = json.loads(stream.readline())
            try:
                if asked["do"] == "stop":
                    cluster.processes.stop(asked["program"], signal.Signals[asked.get("signal", "SIGTERM")])
                elif asked["do"] == "start":
                    cluster.processes.start(asked["program"])
                elif asked["do"] == "start-controller":
                    CONTROLLERS[asked["program"]][0](cluster.site)
                elif asked["do"] == "stop-controller":
                    CONTROLLERS[asked["program"]][1](cluster.site)
                answer: Facts = {"ok": True}
            except KeyError as error:
                answer = {"error": f"the test cluster has no program {error}"}
            except RigError as error:
                answer = {"error": str(error)}
            stream.write(json.dumps(answer) + "\n")

    def _watch(self, cluster: Cluster) -> None:
        try:
            cluster.processes.check()
        except RigError as error:
            if not (self.folder / FAILURE).exists():
                _write(self.folder / FAILURE, str(error))


def _end_with(owner: int) -> None:
    """Wait for the end of a process, then end this one as a signal does."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(owner)
        select.select([handle], [], [])
    os.kill(os.getpid(), signal.SIGTERM)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _write(path: Path, content: str) -> None:
    unfinished = path.with_suffix(".tmp")
    unfinished.touch(mode=0o600)
    unfinished.write_text(content)
    unfinished.rename(path)
