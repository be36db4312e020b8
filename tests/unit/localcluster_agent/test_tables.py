"""Tables of the agent's pure parts: expansion, path rewriting, environment, volumes, machines, launch plans, hints."""

import base64
import errno
from typing import Any

import pytest

from trainui.localcluster.agent.devices import DeviceBook, device_numbers
from trainui.localcluster.agent.environment import ConfigError, field_value, resolve_environment
from trainui.localcluster.agent.expansion import expand
from trainui.localcluster.agent.machines import MachineError, parse_machines, ready_condition
from trainui.localcluster.agent.mounts import Mount, mount_folders, mount_variables, rewrite_paths
from trainui.localcluster.agent.plan import NoCommand, Place, plan_launch, pod_hostname, threads
from trainui.localcluster.agent.programs import hint_from_log, start_failure
from trainui.localcluster.agent.rsh import split_call
from trainui.localcluster.agent.volumes import File, VolumeError, plan_volume

Object = dict[str, Any]
POD: Object = {
    "metadata": {
        "name": "job-node-0-1-abcde",
        "namespace": "team",
        "uid": "u-1",
        "labels": {"app": "x", "a.b/c": "d"},
        "annotations": {"batch.kubernetes.io/job-completion-index": "1", "quoted": 'say "hi"'},
    },
    "spec": {"nodeName": "local-0", "hostname": "job-node-0-1", "containers": [{"name": "node"}]},
}
OBJECTS: dict[tuple[str, str], Object] = {
    ("ConfigMap", "settings"): {
        "kind": "ConfigMap",
        "data": {"RATE": "0.1", "note": "two\nlines", "BAD=NAME": "x"},
        "binaryData": {"raw": base64.b64encode(b"\x00\xff").decode()},
    },
    ("Secret", "keys"): {"kind": "Secret", "data": {"token": base64.b64encode(b"s3cret\xfe").decode()}},
}
ALLOCATABLE = {"cpu": "4", "memory": "8Gi"}


def fetch(kind: str, name: str) -> Object | None:
    return OBJECTS.get((kind, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)$(B)y", "x12y"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$(MISSING)", "$(MISSING)"),
        ("$(A", "$(A"),
        ("$A ${A}", "$A ${A}"),
        ("$(C)", "$(A)"),  # not expanded again
        ("$()", "$()"),
        ("price 5$", "price 5$"),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2", "C": "$(A)"}) == expected


FOLDERS = {"/data": "/pods/u/volumes/d", "/data/cache": "/pods/u/volumes/c", "/etc/mpi": "/pods/u/volumes/h"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/pods/u/volumes/d"),
        ("/data/", "/pods/u/volumes/d/"),
        ("/data/x.csv", "/pods/u/volumes/d/x.csv"),
        ("--in=/data/x", "--in=/pods/u/volumes/d/x"),
        ("'/data' \"/data/x\"", "'/pods/u/volumes/d' \"/pods/u/volumes/d/x\""),
        ("a:/data:/etc/mpi/hostfile", "a:/pods/u/volumes/d:/pods/u/volumes/h/hostfile"),
        ("/data/cache/y", "/pods/u/volumes/c/y"),
        ("/data/cached", "/pods/u/volumes/d/cached"),
        ("cat </data/a >/data/b", "cat </pods/u/volumes/d/a >/pods/u/volumes/d/b"),
        ("file:///data/x", "file:///pods/u/volumes/d/x"),
        ("/database", "/database"),
        ("/data.csv", "/data.csv"),
        ("/my/data", "/my/data"),
        ("data", "data"),
        ("s3://bucket/data/x", "s3://bucket/data/x"),
        ("https://host/data", "https://host/data"),
        ("https://host:80/data", "https://host:80/data"),
        ("$HOME/data", "$HOME/data"),
        ("${ROOT}/data", "${ROOT}/data"),
        ("$(pwd)/data", "$(pwd)/data"),
        ("~/data", "~/data"),
        ("./data", "./data"),
        ("-I/data", "-I/data"),
        ("", ""),
    ],
)
def test_rewrite_paths(text: str, expected: str) -> None:
    assert rewrite_paths(text, FOLDERS) == expected


def test_rewriting_is_one_pass_and_spares_the_root() -> None:
    assert rewrite_paths("/a /b", {"/a": "/b", "/b": "/c"}) == "/b /c"
    assert rewrite_paths("/x", {"/": "/elsewhere"}) == "/x"
    assert rewrite_paths("/x", {}) == "/x"


def test_mounts_normalise_their_paths_and_name_their_variables() -> None:
    mounts = [Mount("my-data", "/data/", "/real/1"), Mount("my-data", "/again", "/real/2")]
    assert mount_folders(mounts) == {"/data": "/real/1", "/again": "/real/2"}
    assert mount_variables(mounts) == {"TRAINUI_MOUNT_MY_DATA": "/real/1"}


def variable(name: str, value: str | None = None, **source: Object) -> Object:
    return {"name": name, "value": value} if not source else {"name": name, "valueFrom": source}


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({}, {}),
        ({"env": [variable("A", "1"), variable("B", "$(A)2"), variable("A", "3")]}, {"A": "3", "B": "12"}),
        ({"env": [variable("B", "$(A)"), variable("A", "1")]}, {"B": "$(A)", "A": "1"}),
        ({"env": [variable("A", None)]}, {"A": ""}),
        ({"env": [variable("N", fieldRef={"fieldPath": "metadata.name"})]}, {"N": "job-node-0-1-abcde"}),
        (
            {
                "env": [
                    variable(
                        "I", fieldRef={"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
                    )
                ]
            },
            {"I": "1"},
        ),
        ({"env": [variable("L", fieldRef={"fieldPath": "metadata.labels['a.b/c']"})]}, {"L": "d"}),
        ({"env": [variable("L", fieldRef={"fieldPath": "metadata.labels['none']"})]}, {"L": ""}),
        ({"env": [variable("P", fieldRef={"fieldPath": "status.podIP"})]}, {"P": "127.0.0.1"}),
        ({"env": [variable("K", configMapKeyRef={"name": "settings", "key": "RATE"})]}, {"K": "0.1"}),
        ({"env": [variable("K", secretKeyRef={"name": "keys", "key": "token"})]}, {"K": "s3cret\udcfe"}),
        ({"env": [variable("K", secretKeyRef={"name": "none", "key": "k", "optional": True})]}, {}),
        ({"env": [variable("K", configMapKeyRef={"name": "settings", "key": "none", "optional": True})]}, {}),
        ({"envFrom": [{"configMapRef": {"name": "settings"}}]}, {"RATE": "0.1", "note": "two\nlines"}),
        (
            {"envFrom": [{"prefix": "P_", "secretRef": {"name": "keys"}}], "env": [variable("X", "<$(P_token)>")]},
            {"P_token": "s3cret\udcfe", "X": "<s3cret\udcfe>"},
        ),
        ({"envFrom": [{"configMapRef": {"name": "none", "optional": True}}]}, {}),
        (
            {"envFrom": [{"configMapRef": {"name": "settings"}}], "env": [variable("RATE", "9")]},
            {"RATE": "9", "note": "two\nlines"},
        ),
        (
            {
                "resources": {"limits": {"cpu": "1500m"}},
                "env": [variable("C", resourceFieldRef={"resource": "limits.cpu"})],
            },
            {"C": "2"},
        ),
        (
            {
                "resources": {"requests": {"memory": "1Gi"}},
                "env": [variable("M", resourceFieldRef={"resource": "requests.memory", "divisor": "1Mi"})],
            },
            {"M": "1024"},
        ),
        ({"env": [variable("C", resourceFieldRef={"resource": "limits.cpu"})]}, {"C": "4"}),
        ({"env": [variable("C", resourceFieldRef={"resource": "requests.cpu", "divisor": "1m"})]}, {"C": "0"}),
    ],
)
def test_environment(container: Object, expected: dict[str, str]) -> None:
    assert resolve_environment({"name": "node", **container}, POD, fetch, ALLOCATABLE) == expected


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"env": [variable("K", configMapKeyRef={"name": "none", "key": "k"})]}, 'configmap "none" not found'),
        ({"env": [variable("K", secretKeyRef={"name": "none", "key": "k"})]}, 'secret "none" not found'),
        (
            {"env": [variable("K", configMapKeyRef={"name": "settings", "key": "k"})]},
            "couldn't find key k in ConfigMap team/settings",
        ),
        (
            {"env": [variable("K", secretKeyRef={"name": "keys", "key": "k"})]},
            "couldn't find key k in Secret team/keys",
        ),
        ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
        ({"env": [variable("K", fieldRef={"fieldPath": "spec.nope"})]}, "unsupported fieldPath: spec.nope"),
    ],
)
def test_environment_that_cannot_be_resolved_yet(container: Object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_environment({"name": "node", **container}, POD, fetch, ALLOCATABLE)
    assert str(caught.value) == message


def test_all_labels_and_annotations_as_a_file() -> None:
    assert field_value(POD, "metadata.labels") == 'a.b/c="d"\napp="x"'
    assert field_value(POD, "metadata.annotations").endswith('quoted="say \\"hi\\""')


@pytest.mark.parametrize(
    ("volume", "files"),
    [
        ({"emptyDir": {}}, []),
        (
            {"configMap": {"name": "settings", "items": [{"key": "RATE", "path": "sub/rate", "mode": 0o400}]}},
            [File("sub/rate", b"0.1", 0o400)],
        ),
        ({"secret": {"secretName": "keys", "defaultMode": 0o400}}, [File("token", b"s3cret\xfe", 0o400)]),
        ({"secret": {"secretName": "none", "optional": True}}, []),
        ({"configMap": {"name": "settings", "optional": True, "items": [{"key": "none", "path": "x"}]}}, []),
        (
            {
                "projected": {
                    "sources": [
                        {"secret": {"name": "keys"}},
                        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                    ]
                }
            },
            [File("token", b"s3cret\xfe", 0o644), File("name", b"job-node-0-1-abcde", 0o644)],
        ),
    ],
)
def test_volume_plans(volume: Object, files: list[File]) -> None:
    plan = plan_volume({"name": "v", **volume}, POD, fetch, ALLOCATABLE, ())
    assert list(plan.files) == files


def test_binary_data_of_a_config_map_is_a_file_but_no_variable() -> None:
    plan = plan_volume({"name": "v", "configMap": {"name": "settings"}}, POD, fetch, ALLOCATABLE, ())
    assert {file.path: file.content for file in plan.files}["raw"] == b"\x00\xff"


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        (
            {"configMap": {"name": "settings", "items": [{"key": "none", "path": "x"}]}},
            "configmap references non-existent config key: none",
        ),
        (
            {"configMap": {"name": "settings", "items": [{"key": "RATE", "path": "../x"}]}},
            'the path "../x" leaves its volume',
        ),
        ({"hostPath": {"path": "/etc"}}, "hostPath /etc is not allowed"),
        ({"hostPath": {"path": "/srv/../etc"}}, "hostPath /etc is not allowed"),
        ({"hostPath": {"path": "/srvx"}}, "hostPath /srvx is not allowed"),
        ({"nfs": {"server": "x", "path": "/"}}, "volumes of type nfs do not exist"),
    ],
)
def test_volumes_that_cannot_be_set_up(volume: Object, message: str) -> None:
    with pytest.raises(VolumeError) as caught:
        plan_volume({"name": "v", **volume}, POD, fetch, ALLOCATABLE, ("/srv",))
    assert str(caught.value).startswith(message)


def test_host_paths_within_what_is_allowed() -> None:
    plan = plan_volume(
        {"name": "v", "hostPath": {"path": "/srv/data", "type": "Directory"}}, POD, fetch, ALLOCATABLE, ("/srv/",)
    )
    assert (plan.host_path, plan.create) == ("/srv/data", False)


def test_two_machines_by_default() -> None:
    machines = parse_machines("", 2, 16 * 1024**3)
    assert [machine.name for machine in machines] == ["local-0", "local-1"]
    assert machines[0].capacity == {"cpu": "4", "memory": "8192Mi", "pods": "110"}
    assert parse_machines(" ", 16, 16 * 1024**3)[1].capacity["cpu"] == "16"


def test_machines_as_described() -> None:
    text = "local-0:cpu=4,memory=8Gi,nvidia.com/gpu=2; sim-0 : cpu=64,kind=status;plain"
    first, second, third = parse_machines(text, 2, 4 * 1024**3)
    assert first.capacity == {"cpu": "4", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "2"}
    assert (second.kind, second.capacity["cpu"], second.capacity["memory"]) == ("status", "64", "2048Mi")
    assert (third.name, third.kind) == ("plain", "process")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Local:cpu=1", '"Local" is no machine name'),
        (":cpu=1", '"" is no machine name'),
        ("a:cpu", 'machine a: "cpu" is not of the form key=value'),
        ("a:cpu=", 'machine a: "cpu=" is not of the form key=value'),
        ("a:cpu=many", '"many" is no quantity'),
        ("a:cpu=-1", "cpu is negative"),
        ("a:nvidia.com/gpu=500m", "counted in whole units"),
        ("a:kind=virtual", 'kind is "virtual"'),
        ("a:colour=red", '"colour" is no resource'),
        ("a:cpu=1;a:cpu=2", "the machine a is described twice"),
    ],
)
def test_machines_that_make_no_sense(text: str, part: str) -> None:
    with pytest.raises(MachineError) as caught:
        parse_machines(text, 2, 1024**3)
    assert str(caught.value).startswith("TRAINUI_MACHINES: ")
    assert part in str(caught.value)


def test_a_machine_keeps_its_transition_time_while_it_stays_ready() -> None:
    first = ready_condition(True, "m", "t1", None)
    assert ready_condition(True, "m", "t2", first)["lastTransitionTime"] == "t1"
    assert ready_condition(True, "m", "t2", first)["lastHeartbeatTime"] == "t2"
    assert ready_condition(False, "m", "t3", first)["lastTransitionTime"] == "t3"


PLACE = Place(
    job_env="/jobenv",
    helpers="/helpers",
    home="/pods/u/_work",
    temporary="/short",
    termination_log="/pods/u/node/_termination",
    rsh_folder="/rsh/team",
    rsh_socket="/short/rsh",
    allocatable=ALLOCATABLE,
)


def launch(container: Object, mounts: tuple[Mount, ...] = ()) -> Any:
    return plan_launch(POD, {"name": "node", "image": "img", **container}, 2, mounts, fetch, PLACE)


def test_a_program_gets_a_clean_environment() -> None:
    env = launch({"command": ["true"]}).env
    assert env["PATH"].startswith("/helpers:/jobenv/bin:")
    assert (env["HOME"], env["TMPDIR"], env["LANG"]) == ("/pods/u/_work", "/short", "C.UTF-8")
    assert (env["HOSTNAME"], env["TRAINUI_POD_UID"], env["TRAINUI_CONTAINER_ID"]) == (
        "job-node-0-1",
        "u-1",
        "u-1/node/2",
    )
    allowed = ("OMPI_", "PRTE_", "HYDRA_", "TRAINUI_RSH_", "TRAINUI_POD_UID", "TRAINUI_CONTAINER_ID")
    others = {name for name in env if not name.startswith(allowed)}
    assert others == {"PATH", "HOME", "TMPDIR", "LANG", "HOSTNAME", "OMP_NUM_THREADS"}


def test_command_and_values_are_expanded_then_rewritten() -> None:
    plan = launch(
        {
            "command": ["sh", "-c"],
            "args": ["cat /etc/mpi/$(FILE) > /dev/termination-log", "$(HOSTNAME)"],
            "env": [variable("FILE", "hostfile"), variable("WHERE", "/etc/mpi"), variable("HOME", "/etc/mpi")],
            "workingDir": "/etc/mpi/sub",
        },
        (Mount("mpi-hostfile", "/etc/mpi", "/real/h"),),
    )
    assert plan.argv == ["sh", "-c", "cat /real/h/hostfile > /pods/u/node/_termination", "$(HOSTNAME)"]
    assert (plan.env["WHERE"], plan.env["HOME"], plan.env["TRAINUI_MOUNT_MPI_HOSTFILE"]) == (
        "/real/h",
        "/real/h",
        "/real/h",
    )
    assert plan.cwd == "/real/h/sub"
    assert launch({"command": ["true"], "workingDir": "/workspace"}).cwd == "/pods/u/_work"


def test_mpi_settings_come_under_the_names_that_are_read() -> None:
    env = launch(
        {
            "command": ["mpirun"],
            "env": [variable("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"), variable("OMPI_MCA_pml", "ucx")],
        },
        (Mount("h", "/etc/mpi", "/real/h"),),
    ).env
    assert env["PRTE_MCA_prte_default_hostfile"] == "/real/h/hostfile"
    assert env["PRTE_MCA_plm_ssh_agent"] == env["OMPI_MCA_plm_rsh_agent"] == "/helpers/trainui-rsh"
    assert env["OMPI_MCA_coll"] == "^han"
    assert env["OMPI_MCA_pml"] == "ucx"  # the job's own setting wins


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (["/usr/sbin/sshd", "-De"], ["/helpers/sshd", "-De"]),
        (["sshd"], ["/helpers/sshd"]),
        (["sh", "-c", "/usr/sbin/sshd -De & wait"], ["sh", "-c", "/helpers/sshd -De & wait"]),
        (["mysshd"], ["mysshd"]),
    ],
)
def test_sshd_is_replaced(command: list[str], argv: list[str]) -> None:
    assert launch({"command": command}).argv == argv


@pytest.mark.parametrize("container", [{}, {"args": ["x"]}, {"command": [""]}, {"command": []}])
def test_a_container_without_command_says_why_it_cannot_run(container: Object) -> None:
    with pytest.raises(NoCommand, match='"node" has no command: it relies on the entrypoint of the image "img"'):
        launch(container)


@pytest.mark.parametrize(
    ("resources", "count"),
    [({}, 1), ({"limits": {"cpu": "3"}}, 3), ({"requests": {"cpu": "2500m"}}, 2), ({"limits": {"cpu": "100m"}}, 1)],
)
def test_threads(resources: Object, count: int) -> None:
    assert threads({"resources": resources}) == count


def test_the_host_name_is_the_pods_name_unless_it_has_one() -> None:
    assert pod_hostname(POD) == "job-node-0-1"
    assert pod_hostname({"metadata": {"name": "x" * 62 + "-yz"}, "spec": {}}) == "x" * 62


@pytest.mark.parametrize(
    ("fault", "code", "reason", "part"),
    [
        (
            {"errno": errno.ENOENT, "step": "exec"},
            127,
            "StartError",
            'uv pip install --python /jobenv/bin/python "torch"',
        ),
        ({"errno": errno.EACCES, "step": "exec"}, 126, "ContainerCannotRun", "may not be executed"),
        ({"errno": errno.ENOEXEC, "step": "exec"}, 126, "ContainerCannotRun", "#!/bin/sh"),
        ({"errno": errno.E2BIG, "step": "exec", "text": "too long"}, 128, "StartError", "too long"),
        ({"errno": errno.ENOENT, "step": "cwd", "text": "no folder"}, 128, "StartError", "working directory"),
    ],
)
def test_start_failures(fault: Object, code: int, reason: str, part: str) -> None:
    result = start_failure(fault, "torchrun", "node", "/jobenv")
    assert (result.code, result.reason) == (code, reason)
    assert part in result.message


@pytest.mark.parametrize(
    ("code", "tail", "part"),
    [
        (127, "sh: 1: deepspeed: not found", '"deepspeed" is not installed'),
        (127, "bash: line 1: torchrun: command not found\n", 'python "torch"'),
        (1, "Traceback\nModuleNotFoundError: No module named 'transformers'", "python transformers"),
        (1, "/usr/bin/python: No module named torch.distributed", "python torch"),
        (1, "sh: 1: x: not found", None),
        (0, "No module named 'x'", None),
        (1, "", None),
    ],
)
def test_hints(code: int, tail: str, part: str | None) -> None:
    hint = hint_from_log(code, tail, "/jobenv")
    assert hint == "" if part is None else part in hint


@pytest.mark.parametrize(
    ("words", "host", "command"),
    [
        (["h", "a", "b"], "h", ["a", "b"]),
        (["-x", "-o", "ConnectionAttempts=10", "-p", "2222", "user@h.sub", "a"], "h.sub", ["a"]),
        (["-oStrictHostKeyChecking=no", "-tt", "-qi", "key", "h", "-v"], "h", ["-v"]),
        (["--", "h", "a"], "h", ["a"]),
    ],
)
def test_the_command_line_of_ssh(words: list[str], host: str, command: list[str]) -> None:
    assert split_call(words) == (host, command)


def test_a_call_without_host() -> None:
    with pytest.raises(ValueError, match="no host"):
        split_call(["-o", "x"])


def gpus(count: int) -> Object:
    return {"name": "main", "resources": {"limits": {"nvidia.com/gpu": str(count)}}}


def test_gpus_are_dealt_to_machines_and_containers() -> None:
    machines = parse_machines(
        "a:nvidia.com/gpu=2;sim:nvidia.com/gpu=8,kind=status;b:nvidia.com/gpu=2;c:cpu=1", 2, 1024**3
    )
    assert device_numbers(machines) == {"a": range(2), "b": range(2, 4)}
    book = DeviceBook(machines)
    assert book.variables("u1", "a", gpus(1)) == {"CUDA_VISIBLE_DEVICES": "0"}
    assert book.variables("u2", "a", gpus(1)) == {"CUDA_VISIBLE_DEVICES": "1"}
    assert book.variables("u1", "a", gpus(1)) == {"CUDA_VISIBLE_DEVICES": "0"}  # a restart keeps its own
    assert book.variables("u3", "a", gpus(1)) is None
    assert book.variables("u3", "a", {"name": "main"}) == {"CUDA_VISIBLE_DEVICES": ""}
    assert book.variables("u4", "b", gpus(2)) == {"CUDA_VISIBLE_DEVICES": "2,3"}
    assert book.variables("u5", "c", gpus(0)) == {}
    book.release("u1")
    assert book.variables("u6", "a", gpus(1)) == {"CUDA_VISIBLE_DEVICES": "0"}
    again = DeviceBook(machines)
    again.restore("u2", book.held("u2"))
    assert again.variables("u7", "a", gpus(1)) == {"CUDA_VISIBLE_DEVICES": "0"}
    assert again.variables("u2", "a", gpus(1)) == {"CUDA_VISIBLE_DEVICES": "1"}
