"""Admission webhooks: who is asked, what is made of the answer, and that nothing is stored which was not seen."""

import base64
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest

from tests.unit.localcluster_api.rig import Client, Json

GROUP = "/apis/admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
NOT_MINE = "!has(request.options.fieldManager) || request.options.fieldManager != 'mine'"


class Hook:
    """A webhook: answers what the test wants, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.answer: Callable[[Json], Json] = lambda request: {"allowed": True}
        self.status = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                hook.asked.append(request)
                response = {"uid": request["uid"], **hook.answer(request)}
                self.send_response(hook.status)
                self.end_headers()
                self.wfile.write(orjson.dumps({"kind": "AdmissionReview", "response": response}))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/review"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


class World:
    """A namespace with a configuration that concerns ConfigMaps which carry its label."""

    def __init__(self, client: Client, namespace: str, hook: Hook) -> None:
        self.client, self.namespace, self.hook = client, namespace, hook
        self.path = f"/api/v1/namespaces/{namespace}/configmaps"
        self.made: list[str] = []

    def configure(self, plural: str = VALIDATING, **changes: Any) -> Json:
        webhook = {
            "name": "cm.example.dev",
            "clientConfig": {"url": self.hook.url},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}],
            "objectSelector": {"matchLabels": {"of": self.namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        } | changes  # fmt: skip
        answer = self.client("POST", f"{GROUP}/{plural}", {"metadata": {"name": self.namespace}, "webhooks": [webhook]})
        if answer.status == 201:
            self.made.append(f"{GROUP}/{plural}/{self.namespace}")
        return dict(answer.json())

    def config_map(self, name: str = "a", **data: str) -> Json:
        return {"metadata": {"name": name, "labels": {"of": self.namespace}}, "data": data}


@pytest.fixture
def world(client: Client, namespace: str, hook: Hook) -> Iterator[World]:
    made = World(client, namespace, hook)
    yield made
    for path in made.made:
        client.ok("DELETE", path)


def refuse(request: Json) -> Json:
    causes = [{"field": "data.x", "reason": "FieldValueInvalid", "message": "no"}]
    details = {"name": request["name"], "causes": causes}
    return {"allowed": False, "status": {"code": 422, "reason": "Invalid", "message": "bad", "details": details}}


def patch_with(*operations: Json, **more: Any) -> Callable[[Json], Json]:
    patch = base64.b64encode(orjson.dumps(list(operations))).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": patch, **more}


def test_a_refusal_reaches_the_client_with_its_causes_and_nothing_is_stored(world: World) -> None:
    world.configure()
    world.hook.answer = refuse
    answer = world.client("POST", world.path, world.config_map(x="1"))
    assert answer.status == 422
    status = answer.json()
    assert status["message"] == 'admission webhook "cm.example.dev" denied the request: bad'
    assert (status["reason"], status["details"]["causes"][0]["field"]) == ("Invalid", "data.x")
    assert world.client("GET", f"{world.path}/a").status == 404


def test_the_review_has_what_kubernetes_sends(world: World) -> None:
    world.configure()
    world.client.ok("POST", f"{world.path}?fieldManager=someone", world.config_map(x="1"))
    world.client.ok("PATCH", f"{world.path}/a", {"data": {"x": "2"}}, "application/merge-patch+json")
    created, updated = world.hook.asked
    assert (created["operation"], created["namespace"], created["name"]) == ("CREATE", world.namespace, "a")
    assert created["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert created["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (created["options"]["kind"], created["options"]["fieldManager"]) == ("CreateOptions", "someone")
    assert (created["oldObject"], created["object"]["data"], created["dryRun"]) == (None, {"x": "1"}, False)
    assert (updated["operation"], updated["oldObject"]["data"], updated["object"]["data"]) == (
        "UPDATE",
        {"x": "1"},
        {"x": "2"},
    )


def test_every_way_of_writing_is_reviewed(world: World) -> None:
    world.configure()
    made = world.client.ok("POST", world.path, world.config_map(x="1"))
    world.hook.answer = refuse
    place = f"{world.path}/a"
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **world.config_map(x="4")}
    answers = [
        world.client("PUT", place, {**made, "data": {"x": "2"}}),
        world.client("PATCH", place, {"data": {"x": "3"}}, "application/merge-patch+json"),
        world.client(
            "PATCH", place, [{"op": "replace", "path": "/data/x", "value": "5"}], "application/json-patch+json"
        ),
        world.client("PATCH", place, {"data": {"x": "6"}}, "application/strategic-merge-patch+json"),
        world.client.apply(place, applied, "someone", force=True),
        world.client("POST", world.path, {"metadata": {"generateName": "b-", "labels": {"of": world.namespace}}}),
    ]
    assert [answer.status for answer in answers] == [422] * 6
    assert world.client.ok("GET", place)["data"] == {"x": "1"}


def test_a_patch_of_a_webhook_is_stored_and_shown_to_the_next(world: World) -> None:
    world.configure(MUTATING)
    world.configure()
    mutate = patch_with({"op": "add", "path": "/data/added", "value": "yes"}, warnings=["added something"])
    world.hook.answer = lambda request: (
        mutate(request) if "added" not in request["object"]["data"] else {"allowed": True}
    )
    answer = world.client("POST", world.path, world.config_map(x="1"))
    assert answer.json()["data"] == {"x": "1", "added": "yes"} == world.client.ok("GET", f"{world.path}/a")["data"]
    assert answer.headers["Warning"] == '299 - "added something"'
    assert [request["object"]["data"].get("added") for request in world.hook.asked] == [None, "yes"]


def test_a_generated_name_is_kept_through_the_review(world: World) -> None:
    world.configure(MUTATING)
    world.hook.answer = patch_with({"op": "add", "path": "/data", "value": {"x": "1"}})
    made = world.client.ok("POST", world.path, {"metadata": {"generateName": "b-", "labels": {"of": world.namespace}}})
    assert made["metadata"]["name"].startswith("b-")
    assert len(world.hook.asked) == 1


def test_what_a_webhook_makes_invalid_is_refused(world: World) -> None:
    world.configure(MUTATING)
    world.hook.answer = patch_with({"op": "add", "path": "/data", "value": {"bad key!": "1"}})
    assert world.client("POST", world.path, world.config_map(x="1")).status == 422


def test_an_object_that_changes_during_the_review_is_reviewed_anew(world: World) -> None:
    world.configure()
    world.client.ok("POST", world.path, world.config_map(x="1"))
    seen: list[Json] = []

    def interfere(request: Json) -> Json:
        seen.append(request["object"]["data"])
        if len(seen) == 1:
            body = {"data": {"y": "meanwhile"}}
            world.client.ok("PATCH", f"{world.path}/a?fieldManager=other", body, "application/merge-patch+json")
        return {"allowed": True}

    world.hook.answer = interfere
    world.client.ok("PATCH", f"{world.path}/a?fieldManager=me", {"data": {"x": "2"}}, "application/merge-patch+json")
    assert world.client.ok("GET", f"{world.path}/a")["data"] == {"x": "2", "y": "meanwhile"}
    assert seen[0] == {"x": "2"}
    assert seen[-1] == {"x": "2", "y": "meanwhile"}  # the last that was seen is what is stored


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_does_not_answer(world: World, policy: str) -> None:
    world.configure(failurePolicy=policy)
    world.hook.status = 503
    answer = world.client("POST", world.path, world.config_map(x="1"))
    if policy == "Fail":
        assert answer.status == 500
        assert 'failed calling webhook "cm.example.dev": it answered 503' in answer.json()["message"]
        assert world.client("GET", f"{world.path}/a").status == 404
    else:
        assert answer.status == 201
        assert "was passed over" in answer.headers["Warning"]


@pytest.mark.parametrize(
    "changes",
    [
        {"objectSelector": {"matchLabels": {"of": "somebody else"}}},
        {"objectSelector": {"matchExpressions": [{"key": "of", "operator": "DoesNotExist"}]}},
        {"namespaceSelector": {"matchLabels": {"no": "such"}}},
        {"rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["secrets"], "operations": ["*"]}]},
        {"rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["UPDATE"]}]},
        {
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["*"], "operations": ["*"], "scope": "Cluster"}
            ]
        },
        {"matchConditions": [{"name": "not-mine", "expression": NOT_MINE}]},
    ],
    ids=["label", "no-label", "namespace", "kind", "operation", "scope", "manager"],
)
def test_a_webhook_is_asked_only_where_it_is_concerned(world: World, changes: Json) -> None:
    world.configure(**changes)
    world.hook.answer = refuse
    world.client.ok("POST", f"{world.path}?fieldManager=mine", world.config_map(x="1"))
    assert world.hook.asked == []


def test_other_managers_do_not_escape_a_condition(world: World) -> None:
    world.configure(matchConditions=[{"name": "not-mine", "expression": NOT_MINE}])
    world.hook.answer = refuse
    for query in ("", "?fieldManager=other"):
        assert world.client("POST", f"{world.path}{query}", world.config_map(x="1")).status == 422


def test_a_dry_run_is_reviewed_and_says_so(world: World) -> None:
    world.configure()
    world.client.ok("POST", f"{world.path}?dryRun=All", world.config_map(x="1"))
    assert world.hook.asked[0]["dryRun"] is True
    assert world.client("GET", f"{world.path}/a").status == 404


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"clientConfig": {"service": {"name": "x"}}}, "webhooks[0].clientConfig.url"),
        ({"clientConfig": {"url": "http://192.0.2.1/x"}}, "webhooks[0].clientConfig.url"),
        ({"clientConfig": {"url": "ftp://127.0.0.1/x"}}, "webhooks[0].clientConfig.url"),
        ({"clientConfig": {"url": "https://user@example.dev/x"}}, "webhooks[0].clientConfig.url"),
        ({"clientConfig": {"url": "https://127.0.0.1:port/x"}}, "webhooks[0].clientConfig.url"),
        ({"matchConditions": [{"name": "a", "expression": "true"}]}, "webhooks[0].matchConditions[0].expression"),
        ({"rules": [{"operations": ["DELETE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]},
         "webhooks[0].rules[0].operations[0]"),
        ({"sideEffects": "Some"}, "webhooks[0].sideEffects"),
    ],
)  # fmt: skip
def test_a_configuration_that_would_not_be_followed_is_refused(world: World, changes: Json, field: str) -> None:
    answer = world.configure(**changes)
    assert answer["code"] == 422
    assert field in [cause["field"] for cause in answer["details"]["causes"]]
