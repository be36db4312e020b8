"""Server-side apply: who owns what, what goes away, what is contested."""

from typing import Any

import pytest

from trainui.localcluster.admission import admit
from trainui.localcluster.errors import ApiError
from trainui.localcluster.ownership.apply import apply, track
from trainui.localcluster.ownership.fields import from_fields_v1, show_path, to_fields_v1
from trainui.localcluster.ownership.managers import read_managers
from trainui.localcluster.store import Store

BASE = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def pod(containers: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {**BASE, "spec": {**({"containers": containers} if containers else {}), **spec}}


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def owned(obj: dict[str, Any], manager: str, operation: str = "Apply", subresource: str = "") -> set[str]:
    """Return the paths that a manager owns."""
    return {
        show_path(path)
        for who, what in read_managers(obj["metadata"]).items()
        if (who.name, who.operation, who.subresource) == (manager, operation, subresource)
        for path in what.paths
    }


def conflicts(kind: str, live: dict[str, Any], applied: dict[str, Any], manager: str) -> set[tuple[str, str]]:
    with pytest.raises(ApiError) as caught:
        apply(kind, live, applied, manager, "t")
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    return {(cause.field, cause.message.split('"')[1]) for cause in caught.value.causes}


class TestOwnership:
    def test_who_applies_owns(self) -> None:
        made = apply("ConfigMap", None, config(a="1", b="2"), "m", "t")
        assert made["data"] == {"a": "1", "b": "2"}
        assert owned(made, "m") == {".data.a", ".data.b"}

    def test_names_are_nobodys(self) -> None:
        obj = {**config(a="1"), "metadata": {"name": "a", "namespace": "n", "uid": "u", "labels": {"x": "y"}}}
        assert owned(apply("ConfigMap", None, obj, "m", "t"), "m") == {".data.a", ".metadata.labels.x"}

    def test_two_own_what_both_apply_alike(self) -> None:
        made = apply("ConfigMap", apply("ConfigMap", None, config(a="1"), "m", "t"), config(a="1", b="2"), "n", "t")
        assert owned(made, "m") == {".data.a"}
        assert owned(made, "n") == {".data.a", ".data.b"}

    def test_applying_the_same_again_changes_nothing(self) -> None:
        made = apply("ConfigMap", None, config(a="1"), "m", "then")
        assert apply("ConfigMap", made, config(a="1"), "m", "now") == made

    def test_keyed_lists_by_their_items(self) -> None:
        made = apply("Pod", None, pod([{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]), "m", "t")
        assert owned(made, "m") == {
            '.spec.containers[name="c"]',
            '.spec.containers[name="c"].name',
            '.spec.containers[name="c"].image',
            '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]',
            '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort',
        }

    def test_atomic_things_as_a_whole(self) -> None:
        spec = {"tolerations": [{"key": "k"}], "nodeSelector": {"a": "b"}}
        made = apply("Pod", None, pod([{"name": "c", "args": ["x"]}], **spec), "m", "t")
        assert {".spec.tolerations", ".spec.nodeSelector", '.spec.containers[name="c"].args'} <= owned(made, "m")

    def test_sets_by_their_values(self) -> None:
        obj = {**config(a="1"), "metadata": {"name": "a", "finalizers": ["x.io/f"]}}
        assert '.metadata.finalizers[="x.io/f"]' in owned(apply("ConfigMap", None, obj, "m", "t"), "m")

    def test_status_is_applied_apart(self) -> None:
        live = apply("Pod", None, {**pod([{"name": "c"}]), "status": {"phase": "Running"}}, "m", "t")
        assert "status" not in live
        after = apply("Pod", live, {**BASE, "status": {"phase": "Running"}}, "agent", "t", subresource="status")
        assert owned(after, "agent", subresource="status") == {".status.phase"}
        assert owned(after, "m") == owned(live, "m")


class TestRemoval:
    def test_what_is_left_out_goes(self) -> None:
        made = apply("ConfigMap", None, config(a="1", b="2"), "m", "t")
        assert apply("ConfigMap", made, config(a="1"), "m", "t")["data"] == {"a": "1"}

    def test_what_another_owns_stays(self) -> None:
        made = apply("ConfigMap", None, config(a="1", b="2"), "m", "t")
        made = apply("ConfigMap", made, config(b="2"), "n", "t")
        after = apply("ConfigMap", made, config(), "m", "t")
        assert after["data"] == {"b": "2"}
        assert owned(after, "m") == {".data"}

    def test_what_nobody_owned_stays(self) -> None:
        made = apply("ConfigMap", None, config(a="1"), "m", "t")
        made["data"]["defaulted"] = "x"
        assert apply("ConfigMap", made, config(b="2"), "m", "t")["data"] == {"b": "2", "defaulted": "x"}

    def test_an_item_goes_with_what_was_filled_in(self) -> None:
        made = apply("Pod", None, pod([{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]), "m", "t")
        made["spec"]["containers"][1]["imagePullPolicy"] = "Always"
        after = apply("Pod", made, pod([{"name": "c", "image": "i"}]), "m", "t")
        assert [item["name"] for item in after["spec"]["containers"]] == ["c"]

    def test_an_item_that_another_has_a_share_in_stays_with_its_key(self) -> None:
        made = apply("Pod", None, pod([{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]), "m", "t")
        made = apply("Pod", made, pod([{"name": "d", "workingDir": "/w"}]), "n", "t")
        after = apply("Pod", made, pod([{"name": "c", "image": "i"}]), "m", "t")
        assert after["spec"]["containers"] == [{"name": "c", "image": "i"}, {"name": "d", "workingDir": "/w"}]

    def test_a_key_stays_where_an_update_holds_the_item(self) -> None:
        made = apply("Pod", None, pod([{"name": "c", "image": "i"}]), "m", "t")
        edited = pod([{"name": "c", "image": "edited"}])
        made = track("Pod", made, {**made, "spec": edited["spec"]}, "k", "t")
        after = apply("Pod", made, pod([{"name": "d", "image": "i"}]), "m", "t")
        assert {"name": "c", "image": "edited"} in after["spec"]["containers"]

    def test_a_whole_part_goes(self) -> None:
        trainer = {"image": "i", "env": [{"name": "A", "value": "1"}]}
        made = apply("TrainJob", None, {**BASE, "spec": {"runtimeRef": {"name": "r"}, "trainer": trainer}}, "m", "t")
        made["spec"]["trainer"]["filled"] = 1
        after = apply("TrainJob", made, {**BASE, "spec": {"runtimeRef": {"name": "r"}}}, "m", "t")
        assert after["spec"] == {"runtimeRef": {"name": "r"}}


class TestConflicts:
    def test_a_value_that_another_applied(self) -> None:
        made = apply("ConfigMap", None, config(a="1", b="2"), "m", "t")
        assert conflicts("ConfigMap", made, config(a="9", b="2"), "n") == {(".data.a", "m")}

    def test_force_takes_it_over(self) -> None:
        made = apply("ConfigMap", None, config(a="1", b="2"), "m", "t")
        after = apply("ConfigMap", made, config(a="9"), "n", "t", force=True)
        assert after["data"] == {"a": "9", "b": "2"}
        assert owned(after, "m") == {".data.b"}
        assert owned(after, "n") == {".data.a"}

    def test_a_value_that_another_edited(self) -> None:
        made = apply("ConfigMap", None, config(a="1"), "m", "t")
        made = track("ConfigMap", made, {**made, "data": {"a": "2"}}, "editor", "t")
        assert owned(made, "m") == set()
        assert conflicts("ConfigMap", made, config(a="1"), "m") == {(".data.a", "editor")}

    def test_each_is_named(self) -> None:
        made = apply("ConfigMap", None, config(a="1"), "m", "t")
        made = apply("ConfigMap", made, config(b="1"), "n", "t")
        assert conflicts("ConfigMap", made, config(a="2", b="2"), "o") == {(".data.a", "m"), (".data.b", "n")}

    def test_the_message_names_manager_and_version(self) -> None:
        made = apply("ConfigMap", None, config(a="1"), "m", "t")
        with pytest.raises(ApiError, match=r'^Apply failed with 1 conflict: conflict with "m" using v1: \.data\.a$'):
            apply("ConfigMap", made, config(a="2"), "n", "t")

    def test_atomic_lists_are_contested_as_a_whole(self) -> None:
        made = apply("Pod", None, pod([{"name": "c", "args": ["a"]}]), "m", "t")
        found = conflicts("Pod", made, pod([{"name": "c", "args": ["b"]}]), "n")
        assert found == {('.spec.containers[name="c"].args', "m")}


class TestMerging:
    def test_items_by_key_in_the_applied_order(self) -> None:
        live = apply("Pod", None, pod([{"name": name} for name in "abc"]), "m", "t")
        after = apply("Pod", live, pod([{"name": name} for name in "cax"]), "n", "t")
        assert [item["name"] for item in after["spec"]["containers"]] == ["c", "a", "b", "x"]

    def test_ports_of_two_protocols_are_two(self) -> None:
        ports = [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]
        live = apply("Pod", None, pod([{"name": "c", "ports": ports}]), "m", "t")
        changed = [{"containerPort": 53, "protocol": "TCP", "name": "dns"}]
        after = apply("Pod", live, pod([{"name": "c", "ports": changed}]), "n", "t")
        assert len(after["spec"]["containers"][0]["ports"]) == 2

    def test_an_empty_map_stays_owned(self) -> None:
        made = apply("Pod", None, pod(volumes=[{"name": "v", "emptyDir": {}}]), "m", "t")
        assert '.spec.volumes[name="v"].emptyDir' in owned(made, "m")

    def test_nothing_live_is_changed(self) -> None:
        live = apply("ConfigMap", None, config(a="1", b="2"), "m", "t")
        before = repr(live)
        apply("ConfigMap", live, config(c="1"), "m", "t")
        assert repr(live) == before


def test_defaults_inside_an_atomic_list_are_no_change() -> None:
    store = Store(admit=admit)
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "a", "namespace": "default"},
    }
    jobset["spec"] = {"volumeClaimPolicies": [{"templates": []}]}
    first = store.create("JobSet", apply("JobSet", None, jobset, "m", "then"))
    assert first["spec"]["volumeClaimPolicies"][0]["retentionPolicy"] == {"whenDeleted": "Delete"}
    again = apply("JobSet", first, jobset, "m", "now")
    assert again["metadata"]["managedFields"][0]["time"] == "now"
    assert store.update("JobSet", {**again, "metadata": {**again["metadata"], "name": "a"}}) is first


class TestTracking:
    def test_a_creator_owns_what_it_sent(self) -> None:
        made = track("ConfigMap", None, config(a="1"), "m", "t")
        assert owned(made, "m", "Update") == {".data.a"}

    def test_a_change_moves_ownership(self) -> None:
        made = track("ConfigMap", None, config(a="1", b="2"), "m", "t")
        made = track("ConfigMap", made, {**made, "data": {"a": "9", "c": "3"}}, "n", "t")
        assert owned(made, "m", "Update") == set()
        assert owned(made, "n", "Update") == {".data.a", ".data.c"}

    def test_status_is_tracked_apart(self) -> None:
        made = track("Pod", None, pod([{"name": "c"}]), "m", "t")
        after = track("Pod", made, {**made, "status": {"phase": "Running"}}, "m", "t", subresource="status")
        assert owned(after, "m", "Update", "status") == {".status.phase"}
        assert owned(after, "m", "Update") == owned(made, "m", "Update")

    def test_an_unchanged_write_keeps_the_time(self) -> None:
        made = track("ConfigMap", None, config(a="1"), "m", "then")
        assert track("ConfigMap", made, made, "m", "now") == made

    def test_an_empty_list_starts_over(self) -> None:
        made = track("ConfigMap", None, config(a="1"), "m", "t")
        after = track("ConfigMap", made, {**made, "metadata": {"name": "a", "managedFields": [{}]}}, "n", "t")
        assert "managedFields" not in after["metadata"]

    def test_a_client_that_sends_none_keeps_them(self) -> None:
        made = track("ConfigMap", None, config(a="1"), "m", "t")
        after = track("ConfigMap", made, config(a="1"), "n", "t")
        assert owned(after, "m", "Update") == {".data.a"}

    def test_nonsense_is_refused(self) -> None:
        bad = {**config(a="1"), "metadata": {"name": "a", "managedFields": [{"operation": "Grab"}]}}
        with pytest.raises(ApiError, check=lambda error: error.code == 400):
            track("ConfigMap", None, bad, "m", "t")


@pytest.mark.parametrize(
    "fields",
    [
        {"f:a": {}},
        {"f:a": {".": {}, "f:b": {}}},
        {"f:l": {'k:{"name":"x"}': {".": {}, "f:name": {}}, 'v:"y"': {}}},
        {"f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:containerPort": {}}}},
    ],
)
def test_fields_v1_there_and_back(fields: dict[str, Any]) -> None:
    assert to_fields_v1(from_fields_v1(fields)) == fields


def test_other_spellings_of_a_key_are_the_same() -> None:
    ours = from_fields_v1({"f:p": {'k:{"containerPort":80,"protocol":"TCP"}': {}}})
    assert from_fields_v1({"f:p": {'k:{"protocol": "TCP", "containerPort": 80}': {}}}) == ours
