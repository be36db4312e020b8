"""Waits until an instance is in order: nothing happens any more, and rows, objects and processes of a project are as they should be."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.chaos.instance import Checker, all_up, pod_processes
from tests.conformance.lifecycle.api import Api
from tests.stack import Json, Stack
from trainui.cluster import kinds

POLL_SECONDS = 0.25
ENDED = ("Succeeded", "Failed")
Phases = Mapping[str, set[str]]


@dataclass
class Order:
    """Looks at one project of an instance. hurry: do now what beat would ask for within ten seconds."""

    stack: Stack
    checker: Checker
    api: Api
    project: str
    hurry: bool = True

    def wait(self, wanted: Phases, seconds: float) -> None:
        """Return once all is in order and stays so. Raises AssertionError that says what is not.

        wanted: by id of a job the phases that it may have; none for one whose record must be gone.
        """
        deadline, before = time.monotonic() + seconds, ""
        while True:
            if self.hurry:
                self.checker.ask("look_now")
            found = self.checker.ask("check", namespace=self.project)
            problems = [
                *found["busy"],
                *found["wrong"],
                *_phases(found["phases"], wanted),
                *self._processes(found["pods"]),
            ]
            mark = "" if problems else str(found["mark"])
            if mark and mark == before:
                return
            before = mark
            if time.monotonic() > deadline:
                raise AssertionError("\n".join([f"not in order after {seconds:.0f} s:", *problems]))
            time.sleep(POLL_SECONDS)

    def _processes(self, pods: list[Json]) -> Iterator[str]:
        if not all_up(self.stack):
            yield "the supervisor has not started everything again"
        running = pod_processes(self.stack)
        alive = {p["uid"]: p["name"] for p in pods if p["phase"] not in ENDED}
        for uid in running.keys() - alive.keys() - self._others():
            yield f"processes without a pod: {uid} {running[uid]}"
        for pod in pods:
            if pod["phase"] == "Running" and pod["uid"] not in running:
                yield f"a pod without a process: {pod['name']}"

    def _others(self) -> set[str]:
        """Return the uids of pods that have not ended in other projects."""
        found = [p for p in self.api.list(kinds.POD, "") if p["metadata"]["namespace"] != self.project]
        return {p["metadata"]["uid"] for p in found if p["status"].get("phase") not in ENDED}


def _phases(phases: Mapping[str, str], wanted: Phases) -> Iterator[str]:
    for job, may_be in wanted.items():
        if not may_be and job in phases:
            yield f"job {job} was deleted and is still {phases[job]}"
        elif may_be and (phase := phases.get(job, "gone")) not in may_be:
            yield f"job {job} is {phase}, not {' or '.join(sorted(may_be))}"
