"""Single calls: what is repeated, how long that takes, and what is made of broken answers."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cluster.server import (
    Answer,
    ApiServer,
    Asked,
    Script,
    answer,
    in_turn,
    listing,
    pod,
    refusal,
    serving,
    write_kubeconfig,
)
from trainui.cluster.client import Cluster, Times
from trainui.cluster.errors import ClusterError, Conflict, Gone, Unavailable
from trainui.cluster.kinds import POD, TRAIN_JOB
from trainui.cluster.patience import MOST_TRIES, Patience, within

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ns"}}
NOW = "0.01"  # a Retry-After that does not make the tests slow
BUSY = {429: refusal(429, "TooManyRequests", "too many requests"), 503: refusal(503, "ServiceUnavailable", "starting")}


def cluster_of(server: ApiServer, folder: Path, times: Times | None = None, **more: Any) -> Cluster:
    return Cluster.from_kubeconfig(write_kubeconfig(folder / "kubeconfig", server.url, **more), times)


def call(
    script: Script, folder: Path, action: Callable[[Cluster], Any], times: Times | None = None
) -> tuple[Any, list[Asked]]:
    """Return what a call comes to, its value or its error, and what the server was asked."""
    with serving(script) as server:
        try:
            outcome = action(cluster_of(server, folder, times))
        except ClusterError as error:
            outcome = error
        return outcome, server.asked


def read(cluster: Cluster) -> Any:
    return cluster.get(POD, "ns", "a")


def create(cluster: Cluster) -> Any:
    return cluster.create(CONFIG_MAP)


CALLS: dict[str, tuple[Callable[[Cluster], Any], bool]] = {
    "get": (read, True),
    "apply": (lambda c: c.apply(CONFIG_MAP, force=True), True),
    "delete of one object": (lambda c: c.delete(POD, "ns", "a", uid="u"), True),
    "merge patch": (lambda c: c.merge_patch(POD, "ns", "a", {"spec": {"suspend": True}}), True),
    "create that is not carried out": (lambda c: c.create(CONFIG_MAP, dry_run=True), True),
    "create": (create, False),
    "delete of a name": (lambda c: c.delete(POD, "ns", "a"), False),
    "merge patch of one version": (
        lambda c: c.merge_patch(POD, "ns", "a", {"metadata": {"resourceVersion": "7"}}),
        False,
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("trouble", [None, BUSY[503], Answer(steps=[b'{"kind":'], reset=True)])
def test_only_what_cannot_happen_twice_is_repeated(name: str, trouble: Answer | None, tmp_path: Path) -> None:
    action, repeated = CALLS[name]
    outcome, asked = call(in_turn(trouble, answer(200, pod("a", 5))), tmp_path, action)
    assert len(asked) == (2 if repeated else 1)
    assert isinstance(outcome, Unavailable) != repeated
    if not repeated:
        assert outcome.carried_out


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_was_turned_away_unseen_is_repeated_whatever_it_is(name: str, tmp_path: Path) -> None:
    busy = Answer(429, b"{}", {"Retry-After": NOW})
    outcome, asked = call(in_turn(busy, busy, answer(200, pod("a", 5))), tmp_path, CALLS[name][0])
    assert not isinstance(outcome, ClusterError)
    assert len(asked) == 3
    assert len({(a.method, a.path, a.body) for a in asked}) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 413, 422])
def test_a_final_answer_is_not_asked_for_again(status: int, tmp_path: Path) -> None:
    outcome, asked = call(in_turn(refusal(status, "Reason", "no")), tmp_path, read)
    assert (outcome.status, outcome.message, len(asked)) == (status, "no", 1)


def test_the_tries_are_few_and_the_last_answer_is_told(tmp_path: Path) -> None:
    outcome, asked = call(in_turn(BUSY[503]), tmp_path, read)
    assert str(outcome) == "read Pod a: starting"
    assert len(asked) == MOST_TRIES


def test_a_server_that_asks_for_much_time_is_left_alone_and_the_caller_knows_how_long(tmp_path: Path) -> None:
    outcome, asked = call(in_turn(Answer(429, b"{}", {"Retry-After": "120"})), tmp_path, read)
    assert (outcome.retry_after, len(asked)) == (120.0, 1)


def test_the_time_to_wait_also_comes_in_the_status(tmp_path: Path) -> None:
    slow = refusal(500, "ServerTimeout", "try again", retryAfterSeconds=60)
    outcome, asked = call(in_turn(slow), tmp_path, read)
    assert (outcome.retry_after, len(asked)) == (60.0, 1)


def test_a_webhook_that_fails_is_not_called_again_at_once(tmp_path: Path) -> None:
    said = 'failed calling webhook "v.example.com": context deadline exceeded'
    outcome, asked = call(
        in_turn(refusal(500, "InternalError", f"Internal error occurred: {said}")), tmp_path, CALLS["apply"][0]
    )
    assert isinstance(outcome, Unavailable)
    assert (outcome.webhook, len(asked)) == ("v.example.com", 1)


@pytest.mark.parametrize("name", CALLS)
def test_nobody_listening_is_told_after_some_tries(name: str, tmp_path: Path) -> None:
    with serving(in_turn(None)) as server:
        cluster = cluster_of(server, tmp_path)
    with pytest.raises(
        Unavailable, match=r"the API server 127\.0\.0\.1:\d+ does not answer \(connection refused\)"
    ) as told:
        CALLS[name][0](cluster)
    assert not told.value.carried_out


def test_pauses_grow_and_have_a_bound() -> None:
    patience = Patience(time.monotonic() + 1000)
    pauses = [patience.pause(Unavailable("x", status=503), idempotent=True) for _ in range(MOST_TRIES)]
    assert pauses[-1] is None
    assert all(0.1 * 2**n <= (pause or 0) <= 0.2 * 2**n for n, pause in enumerate(pauses[:-1]))
    assert Patience(time.monotonic()).pause(Unavailable("x", status=503), idempotent=True) is None  # no time left


def test_a_server_that_accepts_and_says_nothing_costs_the_time_of_one_call(tmp_path: Path) -> None:
    """Pitfall 13: a half-open connection; the time of all tries together is bounded."""
    with serving(lambda asked: server.hold()) as server:
        cluster = cluster_of(server, tmp_path, Times(call=0.3))
        with pytest.raises(Unavailable, match="timed out"):
            read(cluster)


def test_an_answer_that_drips_costs_the_time_of_one_call(tmp_path: Path) -> None:
    def drip() -> Any:
        while not server.released.wait(0.01):
            yield b" "

    with serving(lambda asked: Answer(steps=drip())) as server, pytest.raises(Unavailable, match="too long"):
        read(cluster_of(server, tmp_path, Times(call=0.3)))


def test_all_calls_of_a_task_have_one_time_together(tmp_path: Path) -> None:
    with serving(lambda asked: server.hold()) as server:
        cluster = cluster_of(server, tmp_path)
        with within(60.0), within(0.3):
            for _ in range(3):
                with pytest.raises(Unavailable):
                    read(cluster)
            with pytest.raises(Unavailable, match="no time was left"):
                read(cluster)
        assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"[]", b"", b'{"kind": "Po'])
def test_an_answer_of_something_else_is_no_answer(body: bytes, tmp_path: Path) -> None:
    outcome, _ = call(in_turn(Answer(200, body)), tmp_path, read)
    assert isinstance(outcome, Unavailable)
    assert "not from an API server" in outcome.message


@pytest.mark.parametrize(
    "broken", [b"[]", b'"x"', b'{"details": [], "message": null}', b'{"details": {"causes": "x"}}', b"\xff\xfe"]
)
def test_a_refusal_in_an_unknown_form_is_told_as_it_is(broken: bytes, tmp_path: Path) -> None:
    outcome, _ = call(in_turn(Answer(403, broken)), tmp_path, read)
    assert outcome.status == 403
    assert outcome.message


def test_a_list_comes_in_pages(tmp_path: Path) -> None:
    pages = in_turn(listing(pod("a", 1), version=9, more="next"), listing(pod("b", 2), version=9))
    (items, version), asked = call(pages, tmp_path, lambda c: c.list(POD, "ns", "a=b"))
    assert ([i["metadata"]["name"] for i in items], version) == (["a", "b"], "9")
    assert [(a.query.get("continue"), a.query["labelSelector"], a.query["limit"]) for a in asked] == [
        (None, "a=b", "500"),
        ("next", "a=b", "500"),
    ]


def test_a_list_whose_pages_run_out_of_time_begins_again_and_at_last_comes_in_one_piece(tmp_path: Path) -> None:
    """Pitfall 15: 410 in the middle of a list."""
    expired = refusal(410, "Expired", "The provided continue parameter is too old")
    first = listing(pod("gone-since", 1), version=5, more="next")
    script = in_turn(first, expired, first, expired, listing(pod("a", 1), pod("b", 2), version=9))
    (items, version), asked = call(script, tmp_path, lambda c: c.list(POD))
    assert ([i["metadata"]["name"] for i in items], version) == (["a", "b"], "9")
    assert "limit" not in asked[-1].query
    outcome, asked = call(in_turn(expired), tmp_path, lambda c: c.list(POD))
    assert isinstance(outcome, Gone)
    assert len(asked) == 3


def test_patches_name_their_content_type_and_manager(tmp_path: Path) -> None:
    """Pitfall 21: a client that guesses sends strategic merge patches, which CRDs answer with 415."""
    sent = []
    for name in ("apply", "merge patch"):
        _, asked = call(in_turn(answer(200, pod("a", 5))), tmp_path, CALLS[name][0])
        sent.append((asked[0].headers["content-type"], asked[0].query["fieldManager"]))
    assert sent == [("application/apply-patch+yaml", "trainui"), ("application/merge-patch+json", "trainui")]


def test_a_conflict_names_the_fields_and_whose_they_are(tmp_path: Path) -> None:
    """Pitfall 22: no force unasked; "field X is managed by Y"."""
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-edit" using v1',
            "field": ".spec.replicas",
        },
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "hpa" with subresource "scale"',
            "field": ".spec.x",
        },
    ]
    refused = refusal(409, "Conflict", "Apply failed with 2 conflicts", causes)
    outcome, asked = call(in_turn(refused), tmp_path, lambda c: c.apply(CONFIG_MAP))
    assert isinstance(outcome, Conflict)
    assert outcome.managers == [("spec.replicas", "kubectl-edit"), ("spec.x", "hpa")]
    assert "Field spec.replicas is managed by kubectl-edit; field spec.x is managed by hpa" in str(outcome)
    assert [a.query["force"] for a in asked] == ["false"]


def test_a_trainjob_is_never_forced(tmp_path: Path) -> None:
    job = {"apiVersion": TRAIN_JOB.api_version, "kind": "TrainJob", "metadata": {"name": "a", "namespace": "ns"}}
    with serving(in_turn(answer(200, job))) as server:
        cluster = cluster_of(server, tmp_path)
        with pytest.raises(ValueError, match="never taken over"):
            cluster.apply(job, force=True)
        assert not server.asked


def test_delete_names_the_object_and_not_only_its_name(tmp_path: Path) -> None:
    """Pitfalls 29 and 30: another object may have the name by now."""
    _, asked = call(
        in_turn(answer(200)), tmp_path, lambda c: c.delete(POD, "ns", "a", propagation="Foreground", uid="u1")
    )
    assert asked[0].json()["preconditions"] == {"uid": "u1"}
    assert asked[0].json()["propagationPolicy"] == "Foreground"


def test_objects_are_plain_data(tmp_path: Path) -> None:
    """Pitfalls 23 and 27: no typed objects, so nothing of them changes with a version of the official client."""
    odd = pod("a", 5) | {"spec": {"fieldOfTomorrow": [1, "2"]}}
    outcome, _ = call(in_turn(answer(200, odd)), tmp_path, read)
    assert outcome == odd
