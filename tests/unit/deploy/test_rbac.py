"""The roles that deploy/ ships grant what the code does, and nothing else."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from jobs.reconcile.watch import WATCHED
from trainui.cluster import kinds
from trainui.cluster.permissions import NEEDS, SERVICE, WEB

Call = tuple[str, str, str, str, str]  # namespace, name, group, resource, verb
DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all(Path(settings.BASE_DIR, "deploy/rbac.yaml").read_text()))


def granted(account: str) -> set[Call]:
    """Every call that the bindings of an account allow."""
    found: set[Call] = set()
    for binding in DOCUMENTS:
        subject = {"kind": "ServiceAccount", "name": account, "namespace": "trainui"}
        if subject not in binding.get("subjects", []):
            continue
        reference, namespace = binding["roleRef"], binding["metadata"].get("namespace", "")
        (role,) = (
            d
            for d in DOCUMENTS
            if (d["kind"], d["metadata"]["name"], d["metadata"].get("namespace", ""))
            == (reference["kind"], reference["name"], namespace)
        )
        found |= {
            (namespace, name, group, resource, verb)
            for rule in role["rules"]
            for name in rule.get("resourceNames", [""])
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
    return found


@pytest.mark.parametrize("account", [SERVICE, WEB])
def test_roles_grant_exactly_what_the_code_does(account: str) -> None:
    needed = {
        (need.namespace, need.name, need.kind.group, need.resource, verb)
        for need in NEEDS
        if need.account == account
        for verb in need.verbs
    }
    assert granted(account) == needed


def test_no_wildcards_and_no_escalation() -> None:
    for account in (SERVICE, WEB):
        for _, _, group, resource, verb in granted(account):
            assert "*" not in (group, resource, verb)
            assert verb not in ("escalate", "bind", "impersonate", "deletecollection")
            assert not (resource in ("pods", "serviceaccounts/token", "pods/exec") and verb not in ("list", "watch"))


def test_everything_that_is_watched_may_be() -> None:
    may = granted(SERVICE)
    for kind in WATCHED:
        assert {("", "", kind.group, kind.plural, verb) for verb in ("list", "watch")} <= may


def test_every_account_exists() -> None:
    accounts = {d["metadata"]["name"] for d in DOCUMENTS if d["kind"] == "ServiceAccount"}
    assert accounts == {SERVICE, WEB}
    assert all(not d["automountServiceAccountToken"] for d in DOCUMENTS if d["kind"] == "ServiceAccount")


def test_needs_name_kinds_that_exist() -> None:
    assert {need.kind for need in NEEDS} <= set(kinds.ALL)
