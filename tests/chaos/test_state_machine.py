"""Whatever people, faults and accidents do to jobs, in any order: when they stop, everything is as it should be.

Each run is a sequence of steps that Hypothesis chose; nothing waits for the effect of a step before the next one, and no outcome depends on how
far the instance has come in between. TRAINUI_LONG=1 makes more and longer runs, TRAINUI_SEED chooses others.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.chaos.world import PROGRAMS, Job, World, world_of
from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("chaos")
LONG = os.environ.get("TRAINUI_LONG", "") not in ("", "0")
RUNS, STEPS = (200, 30) if LONG else (int(os.environ.get("TRAINUI_RUNS", "20")), 10)
SEED = int(os.environ.get("TRAINUI_SEED", "4"))
MOST_JOBS = 4
MACHINES = ("local-0", "local-1")
PEOPLE = ("suspend", "resume", "suspend", "resume", "end", "cancel", "delete")
HANDS = (
    ("edit", "JobSet", "label"),
    ("edit", "JobSet", "suspend"),
    ("edit", "JobSet", "resume"),
    ("edit", "PodGroup", "label"),
    ("edit", "ConfigMap", "label"),
    ("edit", "ConfigMap", "data"),
    *(("delete", kind, "") for kind in ("JobSet", "Job", "PodGroup", "ConfigMap", "Pod")),
)
ACCIDENTS = ("kill", "fail", "lose machine", "bring back", "kill agent", "repeat message", "lose messages")

nodes = st.integers(1, 3)
programs = st.sampled_from(sorted(PROGRAMS))
numbers = st.integers(0, 5)


class Life(RuleBasedStateMachine):
    """What can happen. Conditions of rules look at what was done only, never at what came of it: that depends on time.

    With `look` a step first lets its job go on until it stands still. There are few rules, because Hypothesis leaves some out of each run.
    """

    world: ClassVar[World]
    jobs = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        self.made = 0
        self.world.begin()

    @initialize(target=jobs, nodes=nodes, program=programs)
    def first(self, nodes: int, program: str) -> Job:
        return self._submit(nodes, program)

    @precondition(lambda self: self.made < MOST_JOBS)
    @rule(target=jobs, nodes=nodes, program=programs)
    def submit(self, nodes: int, program: str) -> Job:
        return self._submit(nodes, program)

    def _submit(self, nodes: int, program: str) -> Job:
        self.made += 1
        return self.world.submit(nodes, program)

    @rule(job=jobs, look=st.booleans(), action=st.sampled_from(PEOPLE))
    def people(self, job: Job, look: bool, action: str) -> None:
        if look:
            self.world.look(job)
        if action == "end":
            self.world.let_end(job)
        else:
            self.world.act(job, action)

    @rule(job=jobs, look=st.booleans(), what=st.sampled_from(HANDS), index=numbers)
    def hands(self, job: Job, look: bool, what: tuple[str, str, str], index: int) -> None:
        verb, kind, how = what
        if look:
            self.world.look(job)
        if kind == "Pod":
            self.world.delete_pod(job, index)
        elif verb == "delete":
            self.world.delete_child(job, kind)
        else:
            self.world.edit(job, kind, how)

    @rule(job=jobs, look=st.booleans(), what=st.sampled_from(ACCIDENTS), index=numbers)
    def accidents(self, job: Job, look: bool, what: str, index: int) -> None:
        world, machine = self.world, MACHINES[index % len(MACHINES)]
        if look or what in ("kill", "fail"):
            world.look(job)
        happen: dict[str, Callable[[], None]] = {
            "kill": lambda: world.kill_process(job, index),
            "fail": lambda: world.fail_pod(job, index),
            "lose machine": lambda: world.lose_machine(machine),
            "bring back": lambda: world.bring_back(machine),
            "kill agent": world.kill_agent,
            "repeat message": lambda: world.repeat_message(job),
            "lose messages": world.lose_messages,
        }
        happen[what]()

    def teardown(self) -> None:
        if not self.world.broken:
            self.world.settle()
            self.world.leave()


@pytest.fixture
def world(stack: Stack, tmp_path: Path) -> Iterator[World]:
    with world_of(stack, tmp_path) as opened:
        yield opened


def test_everything_is_as_it_should_be_when_faults_stop(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nchaos: {RUNS} runs of {STEPS} steps, seed {SEED}")
    Life.world = world
    how = settings(
        max_examples=RUNS,
        stateful_step_count=STEPS,
        phases=[Phase.generate],  # a failure tells its own story; a shorter one would take many runs to find
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(SEED)(Life), settings=how)
    world.empty()
