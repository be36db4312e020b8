"""The columns of every kind."""

from typing import Any

from trainui.localcluster.api import columns as c
from trainui.localcluster.api.columns import AGE, NAME, Column, at, plain
from trainui.localcluster.resources import Obj


def _size(obj: Obj, now: float) -> int:
    return len(at(obj, "data", {})) + len(at(obj, "binaryData", {}))


def _ports(obj: Obj, now: float) -> str:
    ports = [f"{port['port']}/{port.get('protocol', 'TCP')}" for port in at(obj, "spec.ports", [])]
    return ",".join(ports) or "<none>"


def _selector(obj: Obj, now: float) -> str:
    return ",".join(f"{key}={value}" for key, value in at(obj, "spec.selector", {}).items()) or "<none>"


def _about(obj: Obj, now: float) -> str:
    about = obj.get("involvedObject", {})
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _seen(obj: Obj, now: float) -> str:
    for path in ("series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp"):
        if at(obj, path):
            return str(c.since(path)(obj, now))
    return "<unknown>"


def _policy(obj: Obj, now: float) -> str:
    return ",".join(at(obj, "spec.schedulingPolicy", {})) or "<none>"


def _address(obj: Obj, now: float) -> str:
    found = [a.get("address") for a in at(obj, "status.addresses", []) if a.get("type") == "InternalIP"]
    return str(found[0]) if found else "<none>"


def _framework(obj: Obj, now: float) -> str:
    return str(at(obj, "metadata.labels", {}).get("trainer.kubeflow.org/framework", "<none>"))


def _quota(group: str) -> c.Cell:
    def cell(obj: Obj, now: float) -> str:
        hard, used = at(obj, "status.hard", {}), at(obj, "status.used", {})
        names = [name for name in sorted(hard) if name.startswith("limits.") == (group == "limits")]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


def _containers(field: str) -> c.Cell:
    def cell(obj: Obj, now: float) -> str:
        template = at(obj, "spec.template.spec.containers", [])
        return ",".join(str(container.get(field, "")) for container in template)

    return cell


def _count(path: str) -> c.Cell:
    return lambda obj, now: len(at(obj, path, []))


def _integer(name: str, cell: c.Cell) -> Column:
    return Column(name, cell, type="integer")


_POD = [
    NAME,
    Column("Ready", c.pod_ready),
    Column("Status", c.pod_status),
    Column("Restarts", c.pod_restarts),
    AGE,
    Column("IP", plain("status.podIP"), wide=True),
    Column("Node", plain("spec.nodeName")),
]
_JOB = [
    NAME,
    Column("Status", c.job_status),
    Column("Completions", c.job_completions),
    Column("Duration", c.job_duration),
    AGE,
    Column("Containers", _containers("name"), wide=True),
    Column("Images", _containers("image"), wide=True),
]
_RUNTIME = [NAME, Column("Framework", _framework), AGE]
_WEBHOOKS = [NAME, _integer("Webhooks", lambda obj, now: len(obj.get("webhooks") or [])), AGE]

PRINTERS: dict[str, list[Column]] = {
    "Pod": _POD,
    "Job": _JOB,
    "JobSet": [
        NAME,
        Column("TerminalState", plain("status.terminalState", "")),
        _integer("Restarts", plain("status.restarts", 0)),
        Column("Completed", c.true_condition),
        Column("Suspended", lambda obj, now: str(bool(at(obj, "spec.suspend"))).lower()),
        AGE,
    ],
    "TrainJob": [NAME, Column("State", c.true_condition), AGE],
    "TrainingRuntime": _RUNTIME,
    "ClusterTrainingRuntime": _RUNTIME,
    "Node": [
        NAME,
        Column("Status", c.node_status),
        Column("Roles", c.node_roles),
        AGE,
        Column("Version", plain("status.nodeInfo.kubeletVersion", "")),
        Column("Internal-IP", _address, wide=True),
        Column("OS-Image", plain("status.nodeInfo.osImage", ""), wide=True),
    ],
    "Namespace": [NAME, Column("Status", plain("status.phase", "Active")), AGE],
    "ConfigMap": [NAME, _integer("Data", _size), AGE],
    "Secret": [NAME, Column("Type", plain("type")), _integer("Data", _size), AGE],
    "Service": [
        NAME,
        Column("Type", plain("spec.type")),
        Column("Cluster-IP", plain("spec.clusterIP")),
        Column("External-IP", plain("spec.externalName")),
        Column("Port(s)", _ports),
        AGE,
        Column("Selector", _selector, wide=True),
    ],
    "ServiceAccount": [NAME, _integer("Secrets", _count("secrets")), AGE],
    "PersistentVolumeClaim": [
        NAME,
        Column("Status", plain("status.phase")),
        Column("Volume", plain("spec.volumeName", "")),
        Column("Capacity", plain("status.capacity.storage", "")),
        Column("Access Modes", lambda obj, now: ",".join(at(obj, "spec.accessModes", []))),
        Column("StorageClass", plain("spec.storageClassName", "")),
        AGE,
    ],
    "ResourceQuota": [NAME, Column("Request", _quota("requests")), Column("Limit", _quota("limits")), AGE],
    "Event": [
        Column("Last Seen", _seen),
        Column("Type", plain("type", "")),
        Column("Reason", plain("reason", "")),
        Column("Object", _about),
        Column("Message", plain("message", "")),
    ],
    "Lease": [NAME, Column("Holder", plain("spec.holderIdentity", "")), AGE],
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "PriorityClass": [
        NAME,
        _integer("Value", plain("value", 0)),
        Column("Global-Default", plain("globalDefault", False), type="boolean"),
        AGE,
        Column("PreemptionPolicy", plain("preemptionPolicy", "")),
    ],
    "PodGroup": [
        NAME,
        Column("Policy", _policy),
        Column("MinCount", plain("spec.schedulingPolicy.gang.minCount", "")),
        Column("Condition", c.true_condition),
        AGE,
    ],
}


def row(kind: str, obj: Obj, now: float, include: str) -> dict[str, Any]:
    """Return the Table row of an object; `include` tells how much of the object goes with it: None, Metadata or Object."""
    cells = [column.cell(obj, now) for column in PRINTERS[kind]]
    found: dict[str, Any] = {"cells": cells}
    if include == "Object":
        found["object"] = obj
    elif include != "None":
        found["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"],
        }
    return found


def table(rows: list[dict[str, Any]], definitions: list[dict[str, Any]] | None, metadata: Obj) -> dict[str, Any]:
    """Return a Table."""
    made: dict[str, Any] = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    made["columnDefinitions"] = definitions or []
    made["rows"] = rows
    return made


def definitions(kind: str) -> list[dict[str, Any]]:
    """Return the columnDefinitions of a kind."""
    return [column.definition() for column in PRINTERS[kind]]
