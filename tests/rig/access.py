"""Users and their rights: `trainui` has what deploy/ gives to its service account, nothing more; `stranger` has nothing; `admin` may do everything."""

from pathlib import Path
from typing import Any

import yaml

from tests.rig.api import Api
from tests.rig.programs import RigError

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
USER = "trainui"
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
    """Apply what deploy/ ships; wherever it binds a service account, bind the user trainui too."""
    objects = shipped(folder)
    for obj in objects:
        if obj["kind"].endswith("Binding"):
            if obj["kind"] == "RoleBinding" and not obj["metadata"].get("namespace"):
                raise RigError(f"RoleBinding {obj['metadata']['name']} of deploy/ names no namespace")
            user = {"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}
            obj = obj | {"subjects": [*obj.get("subjects", []), user]}
        api.apply(obj)
