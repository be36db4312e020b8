"""Waits until an instance is in order: nothing happens any more, and rows, objects and processes of a project are as they should be."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests.chaos.instance import Checker, all_up, pod_processes
from tests.conformance.lifecycle.api import Api
from tests.stack import Json, Stack, wait_for
from trainui.cluster import kinds

POLL_SECONDS = 0.25
START_SECONDS = 120.0
ENDED = ("Succeeded", "Failed")
Phases = Mapping[str, set[str]]


@dataclass
class Order:
    """Looks at one project of an instance. hurry: do now what beat would ask for within ten seconds."""

    stack: Stack
    checker: Checker
    api: Api
    project: str
    hurry: bool = False

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
        try:
            others = self._others()
        except httpx.TransportError as error:
            yield f"the cluster is away: {error}"
            return
        alive = {p["uid"]: p["name"] for p in pods if p["phase"] not in ENDED}
        for uid in running.keys() - alive.keys() - others:
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


@contextmanager
def order_of(stack: Stack, project: str, hurry: bool = False) -> Iterator[Order]:
    """Look at a project of an instance for a block; the project is made, with alice as its engineer."""
    checker, api = Checker(stack), Api(stack.data / "cluster" / "kubeconfig")
    checker.ask("make_project", name=project, engineer="alice")
    wait_for(lambda: all_up(stack), START_SECONDS, "all processes to run")
    try:
        yield Order(stack, checker, api, project, hurry)
    finally:
        api.close()
        checker.close()
