"""Pods on a real local cluster: environment, volumes, restarts, probes, ends."""

import base64
import json
import re

import pytest

from .cluster import Cluster
from .conditions import eventually

SHOW = "import os, json; print(json.dumps(dict(os.environ)))"


def test_environment_and_volumes_reach_the_program(cluster: Cluster) -> None:
    cluster.create("ConfigMap", "seen", data={"greeting": "hello", "file": "content"})
    cluster.create("Secret", "hidden", data={"key": base64.b64encode(b"s3cret").decode()})
    cluster.create(
        "PersistentVolumeClaim",
        "kept",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    )
    script = (
        "cat /cm/sub/file; stat -c %a /keys/key; echo $(GREETING) from $(NAME) > /kept/out; cat /init/made; pwd; python -c '"
        + SHOW
        + "'"
    )
    uid = cluster.run(
        "environment",
        ["sh", "-ec", script],
        container={
            "env": [
                {"name": "GREETING", "valueFrom": {"configMapKeyRef": {"name": "seen", "key": "greeting"}}},
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "WHERE", "value": "/kept/out"},
            ],
            "envFrom": [{"secretRef": {"name": "hidden"}, "prefix": "S_"}],
            "volumeMounts": [
                {"name": "cm", "mountPath": "/cm"},
                {"name": "keys", "mountPath": "/keys"},
                {"name": "kept", "mountPath": "/kept"},
                {"name": "init", "mountPath": "/init"},
            ],
        },
        initContainers=[
            {
                "name": "first",
                "image": "none",
                "command": ["sh", "-c", "echo by the init container > /init/made"],
                "volumeMounts": [{"name": "init", "mountPath": "/init"}],
            }
        ],
        volumes=[
            {"name": "cm", "configMap": {"name": "seen", "items": [{"key": "file", "path": "sub/file"}]}},
            {
                "name": "keys",
                "secret": {"secretName": "hidden", "items": [{"key": "key", "path": "key", "mode": 0o400}]},
            },
            {"name": "kept", "persistentVolumeClaim": {"claimName": "kept"}},
            {"name": "init", "emptyDir": {}},
        ],
    )
    status = cluster.wait_phase("environment", "Succeeded", "Failed")
    log = cluster.log("environment")
    assert status["phase"] == "Succeeded", log
    text, environment = log.rstrip("\n").rsplit("\n", 1)
    root = cluster.data / "cluster" / "pods" / uid
    assert text == f"content400\nby the init container\n{root}/_work"
    kept = cluster.data / "cluster" / "volumes" / "default" / "kept"
    assert (kept / "out").read_text() == "hello from environment\n"
    seen = json.loads(environment)
    assert (seen["GREETING"], seen["S_key"], seen["WHERE"]) == ("hello", "s3cret", f"{kept}/out")
    assert (seen["HOME"], seen["LANG"], seen["TRAINUI_MOUNT_KEPT"]) == (f"{root}/_work", "C.UTF-8", str(kept))
    for name in ("PYTEST_CURRENT_TEST", "TRAINUI_RESTART_BACKOFF_SECONDS", "VIRTUAL_ENV", "KUBECONFIG"):
        assert name not in seen
    assert cluster.container("environment", "initContainerStatuses")["state"]["terminated"]["reason"] == "Completed"
    assert ("Started", "Started container main") in eventually(lambda: cluster.events("environment"), "events")


def test_the_log_is_in_the_runtimes_form(cluster: Cluster) -> None:
    uid = cluster.run("form", ["sh", "-c", "echo out; echo err >&2; printf tail"])
    cluster.wait_phase("form", "Succeeded")
    raw = (cluster.data / "cluster" / "pods" / uid / "main" / "0.log").read_text()
    assert sorted(line.split(" ", 1)[1] for line in raw.splitlines()) == [
        "stderr F err",
        "stdout F out",
        "stdout P tail",
    ]
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ", line) for line in raw.splitlines())


def test_a_missing_config_map_is_waited_for(cluster: Cluster) -> None:
    env = [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "x"}}}]
    cluster.run("waits", ["sh", "-c", "echo $(X)"], container={"env": env})
    state = eventually(
        lambda: (
            cluster.container("waits").get("state", {}).get("waiting", {}).get("message")
            and cluster.container("waits")["state"]
        )
    )
    assert state == {"waiting": {"reason": "CreateContainerConfigError", "message": 'configmap "late" not found'}}
    assert cluster.status("waits")["phase"] == "Pending"
    cluster.create("ConfigMap", "late", data={"y": "1"})
    missing = "couldn't find key x in ConfigMap default/late"
    eventually(lambda: cluster.container("waits")["state"].get("waiting", {}).get("message") == missing, missing)
    cluster.api.merge_patch("/api/v1/namespaces/default/configmaps/late", {"data": {"x": "there"}})
    cluster.wait_phase("waits", "Succeeded")
    assert cluster.log("waits") == "there\n"
    assert ("Failed", 'Error: configmap "late" not found') in cluster.events("waits")


def test_a_missing_volume_is_waited_for(cluster: Cluster) -> None:
    volumes = [{"name": "v", "secret": {"secretName": "later"}}]
    cluster.run(
        "mounts", ["cat", "/v/a"], container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, volumes=volumes
    )
    expected = ("FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "later" not found')
    eventually(lambda: expected in cluster.events("mounts"), "FailedMount")
    assert cluster.container("mounts")["state"] == {"waiting": {"reason": "ContainerCreating"}}
    cluster.create("Secret", "later", data={"a": base64.b64encode(b"b").decode()})
    cluster.wait_phase("mounts", "Succeeded")
    assert cluster.log("mounts") == "b"


@pytest.mark.parametrize(
    ("name", "command", "code", "reason", "part"),
    [
        (
            "missing",
            ["torchrun", "x.py"],
            127,
            "StartError",
            'The program "torchrun" of container "main" is not installed.',
        ),
        ("folder", ["/etc"], 126, "ContainerCannotRun", "may not be executed"),
        ("shell", ["sh", "-c", "deepspeed x"], 127, "Error", 'The program "deepspeed" is not installed.'),
        ("module", ["python", "-m", "no_such_module_here"], 1, "Error", 'The Python module "no_such_module_here"'),
        ("nothing", None, 128, "StartError", 'Container "main" has no command'),
        ("fails", ["sh", "-c", "exit 3"], 3, "Error", ""),
        ("killed", ["sh", "-c", "kill -9 $$$$"], 137, "Error", "possibly because memory ran out"),
        ("speaks", ["sh", "-c", "echo last words > /dev/termination-log; exit 1"], 1, "Error", "last words"),
    ],
)
def test_bad_ends(cluster: Cluster, name: str, command: list[str] | None, code: int, reason: str, part: str) -> None:
    cluster.run(f"bad-{name}", command)
    cluster.wait_phase(f"bad-{name}", "Failed")
    ended = cluster.container(f"bad-{name}")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, reason)
    assert part in ended.get("message", "")


def test_a_failing_container_is_restarted_with_back_off(cluster: Cluster) -> None:
    script = "n=$(cat /n/count 2>/dev/null || echo 0); echo $((n + 1)) > /n/count; echo run $n; [ $n -ge 3 ]"
    uid = cluster.run(
        "restarts",
        ["sh", "-c", script],
        restartPolicy="OnFailure",
        container={"volumeMounts": [{"name": "n", "mountPath": "/n"}]},
        volumes=[{"name": "n", "emptyDir": {}}],
    )
    cluster.wait_phase("restarts", "Succeeded")
    entry = cluster.container("restarts")
    assert (entry["restartCount"], entry["state"]["terminated"]["exitCode"]) == (3, 0)
    assert entry["lastState"]["terminated"]["exitCode"] == 1
    logs = [
        (cluster.data / "cluster" / "pods" / uid / "main" / f"{n}.log").read_text().split(" ", 3)[3] for n in range(4)
    ]
    assert logs == [f"run {n}\n" for n in range(4)]
    assert any(reason == "BackOff" for reason, _ in cluster.events("restarts"))


def test_a_failed_init_container_fails_the_pod(cluster: Cluster) -> None:
    init = [{"name": "first", "image": "none", "command": ["sh", "-c", "exit 4"]}]
    cluster.run("uninitialized", ["true"], initContainers=init)
    cluster.wait_phase("uninitialized", "Failed")
    assert cluster.container("uninitialized", "initContainerStatuses")["state"]["terminated"]["exitCode"] == 4
    assert cluster.container("uninitialized")["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_a_sidecar_starts_first_and_ends_last(cluster: Cluster) -> None:
    sidecar = {"name": "helper", "image": "none", "restartPolicy": "Always", "command": ["sleep", "1000"]}
    uid = cluster.run("accompanied", ["echo", "worked"], initContainers=[sidecar])
    cluster.wait_phase("accompanied", "Succeeded")
    assert cluster.container("accompanied", "initContainerStatuses")["state"]["terminated"]["exitCode"] == 143
    assert not cluster.processes(uid)


def test_readiness_follows_the_probe(cluster: Cluster) -> None:
    probe = {"exec": {"command": ["test", "-e", "/flag/up"]}, "periodSeconds": 1, "failureThreshold": 1}
    uid = cluster.run(
        "probed",
        ["sleep", "1000"],
        container={"readinessProbe": probe, "volumeMounts": [{"name": "flag", "mountPath": "/flag"}]},
        volumes=[{"name": "flag", "emptyDir": {}}],
    )
    cluster.wait_phase("probed", "Running")
    assert cluster.container("probed")["ready"] is False
    flag = cluster.data / "cluster" / "pods" / uid / "volumes" / "flag" / "up"
    flag.touch()
    eventually(lambda: cluster.container("probed")["ready"], "ready")
    flag.unlink()
    eventually(lambda: not cluster.container("probed")["ready"], "unready")
    cluster.delete("probed", 0)
    eventually(lambda: not cluster.processes(uid), "no process")


def test_a_container_that_fails_its_liveness_probe_is_restarted(cluster: Cluster) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    uid = cluster.run("unwell", ["sleep", "1000"], restartPolicy="Always", container={"livenessProbe": probe})
    eventually(lambda: cluster.container("unwell").get("restartCount", 0) >= 1, "a restart")
    cluster.delete("unwell", 0)
    eventually(lambda: not cluster.processes(uid), "no process")


def test_deletion_gives_grace_and_then_none(cluster: Cluster) -> None:
    gentle = cluster.run(
        "gentle", ["sh", "-c", "trap 'echo asked; exit 0' TERM; echo armed; while :; do sleep 0.05; done"]
    )
    stubborn = cluster.run(
        "stubborn",
        ["sh", "-c", "trap '' TERM; (trap '' TERM; setsid sleep 1000) & echo armed; while :; do sleep 0.05; done"],
        terminationGracePeriodSeconds=1,
    )
    for name in ("gentle", "stubborn"):
        cluster.wait_log(name, "armed")
        cluster.delete(name)
    for name, uid in (("gentle", gentle), ("stubborn", stubborn)):
        cluster.wait_gone(name)
        assert not cluster.processes(uid)
    record = json.loads((cluster.data / "cluster" / "pods" / stubborn / "main" / "0.exit").read_text())
    assert record["signal"] == 9
    assert "asked" in (cluster.data / "cluster" / "pods" / gentle / "main" / "0.log").read_text()


def test_a_deadline_ends_a_pod(cluster: Cluster) -> None:
    uid = cluster.run("late", ["sleep", "1000"], activeDeadlineSeconds=1)
    status = cluster.wait_phase("late", "Failed")
    assert status["reason"] == "DeadlineExceeded"
    assert not cluster.processes(uid)


def test_a_shim_that_is_killed_is_told_honestly(cluster: Cluster) -> None:
    uid = cluster.run("bereft", ["sh", "-c", "setsid sleep 1000 & echo armed; sleep 1000"])
    cluster.wait_log("bereft", "armed")
    cluster.shim(uid).kill()
    cluster.wait_phase("bereft", "Failed")
    ended = cluster.container("bereft")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")
    assert "ended from outside" in ended["message"]
    assert not cluster.processes(uid)


def test_pods_of_status_machines_are_left_alone(cluster: Cluster) -> None:
    cluster.run("driven", ["true"], machine="sim-0")
    cluster.run("after-driven", ["true"])
    cluster.wait_phase("after-driven", "Succeeded")
    assert cluster.status("driven").get("phase") == "Pending"
    assert not cluster.status("driven").get("containerStatuses")


def test_a_pod_that_is_removed_by_force_leaves_no_process(cluster: Cluster) -> None:
    uid = cluster.run("forced", ["sh", "-c", "trap '' TERM; echo armed; while :; do sleep 0.05; done"])
    cluster.wait_log("forced", "armed")
    cluster.delete("forced", 0)
    eventually(lambda: not cluster.processes(uid), "no process")
    assert cluster.pod("forced") is None


def test_machines_say_what_they_are(cluster: Cluster) -> None:
    node = cluster.api.get("/api/v1/nodes/sim-0")
    assert node
    assert node["metadata"]["labels"]["trainui.dev/machine-kind"] == "status"
    assert node["metadata"]["annotations"]["trainui.dev/machine-kind"] == "status"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "sim-0"
    assert node["status"]["allocatable"]["cpu"] == "8"
    local = cluster.api.get("/api/v1/nodes/local-0")
    assert local
    assert local["status"]["capacity"]["memory"] == "8Gi"


def test_a_node_that_was_deleted_comes_back(cluster: Cluster) -> None:
    cluster.api.request("DELETE", "/api/v1/nodes/sim-0")
    eventually(lambda: cluster.machine_ready("sim-0"), "the machine")


def test_files_of_a_volume_follow_their_config_map(cluster: Cluster) -> None:
    cluster.create("ConfigMap", "moving", data={"hosts": "a\n", "old": "x"})
    script = "until grep -q b /v/hosts && [ ! -e /v/old ]; do sleep 0.05; done; cat /v/hosts"
    cluster.run(
        "follows",
        ["sh", "-c", script],
        container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        volumes=[{"name": "v", "configMap": {"name": "moving"}}],
    )
    cluster.wait_phase("follows", "Running")
    cluster.api.merge_patch("/api/v1/namespaces/default/configmaps/moving", {"data": {"hosts": "b\n", "old": None}})
    unlike = iter(range(1000))

    def nudged() -> bool:  # a changed annotation makes the kubelet look at once; what was just read serves two seconds
        if cluster.status("follows")["phase"] == "Running":
            patch = {"metadata": {"annotations": {"nudge": str(next(unlike))}}}
            cluster.api.merge_patch("/api/v1/namespaces/default/pods/follows", patch)
        return cluster.status("follows")["phase"] == "Succeeded"

    eventually(nudged, "the new file")
    assert cluster.log("follows") == "b\n"


def test_a_pod_that_is_deleted_at_its_end_does_not_stay(cluster: Cluster) -> None:
    for number in range(10):
        cluster.run(f"brief-{number}", ["true"])
    for number in range(10):
        cluster.delete(f"brief-{number}")
    for number in range(10):
        cluster.wait_gone(f"brief-{number}")
