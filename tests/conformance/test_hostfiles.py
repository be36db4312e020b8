"""Every case of shared/fixtures/hostfiles: exact bytes, errors, sizes, name budgets, and the filters of DeepSpeed's launcher."""

import ipaddress

import pytest

from jobs.builders import BuildError
from jobs.builders.deepspeed import FilterError, active
from jobs.builders.hostfile import HostfileError, HostGroup, HostNames, Pod, check_size, file_name, render
from jobs.spec.names import PodCount, budget_of, over_budget
from tests.conformance.corpus import Case, cases

CASES = cases("hostfiles")


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


def check_bytes(case: Case) -> None:
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


def check_sizes(case: Case) -> None:
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


def check_budget(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    budget = budget_of(PodCount(j["name"], j["replicas"], j["pods"]) for j in given["replicated_jobs"])
    assert budget.max_length == expect["max_name"]
    for name, wanted in (("n" * budget.max_length, expect["at_max"]), ("n" * (budget.max_length + 1), expect["above"])):
        longest = max(
            len(f"{name}-{j['name']}-{j['replicas'] - 1}-{j['pods'] - 1}-abcde") for j in given["replicated_jobs"]
        )
        assert longest == wanted["longest_pod_name"]
        assert (over_budget(name, budget) == []) is wanted["ok"]


def check_filter(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    if "error" in expect:
        with pytest.raises(FilterError):
            active(given["pool"], given["include"], given["exclude"])
        return
    assert active(given["pool"], given["include"], given["exclude"]) == expect["active"]


KINDS = {"hostfile": check_bytes, "size": check_sizes, "name_budget": check_budget, "deepspeed_filter": check_filter}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_hostfiles(case: Case) -> None:
    KINDS[case["input"]["kind"]](case)
