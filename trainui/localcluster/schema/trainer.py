"""The Kubeflow Trainer's kinds."""

from trainui.localcluster.schema.jobs import JOBSET_SPEC
from trainui.localcluster.schema.pods import (
    CONTAINER_SECURITY,
    CUSTOM_ENV,
    CUSTOM_VOLUMES,
    LOCAL_REFERENCES,
    POD_SECURITY,
    RESOURCES,
    TOLERATION,
    VOLUME_MOUNT,
)
from trainui.localcluster.schema.types import (
    ANY,
    BOOL,
    CONDITIONS,
    COUNT,
    INT,
    INT32,
    OPEN,
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

_NAME = STR.having(min_size=1, max_size=253)
_ENV = CUSTOM_ENV.having(max_size=128)
_WORDS = list_of(STR.having(max_size=1048576), max_size=128)
_METADATA_PATCH = struct(each("labels annotations", STRINGS))

_INITIALIZER = struct(
    {
        "storageUri": STR.having(
            max_size=2048,
            pattern=r"|[A-Za-z][A-Za-z0-9+.-]*://.+",
            message="storageUri may be empty, or it must be a valid URI (scheme://...)",
        ),
        "env": _ENV,
        "secretRef": struct({"name": STR.having(default="")}),
    }
)
_CONTAINER_PATCH = struct(
    {
        "name": _NAME,
        "env": _ENV,
        "volumeMounts": map_list(VOLUME_MOUNT, "name", max_size=128),
        "securityContext": CONTAINER_SECURITY,
    },
    "name",
)
_CONTAINER_PATCHES = map_list(_CONTAINER_PATCH, "name", max_size=64)
_POD_PATCH = struct(
    {
        "serviceAccountName": _NAME,
        "nodeSelector": STRINGS,
        "affinity": struct(each("nodeAffinity podAffinity podAntiAffinity", ANY)),
        "tolerations": list_of(TOLERATION, max_size=128),
        "volumes": CUSTOM_VOLUMES.having(max_size=128),
        "initContainers": _CONTAINER_PATCHES,
        "containers": _CONTAINER_PATCHES,
        "schedulingGates": map_list(struct({"name": STR}, "name"), "name", max_size=16),
        "imagePullSecrets": LOCAL_REFERENCES.having(max_size=64),
        "securityContext": POD_SECURITY,
        "terminationGracePeriodSeconds": INT.having(minimum=0),
    }
)
_JOB_PATCH = struct(
    {
        "name": _NAME,
        "template": struct(
            {
                "metadata": _METADATA_PATCH,
                "spec": struct({"template": struct({"metadata": _METADATA_PATCH, "spec": _POD_PATCH})}),
            }
        ),
    },
    "name",
)
_RUNTIME_PATCH = struct(
    {
        "manager": _NAME,
        "time": TIME,
        "trainingRuntimeSpec": struct(
            {
                "template": struct(
                    {
                        "metadata": _METADATA_PATCH,
                        "spec": struct({"replicatedJobs": map_list(_JOB_PATCH, "name")}),
                    }
                )
            }
        ),
    },
    "manager",
)
TRAINJOB_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
_TRAINJOB_SPEC = struct(
    {
        "runtimeRef": struct(
            {
                "name": _NAME,
                "apiGroup": STR.having(max_size=253, default="trainer.kubeflow.org"),
                "kind": STR.having(max_size=253, default="ClusterTrainingRuntime"),
            },
            "name",
        ),
        "initializer": struct(each("dataset model", _INITIALIZER)),
        "trainer": struct(
            {
                "image": STR.having(max_size=500),
                **each("command args", _WORDS),
                "env": _ENV,
                "numNodes": COUNT,
                "resourcesPerNode": RESOURCES,
                "numProcPerNode": INT32.having(minimum=1),
            }
        ),
        "runtimePatches": map_list(_RUNTIME_PATCH, "manager", max_size=16),
        "suspend": BOOL.having(default=False),
        "activeDeadlineSeconds": INT.having(minimum=1),
        "managedBy": STR.having(
            max_size=253,
            default=TRAINJOB_CONTROLLER,
            pattern=r"trainer\.kubeflow\.org/trainjob-controller|kueue\.x-k8s\.io/multikueue|.{254,}",
            message="ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set",
        ),
    },
    "runtimeRef",
)
_STRICT_CONDITION = struct(
    {
        "type": STR.having(min_size=1, max_size=316),
        "status": one_of("True", "False", "Unknown"),
        "reason": STR.having(min_size=1, max_size=1024),
        "message": STR.having(max_size=32768),
        "lastTransitionTime": TIME,
        "observedGeneration": COUNT,
    },
    "type status reason message lastTransitionTime",
)
_METRIC = struct(each("name value", STR.having(min_size=1, max_size=64)), "name value")
_TRAINJOB_STATUS = struct(
    {
        "conditions": CONDITIONS.having(items=_STRICT_CONDITION, max_size=8),
        "jobsStatus": map_list(
            struct(
                {"name": _NAME, **each("ready succeeded failed active suspended", COUNT)},
                "name ready succeeded failed active suspended",
            ),
            "name",
            max_size=100,
        ),
        "trainerStatus": struct(
            {
                "progressPercentage": INT32.having(minimum=0, maximum=100),
                "estimatedRemainingSeconds": COUNT,
                "metrics": list_of(_METRIC, max_size=256),
                "lastUpdatedTime": TIME,
            },
            "lastUpdatedTime",
        ),
    },
    min_size=1,
)
TRAINJOB = top({"spec": _TRAINJOB_SPEC, "status": _TRAINJOB_STATUS}, "spec")

_TARGET = struct(
    {"jobName": _NAME, "containerNames": set_of(STR.having(min_size=1, max_size=63), min_size=1, max_size=8)},
    "jobName containerNames",
)
_ML_POLICY = struct(
    {
        "numNodes": COUNT,
        "torch": struct({"envInjection": struct({"targets": map_list(_TARGET, "jobName", max_size=16)})}),
        "mpi": struct(
            {
                "numProcPerNode": INT32.having(minimum=1, default=1),
                "mpiImplementation": one_of("OpenMPI", "", default="OpenMPI"),
                "sshAuthMountPath": STR.having(max_size=4096, default="/root/.ssh"),
                "runLauncherAsNode": BOOL.having(default=False),
            }
        ),
        "flux": struct({"numProcPerNode": INT32.having(minimum=1, default=1)}),
        **each("jax xgboost", OPEN),
    }
)
_POD_GROUP_POLICY = struct(
    {
        "coscheduling": struct({"scheduleTimeoutSeconds": INT32.having(default=60)}),
        "volcano": struct(
            {
                "networkTopology": struct(
                    {"mode": one_of("hard", "soft", default="hard"), "highestTierAllowed": INT.having(default=1)}
                )
            }
        ),
    }
)
RUNTIME: Schema = top(
    {
        "spec": struct(
            {
                "mlPolicy": _ML_POLICY,
                "podGroupPolicy": _POD_GROUP_POLICY,
                "template": struct({"metadata": OPEN, "spec": JOBSET_SPEC}),
            },
            min_size=1,
        )
    }
)
