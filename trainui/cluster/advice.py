"""What a person can do about an answer of the API server, in one sentence; empty where its own words say it."""

import re
from typing import Any

from trainui.cluster.releases import step

_MAY_NOT = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) (?:resource|path) "(?P<resource>[^"]*)"(?: in API group "(?P<group>[^"]*)")?'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)
# An apply that makes an object needs `create` as well; older API servers refuse it without a word where only that is missing.
_MAY_NOT_MAKE = re.compile(r'^(?P<resource>[\w.-]+) "[^"]*" is forbidden:\s*$')
_DENIED = re.compile(r'admission webhook "(?P<name>[^"]+)" denied the request')
_UNREACHED = re.compile(r'failed calling webhook "(?P<name>[^"]+)"')
_KIND = re.compile(r"^/apis/(?P<group>[^/]+)/(?P<version>[^/]+)/(?:namespaces/[^/]+/)?(?P<plural>[^/?]+)")
_MANAGER = re.compile(r'conflict with "(?P<name>[^"]+)"')


def advice(status: int, message: str, causes: list[dict[str, Any]]) -> str:
    """Return what to do about an answer."""
    if status == 401:
        return "Check the token, certificate or credential plugin that the kubeconfig names: the API server does not accept it."
    if may_not := _MAY_NOT.search(message):
        return _grant(may_not)
    if may_not_make := _MAY_NOT_MAKE.match(message):
        return f"An administrator has to allow trainui’s account the verb create on {may_not_make['resource']}; deploy/ has the roles."
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return "The namespace is being deleted: wait until it is gone, or use another project."
    if owned := managers(causes):
        listed = "; ".join(f"field {field} is managed by {manager}" for field, manager in owned)
        return f"{listed[0].upper()}{listed[1:]}: nothing was changed; leave it to them, or have them give it up."
    if unreached := _UNREACHED.search(message):
        return f"It is tried again; an administrator should look at the webhook {unreached['name']}."
    if status == 413:
        return "The object is larger than the API server takes: move large texts into a volume or a ConfigMap of their own."
    return ""


def unserved(path: str) -> str:
    """Return what to do when the API server does not know the kind at a path; empty for what every API server has."""
    kind = _KIND.match(path)
    if not kind:
        return ""
    lacks = f"The cluster does not serve {kind['plural']} of {kind['group']}/{kind['version']}"
    return f"{lacks}: an administrator has to {step(kind['group'])}."


def denier(message: str) -> str:
    """Return the name of the admission webhook that denied a request or did not answer, or an empty text."""
    found = _DENIED.search(message) or _UNREACHED.search(message)
    return found["name"] if found else ""


def managers(causes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return (field, manager) for each field that another manager owns, from the causes of a refused apply."""
    found = []
    for cause in causes:
        if cause.get("reason") == "FieldManagerConflict":
            name = _MANAGER.search(str(cause.get("message") or ""))
            found.append((str(cause.get("field") or "").lstrip("."), name["name"] if name else "somebody else"))
    return found


def _grant(may_not: re.Match[str]) -> str:
    resource = may_not["resource"] + (f".{may_not['group']}" if may_not["group"] else "")
    where = f"in the namespace {may_not['namespace']}" if may_not["namespace"] else "in the whole cluster"
    return f"An administrator has to allow {may_not['user']} the verb {may_not['verb']} on {resource} {where}; deploy/ has the roles."
