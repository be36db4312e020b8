"""Jobs: defaults, the selector that the server makes, and what may change later."""

from typing import Any

from trainui.localcluster.admission.metadata import check_labels
from trainui.localcluster.admission.podspec import check_pod_spec
from trainui.localcluster.admission.rules import (
    IMMUTABLE,
    Write,
    changed,
    invalid_value,
    required,
    spec_of,
    unsupported,
)
from trainui.localcluster.errors import Cause

_UNLIMITED = 2**31 - 1
_POLICIES = ("OnFailure", "Never")
_FROZEN = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "successPolicy",
    "podReplacementPolicy",
)


def default_job(write: Write) -> None:
    """Fill in counts and limits, and make selector and pod labels from the uid of a new Job."""
    spec = write.new.get("spec")
    if not isinstance(spec, dict):
        return
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = _UNLIMITED if spec.get("backoffLimitPerIndex") is not None else 6
    if not spec.get("podReplacementPolicy"):
        spec["podReplacementPolicy"] = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    if write.old is None:
        _make_selector(write, spec)


def _make_selector(write: Write, spec: dict[str, Any]) -> None:
    template = spec.get("template")
    if not isinstance(template, dict) or spec.get("manualSelector"):
        return
    uid, name = write.new["metadata"].get("uid", ""), write.new["metadata"].get("name", "")
    metadata = template["metadata"] = dict(template.get("metadata") or {})
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def check_job(write: Write) -> list[Cause]:
    """Check the pod template and counts; of an existing Job only counts, limits and, while suspended, placement may change."""
    spec = spec_of(write.new)
    template = (spec.get("template") or {}).get("spec")
    causes: list[Cause] = []
    if template is None:
        causes.append(required("spec.template.spec.containers"))
    else:
        causes += check_pod_spec(template, "spec.template.spec")
        causes += check_labels((spec["template"].get("metadata") or {}).get("labels") or {}, "spec.template.labels")
        policy = template.get("restartPolicy", "")
        if policy not in _POLICIES:
            causes.append(unsupported("spec.template.spec.restartPolicy", policy, _POLICIES))
    indexed = spec.get("completionMode") == "Indexed"
    if indexed and spec.get("completions") is None:
        causes.append(required("spec.completions", "when completion mode is Indexed"))
    if not indexed and spec.get("backoffLimitPerIndex") is not None:
        causes.append(invalid_value("spec.backoffLimitPerIndex", None, "requires indexed completion mode"))
    if len(write.new["metadata"].get("name", "")) > 63:
        causes.append(invalid_value("metadata.name", write.new["metadata"]["name"], "must be no more than 63 bytes"))
    return causes if write.old is None else causes + _check_update(write)


def _check_update(write: Write) -> list[Cause]:
    old, new = spec_of(write.old), spec_of(write.new)
    causes = changed(old, new, "spec", *_FROZEN)
    elastic = new.get("completionMode") == "Indexed" and new.get("completions") == new.get("parallelism")
    if old.get("completions") != new.get("completions") and not elastic:
        causes.append(invalid_value("spec.completions", new.get("completions"), IMMUTABLE))
    started = bool(((write.old or {}).get("status") or {}).get("startTime"))
    template, before = new.get("template"), old.get("template")
    if template != before and not (old.get("suspend") and not started and _placement_only(before, template)):
        causes.append(invalid_value("spec.template", None, IMMUTABLE))
    return causes


def _placement_only(old: Any, new: Any) -> bool:
    """Tell whether two pod templates differ only in what a suspended Job may change."""
    return without_placement(old) == without_placement(new)


def without_placement(template: Any) -> dict[str, Any]:
    """Return a pod template without labels, annotations and what decides where its pods may run."""
    metadata = {k: v for k, v in ((template or {}).get("metadata") or {}).items() if k not in ("labels", "annotations")}
    placement = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    spec = {k: v for k, v in ((template or {}).get("spec") or {}).items() if k not in placement}
    return {"metadata": metadata, "spec": spec}
