"""The way of a write through defaults, schema and rules."""

from trainui.localcluster.admission import core, jobs, jobsets, pods, trainer, webhooks
from trainui.localcluster.admission.metadata import check_finalizers, check_metadata
from trainui.localcluster.admission.rules import Defaulter, Reader, Rule, Write, required
from trainui.localcluster.errors import Cause, invalid
from trainui.localcluster.objects import name_causes
from trainui.localcluster.resources import KINDS, Obj
from trainui.localcluster.schema.conform import conform
from trainui.localcluster.schema.kinds import SCHEMAS
from trainui.localcluster.schema.types import MISSING

DEFAULTS: dict[str, Defaulter] = {
    "Namespace": core.default_namespace,
    "Secret": core.default_secret,
    "PersistentVolumeClaim": core.default_claim,
    "PodGroup": core.default_pod_group,
    "ResourceQuota": core.default_quota,
    "Pod": pods.default_pod,
    "Job": jobs.default_job,
    "JobSet": jobsets.default_jobset,
    "TrainJob": trainer.default_trainjob,
}
RULES: dict[str, Rule] = {
    "ConfigMap": core.check_config_map,
    "Secret": core.check_secret,
    "Service": core.check_service,
    "PersistentVolumeClaim": core.check_claim,
    "PriorityClass": core.check_priority_class,
    "MutatingWebhookConfiguration": webhooks.check_configuration,
    "ValidatingWebhookConfiguration": webhooks.check_configuration,
    "Event": core.check_event,
    "PodGroup": core.check_pod_group,
    "Pod": pods.check_pod,
    "Job": jobs.check_job,
    "JobSet": jobsets.check_jobset,
    "TrainJob": trainer.check_trainjob,
    "TrainingRuntime": trainer.check_runtime,
    "ClusterTrainingRuntime": trainer.check_runtime,
}


STATUS_AT_CREATION = frozenset({"Node"})
"""Kinds whose creator says in what state they are."""


def admit(reader: Reader, kind: str, old: Obj | None, new: Obj, subresource: str | None, now: float) -> Obj:
    """Return the object as it may be stored, with defaults and without unknown fields; `new` is used up.

    Raises ApiError: 422 with a cause for each fault, 403 where the state of the cluster forbids the write.
    """
    if subresource is not None:
        return _admit_part(kind, new, subresource)
    if old is None and KINDS[kind].status and kind not in STATUS_AT_CREATION:
        new.pop("status", None)
    if kind in DEFAULTS:
        DEFAULTS[kind](Write(old, new, reader, now))
    stored, causes = _shaped(kind, old, new)
    if not any(cause.reason == "FieldValueTypeInvalid" for cause in causes):
        known = {(cause.field, cause.reason) for cause in causes}
        found = _broken_rules(kind, Write(old, stored, reader, now))
        causes += [cause for cause in found if (cause.field, cause.reason) not in known]
    if causes:
        raise invalid(KINDS[kind], str(new["metadata"].get("name", "")), causes)
    return stored


def _broken_rules(kind: str, write: Write) -> list[Cause]:
    """Return what rules of all kinds and of this one find in an object that has the right types."""
    metadata = write.new["metadata"]
    causes = name_causes(KINDS[kind], metadata.get("name", "")) if write.old is None else []
    if write.old is None or write.old["metadata"] != metadata:
        causes += check_metadata(metadata)
    if write.old is not None and write.old["metadata"].get("deletionTimestamp"):
        causes += check_finalizers(write.old["metadata"], metadata)
    return causes + (RULES[kind](write) if kind in RULES else [])


def _shaped(kind: str, old: Obj | None, new: Obj) -> tuple[Obj, list[Cause]]:
    """Apply the schema to the fields that changed; what is stored already conforms."""
    schema = SCHEMAS[kind]
    stored: Obj = {}
    causes: list[Cause] = []
    for name, shape in (schema.fields or {}).items():
        value = new.get(name)
        if value is None:
            if shape.default is not MISSING:
                stored[name] = shape.default
            elif name in schema.required:
                causes.append(required(name))
        elif old is not None and old.get(name) == value:
            stored[name] = value
        else:
            stored[name], report = conform(shape, value, name, KINDS[kind].custom)
            causes += report.causes
    return stored, causes


def _admit_part(kind: str, new: Obj, subresource: str) -> Obj:
    fields = SCHEMAS[kind].fields or {}
    if subresource not in new or subresource not in fields:
        return new
    part, report = conform(fields[subresource], new[subresource], subresource, KINDS[kind].custom)
    if report.causes:
        raise invalid(KINDS[kind], new["metadata"]["name"], report.causes)
    return {**new, subresource: part}
