"""Schema of TrainingRuntime and ClusterTrainingRuntime (trainer.kubeflow.org/v1alpha1), with the JobSet (v1alpha2) embedded in them."""

from runtimes.spec.pod_schema import METADATA, POD_TEMPLATE, TEMPLATE_METADATA
from runtimes.spec.schema import Schema, anything, array, flag, integer, mapping, obj, text

_NUM_PROC = integer(default=1)

ENV_INJECTION = obj(
    {
        "targets": array(
            obj(
                {
                    "jobName": text(minLength=1, maxLength=253),
                    "containerNames": array(
                        text(maxLength=63), minItems=1, maxItems=8, **{"x-kubernetes-list-type": "set"}
                    ),
                },
                ["jobName", "containerNames"],
            ),
            ["jobName"],
            maxItems=16,
        )
    }
)

ML_POLICY = obj(
    {
        "numNodes": integer(),
        "torch": obj({"envInjection": ENV_INJECTION}),
        "mpi": obj(
            {
                "numProcPerNode": _NUM_PROC,
                "mpiImplementation": text(enum=["OpenMPI", ""], default="OpenMPI"),
                "sshAuthMountPath": text(maxLength=4096, default="/root/.ssh"),
                "runLauncherAsNode": flag(default=False),
            }
        ),
        "jax": obj({}),
        "xgboost": obj({}),
        "flux": obj({"numProcPerNode": _NUM_PROC}),
    }
)

POD_GROUP_POLICY = obj(
    {
        "coscheduling": obj({"scheduleTimeoutSeconds": integer(default=60)}),
        "volcano": obj(
            {
                "networkTopology": obj(
                    {
                        "mode": text(enum=["hard", "soft"], default="hard"),
                        "highestTierAllowed": integer("int64", default=1),
                    }
                )
            }
        ),
    }
)

JOB_SPEC = obj(
    {
        "activeDeadlineSeconds": integer("int64"),
        "backoffLimit": integer(),
        "backoffLimitPerIndex": integer(),
        "completionMode": text(),
        "completions": integer(),
        "managedBy": text(),
        "manualSelector": flag(),
        "maxFailedIndexes": integer(),
        "parallelism": integer(),
        "podFailurePolicy": anything(),
        "podReplacementPolicy": text(),
        "scheduling": anything(),
        "selector": anything(),
        "successPolicy": anything(),
        "suspend": flag(),
        "template": POD_TEMPLATE,
        "ttlSecondsAfterFinished": integer(),
    },
    ["template"],
)
JOB_TEMPLATE = obj({"metadata": TEMPLATE_METADATA, "spec": JOB_SPEC})

REPLICATED_JOB = obj(
    {
        "name": text(),
        "groupName": text(default="default"),
        "replicas": integer(default=1),
        "dependsOn": array(
            obj({"name": text(), "status": text(enum=["Ready", "Complete"])}, ["name", "status"]), ["name"], maxItems=5
        ),
        "template": JOB_TEMPLATE,
    },
    ["name", "template"],
)

FAILURE_ACTIONS = (
    "FailJobSet",
    "RestartJobSet",
    "RestartJobSetAndIgnoreMaxRestarts",
    "RestartJob",
    "RestartJobAndIgnoreMaxRestarts",
)

JOB_SET_SPEC = obj(
    {
        "coordinator": obj({"replicatedJob": text(), "jobIndex": integer(), "podIndex": integer()}, ["replicatedJob"]),
        "failurePolicy": obj(
            {
                "maxRestarts": integer(),
                "restartStrategy": text(enum=["Recreate", "BlockingRecreate", "InPlaceRestart"], default="Recreate"),
                "rules": array(
                    obj(
                        {
                            "name": text(),
                            "action": text(enum=list(FAILURE_ACTIONS)),
                            "onJobFailureReasons": array(text()),
                            "onJobFailureMessagePatterns": array(text()),
                            "targetReplicatedJobs": array(text()),
                        },
                        ["name", "action"],
                    )
                ),
            }
        ),
        "managedBy": text(),
        "network": obj({"enableDNSHostnames": flag(), "publishNotReadyAddresses": flag(), "subdomain": text()}),
        "replicatedJobs": array(REPLICATED_JOB, ["name"]),
        "startupPolicy": obj({"startupPolicyOrder": text(enum=["AnyOrder", "InOrder"])}, ["startupPolicyOrder"]),
        "successPolicy": obj(
            {"operator": text(enum=["All", "Any"]), "targetReplicatedJobs": array(text())}, ["operator"]
        ),
        "suspend": flag(),
        "ttlSecondsAfterFinished": integer(minimum=0),
        "volumeClaimPolicies": array(
            obj(
                {
                    "templates": array(anything(), maxItems=50),
                    "retentionPolicy": obj({"whenDeleted": text(enum=["Delete", "Retain"], default="Delete")}),
                }
            ),
            maxItems=50,
        ),
    }
)

RUNTIME_SPEC = obj(
    {
        "mlPolicy": ML_POLICY,
        "podGroupPolicy": POD_GROUP_POLICY,
        "template": obj({"metadata": TEMPLATE_METADATA, "spec": JOB_SET_SPEC}, minProperties=1),
    },
    minProperties=1,
)

RUNTIME: Schema = obj(
    {"apiVersion": text(), "kind": text(), "metadata": METADATA, "spec": RUNTIME_SPEC, "status": mapping(anything())},
    ["metadata", "spec"],
)
