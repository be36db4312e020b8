"""What must hold for any sequence of writes."""

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trainui.localcluster.errors import ApiError
from trainui.localcluster.objects import editable
from trainui.localcluster.ownership.apply import apply, track
from trainui.localcluster.ownership.fields import fields_of, with_parents
from trainui.localcluster.ownership.managers import read_managers
from trainui.localcluster.schema.kinds import SCHEMAS
from trainui.localcluster.store import Store

VALUES = st.sampled_from(["1", "2", "3"])
MANAGERS = st.sampled_from(["m", "n", "o"])


def _keyed(names: list[str], fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return lists of items with distinct names, each with some of the fields."""
    item = st.fixed_dictionaries({}, optional=fields)
    return st.dictionaries(st.sampled_from(names), item, max_size=3).map(
        lambda found: [{"name": name, **rest} for name, rest in found.items()]
    )


ENV = _keyed(["A", "B", "C"], {"value": VALUES})
CONTAINERS = _keyed(["x", "y", "z"], {"image": VALUES, "env": ENV, "args": st.lists(VALUES, max_size=2)})
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "containers": CONTAINERS,
        "nodeSelector": st.dictionaries(st.sampled_from(["k", "l"]), VALUES, max_size=2),
        "hostname": VALUES,
    },
)
LABELS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Return the configuration of a Pod."""
    metadata = {"name": "p", "labels": draw(LABELS)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": draw(SPECS)}


POD = SCHEMAS["Pod"]


def _owned_by_others(obj: dict[str, Any], manager: str) -> set[tuple[str, ...]]:
    return {p for who, what in read_managers(obj["metadata"]).items() if who.name != manager for p in what.paths}


def _keeps(before: dict[str, Any], after: dict[str, Any], paths: set[tuple[str, ...]]) -> bool:
    """Tell whether the values at some paths are the same; what was empty may have been filled."""
    there, filled = fields_of(POD, after), with_parents(fields_of(POD, after))
    values = fields_of(POD, before)
    return all(
        there.get(path, "gone") == values[path] or (path in filled and values[path] is None)
        for path in paths & values.keys()
    )


def _owned(obj: dict[str, Any]) -> set[tuple[str, ...]]:
    return {path for what in read_managers(obj["metadata"]).values() for path in what.paths}


@settings(deadline=None)
@given(st.lists(st.tuples(MANAGERS, pods()), min_size=1, max_size=6))
def test_forced_applies(steps: list[tuple[str, dict[str, Any]]]) -> None:
    live: dict[str, Any] | None = None
    for manager, wanted in steps:
        others = _owned_by_others(live, manager) if live else set()
        applied = fields_of(POD, wanted)
        before = live or {}
        live = apply("Pod", live, wanted, manager, "t", force=True)
        assert _keeps(wanted, live, set(applied)), "what is applied is there"
        assert _keeps(before, live, others - applied.keys()), "what others own stays"
        assert _owned(live) <= with_parents(fields_of(POD, live)), "nothing is owned that is not there"
        assert apply("Pod", live, wanted, manager, "later", force=True) == live, "the same again changes nothing"


@settings(deadline=None)
@given(st.lists(st.tuples(MANAGERS, pods()), min_size=1, max_size=6))
def test_unforced_applies(steps: list[tuple[str, dict[str, Any]]]) -> None:
    live: dict[str, Any] | None = None
    for manager, wanted in steps:
        others = _owned_by_others(live, manager) if live else set()
        before = live or {}
        with contextlib.suppress(ApiError):
            live = apply("Pod", live, wanted, manager, "t")
        assert live is not None
        assert _keeps(before, live, others), "no value of others changes"


@settings(deadline=None)
@given(pods(), pods())
def test_a_manager_that_applies_nothing_leaves_no_trace(base: dict[str, Any], mine: dict[str, Any]) -> None:
    both = apply("Pod", apply("Pod", None, base, "base", "t"), mine, "mine", "t", force=True)
    nothing = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    left = apply("Pod", both, nothing, "mine", "t")
    assert fields_of(POD, left).keys() <= with_parents(_owned_by_others(both, "mine"))


@settings(deadline=None)
@given(st.lists(st.tuples(MANAGERS, pods()), min_size=1, max_size=5))
def test_updates_own_what_is_there(steps: list[tuple[str, dict[str, Any]]]) -> None:
    live: dict[str, Any] | None = None
    for manager, new in steps:
        live = track("Pod", live, new, manager, "t")
        assert _owned(live) == fields_of(POD, live).keys()


NAMES = st.sampled_from(["a", "b", "c"])
OPERATIONS = st.one_of(
    st.tuples(st.just("create"), NAMES, VALUES),
    st.tuples(st.just("patch"), NAMES, VALUES),
    st.tuples(st.just("delete"), NAMES, VALUES),
    st.tuples(st.just("finalize"), NAMES, VALUES),
    st.tuples(st.just("rehearse"), NAMES, VALUES),
    st.tuples(st.just("restart"), NAMES, VALUES),
)


def _carry_out(store: Store, operation: str, name: str, value: str) -> None:
    obj = {"metadata": {"name": name, "namespace": "default"}, "data": {"v": value}}
    if operation == "create":
        store.create("ConfigMap", obj)
    elif operation == "patch":
        store.patch("ConfigMap", "default", name, {"data": {"v": value}})
    elif operation == "finalize":
        finalizers = ["x"] if value == "1" else None
        store.patch("ConfigMap", "default", name, {"metadata": {"finalizers": finalizers}})
    elif operation == "delete":
        store.delete("ConfigMap", "default", name)
    elif operation == "rehearse":
        with store.rehearsal():
            store.delete("ConfigMap", "default", name)


@settings(max_examples=60, deadline=None)
@given(st.lists(OPERATIONS, max_size=25))
def test_the_history_leads_to_the_state(operations: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "db")
        replica: dict[str, dict[str, Any]] = {}
        feed = store.subscribe("ConfigMap", since=0)
        versions = []
        for operation in operations:
            if operation[0] == "restart":
                kept = editable({"items": store.list("ConfigMap")[0]})
                store.close()
                store = Store(Path(folder) / "db")
                assert store.list("ConfigMap")[0] == kept["items"]
                feed = store.subscribe("ConfigMap", since=store.version)
                continue
            with contextlib.suppress(ApiError):
                _carry_out(store, *operation)
            for change in feed.take():
                versions.append(change.version)
                name = change.obj["metadata"]["name"]
                if change.type == "DELETED":
                    assert replica.pop(name)["metadata"]["uid"] == change.obj["metadata"]["uid"]
                else:
                    assert (change.type == "ADDED") == (name not in replica)
                    replica[name] = change.obj
        assert replica == {obj["metadata"]["name"]: obj for obj in store.list("ConfigMap")[0]}
        assert versions == sorted(set(versions))
        store.close()
