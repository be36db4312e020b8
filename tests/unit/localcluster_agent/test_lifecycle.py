"""Tables of what is done next for a pod, and of the status that is told."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from trainui.localcluster.agent.endings import ended_by
from trainui.localcluster.agent.lifecycle import (
    Decision,
    Signal,
    Stop,
    back_off_after,
    deadline_stop,
    decide,
    deletion_stop,
    ended,
    remaining_back_off,
    running,
    starting,
    waiting,
)
from trainui.localcluster.agent.model import (
    Container,
    Exit,
    Kind,
    Phase,
    Process,
    containers_of,
    from_json,
    moment,
    stamp,
    to_json,
)
from trainui.localcluster.agent.status import pod_status, qos_class

NOW = 1_000_000.0
Object = dict[str, Any]


def pod(
    policy: str = "Never", init: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), apps: tuple[str, ...] = ("a",)
) -> Object:
    early = [{"name": name} for name in init] + [{"name": name, "restartPolicy": "Always"} for name in sidecars]
    return {
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {
            "restartPolicy": policy,
            "initContainers": early,
            "containers": [{"name": name, "image": "img"} for name in apps],
        },
    }


def run(container: Container) -> Container:
    return running(starting(container), Process(1, "s"), stamp(NOW), False, False)


def end(container: Container, code: int, lasted: float = 1.0) -> Container:
    result = Exit(code, reason="Error" if code else "Completed", finished=NOW, finished_at=stamp(NOW), lasted=lasted)
    return ended(run(container), result, 10.0)


def states(subject: Object, **known: Any) -> dict[str, Container]:
    """Return the states of a pod: r running, 0 and 1 exit codes, - untouched."""
    found = containers_of(subject)
    for name, state in known.items():
        if state == "r":
            found[name] = run(found[name])
        elif state in (0, 1):
            found[name] = end(found[name], state)
    return found


@pytest.mark.parametrize(
    ("subject", "known", "expected"),
    [
        (pod(), {}, Decision(("a",))),
        (pod(apps=("a", "b")), {}, Decision(("a", "b"))),
        (pod(), {"a": "r"}, Decision()),
        (pod(), {"a": 0}, Decision(finished=True)),
        (pod(), {"a": 1}, Decision(finished=True)),
        (pod("OnFailure"), {"a": 0}, Decision(finished=True)),
        (pod("OnFailure"), {"a": 1}, Decision(("a",))),
        (pod("Always"), {"a": 0}, Decision(("a",))),
        (pod(apps=("a", "b")), {"a": 1, "b": "r"}, Decision()),
        (pod(init=("i", "j")), {}, Decision(("i",))),
        (pod(init=("i", "j")), {"i": "r"}, Decision()),
        (pod(init=("i", "j")), {"i": 0}, Decision(("j",))),
        (pod(init=("i", "j")), {"i": 0, "j": 0}, Decision(("a",))),
        (pod(init=("i",)), {"i": 1}, Decision(finished=True)),
        (pod("OnFailure", init=("i",)), {"i": 1}, Decision(("i",))),
        (pod("Always", init=("i",)), {"i": 0, "a": 1}, Decision(("a",))),
        (pod(sidecars=("s",)), {}, Decision(("s",))),
        (pod(sidecars=("s",)), {"s": "r"}, Decision(("a",))),
        (pod(sidecars=("s",)), {"s": 0, "a": "r"}, Decision(("s",))),
        (pod(sidecars=("s",)), {"s": "r", "a": 0}, Decision(signal={"s": Signal.TERM}, look_again=NOW + 30)),
        (pod(init=("i",), sidecars=("s",)), {"i": 1, "s": "r"}, Decision(signal={"s": Signal.KILL})),
    ],
)
def test_decisions(subject: Object, known: Mapping[str, Any], expected: Decision) -> None:
    assert decide(subject, states(subject, **known), NOW, None) == expected


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        ({}, NOW, Decision(finished=True)),
        ({"a": 0}, NOW, Decision(finished=True)),
        ({"s": "r", "a": "r"}, NOW, Decision(signal={"a": Signal.TERM}, look_again=NOW + 5)),
        ({"s": "r", "a": 0}, NOW, Decision(signal={"s": Signal.TERM}, look_again=NOW + 5)),
        ({"s": "r", "a": "r"}, NOW + 5, Decision(signal={"a": Signal.KILL, "s": Signal.KILL})),
    ],
)
def test_decisions_for_a_pod_that_must_end(known: Mapping[str, Any], now: float, expected: Decision) -> None:
    subject = pod("Always", sidecars=("s",))
    assert decide(subject, states(subject, **known), now, Stop(NOW + 5)) == expected


def test_signals_are_sent_once() -> None:
    subject = pod()
    found = states(subject, a="r")
    found["a"] = replace(found["a"], term_sent=True)
    assert decide(subject, found, NOW, Stop(NOW + 5)) == Decision(look_again=NOW + 5)
    found["a"] = replace(found["a"], kill_sent=True)
    assert decide(subject, found, NOW + 6, Stop(NOW + 5)) == Decision()


def test_restarts_back_off_and_a_long_run_forgets_it() -> None:
    assert [back_off_after(crashes, 10.0) for crashes in range(1, 9)] == [0, 10, 20, 40, 80, 160, 300, 300]
    container = end(end(end(containers_of(pod())["a"], 1), 1), 1)
    assert (container.restarts, container.crashes, container.back_off) == (2, 3, 20.0)
    assert container.last_exit is not None
    assert end(container, 1, lasted=700.0).back_off == 0.0
    subject = pod("OnFailure")
    assert decide(subject, {"a": container}, NOW + 1, None) == Decision(look_again=NOW + 20)
    assert decide(subject, {"a": container}, NOW + 20, None) == Decision(("a",))


def test_a_clock_that_steps_back_does_not_lengthen_the_wait() -> None:
    container = end(end(containers_of(pod())["a"], 1), 1)
    assert remaining_back_off(container, NOW - 100_000) == 10.0
    assert remaining_back_off(container, NOW + 100_000) == 0.0


def test_stops_by_deletion_and_deadline() -> None:
    subject = pod()
    assert deletion_stop(subject) is None
    subject["metadata"]["deletionTimestamp"] = "1970-01-12T13:46:40Z"
    assert deletion_stop(subject) == Stop(NOW)
    assert deadline_stop(subject, NOW, NOW + 5) == (None, None)
    subject["spec"]["activeDeadlineSeconds"] = 10
    assert deadline_stop(subject, NOW, NOW + 5) == (None, NOW + 10)
    stop, _ = deadline_stop(subject, NOW, NOW + 10)
    assert stop is not None
    assert (stop.reason, stop.deadline) == ("DeadlineExceeded", NOW + 40)


def told(subject: Object, found: Mapping[str, Container], terminal: bool = False, **more: Any) -> Object:
    return pod_status(subject, found, stamp(NOW), stamp(NOW + 1), NOW + 1, terminal=terminal, **more)


def condition(status: Object, kind: str) -> Object:
    return next(entry for entry in status["conditions"] if entry["type"] == kind)


@pytest.mark.parametrize(
    ("subject", "known", "terminal", "phase"),
    [
        (pod(), {}, False, "Pending"),
        (pod(), {"a": "r"}, False, "Running"),
        (pod(apps=("a", "b")), {"a": "r"}, False, "Pending"),
        (pod(apps=("a", "b")), {"a": 1, "b": "r"}, False, "Running"),
        (pod(init=("i",)), {"i": "r"}, False, "Pending"),
        (pod(init=("i",)), {"i": 0}, False, "Pending"),
        (pod(init=("i",)), {"i": 1}, True, "Failed"),
        (pod(init=("i",)), {"i": 0, "a": 0}, True, "Succeeded"),
        (pod("OnFailure"), {"a": 1}, False, "Running"),
        (pod("Always"), {"a": 0}, False, "Running"),
        (pod(), {"a": 0}, True, "Succeeded"),
        (pod(), {"a": 1}, True, "Failed"),
        (pod(apps=("a", "b")), {"a": 0, "b": 1}, True, "Failed"),
        (pod(), {}, True, "Failed"),
    ],
)
def test_phases(subject: Object, known: Mapping[str, Any], terminal: bool, phase: str) -> None:
    assert told(subject, states(subject, **known), terminal)["phase"] == phase


def test_a_running_pod_tells_everything() -> None:
    subject = pod()
    status = told(subject, states(subject, a="r"))
    assert (status["podIP"], status["startTime"]) == ("127.0.0.1", stamp(NOW))
    entry = status["containerStatuses"][0]
    assert entry == {
        "name": "a",
        "image": "img",
        "imageID": "local://img",
        "containerID": "trainui://u/a/0",
        "restartCount": 0,
        "ready": True,
        "started": True,
        "state": {"running": {"startedAt": stamp(NOW)}},
        "lastState": {},
    }
    assert {kind: condition(status, kind)["status"] for kind in ("Initialized", "Ready", "ContainersReady")} == {
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }


def test_a_container_that_waits_says_why() -> None:
    subject = pod()
    found = states(subject)
    found["a"] = waiting(found["a"], "CreateContainerConfigError", 'secret "x" not found')
    status = told(subject, found)
    assert status["containerStatuses"][0]["state"] == {
        "waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}
    }
    assert condition(status, "Ready")["message"] == "containers with unready status: [a]"
    assert told(subject, states(subject))["containerStatuses"][0]["state"] == {
        "waiting": {"reason": "ContainerCreating"}
    }


def test_init_containers_hold_the_others_back() -> None:
    subject = pod(init=("i",))
    status = told(subject, states(subject, i="r"))
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert condition(status, "Initialized")["message"] == "containers with incomplete status: [i]"
    assert status["initContainerStatuses"][0]["ready"] is False
    after = told(subject, states(subject, i=0, a="r"))
    assert after["initContainerStatuses"][0]["ready"] is True
    assert after["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


def test_crash_loop() -> None:
    subject = pod("OnFailure")
    found = {"a": end(end(containers_of(subject)["a"], 1), 1)}
    entry = told(subject, found)["containerStatuses"][0]
    assert entry["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s restarting failed container=a pod=p_n(u)",
    }
    assert (entry["lastState"]["terminated"]["exitCode"], entry["restartCount"]) == (1, 1)


def test_a_pod_that_its_machine_ended() -> None:
    subject = pod()
    ending = {"reason": "NodeShutdown", "message": "m"}
    status = told(subject, states(subject, a=0), terminal=True, ending=ending, disruption="m")
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "NodeShutdown", "m")
    assert condition(status, "DisruptionTarget")["reason"] == "TerminationByKubelet"


def test_conditions_of_others_stay_and_times_are_kept() -> None:
    subject = pod()
    subject["status"] = {
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "t0"},
            {"type": "Ready", "status": "True", "lastTransitionTime": "t1"},
            {"type": "Initialized", "status": "False", "lastTransitionTime": "t1"},
        ]
    }
    status = told(subject, states(subject, a="r"))
    assert condition(status, "PodScheduled")["lastTransitionTime"] == "t0"
    assert condition(status, "Ready")["lastTransitionTime"] == "t1"
    assert condition(status, "Initialized")["lastTransitionTime"] == stamp(NOW + 1)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_quality_of_service(resources: Object, expected: str) -> None:
    assert qos_class({"spec": {"containers": [{"name": "a", "resources": resources}]}}) == expected


RECORD: Object = {
    "exitCode": 0,
    "signal": 0,
    "startedAt": "2026-11-30T19:18:35.752079874Z",
    "finishedAt": "2026-11-30T19:18:37.000000001Z",
}


@pytest.mark.parametrize(
    ("record", "spec", "words", "tail", "killed", "reason", "message"),
    [
        ({}, {}, "", "", False, "Completed", ""),
        ({}, {}, "last words", "", False, "Completed", "last words"),
        ({"exitCode": 3}, {}, "", "boom", False, "Error", ""),
        (
            {"exitCode": 3},
            {"terminationMessagePolicy": "FallbackToLogsOnError"},
            "",
            "a\nboom\n",
            False,
            "Error",
            "a\nboom",
        ),
        ({"exitCode": 137, "signal": 9}, {}, "", "", True, "Error", ""),
        (
            {"exitCode": 137, "signal": 9},
            {},
            "",
            "",
            False,
            "Error",
            "The program was killed from outside (SIGKILL), possibly because memory ran out.",
        ),
    ],
)
def test_endings(record: Object, spec: Object, words: str, tail: str, killed: bool, reason: str, message: str) -> None:
    result = ended_by({**RECORD, **record}, {"name": "a", **spec}, words, tail, "/env", killed)
    assert (result.reason, result.message) == (reason, message)
    assert (result.started_at, result.finished_at) == ("2026-11-30T19:18:35Z", "2026-11-30T19:18:37Z")
    assert result.lasted == pytest.approx(1.247920127)


def test_states_survive_the_disk_and_a_later_version() -> None:
    container = end(end(containers_of(pod())["a"], 1), 0)
    assert from_json(to_json(container)) == container
    assert from_json({**to_json(run(container)), "novelty": 1}) == run(container)


def test_moments() -> None:
    assert moment("1970-01-12T13:46:40.5Z") == NOW + 0.5
    assert moment(stamp(NOW)) == NOW
    assert moment("") == 0.0
    assert Kind("init") is Kind.INIT
    assert Phase("running") is Phase.RUNNING
