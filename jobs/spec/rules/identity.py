"""Rules about the name of a TrainJob, its runtime reference, and who manages it."""

from collections.abc import Iterator

from jobs.spec.rules.base import Case
from runtimes.spec.access import dig
from runtimes.spec.dns import LABEL_1035_MESSAGE, LABEL_MAX, is_label_1035
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import CONTROLLER, GROUP, MULTIKUEUE, RUNTIME_KINDS


def name(case: Case) -> Iterator[Finding]:
    """metadata.name is an RFC 1035 label of at most 63 characters (CEL, API server)."""
    given = dig(case.trainjob, "metadata", "name")
    if not given:
        if not dig(case.trainjob, "metadata", "generateName"):
            yield Finding("metadata.name", "required", "name or generateName is required")
        return
    if not is_label_1035(given):
        yield Finding("metadata.name", "invalid_name", LABEL_1035_MESSAGE)
    elif len(given) > LABEL_MAX:
        message = f"must have no more than {LABEL_MAX} characters, has {len(given)}"
        yield Finding("metadata.name", "too_long", message, {"max_length": LABEL_MAX})


def generate_name(case: Case) -> Iterator[Finding]:
    """What generateName grows into is an RFC 1035 label (the API server appends five letters or digits)."""
    prefix = dig(case.trainjob, "metadata", "generateName")
    if prefix and not dig(case.trainjob, "metadata", "name") and not is_label_1035(f"{prefix}x"):
        yield Finding("metadata.generateName", "invalid_name", LABEL_1035_MESSAGE)


def managed_by(case: Case) -> Iterator[Finding]:
    """spec.managedBy is one of two controllers (CEL); a third cannot claim a TrainJob."""
    manager = case.spec.get("managedBy")
    if isinstance(manager, str) and manager not in (CONTROLLER, MULTIKUEUE):
        yield Finding("spec.managedBy", "not_supported", f"ManagedBy must be {CONTROLLER} or {MULTIKUEUE} if set")


def runtime_kind(case: Case) -> Iterator[Finding]:
    """The runtime is of a kind that there is (webhook)."""
    reference = case.spec.get("runtimeRef")
    if not isinstance(reference, dict):
        return
    kind, group = reference.get("kind", ""), reference.get("apiGroup", "")
    if group != GROUP or kind not in RUNTIME_KINDS:
        shown = f"{kind}.{group}" if group else kind
        path = "spec.runtimeRef.kind" if group == GROUP else "spec.runtimeRef.apiGroup"
        yield Finding(path, "unsupported_runtime", f"unsupported runtime: {shown}")


def runtime_exists(case: Case) -> Iterator[Finding]:
    """The runtime exists when the job is created (webhook)."""
    reference = case.spec.get("runtimeRef") or {}
    kind, found_name = reference.get("kind", ""), reference.get("name", "")
    if case.runtime is None and reference.get("apiGroup") == GROUP and kind in RUNTIME_KINDS and found_name:
        article = kind[0].lower() + kind[1:]
        message = f'{kind}.{GROUP} "{found_name}" not found: specified {article} must be created before the TrainJob is created'
        yield Finding("spec.runtimeRef", "runtime_not_found", message, {"kind": kind, "name": found_name})
