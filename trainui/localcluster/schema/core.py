"""The small built-in kinds."""

from trainui.localcluster.schema.pods import SERVICE, SERVICE_ACCOUNT
from trainui.localcluster.schema.types import (
    ANY,
    BOOL,
    CONDITIONS,
    INT,
    INT32,
    LABEL_SELECTOR,
    OBJECT_REFERENCE,
    OPEN,
    QUANTITIES,
    STR,
    STRINGS,
    TIME,
    Schema,
    each,
    list_of,
    map_list,
    one_of,
    set_of,
    struct,
    top,
)

NAMESPACE = top(
    {
        "spec": struct({"finalizers": set_of(STR)}),
        "status": struct({"phase": STR, "conditions": CONDITIONS}),
    }
)
_TAINT = struct(each("key value effect", STR) | {"timeAdded": TIME}, "key effect")
NODE = top(
    {
        "spec": struct(
            {
                **each("podCIDR providerID externalID", STR),
                "podCIDRs": set_of(STR),
                "unschedulable": BOOL,
                "taints": list_of(_TAINT, merge_key="key"),
                "configSource": ANY,
            }
        ),
        "status": struct(
            {
                **each("capacity allocatable", QUANTITIES),
                "phase": STR,
                "conditions": CONDITIONS,
                "addresses": map_list(struct(each("type address", STR), "type address"), "type"),
                "nodeInfo": OPEN,
                "images": list_of(OPEN),
                **each(
                    "daemonEndpoints config features runtimeHandlers volumesAttached volumesInUse declaredFeatures", ANY
                ),
            }
        ),
    }
)
CONFIG_MAP = top({**each("data binaryData", STRINGS), "immutable": BOOL})
SECRET = top({**each("data stringData", STRINGS), "type": STR.having(default="Opaque"), "immutable": BOOL})
CLAIM_SPEC = struct(
    {
        "accessModes": list_of(STR),
        "selector": LABEL_SELECTOR,
        "resources": struct({"limits": QUANTITIES, "requests": QUANTITIES}),
        **each("storageClassName volumeName volumeMode volumeAttributesClassName", STR),
        "dataSource": OPEN.having(atomic=True),
        "dataSourceRef": OPEN,
    }
)
PERSISTENT_VOLUME_CLAIM = top(
    {
        "spec": CLAIM_SPEC.having(fields={**(CLAIM_SPEC.fields or {}), "volumeMode": STR.having(default="Filesystem")}),
        "status": struct(
            {
                **each("phase currentVolumeAttributesClassName", STR),
                "accessModes": list_of(STR),
                **each("capacity allocatedResources", QUANTITIES),
                "allocatedResourceStatuses": STRINGS,
                "conditions": CONDITIONS,
                "modifyVolumeStatus": OPEN,
            }
        ),
    }
)
RESOURCE_QUOTA = top(
    {
        "spec": struct({"hard": QUANTITIES, "scopes": list_of(STR), "scopeSelector": OPEN}),
        "status": struct(each("hard used", QUANTITIES)),
    }
)
EVENT = top(
    {
        **each("reason message type action reportingComponent reportingInstance", STR),
        **each("firstTimestamp lastTimestamp eventTime", TIME),
        "count": INT32,
        "involvedObject": OBJECT_REFERENCE.having(atomic=False),
        "related": OBJECT_REFERENCE,
        "source": struct(each("component host", STR)),
        "series": struct({"count": INT32, "lastObservedTime": TIME}),
    },
    "involvedObject",
)
LEASE = top(
    {
        "spec": struct(
            {
                **each("holderIdentity preferredHolder strategy", STR),
                **each("leaseDurationSeconds leaseTransitions", INT32),
                **each("acquireTime renewTime", TIME),
            }
        )
    }
)
PRIORITY_CLASS = top(
    {
        "value": INT32,
        "globalDefault": BOOL,
        "description": STR,
        "preemptionPolicy": STR.having(default="PreemptLowerPriority"),
    },
    "value",
)
POD_GROUP = top(
    {
        "spec": struct(
            {
                "schedulingPolicy": struct(
                    {"basic": OPEN, "gang": struct({"minCount": INT32.having(minimum=1)}, "minCount")}
                ),
                "disruptionMode": struct(each("single all", OPEN)),
                "priorityClassName": STR,
                "priority": INT32,
                "workloadRef": struct(each("workloadName templateName", STR)),
                "schedulingConstraints": OPEN,
                "resourceClaims": list_of(OPEN),
                "parentCompositePodGroupName": STR,
            },
            "schedulingPolicy",
        ),
        "status": struct({"conditions": CONDITIONS, "resourceClaimStatuses": ANY, "observedGeneration": INT}),
    },
    "spec",
)
_WEBHOOK = struct(
    {
        "name": STR,
        "clientConfig": struct({**each("url caBundle", STR), "service": OPEN}),
        "rules": list_of(
            struct(
                {**each("apiGroups apiVersions operations resources", list_of(STR)), "scope": STR.having(default="*")}
            )
        ),
        "failurePolicy": one_of("Fail", "Ignore", default="Fail"),
        "matchPolicy": one_of("Exact", "Equivalent", default="Equivalent"),
        **each("namespaceSelector objectSelector", LABEL_SELECTOR),
        "sideEffects": one_of("None", "NoneOnDryRun"),
        "timeoutSeconds": INT32.having(minimum=1, maximum=30, default=10),
        "admissionReviewVersions": list_of(STR, min_size=1),
        "matchConditions": map_list(struct(each("name expression", STR), "name expression"), "name"),
        "reinvocationPolicy": one_of("Never", "IfNeeded"),
    },
    "name clientConfig sideEffects admissionReviewVersions",
)
WEBHOOK_CONFIGURATION = top({"webhooks": map_list(_WEBHOOK, "name")})

CORE: dict[str, Schema] = {
    "Namespace": NAMESPACE,
    "Node": NODE,
    "ConfigMap": CONFIG_MAP,
    "Secret": SECRET,
    "Service": SERVICE,
    "ServiceAccount": SERVICE_ACCOUNT,
    "PersistentVolumeClaim": PERSISTENT_VOLUME_CLAIM,
    "ResourceQuota": RESOURCE_QUOTA,
    "Event": EVENT,
    "Lease": LEASE,
    "PriorityClass": PRIORITY_CLASS,
    "PodGroup": POD_GROUP,
    "MutatingWebhookConfiguration": WEBHOOK_CONFIGURATION,
    "ValidatingWebhookConfiguration": WEBHOOK_CONFIGURATION,
}
