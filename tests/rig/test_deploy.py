"""deploy/ on a real API server: it takes every manifest, admits the pods, and the accounts may do what the code does."""

import base64
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.utils import timezone

from jobs.reconcile.survey import collect
from tests.rig.access import DEPLOY
from tests.rig.api import Refused
from tests.rig.rig import Rig
from trainui.cluster import kinds
from trainui.cluster.claim import Claim, Taken
from trainui.cluster.client import Cluster
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE, NEEDS, SERVICE

pytestmark = pytest.mark.xdist_group("own-rig")
MANIFESTS = sorted(path.name for path in DEPLOY.glob("*.yaml") if path.name != "kustomization.yaml")
OBJECTS = [obj for name in MANIFESTS for obj in yaml.safe_load_all((DEPLOY / name).read_text())]
PODS = {obj["metadata"]["name"]: obj["spec"]["template"] for obj in OBJECTS if obj["kind"] == "Deployment"}


@pytest.fixture(scope="module")
def rig(own_rig: Rig) -> Rig:
    """A cluster without trainui, whose Lease and webhooks others would hold."""
    return own_rig


@pytest.fixture
def lease(rig: Rig) -> Iterator[dict[str, Any]]:
    """The Lease of installations, which is not there before and after the test."""
    found = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE_NAME, "namespace": LEASE_NAMESPACE}}  # fmt: skip
    rig.admin.delete(found)
    yield found
    rig.admin.delete(found)


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_api_server_takes_every_manifest(rig: Rig, name: str) -> None:
    said = rig.kubectl("apply", "--dry-run=server", "--server-side", "--force-conflicts", "-f", str(DEPLOY / name))
    objects = list(yaml.safe_load_all((DEPLOY / name).read_text()))
    assert said.count("serverside-applied (server dry run)") == len(objects)


def test_kubectl_applies_the_folder(rig: Rig) -> None:
    said = rig.kubectl("apply", "--dry-run=server", "--server-side", "--force-conflicts", "-k", str(DEPLOY))
    assert "deployment.apps/web" in said
    assert "webhookconfiguration" not in said


@pytest.mark.parametrize("name", sorted(PODS))
def test_pods_are_admitted_where_only_restricted_ones_are(rig: Rig, name: str) -> None:
    template = PODS[name]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": template["metadata"] | {"name": name},
        "spec": template["spec"],
    }
    path = "/api/v1/namespaces/trainui/pods"
    rig.admin.request("POST", path, pod, dryRun="All")
    bad = pod | {"spec": pod["spec"] | {"hostNetwork": True}}
    with pytest.raises(Refused, match="PodSecurity"):
        rig.admin.request("POST", path, bad, dryRun="All")


@pytest.mark.django_db
def test_the_account_may_do_all_that_it_has_to(rig: Rig, lease: dict[str, Any]) -> None:
    facts = collect(Cluster.from_kubeconfig(str(rig.kubeconfig("trainui"))), timezone.now())
    assert facts["denied"] == []
    assert {"jobset.x-k8s.io/v1alpha2", "trainer.kubeflow.org/v1alpha1"} <= set(facts["groups"])
    assert (facts["upstream"], facts["holder"], facts["skew_seconds"]) == ([], "", 0)
    nothing = collect(Cluster.from_kubeconfig(str(rig.kubeconfig("stranger"))), timezone.now())
    wanted = [(need.resource, verb) for need in NEEDS if need.account == SERVICE for verb in need.verbs]
    # What everybody may do is given by Kubernetes' own roles.
    assert len(nothing["denied"]) == len(wanted) - 1


def test_one_installation_has_the_cluster(rig: Rig, lease: dict[str, Any]) -> None:
    cluster = Cluster.from_kubeconfig(str(rig.kubeconfig("trainui")))
    now = [0.0]
    ours, theirs = Claim("a.example_1", lambda: now[0]), Claim("b.example_2", lambda: now[0])
    ours.ensure(cluster)
    with pytest.raises(Taken, match=r"another installation of trainui, a\.example_1"):
        theirs.ensure(cluster)
    now[0] += 31  # by the clock of the second nobody renewed it
    theirs.ensure(cluster)
    spec = cluster.get(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME)["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("b.example_2", 1)
    with pytest.raises(Taken):
        ours.ensure(cluster)


def test_the_printed_webhooks_are_accepted(rig: Rig, tmp_path: Path) -> None:
    printed = StringIO()
    call_command("webhooks", "--ca", str(rig.facts["authority"]), stdout=printed)
    objects = list(yaml.safe_load_all(printed.getvalue()))
    assert [obj["kind"] for obj in objects] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    for obj in objects:
        (hook,) = obj["webhooks"]
        assert b"BEGIN CERTIFICATE" in base64.b64decode(hook["clientConfig"]["caBundle"])
        assert "/admission/token/" not in json.dumps(hook)
    said = rig.kubectl("apply", "--dry-run=server", "-f", "-", stdin=printed.getvalue())
    assert said.count("(server dry run)") == 2


def test_nothing_that_the_accounts_asked_for_was_denied(rig: Rig) -> None:
    for user in ("trainui", "trainui-web"):
        assert rig.refusals(user) == []
