"""What becomes of one AdmissionReview request: defaults as a patch, or the validator's findings as a refusal with causes."""

import base64
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from jobs.models import TrainJobDetail
from jobs.spec.admission import review_create, review_update
from jobs.spec.defaults import default_trainjob
from runtimes.spec.access import dig
from runtimes.spec.defaults import default_runtime
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import GROUP
from trainui.cluster import kinds
from trainui.cluster.connection import connect
from trainui.cluster.errors import NotFound

Obj = dict[str, Any]
UNPROCESSABLE = 422
RUNTIMES = {kind.kind: kind for kind in (kinds.CLUSTER_TRAINING_RUNTIME, kinds.TRAINING_RUNTIME)}
MAX_WARNINGS = 20
_REASONS = {"required": "FieldValueRequired", "forbidden": "FieldValueForbidden", "duplicate": "FieldValueDuplicate"}


def defaulted(request: Obj, now: datetime.datetime) -> Obj:
    """Return the response of the mutating webhook: the fields that the CRD does not fill in, as a patch."""
    obj = request.get("object")
    if not _is_trainjob(request) or not isinstance(obj, dict):
        return {"allowed": True}
    spec = default_trainjob(obj, now, request.get("oldObject")).get("spec")
    if spec == obj.get("spec"):
        return {"allowed": True}
    patch = orjson.dumps([{"op": "replace", "path": "/spec", "value": spec}])
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}


def judged(request: Obj, now: datetime.datetime, look_up: "Lookups | None" = None) -> Obj:
    """Return the response of the validating webhook. Raises ClusterError when the runtime cannot be read.

    look_up: what else must be known; by default it is read from the cluster and from our rows.
    """
    look_up = look_up or LIVE
    obj, old = request.get("object"), request.get("oldObject")
    if not _is_trainjob(request) or not isinstance(obj, dict) or dig(obj, "metadata", "deletionTimestamp"):
        return {"allowed": True}  # also what is being deleted: its finalizers must be able to go
    if old:
        runtime = look_up.kept(old) or look_up.runtime(old)
        review = review_update(old, obj, runtime, now, jobset=look_up.jobset(old, obj))
    else:
        review = review_create(obj, look_up.runtime(obj), now)
    findings = review.findings
    told = [*findings.warnings, *findings.submit_checks][:MAX_WARNINGS]
    warnings = [f"{f.path}: {f.message}" if f.path else f.message for f in told]
    if not findings.errors:
        return {"allowed": True, "warnings": warnings}
    return {"allowed": False, "status": _refusal(obj, findings.errors), "warnings": warnings}


def _is_trainjob(request: Obj) -> bool:
    named = (dig(request, "kind", "group"), dig(request, "kind", "kind"))
    return named == (kinds.TRAIN_JOB.group, kinds.TRAIN_JOB.kind) and not request.get("subResource")


def _own_runtime(trainjob: Obj) -> Obj | None:
    """Return the copy of its runtime that a known job keeps: later edits do not concern it."""
    uid = dig(trainjob, "metadata", "uid")
    return TrainJobDetail.objects.filter(job__uid=uid).values_list("runtime", flat=True).first() if uid else None


def _runtime(trainjob: Obj) -> Obj | None:
    """Return the runtime as the cluster has it now: the catalog may be a moment behind somebody who applies both at once."""
    reference = dig(trainjob, "spec", "runtimeRef") or {}
    kind = RUNTIMES.get(reference.get("kind", kinds.CLUSTER_TRAINING_RUNTIME.kind))
    name = reference.get("name")
    if kind is None or reference.get("apiGroup", GROUP) != GROUP or not isinstance(name, str) or not name:
        return None
    namespace = dig(trainjob, "metadata", "namespace") if kind.namespaced else None
    try:
        return default_runtime(connect(settings.KUBECONFIG).get(kind, namespace, name))
    except NotFound:
        return None


def _jobset(old: Obj, new: Obj) -> Obj | None:
    """Return the live JobSet where the change depends on it."""
    if dig(old, "spec", "runtimePatches") == dig(new, "spec", "runtimePatches"):
        return None
    try:
        return connect(settings.KUBECONFIG).get(kinds.JOB_SET, old["metadata"]["namespace"], old["metadata"]["name"])
    except NotFound:
        return None


@dataclass(frozen=True)
class Lookups:
    """What the validator has to know beside the request.

    runtime: the runtime that a TrainJob names. kept: its own copy of a job that is known. jobset: the live JobSet of a change (old, new).
    """

    runtime: Callable[[Obj], Obj | None]
    kept: Callable[[Obj], Obj | None]
    jobset: Callable[[Obj, Obj], Obj | None]


LIVE = Lookups(_runtime, _own_runtime, _jobset)


def _refusal(obj: Obj, errors: list[Finding]) -> Obj:
    name = str(dig(obj, "metadata", "name") or "")
    causes = [
        {"reason": _REASONS.get(f.code, "FieldValueInvalid"), "message": f.message, "field": f.path} for f in errors
    ]
    text = ", ".join(f"{f.path}: {f.message}" if f.path else f.message for f in errors)
    kind = kinds.TRAIN_JOB
    return {
        "status": "Failure",
        "code": UNPROCESSABLE,
        "reason": "Invalid",
        "message": f'{kind.kind}.{kind.group} "{name}" is invalid: {text}',
        "details": {"name": name, "group": kind.group, "kind": kind.kind, "causes": causes},
    }
