"""Many jobs of mixed kinds, submitted and acted upon as people do while anything may be killed, and what each must leave behind."""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.chaos.instance import MEMBERS, kill_member
from tests.stack import Json, Stack

LINES = 40
PAUSE = 0.05  # between two lines
ANSWER_SECONDS = 180.0  # how long somebody asks again while web is away, after the last kill
FAILURE = 3
# Each pod notes its start and its end, one short line each, which the system appends whole.
SCRIPT = """
echo "start $JOB_COMPLETION_INDEX $TRAINUI_POD_UID" >> "{notes}"
echo "pod $TRAINUI_POD_UID"
i=0
while [ $i -lt {lines} ]; do echo "line $i"; i=$((i+1)); sleep {pause}; done
echo "end $JOB_COMPLETION_INDEX $TRAINUI_POD_UID" >> "{notes}"
exit {code}
"""
KINDS = ("short", "gang", "big", "failing", "paused", "cancelled", "short", "gang")
NODES = {"gang": 2, "big": 3, "paused": 2, "failing": 2}
ENDS = {"failing": {"Failed"}, "cancelled": {"Cancelled"}}


@dataclass
class Plan:
    """One job: what it is, when people deal with it (seconds from the start, then from step to step), and what became of it."""

    number: int
    kind: str
    at: float
    pauses: tuple[float, float]
    notes: Path
    id: str = ""
    answers: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.kind}-{self.number:03}"

    @property
    def nodes(self) -> int:
        """On how many nodes it runs."""
        return NODES.get(self.kind, 1)

    @property
    def lines(self) -> int:
        """How many lines each of its pods prints."""
        return 100_000 if self.kind == "cancelled" else LINES

    @property
    def may_be(self) -> set[str]:
        """How it must end."""
        return ENDS.get(self.kind, {"Succeeded"})

    @property
    def script(self) -> str:
        """What it runs."""
        code = FAILURE if self.kind == "failing" else 0
        return SCRIPT.format(notes=self.notes, lines=self.lines, pause=PAUSE, code=code)


def plans(number: int, seconds: float, choice: random.Random, folder: Path) -> list[Plan]:
    """Return jobs of all kinds, spread over a time."""
    return [
        Plan(
            n,
            KINDS[n % len(KINDS)],
            seconds * n / number,
            (choice.uniform(0, 6), choice.uniform(0, 6)),
            folder / f"notes-{n}",
        )
        for n in range(number)
    ]


class People:
    """Submits and acts by REST; asks again, with the same key, while web does not answer."""

    def __init__(self, stack: Stack, project: str, seconds: float) -> None:
        self._stack = stack
        self._project = project
        self._began = time.monotonic()
        self._patience = self._began + seconds + ANSWER_SECONDS

    def live(self, plan: Plan) -> None:
        """Do to one job what its plan says."""
        time.sleep(max(0.0, self._began + plan.at - time.monotonic()))
        parameters = {"script": plan.script, "nodes": plan.nodes}
        body = {"project": self._project, "blueprint": "plain-command", "name": plan.name, "parameters": parameters}
        plan.id = self._ask(plan, "/api/v1/trainjobs", body, (200, 201))["id"]
        for action, pause in zip(
            {"paused": ("suspend", "resume"), "cancelled": ("cancel",)}.get(plan.kind, ()), plan.pauses, strict=False
        ):
            time.sleep(pause)
            self._ask(
                plan, f"/api/v1/trainjobs/{plan.id}/{action}", {}, (202, 409) if plan.kind == "paused" else (202,)
            )

    def _ask(self, plan: Plan, path: str, body: Json, expected: tuple[int, ...]) -> Json:
        while True:
            try:
                with self._stack.client() as client:
                    answer = client.post(path, json=body, headers={"Idempotency-Key": f"key of {plan.name}"})
                plan.answers.append(f"{path}: {answer.status_code}")
                if answer.status_code in expected:
                    return dict(answer.json())
                assert answer.status_code == 503, f"{plan.name}: {path}: {answer.status_code} {answer.text[:500]}"
            except httpx.TransportError as error:
                plan.answers.append(f"{path}: {type(error).__name__}")
            assert time.monotonic() < self._patience, f"{plan.name}: no answer: {plan.answers}"
            time.sleep(0.2)


class Killer(threading.Thread):
    """Sends kill -9 to one process of the instance after the other, at random moments, for some seconds."""

    def __init__(self, stack: Stack, choice: random.Random, seconds: float, most_pause: float) -> None:
        super().__init__(name="killer", daemon=True)
        self.killed: Counter[str] = Counter()
        self._stack = stack
        self._choice = choice
        self._until = time.monotonic() + seconds
        self._most_pause = most_pause
        self._over = threading.Event()

    def run(self) -> None:
        """Kill until the time is over, each process as often as the others."""
        while True:
            for name in self._choice.sample(sorted(MEMBERS), len(MEMBERS)):
                if self._over.wait(self._choice.uniform(0.1, self._most_pause)) or time.monotonic() > self._until:
                    return
                self.killed[name] += kill_member(self._stack, name)

    def stop(self) -> None:
        """Stop killing at once."""
        self._over.set()
        self.join(30)


def twice_or_not_at_all(plan: Plan) -> Iterator[str]:
    """Say what is wrong with the starts and ends that a job's pods noted."""
    notes = [line.split() for line in plan.notes.read_text().splitlines()] if plan.notes.exists() else []
    starts, ends = (Counter(index for what, index, _ in notes if what == wanted) for wanted in ("start", "end"))
    if len({(what, uid) for what, _, uid in notes}) != len(notes):
        yield f"{plan.name}: a pod ran twice: {notes}"
    every = Counter(str(index) for index in range(plan.nodes))
    if plan.may_be == {"Succeeded"} and ends != every:
        yield f"{plan.name}: ended {dict(ends)}"
    if plan.kind in ("short", "gang", "big") and starts != every:
        yield f"{plan.name}: started {dict(starts)}"
    if max([*ends.values(), *(starts.values() if plan.kind != "paused" else ())], default=0) > 1:
        yield f"{plan.name}: more than once: {notes}"


def log_faults(plan: Plan, logs: list[tuple[Json, str]]) -> Iterator[str]:
    """Say what is wrong with the archived logs of a job: every pod has its lines, each once and in order; those that succeeded have all.

    A pod of a failed job may be deleted before anybody could read its log, as on Kubernetes.
    """
    notes = plan.notes.read_text().splitlines() if plan.notes.exists() else []
    ended = {line.split()[2] for line in notes if line.startswith("end")}
    whole: set[str] = set()
    for log, text in logs:
        numbers = [int(n) for n in re.findall(r"^line (\d+)$", text, re.MULTILINE)]
        if numbers != list(range(len(numbers))):
            yield f"{plan.name}: lines of {log['pod']} are {numbers}"
        if len(numbers) == plan.lines and (found := re.match(r"pod (\S+)\n", text)):
            if found.group(1) in whole:
                yield f"{plan.name}: two logs of one pod {log['pod']}"
            whole.add(found.group(1))
    missing = ended - whole
    if missing if plan.may_be == {"Succeeded"} else ended and not whole:
        told = [(log["pod"], log["lines"], log["problem"]) for log, _ in logs]
        yield f"{plan.name}: not all lines of pods {missing} are archived: {told}"
