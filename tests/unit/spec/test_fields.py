"""Names, environment, resources, storage URIs, numbers: what a field takes."""

from decimal import Decimal
from typing import Any

import pytest

from jobs.spec.accelerators import cpu_count, device_count, devices, is_accelerator
from jobs.spec.names import budget_of, check_job_name, name_budget, num_nodes, pod_counts
from jobs.spec.resources import check_resources
from jobs.spec.storage import check_uri, parse_uri
from runtimes.spec.dns import is_label_1035, is_label_key, is_label_value, is_subdomain
from runtimes.spec.env import check_pairs, is_env_name, parse_env_text
from runtimes.spec.numbers import NumberError, read_number
from tests.unit.spec.samples import Obj, mpi_runtime, replicated_job, runtime, trainjob


@pytest.mark.parametrize(
    ("obj", "nodes", "wanted"),
    [
        (runtime({"torch": {}}), None, [("node", 1, 1)]),
        (runtime({"numNodes": 3, "torch": {}}), None, [("node", 1, 3)]),
        (runtime({"numNodes": 3, "torch": {}}), 5, [("node", 1, 5)]),
        (runtime(None), 5, [("node", 1, 5)]),
        (runtime(None, replicated_job("a", replicas=4)), 5, [("a", 4, 1)]),
        (mpi_runtime(True), None, [("node", 1, 0), ("launcher", 1, 1)]),
        (mpi_runtime(True), 4, [("node", 1, 3), ("launcher", 1, 1)]),
        (mpi_runtime(False), 4, [("node", 1, 4), ("launcher", 1, 1)]),
        (mpi_runtime(True, nodes=8), None, [("node", 1, 7), ("launcher", 1, 1)]),
        (None, 2, []),
    ],
)
def test_pod_counts(obj: Obj | None, nodes: int | None, wanted: list[tuple[str, int, int]]) -> None:
    assert [(c.name, c.replicas, c.pods) for c in pod_counts(obj, nodes)] == wanted


@pytest.mark.parametrize(
    ("obj", "nodes", "length"),
    [
        (runtime({"torch": {}}), 1, 48),
        (runtime({"torch": {}}), 10, 48),
        (runtime({"torch": {}}), 11, 47),
        (runtime({"torch": {}}), 100, 47),
        (runtime({"torch": {}}), 101, 46),
        (mpi_runtime(), 2, 44),
        (runtime({}, replicated_job("dataset-initializer"), replicated_job("node", "trainer")), 2, 33),
        (runtime({}, replicated_job("n" * 60, "trainer")), 2, -8),
        (None, None, 63),
    ],
)
def test_name_budget(obj: Obj | None, nodes: int | None, length: int) -> None:
    assert name_budget(obj, nodes).max_length == length


def test_the_refusal_says_how_long_a_name_may_be_and_why() -> None:
    _name, found = check_job_name("a" * 60, name_budget(mpi_runtime(), 17))
    assert found[0].params == {"max_length": 44, "length": 60}
    assert "44" in found[0].message
    assert "launcher" in found[0].message


def test_a_runtime_that_leaves_no_room_is_named_itself() -> None:
    _name, found = check_job_name("a", name_budget(runtime({}, replicated_job("n" * 60, "trainer")), 1))
    assert found[0].path == "spec.runtimeRef"


@pytest.mark.parametrize(("raw", "code"), [(7, "wrong_type"), (None, "required"), ("a\n", "invalid_name"), ("ab", "")])
def test_job_names(raw: Any, code: str) -> None:
    _name, found = check_job_name(raw, budget_of([]))
    assert [f.code for f in found] == ([code] if code else [])


@pytest.mark.parametrize(
    ("trainer", "annotation", "wanted"),
    [
        ({"numNodes": 3}, None, 3),
        ({"numNodes": 0}, None, None),
        ({}, None, None),
        ({"numNodes": 3}, "5", 5),
        ({"numNodes": 3}, "x", 3),
    ],
)
def test_num_nodes(trainer: Obj, annotation: str | None, wanted: int | None) -> None:
    metadata = {"annotations": {"trainui.dev/num-nodes": annotation}} if annotation else {}
    assert num_nodes(trainjob({"trainer": trainer}, **metadata)) == wanted


def test_dns_names() -> None:
    assert [is_label_1035(n) for n in ("a", "a-1", "1a", "a-", "", "a.b", "a\n")] == [True, True] + [False] * 5
    assert [is_subdomain(n) for n in ("a.b-c", "1.2", "a..b", "A.b", "a_b", "a" * 254)] == [True, True] + [False] * 4
    assert [is_label_key(k) for k in ("a", "a.io/B_c", "/x", "A.io/x", "a.io/", "x" * 64)] == [True, True] + [False] * 4
    assert [is_label_value(v) for v in ("", "A_b.c", "-a", "a b", "x" * 64)] == [True, True] + [False] * 3


def test_env_names() -> None:
    assert [is_env_name(n) for n in ("A", "_a.b-c", "-x", ".y", "1A", "A B", "A=B", "", "É")] == [True] * 4 + [
        False
    ] * 5


def test_env_keeps_values_byte_for_byte() -> None:
    pairs = [("A", "x\r\ny"), ("B", "  z\t"), ("C", "$(A) ${B} 🙂")]
    assert check_pairs(pairs, "env", trim=False) == (pairs, [])
    assert check_pairs(pairs, "env", trim=True)[0][0] == ("A", "x\ny")


def test_every_bad_variable_is_named_with_its_place() -> None:
    pairs = [("A", "1"), ("", "x"), ("A", "2"), ("X Y", "\x1b"), ("PET_NNODES", "1")]
    found = check_pairs(pairs, "spec.trainer.env", policies=["torch"])[1]
    assert [(f.path, f.code) for f in found] == [
        ("spec.trainer.env[1].name", "required"),
        ("spec.trainer.env[2].name", "duplicate_env"),
        ("spec.trainer.env[3].name", "invalid_env_name"),
        ("spec.trainer.env[3].value", "control_char"),
        ("spec.trainer.env[4].name", "reserved_env"),
    ]


def test_env_text_counts_lines_from_one_and_refuses_doubles() -> None:
    pairs, found = parse_env_text("# c\nA=1\n\nA=2\nnothing\n =x\n")
    assert [(f.code, f.params["line"]) for f in found] == [
        ("duplicate_env", 4),
        ("missing_equals", 5),
        ("invalid_env_name", 6),
    ]
    assert pairs[:2] == [("A", "1"), ("A", "2")]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, [("r.requests.cpu", "request_exceeds_limit")]),
        (
            {"requests": {"nvidia.com/gpu": 1}},
            [("r.requests[nvidia.com/gpu]", "extended_resource_limit_required")],
        ),
        (
            {"requests": {"rdma/hca": "1"}, "limits": {"rdma/hca": "2"}},
            [("r.requests[rdma/hca]", "extended_resource_mismatch")],
        ),
        ({"requests": {"nvidia.com/gpu": 0}}, []),
        ({"limits": {"memory": ""}}, [("r.limits.memory", "invalid_quantity")]),
        ({"limits": {"memory": "1m"}}, [("r.limits.memory", "fractional_bytes")]),
        ({"requests": {"cpu": "1000m"}, "limits": {"cpu": 1}}, []),
        ({}, []),
        (None, []),
    ],
)
def test_resources(given: Obj | None, wanted: list[tuple[str, str]]) -> None:
    assert [(f.path, f.code) for f in check_resources(given, "r")] == wanted


def test_accelerators() -> None:
    yes = (
        "nvidia.com/gpu",
        "amd.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "google.com/tpu",
        "habana.ai/gaudi",
        "huawei.com/Ascend910",
    )
    no = (
        "cpu",
        "memory",
        "aliyun.com/gpu-mem",
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        "rdma/hca",
        "hugepages-2Mi",
    )
    assert all(map(is_accelerator, yes))
    assert not any(map(is_accelerator, no))
    assert devices({"limits": {"nvidia.com/gpu": "2", "cpu": 4}, "requests": {"google.com/tpu": 4}}) == {
        "nvidia.com/gpu": 2,
        "google.com/tpu": 4,
    }
    assert device_count({"limits": {"nvidia.com/gpu": "many"}}) == 0
    assert [cpu_count(r) for r in ({"requests": {"cpu": "2500m"}}, {"limits": {"cpu": "100m"}}, {}, None)] == [
        3,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("uri", "role", "code"),
    [
        ("HF://a", "dataset", ""),
        ("pvc://claim/path", "model", ""),
        ("hf://org/name@main", "model", ""),
        ("s3://user@bucket/x", "dataset", "credentials_in_uri"),
        ("s3://", "dataset", "invalid_uri"),
        ("s3:///x", "dataset", "invalid_uri"),
        ("cache://a/", "dataset", "invalid_uri"),
        ("hf://a\tb", "dataset", "invalid_uri"),
        (" hf://a", "dataset", "invalid_uri"),
        (None, "model", "required"),
        (5, "model", "wrong_type"),
        ("oci://r/m", "model", "unsupported_scheme"),
    ],
)
def test_storage_uris(uri: Any, role: str, code: str) -> None:
    found = check_uri(uri, role, "u")[1]
    assert [f.code for f in found] == ([code] if code else [])


def test_messages_about_uris_repeat_no_password() -> None:
    assert "FAKE" not in check_uri("s3://key:FAKE@bucket/x", "dataset", "u")[1][0].message
    assert check_uri(" hf://a ", "model", "u", trim=True) == ("hf://a", [])
    parts = parse_uri("S3://bucket/a/b")
    assert (parts.scheme, parts.place, parts.path) == ("s3", "bucket", "a/b")


@pytest.mark.parametrize(
    ("raw", "more", "wanted"),
    [
        ("1e-5", {}, ("0.00001", "1e-5")),
        (".5", {}, ("0.5", ".5")),
        (3, {"integer": True}, ("3", "3")),
        (0.1, {}, ("0.1", "0.1")),
        ("+3", {"integer": True}, ("3", "+3")),
        ("", {}, None),
        (None, {}, None),
    ],
)
def test_numbers(raw: Any, more: dict[str, Any], wanted: tuple[str, str] | None) -> None:
    assert read_number(raw, **more) == (wanted and (Decimal(wanted[0]), wanted[1]))


@pytest.mark.parametrize(
    ("raw", "more", "code"),
    [
        (True, {}, "wrong_type"),
        ([], {}, "wrong_type"),
        (float("nan"), {}, "invalid_number"),
        ("１", {}, "invalid_number"),
        ("1" * 401, {}, "invalid_number"),
        ("00.5", {}, "invalid_number"),
        ("1e99999", {}, "invalid_number"),
        (" 1", {}, "invalid_number"),
        (2.0, {"integer": True}, "not_integer"),
        ("-2147483649", {"integer": True, "int32": True}, "out_of_range"),
        ("11", {"maximum": 10}, "out_of_range"),
    ],
)
def test_numbers_refused(raw: Any, more: dict[str, Any], code: str) -> None:
    with pytest.raises(NumberError) as caught:
        read_number(raw, **more)
    assert caught.value.code == code
