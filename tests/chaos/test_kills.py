"""Jobs are submitted, run, are suspended and cancelled while every process of the instance is killed again and again: none is lost, none runs twice.

TRAINUI_LONG=1 makes it 200 jobs in ten minutes, TRAINUI_SEED chooses other moments.
"""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.chaos.fleet import Killer, People, Plan, log_faults, plans, twice_or_not_at_all
from tests.chaos.instance import all_up, archived_logs
from tests.chaos.order import order_of
from tests.jobs.tools import objects
from tests.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("chaos")
LONG = os.environ.get("TRAINUI_LONG", "") not in ("", "0")
JOBS, SECONDS = (200, 570.0) if LONG else (20, 40.0)
SEED = int(os.environ.get("TRAINUI_SEED", "4"))
PROJECT = "kills"
MOST_PAUSE = 3.0  # between two kills
ORDER_SECONDS = 300.0  # messages of a killed worker come again after a minute
SUBMISSION = "trainui.dev/submission-id"


def test_jobs_survive_kills_of_every_process(stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nkills: {JOBS} jobs in {SECONDS:.0f} s, seed {SEED}")
    choice = random.Random(SEED)  # noqa: S311  moments, not secrets
    fleet = plans(JOBS, SECONDS, choice, tmp_path)
    with order_of(stack, PROJECT) as order:
        killed = _let_live(stack, fleet, choice)
        wait_for(lambda: all_up(stack), 120, "all processes to run again")
        wanted = {plan.id: plan.may_be for plan in fleet}
        try:
            order.wait(wanted, ORDER_SECONDS)
        except AssertionError as error:
            names = [f"{plan.id} is {plan.name}" for plan in fleet if plan.id in str(error)]
            raise AssertionError("\n".join([str(error), *names, f"killed: {killed}"])) from None
    with capsys.disabled():
        print(f"kills: {killed}")
    _check_lost(stack, fleet)
    faults = [
        fault
        for plan in fleet
        for fault in (*twice_or_not_at_all(plan), *log_faults(plan, archived_logs(stack, plan.id)))
    ]
    assert not faults, "\n".join(faults)


def _let_live(stack: Stack, fleet: list[Plan], choice: random.Random) -> dict[str, int]:
    """Carry out all plans among kills; return how often each process was killed."""
    killer, people = Killer(stack, choice, SECONDS, MOST_PAUSE), People(stack, PROJECT, SECONDS)
    killer.start()
    try:
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(people.live, fleet))
    finally:
        killer.stop()
    return dict(killer.killed)


def _check_lost(stack: Stack, fleet: list[Plan]) -> None:
    """Every submission is one job, and at most one object."""
    with stack.client() as client:
        rows = client.get("/api/v1/trainjobs", params={"project": PROJECT, "limit": 200}).json()["items"]
    assert sorted((row["name"], row["id"]) for row in rows) == sorted((plan.name, plan.id) for plan in fleet)
    marks = [o["metadata"]["annotations"][SUBMISSION] for o in objects(stack, "trainjobs", namespace=PROJECT)]
    assert sorted(marks) == sorted(plan.id for plan in fleet if plan.kind != "cancelled")
