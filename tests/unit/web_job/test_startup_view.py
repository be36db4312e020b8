"""The phases of a start as the page draws them, as a table."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.models import TrainJobDetail
from jobs.state import phases
from jobs.web.job.startup import startup_of
from tests.unit.web_job.conftest import sample

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def entry(name: str, since: float, until: float | None, owner: str = "scheduler", last: str = "") -> dict[str, Any]:
    end = at(until).isoformat() if until is not None else None
    return {"name": name, "owner": owner, "since": at(since).isoformat(), "until": end, "last": last}


ALL = [
    entry("queued", 0, 60),
    entry("placed", 60, 80),
    entry("pulling", 80, 180, "image", "Rank 3 on m-3"),
    entry("starting", 180, 200, "machine"),
]


def test_each_phase_has_its_length_share_and_owner():
    found = startup_of(ALL, at(220), "metric", phases.RUNNING, at(500))
    assert [(p.name, p.seconds, p.owner, p.state) for p in found.phases] == [
        ("queued", 60, "the scheduler", "done"),
        ("placed", 20, "the scheduler", "done"),
        ("pulling", 100, "the image", "done"),
        ("starting", 20, "the machines", "done"),
        ("first_step", 20, "your program", "done"),
    ]
    assert found.seconds == 220
    assert found.longest is not None
    assert (found.longest.name, found.longest.last) == ("pulling", "Rank 3 on m-3")
    assert round(sum(p.width for p in found.phases)) == 100
    assert found.phases[2].start == found.phases[0].width + found.phases[1].width


def test_the_phase_that_goes_on_counts_to_now():
    found = startup_of([*ALL[:1], entry("placed", 60, None)], None, "", phases.WAITING, at(90))
    assert [(p.label, p.state, p.seconds) for p in found.phases] == [
        ("Queued", "done", 60),
        ("Being placed", "now", 30),
    ]


def test_a_running_program_that_says_nothing_is_awaited():
    last = startup_of(ALL, None, "", phases.RUNNING, at(260)).phases[-1]
    assert (last.name, last.state, last.seconds) == ("first_step", "now", 60)


def test_a_job_that_ended_in_between_reached_no_more():
    found = startup_of([*ALL[:1], entry("placed", 60, None)], None, "", phases.CANCELLED, at(9000))
    assert [(p.state, p.seconds) for p in found.phases] == [("done", 60), ("never", 0)]
    assert startup_of([], None, "", phases.CREATING, T0).phases == []


def test_the_page_shows_them(world, as_user):
    job = world.job()
    entries = [e | {"what": ""} for e in ALL]
    TrainJobDetail.objects.filter(job=job).update(state=job.detail.state | {"startup": entries})
    sample(job, "loss", [1.0])
    html = as_user("viewer").get(f"/jobs/{job.pk}").content.decode()
    assert 'data-phase="pulling" data-state="done"' in html
    assert "the image · last Rank 3 on m-3" in html
    assert 'data-phase="first_step" data-state="done"' in html
    assert "its first metric" in html
    assert as_user("viewer").get(f"/api/v1/trainjobs/{job.pk}").json()["startup"][2]["owner"] == "image"
