"""What the API server has: groups, versions and resources, in the old and the aggregated form; and its version."""

from typing import Any

from trainui.localcluster.resources import KINDS, Kind, groups

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_STATUS_VERBS = ["get", "patch", "update"]
VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0+trainui",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-11-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "local/python",
}


def _kinds(group: str, version: str) -> list[Kind]:
    return sorted(
        (kind for kind in KINDS.values() if (kind.group, kind.version) == (group, version)), key=lambda k: k.plural
    )


def api_versions(address: str) -> dict[str, Any]:
    """Return the answer of GET /api."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def api_group(name: str) -> dict[str, Any]:
    """Return one API group as GET /apis/GROUP does."""
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in groups()[name]]
    head = {"kind": "APIGroup", "apiVersion": "v1"}
    return {**head, "name": name, "versions": versions, "preferredVersion": versions[0]}


def api_group_list() -> dict[str, Any]:
    """Return the answer of GET /apis."""
    found = [api_group(name) for name in groups() if name]
    for entry in found:
        del entry["kind"], entry["apiVersion"]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def resource_list(group: str, version: str) -> dict[str, Any]:
    """Return the resources of a group and version, with their subresources."""
    resources = []
    for kind in _kinds(group, version):
        entry: dict[str, Any] = {
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": VERBS,
        }
        if kind.short:
            entry["shortNames"] = list(kind.short)
        if kind.categories:
            entry["categories"] = list(kind.categories)
        resources.append(entry)
        for name, verbs in _subresources(kind):
            part = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
            resources.append({**part, "kind": kind.kind, "verbs": verbs})
    group_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }


def _subresources(kind: Kind) -> list[tuple[str, list[str]]]:
    found = []
    if kind.kind == "Pod":
        found.append(("log", ["get"]))
    if kind.status:
        found.append(("status", _STATUS_VERBS))
    return found


def aggregated(core: bool) -> dict[str, Any]:
    """Return the aggregated discovery document of /api (the core group) or /apis (all others)."""
    items = []
    for group, versions in groups().items():
        if (group == "") != core:
            continue
        entries = [
            {
                "version": version,
                "resources": [_aggregated_resource(kind) for kind in _kinds(group, version)],
                "freshness": "Current",
            }
            for version in versions
        ]
        items.append({"metadata": {"name": group, "creationTimestamp": None}, "versions": entries})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_resource(kind: Kind) -> dict[str, Any]:
    response_kind = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": response_kind,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": VERBS,
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    parts = [
        {"subresource": name, "responseKind": response_kind, "verbs": verbs} for name, verbs in _subresources(kind)
    ]
    if parts:
        entry["subresources"] = parts
    return entry
