"""Names of the Kubeflow Trainer API and of our extensions, as they stand in objects."""

GROUP = "trainer.kubeflow.org"
API_VERSION = f"{GROUP}/v1alpha1"
TRAIN_JOB = "TrainJob"
TRAINING_RUNTIME = "TrainingRuntime"
CLUSTER_TRAINING_RUNTIME = "ClusterTrainingRuntime"
RUNTIME_KINDS = (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)

CONTROLLER = f"{GROUP}/trainjob-controller"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"

LABEL_ANCESTOR = f"{GROUP}/trainjob-ancestor-step"
LABEL_FRAMEWORK = f"{GROUP}/framework"
LABEL_SUPPORT = f"{GROUP}/support"
LABEL_WEBHOOK_VALIDATION = f"{GROUP}/webhook-validation"

STEP_TRAINER = "trainer"
STEP_DATASET = "dataset-initializer"
STEP_MODEL = "model-initializer"
# The container that a replicated job with this step must have.
STEP_CONTAINERS = {STEP_TRAINER: "node", STEP_DATASET: STEP_DATASET, STEP_MODEL: STEP_MODEL}

NODE = "node"
LAUNCHER = "launcher"

ANNOTATION_NUM_NODES = "trainui.dev/num-nodes"
ANNOTATION_SUBMISSION = "trainui.dev/submission-id"
ANNOTATION_TORCHTUNE_MODEL = "trainui.dev/torchtune-model"
VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"

POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")
