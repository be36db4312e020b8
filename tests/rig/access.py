"""Users and their rights: one named as a service account of deploy/ has what that has, nothing more; `stranger` has none; `admin` has all."""

from pathlib import Path
from typing import Any

import yaml

from tests.rig.api import Api

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KINDS = ("Namespace", "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")


def shipped(folder: Path = DEPLOY) -> list[dict[str, Any]]:
    """Return the objects about access that deploy/ ships, in the order in which they can be made."""
    found = [
        document
        for path in sorted(folder.rglob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if isinstance(document, dict) and document.get("kind") in KINDS
    ]
    return sorted(found, key=lambda document: KINDS.index(document["kind"]))


def grant(api: Api, folder: Path = DEPLOY) -> None:
    """Apply what deploy/ ships, and bind beside each service account the user of the same name, and `trainui-all` beside all."""
    objects = shipped(folder)
    for namespace in {obj["metadata"]["namespace"] for obj in objects if "namespace" in obj["metadata"]}:
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for obj in objects:
        api.apply(_with_users(obj) if obj["kind"].endswith("Binding") else obj)


def _with_users(binding: dict[str, Any]) -> dict[str, Any]:
    subjects = binding.get("subjects", [])
    accounts = [subject["name"] for subject in subjects if subject["kind"] == "ServiceAccount"]
    named = [*accounts, *(["trainui-all"] if accounts else [])]
    users = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in named]
    return binding | {"subjects": [*subjects, *users]}
