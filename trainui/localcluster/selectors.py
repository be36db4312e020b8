"""Label and field selectors: text in, predicate over plain objects out."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainui.localcluster.errors import bad_request

Predicate = Callable[[dict[str, Any]], bool]

_NAME = r"[A-Za-z0-9][-A-Za-z0-9_./]*"
_SET = re.compile(rf"^\s*({_NAME})\s+(in|notin)\s*\(([^()]*)\)\s*$")
_EQUAL = re.compile(rf"^\s*({_NAME})\s*(==|=|!=)\s*([-A-Za-z0-9_.]*)\s*$")
_NUMBER = re.compile(rf"^\s*({_NAME})\s*(>|<)\s*(-?\d+)\s*$")
_EXISTS = re.compile(rf"^\s*(!?)\s*({_NAME})\s*$")

_METADATA_FIELDS = {"metadata.name", "metadata.namespace"}
_FIELDS: dict[str, set[str]] = {
    "Pod": {"spec.nodeName", "status.phase", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"},
    "Node": {"spec.unschedulable"},
    "Secret": {"type"},
    "Namespace": {"status.phase"},
    "Job": {"status.successful"},
    "Event": {"reason", "type", "source", "reportingComponent"}
    | {
        f"involvedObject.{f}"
        for f in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
}


def label_predicate(selector: str | Mapping[str, str] | None) -> Predicate | None:
    """Return a predicate over objects for a label selector, or None when it selects everything.

    Takes the text form (`a=b,c!=d,e in (f,g),h,!i,j>1`) or a mapping of equalities. Raises ApiError 400.
    """
    if not selector:
        return None
    if isinstance(selector, Mapping):
        tests = [_equals(key, {value}) for key, value in selector.items()]
    else:
        tests = [_label_test(part) for part in _split(selector)]

    def matches(obj: dict[str, Any]) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(test(labels) for test in tests)

    return matches


def _split(selector: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, char in enumerate(selector):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth == 0:
            yield selector[start:index]
            start = index + 1
    yield selector[start:]


def _equals(key: str, values: set[str]) -> Predicate:
    return lambda labels: labels.get(key) in values


def _label_test(part: str) -> Predicate:
    if found := _SET.match(part):
        key, operator, text = found.groups()
        values = {value.strip() for value in text.split(",")}
        if operator == "in":
            return _equals(key, values)
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(part):
        key, operator, value = found.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return _equals(key, {value})
    if found := _NUMBER.match(part):
        return _number_test(*found.groups())
    if found := _EXISTS.match(part):
        negated, key = found.groups()
        return lambda labels: (key in labels) != bool(negated)
    raise bad_request(f"unable to parse requirement: found {part.strip()!r}, expected: a label selector")


def _number_test(key: str, operator: str, text: str) -> Predicate:
    bound = int(text)

    def test(labels: dict[str, Any]) -> bool:
        value = labels.get(key, "")
        if not re.fullmatch(r"-?\d+", value):
            return False
        return int(value) > bound if operator == ">" else int(value) < bound

    return test


def field_predicate(kind: str, selector: str | Mapping[str, str] | None) -> Predicate | None:
    """Return a predicate over objects of a kind for a field selector, or None when it selects everything.

    Raises ApiError 400 for a field that cannot be selected on, as Kubernetes does.
    """
    if not selector:
        return None
    if isinstance(selector, Mapping):
        terms = [(key, False, value) for key, value in selector.items()]
    else:
        terms = [_field_term(part) for part in selector.split(",") if part.strip()]
    known = _METADATA_FIELDS | _FIELDS.get(kind, set())
    for key, _, _ in terms:
        if key not in known:
            raise bad_request(f'field label not supported: "{key}"')

    def matches(obj: dict[str, Any]) -> bool:
        return all((_field(obj, key) == value) != negated for key, negated, value in terms)

    return matches


def _field_term(part: str) -> tuple[str, bool, str]:
    for operator, negated in (("!=", True), ("==", False), ("=", False)):
        key, found, value = part.partition(operator)
        if found:
            return key.strip(), negated, value.strip()
    raise bad_request(f"invalid selector: {part!r}; can't understand {part!r}")


def _field(obj: dict[str, Any], path: str) -> str:
    if path == "source":
        source = obj.get("source") or {}
        return str(source.get("component") or obj.get("reportingComponent") or "")
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if path == "spec.unschedulable":
        return "true" if value else "false"
    return "" if value is None else str(value)


def both(first: Predicate | None, second: Predicate | None) -> Predicate | None:
    """Return a predicate that holds when both do; None selects everything."""
    if first is None or second is None:
        return first or second
    return lambda obj: first(obj) and second(obj)
