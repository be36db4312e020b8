"""What a user reads when the API server refuses: its own words, and what helps. Texts are as Kubernetes 1.37 sends them."""

from typing import Any

import orjson
import pytest

from trainui.cluster.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Unauthorized,
    Unavailable,
    from_response,
)

ACCOUNT = "system:serviceaccount:trainui:trainui"
MAY_NOT = (
    f'jobsets.jobset.x-k8s.io "a" is forbidden: User "{ACCOUNT}" cannot patch resource "jobsets" '
    'in API group "jobset.x-k8s.io" in the namespace "team-a"'
)
MAY_NOT_LIST = f'nodes is forbidden: User "{ACCOUNT}" cannot list resource "nodes" in API group "" at the cluster scope'
QUOTA = (
    'pods "a" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, '
    "used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=8"
)
ENDING = 'jobsets.jobset.x-k8s.io "a" is forbidden: unable to create new content in namespace team-a because it is being terminated'
DENIED = 'admission webhook "policy.example.com" denied the request: no jobs on Fridays'
HANGS = (
    'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: '
    'Post "https://p.ns.svc/x?timeout=10s": context deadline exceeded'
)
TERMINATING = [
    {"reason": "NamespaceTerminating", "message": "namespace team-a is being terminated", "field": "metadata.namespace"}
]

GRANT = f"An administrator has to allow {ACCOUNT} the verb"
LARGE = "The object is larger than the API server takes: move large texts into a volume or a ConfigMap of their own."
UNKNOWN = (
    "Check the token, certificate or credential plugin that the kubeconfig names: the API server does not accept it."
)

CASES: dict[str, tuple[int, str, str, list[dict[str, Any]], type[ClusterError], str]] = {
    "a verb": (
        403,
        "Forbidden",
        MAY_NOT,
        [],
        Forbidden,
        f"{GRANT} patch on jobsets.jobset.x-k8s.io in the namespace team-a; deploy/ has the roles.",
    ),
    "a verb in the cluster": (
        403,
        "Forbidden",
        MAY_NOT_LIST,
        [],
        Forbidden,
        f"{GRANT} list on nodes in the whole cluster; deploy/ has the roles.",
    ),
    # How older API servers refuse an apply that would make an object, where only `create` is missing.
    "a verb without a word": (
        403,
        "Forbidden",
        'jobsets.jobset.x-k8s.io "a" is forbidden: ',
        [],
        Forbidden,
        "An administrator has to allow trainui’s account the verb create on jobsets.jobset.x-k8s.io; deploy/ has the roles.",
    ),
    "a quota": (403, "Forbidden", QUOTA, [], Forbidden, ""),
    "a namespace that ends": (
        403,
        "Forbidden",
        ENDING,
        TERMINATING,
        Forbidden,
        "The namespace is being deleted: wait until it is gone, or use another project.",
    ),
    "a webhook denies": (403, "Forbidden", DENIED, [], Forbidden, ""),
    "a webhook denies as the API server would": (422, "Invalid", DENIED, [], Invalid, ""),
    "a webhook hangs": (
        500,
        "InternalError",
        HANGS,
        [],
        Unavailable,
        "It is tried again; an administrator should look at the webhook policy.example.com.",
    ),
    "a name": (409, "AlreadyExists", 'pods "a" already exists', [], AlreadyExists, ""),
    "somebody was faster": (409, "Conflict", "the object has been modified", [], Conflict, ""),
    "an old version": (410, "Expired", "too old resource version: 1 (9)", [], Gone, ""),
    "size": (413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728", [], Invalid, LARGE),
    "who are you": (401, "Unauthorized", "Unauthorized", [], Unauthorized, UNKNOWN),
    "too many calls": (429, "TooManyRequests", "too many requests, please try again later", [], Unavailable, ""),
    "starting": (503, "ServiceUnavailable", "apiserver not ready", [], Unavailable, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_says_what_and_to_which_object_and_what_helps(name: str) -> None:
    status, reason, message, causes, kind, advice = CASES[name]
    body = {"kind": "Status", "code": status, "reason": reason, "message": message, "details": {"causes": causes}}
    error = from_response(status, orjson.dumps(body), verb="create", what="JobSet a")
    assert type(error) is kind
    assert (error.status, error.reason, error.message, error.causes) == (status, reason, message, causes)
    assert error.advice == advice
    said = f"create JobSet a: {message}"
    assert str(error) == (f"{said.rstrip(': ')}. {advice}" if advice else said)
    assert error.retryable == (kind is Unavailable)
    assert error.refused == (kind is not Unavailable or message == HANGS)


@pytest.mark.parametrize(
    ("message", "webhook"), [(DENIED, "policy.example.com"), (HANGS, "policy.example.com"), (QUOTA, "")]
)
def test_the_webhook_is_named(message: str, webhook: str) -> None:
    assert ClusterError(message).webhook == webhook


def test_a_422_keeps_the_field_of_every_cause() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.x"},
        {"reason": "FieldValueRequired", "field": "spec.y"},
    ]
    body = {"code": 422, "reason": "Invalid", "message": "is invalid", "details": {"causes": causes, "name": "a"}}
    error = from_response(422, orjson.dumps(body), verb="create", what="JobSet a")
    assert isinstance(error, Invalid)
    assert error.causes == causes


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0", None), ("soon", None), ("-3", None), (None, None)])
def test_how_long_to_wait(header: str | None, seconds: float | None) -> None:
    assert from_response(429, b"", verb="read", what="x", retry_after=header).retry_after == seconds


def test_a_long_page_of_a_proxy_is_cut() -> None:
    error = from_response(502, b"<html>" + b"x" * 100_000, verb="read", what="pods")
    assert isinstance(error, Unavailable)
    assert len(str(error)) < 3_000


JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets/a"
PAGE = b"404 page not found\n"


@pytest.mark.parametrize(
    ("path", "lacks", "step"),
    [
        (JOBSETS, "jobsets of jobset.x-k8s.io/v1alpha2", "install JobSet: kubectl apply --server-side -f https://"),
        ("/apis/trainer.kubeflow.org/v1alpha1/trainjobs", "trainjobs of trainer.kubeflow.org/v1alpha1", "the page of the cluster"),
        ("/apis/scheduling.k8s.io/v1beta1/podgroups", "podgroups of scheduling.k8s.io/v1beta1", "install what serves scheduling.k8s.io"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "body", [PAGE, b'{"message": "the server could not find the requested resource", "details": {}}']
)
def test_a_kind_that_is_not_served_comes_with_what_installs_it(path: str, lacks: str, step: str, body: bytes) -> None:
    error = from_response(404, body, verb="change", what="JobSet a", path=path)
    assert type(error) is NotFound
    assert f"does not serve {lacks}: an administrator has to" in str(error)
    assert step in str(error)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (JOBSETS, {"message": 'jobsets.jobset.x-k8s.io "a" not found', "details": {"name": "a", "kind": "jobsets"}}),
        (JOBSETS, {"message": 'namespaces "team-a" not found', "details": {"name": "team-a", "kind": "namespaces"}}),
        ("/api/v1/namespaces/team-a/pods", {"message": "the server could not find the requested resource"}),
    ],
)
def test_an_object_that_is_not_there_is_no_kind_that_is_not_served(path: str, body: dict[str, Any]) -> None:
    error = from_response(404, orjson.dumps(body), verb="read", what="x", path=path)
    assert (type(error), error.advice) == (NotFound, "")
