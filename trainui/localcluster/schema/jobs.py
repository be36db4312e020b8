"""Job and JobSet."""

from trainui.localcluster.schema.core import CLAIM_SPEC
from trainui.localcluster.schema.pods import CUSTOM_POD_TEMPLATE, POD_TEMPLATE
from trainui.localcluster.schema.types import (
    BOOL,
    CONDITIONS,
    COUNT,
    INT,
    INT32,
    LABEL_SELECTOR,
    OPEN,
    STR,
    TEMPLATE_METADATA,
    TIME,
    Schema,
    each,
    list_of,
    map_list,
    one_of,
    struct,
    top,
)


def _job_spec(template: Schema, defaults: bool) -> Schema:
    """Return the spec of a Job around a pod template."""
    mode = Schema("string", enum=("Indexed", "NonIndexed"))
    on_exit_codes = struct({"containerName": STR, "operator": STR, "values": list_of(INT32)}, "operator values")
    on_condition = struct({"type": STR, "status": STR.having(default="True")}, "type")
    rule = struct({"action": STR, "onExitCodes": on_exit_codes, "onPodConditions": list_of(on_condition)}, "action")
    return struct(
        {
            **each("parallelism completions", COUNT),
            **each("backoffLimit backoffLimitPerIndex maxFailedIndexes ttlSecondsAfterFinished", COUNT),
            "activeDeadlineSeconds": INT.having(minimum=1 if defaults else 0),
            "completionMode": mode.having(default="NonIndexed") if defaults else mode,
            "suspend": BOOL.having(default=False) if defaults else BOOL,
            "manualSelector": BOOL,
            "selector": LABEL_SELECTOR,
            "podReplacementPolicy": STR,
            "managedBy": STR,
            "podFailurePolicy": struct({"rules": list_of(rule)}, "rules"),
            "successPolicy": struct(
                {"rules": list_of(struct({"succeededIndexes": STR, "succeededCount": INT32}))}, "rules"
            ),
            "scheduling": OPEN,
            "template": template,
        },
        "template",
    )


JOB = top(
    {
        "spec": _job_spec(POD_TEMPLATE, defaults=True),
        "status": struct(
            {
                "conditions": CONDITIONS.having(keys=(), merge_key="type"),
                **each("startTime completionTime", TIME),
                **each("active succeeded failed ready terminating", INT32),
                **each("completedIndexes failedIndexes", STR),
                "uncountedTerminatedPods": struct(each("succeeded failed", list_of(STR))),
            }
        ),
    },
    "spec",
)

JOB_TEMPLATE = struct({"metadata": TEMPLATE_METADATA, "spec": _job_spec(CUSTOM_POD_TEMPLATE, defaults=False)})
_TARGETS = list_of(STR)
_REPLICATED_JOB = struct(
    {
        "name": STR,
        "replicas": COUNT.having(default=1),
        "groupName": STR.having(default="default"),
        "template": JOB_TEMPLATE,
        "dependsOn": map_list(
            struct({"name": STR, "status": one_of("Ready", "Complete")}, "name status"), "name", max_size=10
        ),
    },
    "name template",
)
_FAILURE_POLICY = struct(
    {
        "maxRestarts": INT32,
        "restartStrategy": one_of("Recreate", "BlockingRecreate", "InPlaceRestart", default="Recreate"),
        "rules": list_of(
            struct(
                {
                    "name": STR,
                    "action": one_of(
                        "FailJobSet",
                        "RestartJobSet",
                        "RestartJobSetAndIgnoreMaxRestarts",
                        "RestartJob",
                        "RestartJobAndIgnoreMaxRestarts",
                        "RecreateJob",
                    ),
                    "onJobFailureReasons": list_of(
                        one_of(
                            "BackoffLimitExceeded",
                            "DeadlineExceeded",
                            "FailedIndexes",
                            "MaxFailedIndexesExceeded",
                            "PodFailurePolicy",
                        )
                    ),
                    "onJobFailureMessagePatterns": list_of(STR),
                    "targetReplicatedJobs": _TARGETS,
                },
                "action",
            )
        ),
    }
)
_VOLUME_CLAIM_POLICY = struct(
    {
        "templates": list_of(
            struct({"apiVersion": STR, "kind": STR, "metadata": OPEN, "spec": CLAIM_SPEC, "status": OPEN})
        ),
        "retentionPolicy": struct({"whenDeleted": one_of("Delete", "Retain")}),
    }
)
JOBSET_SPEC = struct(
    {
        "replicatedJobs": map_list(_REPLICATED_JOB, "name"),
        "network": struct({**each("enableDNSHostnames publishNotReadyAddresses", BOOL), "subdomain": STR}),
        "successPolicy": struct({"operator": one_of("All", "Any"), "targetReplicatedJobs": _TARGETS}, "operator"),
        "failurePolicy": _FAILURE_POLICY,
        "startupPolicy": struct({"startupPolicyOrder": one_of("AnyOrder", "InOrder")}, "startupPolicyOrder"),
        "suspend": BOOL,
        "coordinator": struct({"replicatedJob": STR, **each("jobIndex podIndex", INT32)}, "replicatedJob"),
        "managedBy": STR,
        "ttlSecondsAfterFinished": COUNT,
        "volumeClaimPolicies": list_of(_VOLUME_CLAIM_POLICY),
    }
)
JOBSET = top(
    {
        "spec": JOBSET_SPEC,
        "status": struct(
            {
                "conditions": CONDITIONS,
                **each("restarts restartsCountTowardsMax", INT32),
                "terminalState": STR,
                "replicatedJobsStatus": map_list(
                    struct({"name": STR, **each("ready succeeded failed active suspended", COUNT)}, "name"), "name"
                ),
                "individualJobsStatus": OPEN,
                "individualJobRestartsStatus": list_of(OPEN),
                "previousInPlaceRestartAttempt": INT32,
                "currentInPlaceRestartAttempt": INT32,
            }
        ),
    }
)
