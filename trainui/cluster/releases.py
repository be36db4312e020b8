"""What installs the parts of a cluster that trainui works with, in the releases that it is tested with."""

from trainui.cluster import kinds

_TRAINER_RELEASE, _JOBSET_RELEASE, _KUEUE_RELEASE = "v2.3.0", "v0.12.0", "v0.17.0"
_CRDS = (
    f"https://raw.githubusercontent.com/kubeflow/trainer/{_TRAINER_RELEASE}/manifests/base/crds/trainer.kubeflow.org"
)
_SIGS = "https://github.com/kubernetes-sigs"

TRAINER = "kubectl apply --server-side \\\n" + " \\\n".join(
    f"  -f {_CRDS}_{kind.plural}.yaml"
    for kind in (kinds.TRAIN_JOB, kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME)
)
JOBSET = f"kubectl apply --server-side -f {_SIGS}/jobset/releases/download/{_JOBSET_RELEASE}/manifests.yaml"
KUEUE = f"kubectl apply --server-side -f {_SIGS}/kueue/releases/download/{_KUEUE_RELEASE}/manifests.yaml"
GANG = """helm install scheduler-plugins scheduler-plugins --repo https://scheduler-plugins.sigs.k8s.io \\
  -n scheduler-plugins --create-namespace
# Or, from Kubernetes 1.37 on, start API server, controller manager and scheduler with
# --feature-gates=GenericWorkload=true, and the API server with --runtime-config=scheduling.k8s.io/v1beta1=true"""

_STEPS = {
    kinds.JOB_SET.group: f"install JobSet: {JOBSET}",
    kinds.WORKLOAD.group: f"install Kueue: {KUEUE}",
    kinds.TRAIN_JOB.group: "install Kubeflow Trainer’s kinds: the page of the cluster has the command",
}


def step(group: str) -> str:
    """Return what an administrator has to do so that the cluster serves an API group."""
    return _STEPS.get(group, f"install what serves {group}")
