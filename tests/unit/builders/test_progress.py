"""Where a program reports progress, and how private its token is."""

import base64
from dataclasses import replace

import pytest

from jobs.builders import Capabilities, Progress, build
from tests.unit.builders.samples import env, main, mpi_runtime, one, pod, rjob, runtime, trainjob

PROGRESS = Progress("http://127.0.0.1:1/p", "http://127.0.0.1:1/a", "tjp_secret")
LOCAL = Capabilities.local(progress=PROGRESS)
REAL = Capabilities(progress=PROGRESS)
TORCH = runtime(rjob("node", "trainer"), rjob("other"), policy={"torch": {}})


def test_addresses_and_token():
    objects = build(trainjob({}), TORCH, REAL)
    jobset = one(objects, "JobSet")
    values = env(main(jobset, "node"))
    assert values["KUBEFLOW_TRAINER_SERVER_URL"] == PROGRESS.url
    assert values["TRAINUI_ARTIFACTS_URL"] == PROGRESS.artifacts_url
    path = values["KUBEFLOW_TRAINER_SERVER_TOKEN"]
    [mounted] = main(jobset, "node")["volumeMounts"]
    assert path == f"{mounted['mountPath']}/token"
    assert mounted["readOnly"] is True
    secret = one(objects, "Secret", "job-trainui-progress")
    assert base64.b64decode(secret["data"]["token"]).decode() == PROGRESS.token
    assert PROGRESS.token not in str(jobset)
    assert "env" not in main(jobset, "other")


AUDIENCE = "trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainjobs/job/status"
OF_POD = Progress("https://t.example/p", "https://t.example/a", audience=AUDIENCE, authority="PEM")


def test_a_token_that_the_cluster_makes_for_each_pod_as_upstream_does():
    objects = build(trainjob({}), TORCH, Capabilities(progress=OF_POD))
    jobset = one(objects, "JobSet")
    values = env(main(jobset, "node"))
    assert values["KUBEFLOW_TRAINER_SERVER_URL"] == OF_POD.url
    assert values["KUBEFLOW_TRAINER_SERVER_TOKEN"] == "/var/run/secrets/kubeflow/trainer/token"  # noqa: S105  a path
    assert values["KUBEFLOW_TRAINER_SERVER_CA_CERT"] == "/var/run/secrets/kubeflow/trainer/ca.crt"
    [volume] = pod(jobset, "node")["volumes"]
    assert volume == {
        "name": "kubeflow-trainer-token",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"audience": AUDIENCE, "expirationSeconds": 3600, "path": "token"}},
                {"configMap": {"name": "job-tls-config", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ]
        },
    }
    assert one(objects, "ConfigMap", "job-tls-config")["data"] == {"ca.crt": "PEM"}
    assert not [obj for obj in objects if obj["kind"] == "Secret"]


def test_no_authority_where_the_image_knows_it():
    objects = build(trainjob({}), TORCH, Capabilities(progress=replace(OF_POD, authority="")))
    assert "KUBEFLOW_TRAINER_SERVER_CA_CERT" not in env(main(one(objects, "JobSet"), "node"))
    assert "tls-config" not in str(objects)


def test_no_endpoint_no_trace():
    assert "progress" not in str(build(trainjob({}), TORCH, Capabilities()))


@pytest.mark.parametrize("as_node", [True, False])
def test_mpi_reports_from_every_container_that_may_be_rank_0(as_node):
    jobset = one(build(trainjob({"numNodes": 2}), mpi_runtime(as_node), REAL), "JobSet")
    for name in ("launcher", "node"):
        assert "KUBEFLOW_TRAINER_SERVER_URL" in env(main(jobset, name))
        assert [v["name"] for v in pod(jobset, name)["volumes"]].count("trainui-progress") == 1


MODES = [
    (REAL, {}, 0o644),
    (REAL, {"runAsUser": 0}, 0o600),
    (REAL, {"runAsUser": 7}, 0o644),
    (REAL, {"runAsUser": 7, "fsGroup": 7}, 0o640),
    (LOCAL, {}, 0o600),
]


@pytest.mark.parametrize(("capabilities", "context", "mode"), MODES)
def test_mode_of_the_token(capabilities, context, mode):
    rt = runtime(rjob("node", "trainer"))
    rt["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["securityContext"] = (
        context
    )
    [volume] = pod(one(build(trainjob({}), rt, capabilities), "JobSet"), "node")["volumes"]
    assert volume["secret"]["items"] == [{"key": "token", "path": "token", "mode": mode}]


def test_the_token_is_not_in_the_repr():
    assert PROGRESS.token not in repr(PROGRESS)
