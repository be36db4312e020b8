"""One project of a running instance, the jobs that a run of the state machine made in it, and what must become of them."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from tests.chaos.instance import kill_member, pod_processes
from tests.chaos.order import POLL_SECONDS, Order, order_of
from tests.conformance.lifecycle.api import Answer, Api
from tests.stack import Json, Stack
from trainui.cluster import kinds
from trainui.cluster.kinds import Kind

PROJECT = "chaos"
PROGRAMS = {
    "zero": "echo done",
    "three": "echo failing; exit 3",
    "told": 'echo waiting; while [ ! -e "{told}" ]; do sleep 0.1; done',
}
ALIVE = ("Running", "Waiting")
STILL = (*ALIVE, "Succeeded", "Failed", "Suspended", "Cancelled")
CHILDREN = {kind.kind: kind for kind in (kinds.JOB_SET, kinds.JOB, kinds.POD_GROUP, kinds.CONFIG_MAP)}
LOOK_SECONDS = 8.0  # how long a step waits for something to hit; it goes on without when there is nothing
SETTLE_SECONDS = 150.0


@dataclass
class Job:
    """One submitted job, and what was asked of it or done to it."""

    id: str
    name: str
    program: str
    told: Path
    cancelled: bool = False
    deleted: bool = False
    suspended: bool = False
    harmed: bool = False  # something happened after which it may fail

    def may_be(self) -> set[str]:
        """Return the phases that it may have once nothing happens any more; none when its record must be gone."""
        natural = {"zero": {"Succeeded"}, "three": {"Failed"}, "told": {"Succeeded"} if self.told.exists() else set()}
        ends = natural[self.program] | ({"Failed", "Succeeded"} if self.harmed else set())
        if self.deleted:
            return set()
        if self.cancelled:
            return ends | {"Cancelled"}
        if self.suspended:
            return ends | {"Suspended"}
        return ends | {"Waiting"} | ({"Running"} if self.program == "told" and not self.told.exists() else set())


@dataclass
class World:
    """Acts on the instance and remembers what it did, as a story for whoever reads a failure."""

    stack: Stack
    order: Order
    client: httpx.Client
    folder: Path
    jobs: list[Job] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    lost: dict[str, Json] = field(default_factory=dict)
    runs: int = 0
    broken: bool = False

    def begin(self) -> None:
        """Begin a run."""
        self.runs += 1
        self.story, self.broken = [], False

    def tell(self, text: str) -> None:
        """Add a line to the story, which lies beside the programs' files too."""
        self.story.append(text)
        with open(self.folder / "story", "a", encoding="utf-8") as file:
            file.write(f"{self.runs}: {text}\n")

    @property
    def api(self) -> Api:
        """The cluster as kubectl sees it."""
        return self.order.api

    def must(self, true: bool, text: str) -> None:
        """Raise AssertionError with the story unless something is true; the run is not settled then."""
        if not true:
            self.broken = True
            raise AssertionError("\n".join([text, f"after run {self.runs}:", *self.story]))

    # What people do

    def submit(self, nodes: int, program: str) -> Job:
        """Submit a job."""
        name = f"r{self.runs}-{len(self.jobs)}-{program}"
        told = self.folder / name
        body = {
            "project": PROJECT,
            "blueprint": "plain-command",
            "name": name,
            "parameters": {"script": PROGRAMS[program].format(told=told), "nodes": nodes},
        }
        answer = self.client.post("/api/v1/trainjobs", json=body)
        self.must(answer.status_code == 201, answer.text)
        self.tell(f"submit {name} with {nodes} node(s)")
        self.jobs.append(Job(answer.json()["id"], name, program, told))
        return self.jobs[-1]

    def act(self, job: Job, action: str) -> None:
        """Suspend, resume, cancel or delete."""
        path = f"/api/v1/trainjobs/{job.id}"
        answer = self.client.delete(path) if action == "delete" else self.client.post(f"{path}/{action}", json={})
        allowed = (202, 409, 404) if job.deleted else (202, 409)
        self.must(answer.status_code in allowed, f"{action} {job.name}: {answer.status_code} {answer.text}")
        self.tell(f"{action} {job.name}: {answer.status_code}")
        if answer.status_code != 202:
            return
        if action in ("suspend", "resume"):
            job.suspended = action == "suspend"
        job.cancelled |= action == "cancel"
        job.deleted |= action == "delete"

    def let_end(self, job: Job) -> None:
        """Give a program that waits for it the sign to end."""
        self.tell(f"tell {job.name} to end")
        job.told.touch()

    def phase(self, job: Job) -> str:
        """Return the phase of a job, an empty text when its record is gone."""
        answer = self.client.get(f"/api/v1/trainjobs/{job.id}")
        self.must(answer.status_code == 200 or job.deleted, answer.text)
        return str(answer.json()["phase"]) if answer.status_code == 200 else ""

    def look(self, job: Job) -> None:
        """Let a job go on until it stands still, or for some seconds."""
        deadline = time.monotonic() + LOOK_SECONDS
        while (phase := self.phase(job)) and phase not in STILL and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        self.tell(f"{job.name} is {phase or 'gone'}")

    # What happens to objects and processes

    def pods(self, job: Job) -> list[Json]:
        """Return the pods of a job that have not ended."""
        found = self.api.list(kinds.POD, PROJECT)
        mine = [p for p in found if p["metadata"]["labels"].get("jobset.sigs.k8s.io/jobset-name") == job.name]
        return sorted(
            (p for p in mine if p["status"].get("phase") not in ("Succeeded", "Failed")),
            key=lambda p: str(p["metadata"]["name"]),
        )

    def edit(self, job: Job, kind: str, how: str) -> None:
        """Change a child as somebody with kubectl might."""
        changes: dict[str, Json] = {
            "label": {"metadata": {"labels": {"trainui.dev/trainjob": "somebody-else"}}},
            "suspend": {"spec": {"suspend": True}},
            "resume": {"spec": {"suspend": False}},
            "data": {"data": {"runtime.json": "{}", "more": "than there was"}},
        }
        for name in self._named(CHILDREN[kind], job):
            answer = self.api.patch(CHILDREN[kind], PROJECT, name, changes[how])
            self.tell(f"edit {kind} {name} ({how}): {answer.code}")

    def delete_child(self, job: Job, kind: str) -> None:
        """Delete a child as somebody with kubectl might."""
        for name in self._named(CHILDREN[kind], job):
            self.tell(f"delete {kind} {name}: {self.api.delete(CHILDREN[kind], PROJECT, name).code}")

    def _named(self, kind: Kind, job: Job) -> list[str]:
        """Return the names of a job's children of one kind: they begin with its own, which none of another job's does."""
        names = [obj["metadata"]["name"] for obj in self.api.list(kind, PROJECT)]
        return sorted(name for name in names if name == job.name or name.startswith(f"{job.name}-"))

    def delete_pod(self, job: Job, index: int) -> None:
        """Delete a pod that has not ended."""
        if found := self.pods(job):
            name = found[index % len(found)]["metadata"]["name"]
            job.harmed = True
            self.tell(f"delete Pod {name}: {self.api.delete(kinds.POD, PROJECT, name).code}")

    def fail_pod(self, job: Job, index: int) -> None:
        """Write a pod's status as if it had failed."""
        if found := self.pods(job):
            name = found[index % len(found)]["metadata"]["name"]
            job.harmed = True
            answer = self.api.patch(kinds.POD, PROJECT, name, {"status": {"phase": "Failed"}}, "status")
            self.tell(f"fail Pod {name}: {answer.code}")

    def kill_process(self, job: Job, index: int) -> None:
        """Send kill -9 to a process of a job: its program, one of its children, or the shim that stands above them."""
        uids, running = {p["metadata"]["uid"] for p in self.pods(job)}, pod_processes(self.stack)
        targets = sorted((p for uid in uids for p in running.get(uid, [])), key=lambda p: p.pid)
        if targets:
            job.harmed = True
            target = targets[index % len(targets)]
            try:
                words = " ".join(target.cmdline())[-60:]
                os.kill(target.pid, signal.SIGKILL)
            except (OSError, psutil.Error):
                return
            self.tell(f"kill -9 in {job.name}: {words!r}")

    def lose_machine(self, name: str) -> None:
        """Delete a machine's Node."""
        node = self.api.get(kinds.NODE, "", name)
        if node is not None:
            self.lost[name] = node
            self.tell(f"lose machine {name}: {self.api.delete(kinds.NODE, '', name).code}")

    def bring_back(self, name: str) -> None:
        """Register a machine again, if its agent has not done so yet."""
        if node := self.lost.pop(name, None):
            metadata = {key: node["metadata"].get(key) or {} for key in ("labels", "annotations")} | {"name": name}
            made: Answer = self.api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}})
            self.must(made.code in (201, 409), str(made.body))
            answer = self.api.patch(kinds.NODE, "", name, {"status": node["status"]}, "status")
            self.must(answer.accepted, str(answer.body))
            self.tell(f"bring back machine {name}: {made.code}")

    def kill_agent(self) -> None:
        """Send kill -9 to the node agent; the supervisor starts it again."""
        self.tell(f"kill -9 the node agent: {kill_member(self.stack, 'node agent')}")

    def repeat_message(self, job: Job) -> None:
        """Reconcile a job twice, beside what the workers do."""
        self.order.checker.ask("repeat", job=job.id, times=2)
        self.tell(f"reconcile {job.name} twice")

    def lose_messages(self) -> None:
        """Empty the queue."""
        self.order.checker.ask("lose")
        self.tell("lose all messages")

    # What must be so in the end

    def settle(self) -> None:
        """Stop all faults and wait until everything is as it should be. Raises AssertionError with the story."""
        for name in list(self.lost):
            self.bring_back(name)
        try:
            self.order.wait({job.id: job.may_be() for job in self.jobs}, SETTLE_SECONDS)
        except AssertionError as error:
            names = [f"{job.id} is {job.name}" for job in self.jobs]
            raise AssertionError("\n".join([str(error), *names, f"after run {self.runs}:", *self.story])) from None

    def leave(self) -> None:
        """End a run: programs are told to end and all jobs are deleted, which goes on while the next run begins."""
        for job in self.jobs:
            job.told.touch()
        for job in self.jobs:
            if not job.deleted:
                self.act(job, "delete")
                assert job.deleted, job.name
        self.jobs = self.jobs[-20:]

    def empty(self) -> None:
        """Wait until nothing is left. Raises AssertionError."""
        self.leave()
        self.settle()
        found = self.order.checker.ask("check", namespace=PROJECT)
        assert not found["phases"], found["phases"]
        assert not found["objects"], json.dumps(found)


@contextmanager
def world_of(stack: Stack, folder: Path) -> Iterator[World]:
    """Act in a project of its own for a block."""
    with order_of(stack, PROJECT, hurry=True) as order, stack.client() as client:
        order.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PROJECT}})
        yield World(stack, order, client, folder)
