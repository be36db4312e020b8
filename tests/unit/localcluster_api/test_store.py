import asyncio
import sqlite3
from pathlib import Path

import pytest

from trainui.localcluster.changes import KEPT_CHANGES
from trainui.localcluster.errors import ApiError
from trainui.localcluster.objects import editable
from trainui.localcluster.store import Store


def pod(name: str = "a", namespace: str = "default", **metadata: object) -> dict:
    return {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": {"nodeName": "m"}}


def refused(code: int, reason: str):
    return pytest.raises(ApiError, check=lambda error: (error.code, error.reason) == (code, reason))


@pytest.fixture
def store() -> Store:
    return Store()


def test_create_fills_in_what_the_server_owns(store: Store) -> None:
    made = store.create("Pod", {"metadata": {"name": "a", "uid": "mine", "resourceVersion": "9"}, "spec": {}})
    assert made["metadata"]["namespace"] == "default"
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["resourceVersion"] == store.version
    assert made["metadata"]["generation"] == 1
    assert made["kind"] == "Pod"
    assert made["apiVersion"] == "v1"
    assert store.get("Pod", "default", "a") is made


def test_versions_grow_with_every_write(store: Store) -> None:
    before = int(store.version)
    store.create("Pod", pod("a"))
    store.patch("Pod", "default", "a", {"metadata": {"labels": {"x": "y"}}})
    store.delete("Pod", "default", "a", grace=0)
    assert int(store.version) == before + 3


def test_a_write_that_changes_nothing_is_none(store: Store) -> None:
    made = store.create("Pod", pod())
    assert store.update("Pod", editable(made)) is made


@pytest.mark.parametrize(
    ("subresource", "patch", "generation", "expected"),
    [
        (None, {"spec": {"x": 1}}, 2, {"spec": {"nodeName": "m", "x": 1}}),
        (None, {"metadata": {"labels": {"a": "b"}}}, 1, {}),
        (None, {"status": {"phase": "Running"}}, 1, {}),
        ("status", {"status": {"phase": "Running"}, "spec": {"x": 1}}, 1, {"status": {"phase": "Running"}}),
    ],
    ids=["spec", "labels", "status through the object", "status alone"],
)
def test_generation_counts_changes_of_the_spec(store: Store, subresource, patch, generation, expected) -> None:
    store.create("Pod", pod())
    after = store.patch("Pod", "default", "a", patch, subresource)
    assert after["metadata"]["generation"] == generation
    assert after["spec"] == expected.get("spec", {"nodeName": "m"})
    assert after.get("status") == expected.get("status")


def test_an_old_version_cannot_write(store: Store) -> None:
    old = editable(store.create("Pod", pod()))
    store.patch("Pod", "default", "a", {"metadata": {"labels": {"a": "b"}}})
    with refused(409, "Conflict"):
        store.update("Pod", old)


def test_another_uid_cannot_write_or_delete(store: Store) -> None:
    made = editable(store.create("Pod", pod()))
    made["metadata"]["uid"] = "other"
    with refused(409, "Conflict"):
        store.update("Pod", made)
    with refused(409, "Conflict"):
        store.delete("Pod", "default", "a", uid="other")


def test_names_are_taken_once(store: Store) -> None:
    store.create("Pod", pod())
    with refused(409, "AlreadyExists"):
        store.create("Pod", pod())


def test_generated_names_fit_and_differ(store: Store) -> None:
    prefix = "p" * 70
    names = {
        store.create("Pod", {"metadata": {"generateName": prefix}, "spec": {}})["metadata"]["name"] for _ in range(20)
    }
    assert len(names) == 20
    assert all(len(name) == 63 and name.startswith("p" * 58) for name in names)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a..b", "x" * 254, ""])
def test_bad_names(store: Store, name: str) -> None:
    with refused(422, "Invalid"):
        store.create("Pod", pod(name))


def test_an_unknown_namespace(store: Store) -> None:
    with refused(404, "NotFound"):
        store.create("Pod", pod(namespace="none"))


def test_selectors_and_order(store: Store) -> None:
    store.create("Namespace", {"metadata": {"name": "b"}})
    for namespace, name, label in (("default", "z", "1"), ("b", "y", "1"), ("default", "c", "2")):
        store.create("Pod", pod(name, namespace, labels={"k": label}))
    everything, version = store.list("Pod")
    assert [item["metadata"]["name"] for item in everything] == ["y", "c", "z"]
    assert version == store.version
    assert [item["metadata"]["name"] for item in store.list("Pod", labels="k=1")[0]] == ["y", "z"]
    assert [item["metadata"]["name"] for item in store.list("Pod", "default", {"k": "1"})[0]] == ["z"]
    assert store.list("Pod", fields={"metadata.name": "c"})[0][0]["metadata"]["name"] == "c"


def test_owners_are_indexed(store: Store) -> None:
    owner = store.create("Job", {"metadata": {"name": "j"}, "spec": {}})
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid}
    store.create("Pod", pod(ownerReferences=[reference]))
    assert [(kind, child["metadata"]["name"]) for kind, child in store.dependents(uid)] == [("Pod", "a")]
    assert store.by_uid(uid) == ("Job", owner)
    store.patch("Pod", "default", "a", {"metadata": {"ownerReferences": None}})
    assert store.dependents(uid) == []
    store.delete("Job", "default", "j")
    assert store.by_uid(uid) is None


class TestDeletion:
    def test_a_pod_on_a_machine_goes_when_its_agent_says_so(self, store: Store) -> None:
        store.create("Pod", pod())
        marked = store.delete("Pod", "default", "a")
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
        assert store.get("Pod", "default", "a") is marked
        store.delete("Pod", "default", "a", grace=0)
        assert store.get("Pod", "default", "a") is None

    def test_grace_is_shortened_but_not_lengthened(self, store: Store) -> None:
        store.create("Pod", pod())
        store.delete("Pod", "default", "a", grace=10)
        assert store.delete("Pod", "default", "a", grace=60)["metadata"]["deletionGracePeriodSeconds"] == 10
        assert store.delete("Pod", "default", "a", grace=5)["metadata"]["deletionGracePeriodSeconds"] == 5

    @pytest.mark.parametrize("change", [{"spec": {"nodeName": None}}, {"status": {"phase": "Failed"}}])
    def test_a_pod_that_runs_nowhere_goes_at_once(self, store: Store, change: dict) -> None:
        store.create("Pod", pod())
        store.patch("Pod", "default", "a", change, "status" if "status" in change else None)
        store.delete("Pod", "default", "a")
        assert store.get("Pod", "default", "a") is None

    @pytest.mark.parametrize(
        ("propagation", "finalizers"),
        [("Background", None), ("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
    )
    def test_propagation(self, store: Store, propagation: str, finalizers: list[str] | None) -> None:
        store.create("Job", {"metadata": {"name": "j"}, "spec": {}})
        store.delete("Job", "default", "j", propagation)
        left = store.get("Job", "default", "j")
        assert (left["metadata"]["finalizers"] if left else None) == finalizers

    def test_the_last_finalizer_ends_it(self, store: Store) -> None:
        store.create("Job", {"metadata": {"name": "j", "finalizers": ["a", "b"]}, "spec": {}})
        store.delete("Job", "default", "j")
        left = editable(store.read("Job", "default", "j"))
        left["metadata"]["finalizers"] = ["b"]
        left = editable(store.update("Job", left))
        assert left["metadata"]["deletionTimestamp"]
        left["metadata"].pop("finalizers")
        store.update("Job", left)
        assert store.get("Job", "default", "j") is None

    def test_unknown_propagation(self, store: Store) -> None:
        store.create("Pod", pod())
        with refused(400, "BadRequest"):
            store.delete("Pod", "default", "a", "Sideways")

    def test_a_namespace_takes_its_content_along(self, store: Store) -> None:
        store.create("Namespace", {"metadata": {"name": "n"}})
        store.create("ConfigMap", {"metadata": {"name": "c", "namespace": "n"}})
        store.create("Pod", pod(namespace="n"))
        store.delete("Namespace", "", "n")
        ending = store.read("Namespace", "", "n")
        assert ending["status"]["phase"] == "Terminating"
        assert store.get("ConfigMap", "n", "c") is None
        with refused(403, "Forbidden"):
            store.create("ConfigMap", {"metadata": {"name": "d", "namespace": "n"}})
        store.delete("Pod", "n", "a", grace=0)
        assert store.get("Namespace", "", "n") is None

    @pytest.mark.parametrize("name", ["default", "kube-system"])
    def test_the_first_namespaces_stay(self, store: Store, name: str) -> None:
        with refused(403, "Forbidden"):
            store.delete("Namespace", "", name)

    def test_an_empty_namespace_goes_at_once(self, store: Store) -> None:
        store.create("Namespace", {"metadata": {"name": "n"}})
        store.delete("Namespace", "", "n")
        assert store.get("Namespace", "", "n") is None


class TestTransactions:
    def test_all_or_none(self, store: Store, tmp_path: Path) -> None:
        store = Store(tmp_path / "db")
        version = store.version
        feed = store.subscribe("Pod")

        def two_and_a_failure() -> None:
            with store.transaction():
                store.create("Pod", pod("a"))
                store.create("Pod", pod("b"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            two_and_a_failure()
        assert store.list("Pod") == ([], version)
        assert feed.take() == []
        with store.transaction():
            store.create("Pod", pod("a"))
            store.patch("Pod", "default", "a", {"spec": {"x": 1}})
            assert feed.take() == []
        assert [change.type for change in feed.take()] == ["ADDED", "MODIFIED"]

    def test_a_rehearsal_leaves_nothing(self, store: Store) -> None:
        store.create("Pod", pod("a"))
        version = store.version
        with store.rehearsal():
            store.delete("Pod", "default", "a", grace=0)
            store.create("Pod", pod("b"))
            assert store.get("Pod", "default", "b")
        assert store.get("Pod", "default", "a")
        assert store.get("Pod", "default", "b") is None
        assert store.version == version

    def test_a_failing_disk_refuses_the_write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = Store(tmp_path / "db")

        def broken(version: int) -> None:
            raise sqlite3.OperationalError("disk full")

        monkeypatch.setattr(store._storage, "commit", broken)
        with refused(500, "InternalError"):
            store.create("Pod", pod())
        assert store.get("Pod", "default", "a") is None
        monkeypatch.undo()
        store.create("Pod", pod())


class TestRestart:
    def test_everything_is_there_again(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "db")
        made = store.create("Pod", pod())
        store.create("Pod", pod("gone"))
        store.delete("Pod", "default", "gone", grace=0)
        version = store.version
        store.close()
        again = Store(tmp_path / "db")
        assert again.version == version
        assert again.list("Pod") == ([made], version)
        assert again.by_uid(made["metadata"]["uid"]) == ("Pod", made)
        assert int(again.create("Pod", pod("b"))["metadata"]["resourceVersion"]) == int(version) + 1

    def test_what_is_not_committed_is_not_there(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "db")
        store.create("Pod", pod())
        other = Store(tmp_path / "db")
        assert other.get("Pod", "default", "a")

    def test_another_format_is_refused(self, tmp_path: Path) -> None:
        Store(tmp_path / "db").close()
        with sqlite3.connect(tmp_path / "db") as db:
            db.execute("UPDATE meta SET value = 99 WHERE key = 'format'")
        with pytest.raises(ValueError, match="format 99"):
            Store(tmp_path / "db")


class TestHistory:
    def test_a_feed_goes_on_where_a_list_ended(self, store: Store) -> None:
        store.create("Pod", pod("a"))
        _, version = store.list("Pod")
        store.create("Pod", pod("b"))
        store.create("ConfigMap", {"metadata": {"name": "c"}})
        feed = store.subscribe("Pod", since=version)
        store.delete("Pod", "default", "b", grace=0)
        assert [(c.type, c.obj["metadata"]["name"]) for c in feed.take()] == [("ADDED", "b"), ("DELETED", "b")]

    def test_all_kinds_in_order(self, store: Store) -> None:
        version = store.version
        store.create("Pod", pod("a"))
        store.create("ConfigMap", {"metadata": {"name": "c"}})
        store.create("Pod", pod("b"))
        kinds = [change.kind for change in store.subscribe(since=version).take()]
        assert kinds == ["Pod", "ConfigMap", "Pod"]

    def test_from_the_beginning(self, store: Store) -> None:
        store.create("Pod", pod("a"))
        assert [(c.type, c.obj["metadata"]["name"]) for c in store.subscribe("Pod", since=0).take()] == [("ADDED", "a")]

    def test_forgotten_changes_are_gone(self, store: Store) -> None:
        version = store.version
        store.create("Pod", pod())
        for count in range(KEPT_CHANGES):
            store.patch("Pod", "default", "a", {"metadata": {"labels": {"n": str(count)}}})
        with refused(410, "Expired"):
            store.subscribe("Pod", since=version)
        assert store.subscribe("ConfigMap", since=version).take() == []

    def test_after_a_restart_only_the_present_is_known(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "db")
        before = store.version
        store.create("Pod", pod())
        store.close()
        again = Store(tmp_path / "db")
        with refused(410, "Expired"):
            again.subscribe("Pod", since=before)
        assert again.subscribe("Pod", since=again.version).take() == []

    def test_a_slow_reader_is_told(self, store: Store) -> None:
        feed = store.subscribe("Pod", limit=2)
        for name in "abc":
            store.create("Pod", pod(name))
        with refused(410, "Expired"):
            feed.take()

    def test_iteration_and_close(self, store: Store) -> None:
        async def first() -> tuple[str, dict]:
            feed = store.subscribe("Pod")
            asyncio.get_running_loop().call_soon(store.create, "Pod", pod())
            async for found in feed:
                return found
            raise AssertionError

        type_, obj = asyncio.run(first())
        assert (type_, obj["metadata"]["name"]) == ("ADDED", "a")


def test_events_expire_by_their_last_write() -> None:
    now = [1000.0]
    store = Store(clock=lambda: now[0])
    for name in ("old", "renewed"):
        store.create("Event", {"metadata": {"name": name}, "involvedObject": {}})
    now[0] = 5000.0
    store.patch("Event", "default", "renewed", {"count": 2})
    assert store.expire("Event", before=2000.0) == 1
    assert [event["metadata"]["name"] for event in store.list("Event")[0]] == ["renewed"]


def test_what_callers_keep_does_not_reach_the_store(store: Store) -> None:
    mine = pod(labels={"a": "b"})
    store.create("Pod", mine)
    mine["metadata"]["labels"]["a"] = "changed"
    assert store.read("Pod", "default", "a")["metadata"]["labels"] == {"a": "b"}
