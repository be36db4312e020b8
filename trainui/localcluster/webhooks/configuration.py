"""Which webhooks see a write."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.admission.rules import Reader
from trainui.localcluster.admission.webhooks import NOT_MANAGER
from trainui.localcluster.resources import Kind, Obj

MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
DEFAULT_SECONDS = 10


@dataclass(frozen=True)
class Hook:
    """One webhook of a configuration. fails: whether a call that does not come through refuses the write."""

    name: str
    mutating: bool
    client: Mapping[str, Any] = field(repr=False)
    fails: bool
    seconds: float


@dataclass(frozen=True)
class Attempt:
    """A write as rules and selectors see it."""

    kind: Kind
    operation: str
    obj: Obj
    old: Obj | None
    manager: str


def hooks(reader: Reader, attempt: Attempt) -> list[Hook]:
    """Return the webhooks that must see a write: those that may change it first, then by name."""
    found = [
        Hook(
            name=hook["name"],
            mutating=kind == MUTATING,
            client=hook["clientConfig"],
            fails=hook.get("failurePolicy", "Fail") == "Fail",
            seconds=float(hook.get("timeoutSeconds") or DEFAULT_SECONDS),
        )
        for kind in (MUTATING, VALIDATING)
        for configuration in reader.list(kind)[0]
        for hook in configuration.get("webhooks") or []
        if _concerns(reader, hook, attempt)
    ]
    return sorted(found, key=lambda hook: (not hook.mutating, hook.name))


def _concerns(reader: Reader, hook: Obj, attempt: Attempt) -> bool:
    if not any(_rule_matches(rule, attempt) for rule in hook.get("rules") or []):
        return False
    objects = [obj for obj in (attempt.obj, attempt.old) if obj is not None]
    if not any(_selects(hook.get("objectSelector"), _labels(obj)) for obj in objects):
        return False
    if attempt.kind.namespaced and hook.get("namespaceSelector"):
        namespace = reader.get("Namespace", "", attempt.obj["metadata"].get("namespace", "")) or {"metadata": {}}
        if not _selects(hook["namespaceSelector"], _labels(namespace)):
            return False
    conditions = (NOT_MANAGER.fullmatch(c["expression"]) for c in hook.get("matchConditions") or [])
    return all(found is not None and found[2] != attempt.manager for found in conditions)


def _rule_matches(rule: Obj, attempt: Attempt) -> bool:
    kind = attempt.kind
    wanted = (
        ("operations", attempt.operation),
        ("apiGroups", kind.group),
        ("apiVersions", kind.version),
        ("resources", kind.plural),
    )
    if any(not {"*", value} & set(rule.get(name) or []) for name, value in wanted):
        return False
    return rule.get("scope", "*") in ("*", "Namespaced" if kind.namespaced else "Cluster")


def _labels(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _selects(selector: Obj | None, labels: Mapping[str, str]) -> bool:
    selector = selector or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_meets(expression, labels) for expression in selector.get("matchExpressions") or [])


def _meets(expression: Obj, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or []
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(expression["operator"], False)
