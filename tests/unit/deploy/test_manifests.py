"""deploy/ and docker/: what they say fits the code and itself."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from jobs.admission.configuration import of_service
from trainui.settings import ENV
from trainui.up.config import documented

BASE = Path(settings.BASE_DIR)
DEPLOY = BASE / "deploy"
FILES = sorted(DEPLOY.glob("*.yaml"))
OBJECTS: list[dict[str, Any]] = [
    obj for path in FILES if path.name != "kustomization.yaml" for obj in yaml.safe_load_all(path.read_text())
]
DEPLOYMENTS = {obj["metadata"]["name"]: obj for obj in OBJECTS if obj["kind"] == "Deployment"}
PODS = {name: obj["spec"]["template"]["spec"] for name, obj in DEPLOYMENTS.items()}
CONTAINERS = [
    pytest.param(name, container, id=f"{name}-{container['name']}")
    for name, pod in PODS.items()
    for container in [*pod.get("initContainers", []), *pod["containers"]]
]
NAMESPACED = ("Deployment", "Service", "ConfigMap", "PersistentVolumeClaim", "PodDisruptionBudget", "NetworkPolicy", "ServiceAccount")  # fmt: skip


def test_kustomization_lists_every_file_but_the_webhooks() -> None:
    listed = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted({path.name for path in FILES} - {"kustomization.yaml", "webhooks.yaml"})


def test_objects_have_distinct_names_and_our_namespace() -> None:
    places = [
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in OBJECTS
    ]
    assert len(places) == len(set(places))
    assert {o["metadata"].get("namespace") for o in OBJECTS if o["kind"] in NAMESPACED} == {"trainui"}
    assert not [obj for obj in OBJECTS if obj["kind"] == "Secret"]


def test_the_processes_of_an_installation_are_there() -> None:
    assert set(DEPLOYMENTS) == {"web", "worker", "beat", "watch"}
    accounts = {name: pod.get("serviceAccountName") for name, pod in PODS.items()}
    assert accounts == {"web": "trainui-web", "worker": "trainui", "watch": "trainui", "beat": None}
    assert {n for n, pod in PODS.items() if pod["automountServiceAccountToken"]} == {"web", "worker", "watch"}


@pytest.mark.parametrize("name", sorted(PODS))
def test_pods_pass_the_restricted_standard(name: str) -> None:
    context = PODS[name]["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == context["fsGroup"] == 10001
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    labels = DEPLOYMENTS[name]["spec"]["template"]["metadata"]["labels"]
    assert DEPLOYMENTS[name]["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(("name", "container"), CONTAINERS)
def test_containers_write_nowhere_but_to_their_volumes(name: str, container: dict[str, Any]) -> None:
    context = container["securityContext"]
    assert context == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}  # fmt: skip
    assert {mount["name"] for mount in container["volumeMounts"]} <= {
        volume["name"] for volume in PODS[name]["volumes"]
    }
    assert {mount["mountPath"] for mount in container["volumeMounts"]} <= {"/tmp", "/data", "/etc/trainui/tls"}  # noqa: S108
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]
    sources = [next(iter(source.values()))["name"] for source in container["envFrom"]]
    assert sources == ["trainui", "trainui"]


def test_settings_are_settings_that_exist_and_no_secrets() -> None:
    known = {variable.name: variable.kind for variable in [*ENV.variables, *documented()]}
    (given,) = (obj["data"] for obj in OBJECTS if obj["kind"] == "ConfigMap")
    named = [e["name"] for pod in PODS.values() for c in pod["containers"] for e in c.get("env", [])]
    assert {*given, *named} <= set(known)
    assert all((known[name] != "secret" and not name.endswith("_URL")) or name.startswith("TRAINUI_") for name in given)
    assert given["TRAINUI_KUBECONFIG"] == "in-cluster"
    documented_secrets = re.findall(r"`([A-Z_]+)`", (DEPLOY / "README.md").read_text())
    assert {"TRAINUI_SECRET_KEY", "DATABASE_URL", "REDIS_URL"} <= set(documented_secrets) <= set(known)


def test_probes_reach_web_under_a_host_that_is_allowed() -> None:
    (given,) = (obj["data"] for obj in OBJECTS if obj["kind"] == "ConfigMap")
    allowed = given["TRAINUI_ALLOWED_HOSTS"].split(",")
    for container in PODS["web"]["containers"]:
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert str(*ports.values()) in container["command"]
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            probe = container[kind]["httpGet"]
            assert probe["port"] in ports
            assert probe["path"] in ("/livez", "/readyz")
            assert probe["httpHeaders"][0]["value"] in allowed
            assert (probe.get("scheme") == "HTTPS") is ("--ssl-certfile" in container["command"])
    assert given["TRAINUI_POD_URL"].removeprefix("https://") in allowed
    assert given["TRAINUI_PUBLIC_URL"].removeprefix("https://") in allowed


def test_services_lead_to_ports_of_web() -> None:
    names = {port["name"] for container in PODS["web"]["containers"] for port in container["ports"]}
    services = {obj["metadata"]["name"]: obj["spec"] for obj in OBJECTS if obj["kind"] == "Service"}
    assert services["trainui-hooks"]["ports"][0]["port"] == 443
    for spec in services.values():
        assert spec["selector"].items() <= DEPLOYMENTS["web"]["spec"]["template"]["metadata"]["labels"].items()
        assert {port["targetPort"] for port in spec["ports"]} <= names


def test_webhooks_are_those_of_the_code() -> None:
    written = list(yaml.safe_load_all((DEPLOY / "webhooks.yaml").read_text()))
    assert written == of_service("trainui", "trainui-hooks", "", token="token")  # noqa: S106


def test_the_image_has_what_the_manifests_run() -> None:
    lines = (BASE / "docker/Dockerfile").read_text()
    assert re.findall(r"^FROM (.*)$", lines, re.M) == ["${BASE} AS build", "${BASE}"]
    assert "--require-hashes" in lines
    assert re.search(r"^USER 10001:10001$", lines.split("FROM ${BASE}\n")[1], re.M)
    copied = re.findall(r"^COPY ([\w./]+) ", lines, re.M)
    assert all((BASE / path).exists() for path in copied)
    ignored = (BASE / "docker/Dockerfile.dockerignore").read_text()
    assert {path.rstrip("/") for path in copied} == set(re.findall(r"^!(.*)$", ignored, re.M))
