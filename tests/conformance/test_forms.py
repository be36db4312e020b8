"""Every case of shared/fixtures/forms: what a form or request accepts, or the class of its error."""

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from jobs.spec.manifest import ManifestError, dump_manifest, load_manifest
from jobs.spec.masking import MASK, is_secret, mask_object
from jobs.spec.merge import merge3
from jobs.spec.names import PodCount, budget_of, check_job_name
from jobs.spec.rejections import findings_of_status
from jobs.spec.resources import check_resources
from jobs.spec.storage import check_uri
from runtimes.spec.env import check_pairs, parse_env_text
from runtimes.spec.findings import Finding
from runtimes.spec.numbers import NumberError, read_number
from runtimes.spec.quantities import QuantityError, equal, plain, read
from runtimes.spec.templates import unknown_references
from tests.conformance.corpus import Case, cases

CASES = cases("forms")
Got = dict[str, Any]


def failed(finding: Finding, **more: Any) -> Got:
    return {"ok": False, "error": finding.code, "pointer": finding.pointer, **finding.params, **more}


def quantity(given: Case) -> Got:
    try:
        found = read(given["raw"], given["field"], trim=given["channel"] == "form")
    except QuantityError as error:
        return {"ok": False, "error": error.code}
    return {"ok": True, "value": plain(found.value) if found else None, "text": found.text if found else None}


def resources(given: Case) -> Got:
    found = list(check_resources({"requests": given["requests"], "limits": given["limits"]}, "resources"))
    return failed(found[0], field=found[0].params["resource"]) if found else {"ok": True}


def name(given: Case) -> Got:
    budget = budget_of(PodCount(j["name"], j["replicas"], j["pods"]) for j in given["replicated_jobs"])
    value, found = check_job_name(given["raw"], budget, trim=given["channel"] == "form")
    return failed(found[0]) if found else {"ok": True, "value": value, "max_length": budget.max_length}


def number(given: Case) -> Got:
    try:
        found = read_number(
            given["raw"],
            integer=given["type"] == "int",
            minimum=given.get("min"),
            maximum=given.get("max"),
            int32=given.get("int32", False),
            trim=True,
        )
    except NumberError as error:
        return {"ok": False, "error": error.code}
    if found is None:
        return {"ok": False, "error": "required"} if given.get("required") else {"ok": True, "value": None}
    return {"ok": True, "value": plain(found[0]), "text": found[1]}


def env(given: Case) -> Got:
    pairs = given.get("pairs") or [[g["name"], g["char"] * g["length"]] for g in given["pairs_generated"]]
    policy = (given.get("context") or {}).get("ml_policy")
    kept, found = check_pairs([(n, v) for n, v in pairs], "env", given["channel"] == "form", [policy] if policy else [])
    if found:
        return failed(found[0], field=found[0].params.get("name"))
    return {"ok": True, "value": [list(pair) for pair in kept], "length": len(kept[0][1])}


def env_text(given: Case) -> Got:
    pairs, found = parse_env_text(given["text"])
    return failed(found[0]) if found else {"ok": True, "value": [list(pair) for pair in pairs]}


def mask(given: Case) -> Got:
    entry = given["env"]
    masked, paths = mask_object({"spec": {"trainer": {"env": [entry]}}})
    shown = masked["spec"]["trainer"]["env"][0]
    hidden = is_secret(entry["name"], entry.get("value"))
    assert hidden == (shown.get("value") != entry.get("value")) == bool(paths)
    assert not hidden or (entry["value"] not in str(masked) and MASK in shown["value"])
    return {"ok": True, "masked": hidden}


def storage_uri(given: Case) -> Got:
    value, found = check_uri(given["raw"], given["role"], "uri")
    return failed(found[0]) if found else {"ok": True, "value": value, "length": len(value)}


def references(given: Case) -> Got:
    unknown = unknown_references(given["declared"], given["references"])
    return {"ok": False, "error": "unknown_reference", "names": unknown} if unknown else {"ok": True}


def webhook(given: Case) -> Got:
    found = findings_of_status(given["status"])[0]
    return failed(found, detail=found.message)


def merged(given: Case) -> Got:
    result, conflicts = merge3(given["base"], given["mine"], given["theirs"])
    return {"ok": False, "error": "conflict", "pointers": conflicts} if conflicts else {"ok": True, "merged": result}


def round_trip(given: Case) -> Got:
    whole = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j"},
        "spec": given["spec"],
    }
    return {"ok": True, "value": load_manifest(dump_manifest(whole))["spec"]}


def manifest(given: Case) -> Got:
    source = given["text"] if "text" in given else base64.b64decode(given["b64"])
    try:
        return {"ok": True, "object": load_manifest(source)}
    except ManifestError as error:
        return failed(error.findings[0])


KINDS: dict[str, Callable[[Case], Got]] = {
    "quantity": quantity,
    "resources": resources,
    "name": name,
    "number": number,
    "env": env,
    "env_text": env_text,
    "mask": mask,
    "storage_uri": storage_uri,
    "references": references,
    "webhook": webhook,
    "merge3": merged,
    "round_trip": round_trip,
    "yaml": manifest,
}


def at(value: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        value = value[int(token)] if isinstance(value, list) else value[token.replace("~1", "/").replace("~0", "~")]
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_form(case: Case) -> None:
    wanted = dict(case["expect"])
    got = KINDS[case["input"]["kind"]](case["input"])
    for pointer, value in wanted.pop("values", {}).items():
        found = at(got["object"], pointer)
        assert found == value or ("/resources" in pointer and equal(found, value))
    alternative = wanted.pop("accept_error", None)
    if alternative and got.get("error") == alternative:
        return
    assert wanted.pop("detail_contains", "") in got.get("detail", "")
    wanted.pop("absent_from", None)
    value = wanted.get("value")
    if isinstance(value, str) and case["input"]["kind"] in ("quantity", "number"):
        assert Decimal(got["value"]) == Decimal(wanted.pop("value"))
    assert {key: got.get(key) for key in wanted} == wanted


def test_every_kind_is_known() -> None:
    assert {case["input"]["kind"] for case in CASES} <= set(KINDS)
