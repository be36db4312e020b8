import pytest

from trainui.localcluster.errors import ApiError
from trainui.localcluster.selectors import both, field_predicate, label_predicate

LABELS = {"app": "x", "tier": "web", "n": "5", "example.com/a": ""}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", True),
        ("app=x", True),
        ("app==x", True),
        ("app = x , tier = web", True),
        ("app=y", False),
        ("app!=y", True),
        ("app!=x", False),
        ("none!=x", True),
        ("app in (x, y)", True),
        ("app in (y),tier=web", False),
        ("app notin (y,z)", True),
        ("none notin (y)", True),
        ("app notin (x)", False),
        ("app", True),
        ("none", False),
        ("!none", True),
        ("!app", False),
        ("example.com/a", True),
        ("example.com/a=", True),
        ("n>4", True),
        ("n>5", False),
        ("n<6", True),
        ("app>1", False),
        ({"app": "x"}, True),
        ({"app": "x", "tier": "db"}, False),
    ],
)
def test_label_selectors(selector, expected: bool) -> None:
    matches = label_predicate(selector)
    assert (matches is None or matches({"metadata": {"labels": LABELS}})) is expected


@pytest.mark.parametrize("selector", ["app in x", "=x", "app=x y", "a=b,,c", "app in (x", "&"])
def test_bad_label_selectors(selector: str) -> None:
    with pytest.raises(ApiError, check=lambda error: error.code == 400):
        label_predicate(selector)


POD = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"nodeName": "m"}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("kind", "selector", "expected"),
    [
        ("Pod", "metadata.name=a", True),
        ("Pod", "metadata.name!=a", False),
        ("Pod", "metadata.namespace=n,spec.nodeName=m", True),
        ("Pod", "spec.nodeName=", False),
        ("Pod", "status.phase!=Succeeded,status.phase!=Failed", True),
        ("Event", "involvedObject.name=a", False),
        ("Node", "spec.unschedulable=false", True),
    ],
)
def test_field_selectors(kind: str, selector: str, expected: bool) -> None:
    matches = field_predicate(kind, selector)
    assert matches is not None
    assert matches(POD) is expected


@pytest.mark.parametrize(
    ("kind", "selector"), [("Pod", "spec.image=x"), ("TrainJob", "status.phase=x"), ("Pod", "name")]
)
def test_fields_that_cannot_be_selected(kind: str, selector: str) -> None:
    with pytest.raises(ApiError, check=lambda error: error.code == 400):
        field_predicate(kind, selector)


def test_both() -> None:
    assert both(None, None) is None
    first, second = label_predicate("app"), label_predicate("tier")
    assert both(first, None) is first
    combined = both(first, second)
    assert combined is not None
    assert combined({"metadata": {"labels": LABELS}})
    assert not combined({"metadata": {"labels": {"app": "x"}}})
