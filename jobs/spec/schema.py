"""Schema of TrainJob (trainer.kubeflow.org/v1alpha1): v2.3.0's CRD, with the minimum rules it lost (marked) put back."""

from runtimes.spec.kinds import CLUSTER_TRAINING_RUNTIME, CONTROLLER, GROUP
from runtimes.spec.pod_schema import (
    AFFINITY,
    ENV_LIST,
    LABELS,
    LOCAL_REFERENCE,
    METADATA,
    RESOURCES,
    SCHEDULING_GATE,
    TEMPLATE_METADATA,
    TOLERATION,
    VOLUME_FIELDS,
    VOLUME_MOUNT_FIELDS,
)
from runtimes.spec.schema import Schema, anything, array, flag, integer, obj, text

_INITIALIZER = obj({"storageUri": text(maxLength=2048), "env": ENV_LIST, "secretRef": LOCAL_REFERENCE})

_STRINGS = array(text(maxLength=1048576), maxItems=128)
TRAINER = obj(
    {
        "image": text(maxLength=500),
        "command": _STRINGS,
        "args": _STRINGS,
        "env": ENV_LIST,
        # v2.3.0 has no minimum for the counts (facts, section 8.3); a negative one can never run.
        "numNodes": integer(minimum=0),
        "resourcesPerNode": RESOURCES,
        "numProcPerNode": integer(minimum=1),
    }
)

# The mounts of a patch are unique by volume name in the CRD, unlike those of a container. `name` is required by us: upstream takes an
# entry without its key and JobSet refuses it later; so is the path of a mount.
CONTAINER_PATCH = obj(
    {
        "name": text(minLength=1, maxLength=253),
        "env": ENV_LIST,
        "volumeMounts": array(obj(VOLUME_MOUNT_FIELDS, ["name", "mountPath"]), ["name"], maxItems=128),
        "securityContext": anything(),
    },
    ["name"],
)
POD_PATCH = obj(
    {
        "serviceAccountName": text(maxLength=253),
        "nodeSelector": LABELS,
        "affinity": AFFINITY,
        "tolerations": array(TOLERATION, maxItems=128),
        "volumes": array(obj(VOLUME_FIELDS, ["name"]), ["name"], maxItems=128),
        "initContainers": array(CONTAINER_PATCH, ["name"], maxItems=64),
        "containers": array(CONTAINER_PATCH, ["name"], maxItems=64),
        "schedulingGates": array(SCHEDULING_GATE, ["name"], maxItems=16),
        "imagePullSecrets": array(LOCAL_REFERENCE, ["name"], maxItems=64),
        "securityContext": anything(),
        "terminationGracePeriodSeconds": integer("int64", minimum=0),
    }
)
_PATCH_METADATA = TEMPLATE_METADATA
_JOB_PATCH = obj(
    {
        "name": text(minLength=1, maxLength=253),
        "template": obj(
            {
                "metadata": _PATCH_METADATA,
                "spec": obj({"template": obj({"metadata": _PATCH_METADATA, "spec": POD_PATCH})}),
            }
        ),
    },
    ["name"],
)
RUNTIME_PATCH = obj(
    {
        "manager": text(minLength=1, maxLength=253),
        "time": text(format="date-time"),
        "trainingRuntimeSpec": obj(
            {
                "template": obj(
                    {
                        "metadata": _PATCH_METADATA,
                        "spec": obj({"replicatedJobs": array(_JOB_PATCH, ["name"], maxItems=100)}),
                    }
                )
            }
        ),
    },
    ["manager"],
)

TRAIN_JOB_SPEC = obj(
    {
        "runtimeRef": obj(
            {
                "name": text(minLength=1, maxLength=253),
                "apiGroup": text(maxLength=253, default=GROUP),
                "kind": text(maxLength=253, default=CLUSTER_TRAINING_RUNTIME),
            },
            ["name"],
        ),
        "initializer": obj({"dataset": _INITIALIZER, "model": _INITIALIZER}),
        "trainer": TRAINER,
        "runtimePatches": array(RUNTIME_PATCH, ["manager"], maxItems=16),
        "suspend": flag(default=False),
        "activeDeadlineSeconds": integer("int64", minimum=1),
        "managedBy": text(maxLength=253, default=CONTROLLER),
    },
    ["runtimeRef"],
)

_COUNT = integer(minimum=0)
CONDITION = obj(
    {
        "type": text(maxLength=316),
        "status": text(enum=["True", "False", "Unknown"]),
        "reason": text(minLength=1, maxLength=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        "message": text(maxLength=32768),
        "lastTransitionTime": text(format="date-time"),
        "observedGeneration": integer("int64", minimum=0),
    },
    ["type", "status", "reason", "message", "lastTransitionTime"],
)
_COUNTS = ("ready", "succeeded", "failed", "active", "suspended")
METRIC = obj({"name": text(minLength=1, maxLength=64), "value": text(minLength=1, maxLength=64)}, ["name", "value"])
STATUS = obj(
    {
        "conditions": array(CONDITION, ["type"], maxItems=8),
        "jobsStatus": array(
            obj({"name": text(), **dict.fromkeys(_COUNTS, _COUNT)}, ["name", *_COUNTS]), ["name"], maxItems=100
        ),
        "trainerStatus": obj(
            {
                "progressPercentage": integer(minimum=0, maximum=100),
                "estimatedRemainingSeconds": integer("int32", minimum=0),
                "metrics": array(METRIC, maxItems=256),
                "lastUpdatedTime": text(format="date-time"),
            },
            # A CEL rule of the CRD.
            ["lastUpdatedTime"],
        ),
    },
    minProperties=1,
)

TRAIN_JOB: Schema = obj(
    {"apiVersion": text(), "kind": text(), "metadata": METADATA, "spec": TRAIN_JOB_SPEC, "status": anything()},
    ["metadata", "spec"],
)
