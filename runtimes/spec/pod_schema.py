"""Schemas of the core/v1 types inside runtimes and patches: environment, resources, containers, volumes, pods.

Field names, types, list keys and defaults are those of the Kubernetes API. What nobody sets by hand in a form (probes, lifecycle, affinity,
volume sources) is open here: the API server judges it.
"""

from runtimes.spec.schema import QUANTITY, Schema, anything, array, flag, integer, mapping, obj, text

_ANY_VALUE: Schema = {"x-kubernetes-preserve-unknown-fields": True}
LABELS = mapping(text())

METADATA = obj(
    {
        "name": text(),
        "generateName": text(),
        "namespace": text(),
        "labels": LABELS,
        "annotations": LABELS,
        "finalizers": array(text()),
        "ownerReferences": array(anything()),
        "managedFields": array(anything()),
        "uid": text(),
        "resourceVersion": text(),
        "creationTimestamp": text(),
        "deletionTimestamp": text(),
        "deletionGracePeriodSeconds": integer("int64"),
        "generation": integer("int64"),
        "selfLink": text(),
    }
)
TEMPLATE_METADATA = obj(
    {
        "name": text(),
        "namespace": text(),
        "labels": LABELS,
        "annotations": LABELS,
        "finalizers": array(text()),
        # Kubernetes' own serializer writes `creationTimestamp: null` into templates.
        "creationTimestamp": text(),
    }
)

LOCAL_REFERENCE = obj({"name": text(default="")})
_KEY_REFERENCE = obj({"name": text(default=""), "key": text(), "optional": flag()}, ["key"])

ENV_SOURCE = obj(
    {
        "secretKeyRef": _KEY_REFERENCE,
        "configMapKeyRef": _KEY_REFERENCE,
        "fieldRef": obj({"apiVersion": text(), "fieldPath": text()}, ["fieldPath"]),
        "resourceFieldRef": obj({"containerName": text(), "resource": text(), "divisor": QUANTITY}, ["resource"]),
        "fileKeyRef": anything(),
    }
)
ENV = obj({"name": text(), "value": text(), "valueFrom": ENV_SOURCE}, ["name"])
ENV_LIST = array(ENV, ["name"], maxItems=128)
_ENV_FROM_SOURCE = obj({"name": text(default=""), "optional": flag()})
ENV_FROM = obj({"prefix": text(), "configMapRef": _ENV_FROM_SOURCE, "secretRef": _ENV_FROM_SOURCE})

RESOURCES = obj(
    {
        "limits": mapping(QUANTITY),
        "requests": mapping(QUANTITY),
        "claims": array(obj({"name": text(), "request": text()}, ["name"]), ["name"]),
    }
)

VOLUME_MOUNT_FIELDS: dict[str, Schema] = {
    "name": text(),
    "mountPath": text(),
    "readOnly": flag(),
    "recursiveReadOnly": text(),
    "subPath": text(),
    "subPathExpr": text(),
    "mountPropagation": text(),
}
PORT = obj(
    {
        "name": text(),
        "containerPort": integer(),
        "hostPort": integer(),
        "hostIP": text(),
        "protocol": text(default="TCP"),
    },
    ["containerPort"],
)
_HANDLER = anything()

CONTAINER_FIELDS: dict[str, Schema] = {
    "name": text(),
    "image": text(),
    "imagePullPolicy": text(),
    "command": array(text()),
    "args": array(text()),
    "workingDir": text(),
    "env": array(ENV, ["name"]),
    "envFrom": array(ENV_FROM),
    "ports": array(PORT, ["containerPort", "protocol"]),
    "resources": RESOURCES,
    "resizePolicy": array(anything()),
    "restartPolicy": text(),
    "restartPolicyRules": array(anything()),
    "volumeMounts": array(obj(VOLUME_MOUNT_FIELDS, ["name", "mountPath"]), ["mountPath"]),
    "volumeDevices": array(anything()),
    "livenessProbe": _HANDLER,
    "readinessProbe": _HANDLER,
    "startupProbe": _HANDLER,
    "lifecycle": _HANDLER,
    "securityContext": anything(),
    "stdin": flag(),
    "stdinOnce": flag(),
    "tty": flag(),
    "terminationMessagePath": text(),
    "terminationMessagePolicy": text(),
}
CONTAINER = obj(CONTAINER_FIELDS, ["name"])

_PROJECTED_ITEMS = array(obj({"key": text(), "path": text(), "mode": integer()}, ["key", "path"]))
VOLUME_FIELDS: dict[str, Schema] = {
    "name": text(),
    "emptyDir": obj({"medium": text(), "sizeLimit": QUANTITY}),
    "configMap": obj(
        {"name": text(default=""), "items": _PROJECTED_ITEMS, "defaultMode": integer(), "optional": flag()}
    ),
    "secret": obj({"secretName": text(), "items": _PROJECTED_ITEMS, "defaultMode": integer(), "optional": flag()}),
    "persistentVolumeClaim": obj({"claimName": text(), "readOnly": flag()}, ["claimName"]),
    "hostPath": obj({"path": text(), "type": text()}, ["path"]),
    "projected": obj({"defaultMode": integer(), "sources": array(_ANY_VALUE)}),
    "nfs": obj({"server": text(), "path": text(), "readOnly": flag()}, ["server", "path"]),
}
VOLUME_FIELDS |= {
    source: anything()
    for source in (
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "downwardAPI",
        "ephemeral",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "glusterfs",
        "image",
        "iscsi",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    )
}
VOLUME = obj(VOLUME_FIELDS, ["name"])
TOLERATION = obj(
    {"key": text(), "operator": text(), "value": text(), "effect": text(), "tolerationSeconds": integer("int64")}
)
SCHEDULING_GATE = obj({"name": text()}, ["name"])
AFFINITY = obj({"nodeAffinity": anything(), "podAffinity": anything(), "podAntiAffinity": anything()})

POD_SPEC = obj(
    {
        "activeDeadlineSeconds": integer("int64"),
        "affinity": AFFINITY,
        "automountServiceAccountToken": flag(),
        "containers": array(CONTAINER, ["name"]),
        "dnsConfig": anything(),
        "dnsPolicy": text(),
        "enableServiceLinks": flag(),
        "ephemeralContainers": array(anything()),
        "hostAliases": array(anything()),
        "hostIPC": flag(),
        "hostNetwork": flag(),
        "hostPID": flag(),
        "hostUsers": flag(),
        "hostname": text(),
        "hostnameOverride": text(),
        "imagePullSecrets": array(LOCAL_REFERENCE, ["name"]),
        "initContainers": array(CONTAINER, ["name"]),
        "nodeName": text(),
        "nodeSelector": LABELS,
        "os": anything(),
        "overhead": mapping(QUANTITY),
        "preemptionPolicy": text(),
        "priority": integer(),
        "priorityClassName": text(),
        "readinessGates": array(anything()),
        "resourceClaims": array(anything()),
        "resources": RESOURCES,
        "restartPolicy": text(),
        "runtimeClassName": text(),
        "schedulerName": text(),
        "schedulingGates": array(SCHEDULING_GATE, ["name"]),
        "schedulingGroup": anything(),
        "securityContext": anything(),
        "serviceAccount": text(),
        "serviceAccountName": text(),
        "setHostnameAsFQDN": flag(),
        "shareProcessNamespace": flag(),
        "subdomain": text(),
        "terminationGracePeriodSeconds": integer("int64"),
        "tolerations": array(TOLERATION),
        "topologySpreadConstraints": array(anything()),
        "volumes": array(VOLUME, ["name"]),
        "workloadRef": anything(),
    },
    ["containers"],
)
POD_TEMPLATE = obj({"metadata": TEMPLATE_METADATA, "spec": POD_SPEC})
