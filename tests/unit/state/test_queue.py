"""Places in queues, as a table."""

from typing import Any

from jobs.state.queue import KUEUE, LOCAL, SCHEDULER, Place, Waits, places


def waits(id: str, **parts: Any) -> Waits:
    known = {
        "kind": SCHEDULER,
        "queue": "q",
        "priority": 0,
        "since": "2026-03-01T11:00:00Z",
        "pods": 2,
        "accelerators": 16,
    }
    return Waits(id, **(known | parts))


def test_priority_then_age():
    first, second = waits("a", since="2026-03-01T10:00:00Z"), waits("b")
    urgent = waits("c", priority=9, accelerators=4)
    found = places([second, urgent, first])
    assert [found[i].position for i in "cab"] == [1, 2, 3]
    assert found["b"] == Place(SCHEDULER, "q", 3, 3, 2, 20, 4, True)


def test_what_runs_in_part_goes_before_its_equals():
    assert places([waits("a", since="2026-03-01T10:00:00Z"), waits("b", started=True)])["b"].position == 1


def test_the_local_queue_is_exact_and_queues_are_apart():
    found = places([waits("a", kind=LOCAL), waits("b"), waits("c", queue="other")])
    assert {place.position for place in found.values()} == {1}
    assert (found["a"].approximate, found["b"].approximate) == (False, True)


def test_a_queue_that_tells_its_order_is_believed():
    told = [waits("a", kind=KUEUE, number=1, priority=0), waits("b", kind=KUEUE, number=0, priority=0)]
    found = places(told)
    assert [found[i].position for i in "ba"] == [1, 2]
    assert not found["a"].approximate


def test_jobs_ahead_that_we_do_not_know_make_it_approximate():
    found = places([waits("a", kind=KUEUE, number=4)])["a"]
    assert (found.position, found.of, found.jobs_ahead, found.accelerators_ahead, found.approximate) == (
        5,
        5,
        4,
        0,
        True,
    )


def test_the_order_of_the_list_does_not_matter():
    entries = [waits(str(n), priority=n % 3, since=f"2026-03-01T1{n % 5}:00:00Z") for n in range(20)]
    expected = places(entries)
    assert places(entries[::-1]) == places(entries[7:] + entries[:7]) == expected
