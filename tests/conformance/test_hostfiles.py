"""The hostfile fixtures: exact bytes, errors, and what fits into a ConfigMap."""

import ipaddress

import pytest

from jobs.builders import BuildError
from jobs.builders.hostfile import HostfileError, HostGroup, HostNames, Pod, check_size, file_name, render
from tests.shared_data import shared_json

CASES = shared_json("fixtures/hostfiles/cases.json")["cases"]


def of_kind(kind):
    cases = [case for case in CASES if case["input"]["kind"] == kind]
    assert cases
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def names_of(given):
    return HostNames(
        given["job"], given["namespace"], given.get("subdomain", ""), given["mode"], given["cluster_domain"]
    )


def rendered(given):
    jobs = {job["name"]: job for job in given["replicated_jobs"] if job["ranks"]}
    groups = [
        HostGroup(name, jobs[name]["replicas"], jobs[name]["pods"], jobs[name].get("slots", given["slots"]))
        for name in given["order"]
        if name in jobs
    ]
    pods = [
        Pod(
            p["replicated_job"], p["job_index"], p["index"], p["phase"], p["ip"], p["created"], p.get("deleting", False)
        )
        for p in given.get("pods", [])
    ]
    return groups, render(given["implementation"], names_of(given), groups, pods)


@of_kind("hostfile")
def test_bytes(case):
    given, expect = case["input"], case["expect"]
    if "error" in expect:
        with pytest.raises(HostfileError) as caught:
            rendered(given)
        assert caught.value.code == expect["error"]
        assert caught.value.missing == expect.get("missing", [])
        return
    groups, text = rendered(given)
    assert text == expect["bytes"]
    assert file_name(given["implementation"]) == expect["file"]
    if "world_size" in expect:
        assert sum(g.replicas * g.pods * g.slots for g in groups) == expect["world_size"]


@of_kind("size")
def test_size(case):
    given, expect = case["input"], case["expect"]
    group = HostGroup("node", 1, given["nodes"], given["slots"])
    pods = []
    if given["mode"] == "ip":
        first = ipaddress.ip_address(given["first_ip"])
        pods = [Pod("node", 0, index, "Running", str(first + index)) for index in range(given["nodes"])]
    text = render(given["implementation"], names_of(given), [group], pods)
    assert len(text.encode()) == expect["hostfile_bytes"]
    data = {"hostfile": text, "other": "x" * given["other_keys_bytes"]}
    assert sum(map(len, data.values())) == expect["configmap_bytes"]
    if expect["fits_configmap"]:
        check_size(data)
        return
    with pytest.raises(BuildError) as caught:
        check_size(data)
    [finding] = caught.value.findings
    assert finding.params == {"size": expect["configmap_bytes"], "max": 1_048_576}
