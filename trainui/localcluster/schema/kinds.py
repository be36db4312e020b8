"""The schema of every kind that is served."""

from trainui.localcluster.schema.core import CORE
from trainui.localcluster.schema.jobs import JOB, JOBSET
from trainui.localcluster.schema.pods import POD
from trainui.localcluster.schema.trainer import RUNTIME, TRAINJOB
from trainui.localcluster.schema.types import Schema

SCHEMAS: dict[str, Schema] = {
    **CORE,
    "Pod": POD,
    "Job": JOB,
    "JobSet": JOBSET,
    "TrainJob": TRAINJOB,
    "TrainingRuntime": RUNTIME,
    "ClusterTrainingRuntime": RUNTIME,
}
