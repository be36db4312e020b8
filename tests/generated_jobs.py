"""Accepted TrainJobs with their runtimes, made from a seed: what the validator takes, the builders must build and a real API server must accept.

The same seed is the same job in every process. Every policy, patches, initializers, volume claims and both gang policies occur.
"""

import random
from dataclasses import dataclass
from typing import Any

from jobs.builders import Capabilities

Obj = dict[str, Any]
Rng = random.Random
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
POLICIES = ("none", "plain", "torch", "torchtune", "mpi", "mpi-dedicated", "jax", "xgboost", "flux")
CAPABILITIES = Capabilities(gang_schedulers=frozenset({"in_tree", "coscheduling", "volcano"}), auto_gang="in_tree")
# Texts that must arrive as they are, whatever reads or quotes them on the way.
WORDS = (
    "train.py",
    "--lr=3e-4",
    "",
    "a b",
    "it's",
    '"q"',
    "$(HOME)",
    "$$",
    "é✓",
    "yes",
    "0x10",
    "1e3",
    "~",
    "- x",
    "#",
    "line\nbreak",
)


@dataclass(frozen=True)
class Generated:
    """A TrainJob that nothing is wrong with, its runtime, and which policy it has."""

    policy: str
    trainjob: Obj
    runtime: Obj


def generated(seed: int, namespace: str = "team-a") -> Generated:
    """Return the job of a seed."""
    rng = random.Random(seed)  # noqa: S311 (the same in every process, not secret)
    policy = rng.choice(POLICIES)
    runtime = _runtime(rng, policy, f"rt-{seed}")
    return Generated(policy, _trainjob(rng, policy, runtime, f"gen-{seed}", namespace), runtime)


def _some(rng: Rng, chance: float, **fields: Any) -> Obj:
    """Each field with that chance."""
    return {name: value for name, value in fields.items() if rng.random() < chance}


def _words(rng: Rng) -> list[str]:
    return rng.sample(WORDS, rng.randint(1, 5))


def _env(rng: Rng, prefix: str) -> list[Obj]:
    made: list[Obj] = [{"name": f"{prefix}{number}", "value": rng.choice(WORDS)} for number in range(rng.randint(0, 3))]
    sources: list[Obj] = [
        {"secretKeyRef": {"name": "secret", "key": "token", "optional": True}},
        {"configMapKeyRef": {"name": "config", "key": "a.b"}},
        {"fieldRef": {"fieldPath": "metadata.name"}},
        {"resourceFieldRef": {"resource": "limits.cpu"}},
    ]
    return [
        *made,
        *({"name": f"{prefix}REF", "valueFrom": source} for source in rng.sample(sources, rng.randint(0, 1))),
    ]


def _resources(rng: Rng) -> Obj:
    """Requests within limits, and limits of extended resources equal to their requests."""
    cpu, memory, devices = rng.randint(1, 4), rng.randint(1, 8), rng.randint(1, 4)
    device = rng.choice(["nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "nvidia.com/mig-1g.5gb"])
    requests = _some(rng, 0.7, cpu=rng.choice([str(cpu), f"{cpu}00m"]), memory=f"{memory}Gi")
    limits = _some(rng, 0.4, cpu=str(cpu + 4), memory=f"{memory + 1}Gi")
    if rng.random() < 0.4:
        limits[device] = str(devices)
        if rng.random() < 0.5:
            requests[device] = str(devices)
    return {part: values for part, values in (("requests", requests), ("limits", limits)) if values}


def _job(rng: Rng, name: str, step: str = "", container: str = "node", **more: Any) -> Obj:
    main: Obj = {"name": container, "image": "registry.example/app:1", "command": _words(rng)}
    main |= _some(rng, 0.5, args=_words(rng), env=_env(rng, "RT_"), imagePullPolicy="IfNotPresent", workingDir="/work")
    if rng.random() < 0.6 and not step.endswith("initializer") and (resources := _resources(rng)):
        main["resources"] = resources
    if rng.random() < 0.3:
        main["ports"] = [{"containerPort": 8080}, {"containerPort": 9090, "name": "metrics", "protocol": "TCP"}]
    pod: Obj = {"containers": [main], **_some(rng, 0.3, terminationGracePeriodSeconds=5, nodeSelector={"zone": "a"})}
    if rng.random() < 0.3:
        pod["volumes"] = [{"name": "scratch", "emptyDir": {}}]
        main["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    if rng.random() < 0.2:
        pod["initContainers"] = [{"name": "prepare", "image": "registry.example/prepare:1"}]
    spec: Obj = {"template": {"spec": pod}, **_some(rng, 0.4, backoffLimit=rng.randint(0, 3))}
    if rng.random() < 0.3:
        pod["restartPolicy"] = "Never"
        condition = {"type": "DisruptionTarget", "status": "True"}
        spec["podFailurePolicy"] = {"rules": [{"action": "FailJob", "onPodConditions": [condition]}]}
    template: Obj = {"spec": spec}
    if step:
        template["metadata"] = {"labels": {STEP: step}}
    return {"name": name, "template": template, **more}


def _main(job: Obj) -> Obj:
    container: Obj = job["template"]["spec"]["template"]["spec"]["containers"][0]
    return container


def _initializers(rng: Rng) -> list[Obj]:
    jobs: list[Obj] = []
    for step in ("dataset-initializer", "model-initializer"):
        if rng.random() < 0.7:
            before = {"dependsOn": [{"name": jobs[-1]["name"], "status": "Complete"}]} if jobs else {}
            jobs.append(_job(rng, step, step, step, **before))
            mounts = _main(jobs[-1]).setdefault("volumeMounts", [])
            mounts.append({"name": "initializer", "mountPath": "/workspace"})
    return jobs


def _ranks(rng: Rng, policy: str) -> list[Obj]:
    if not policy.startswith("mpi"):
        job = _job(rng, "node", "trainer")
        if policy == "torchtune":
            _main(job)["command"] = [
                "tune",
                "run",
                "x",
                "--config",
                "y",
                "dataset.source=parquet",
                "output_dir=/workspace/output",
            ]
        return [job]
    edge = {"dependsOn": [{"name": "node", "status": "Ready"}]} if rng.random() < 0.5 else {}
    return [_job(rng, "node"), _job(rng, "launcher", "trainer", **edge)]


def _ml_policy(rng: Rng, policy: str, jobs: list[Obj]) -> Obj | None:
    if policy == "none":
        return None
    nodes = _some(rng, 0.5, numNodes=rng.randint(1, 12))
    if policy == "torchtune":
        return {"numNodes": 1, "torch": {}}
    if policy.startswith("mpi"):
        mpi = {"runLauncherAsNode": policy == "mpi", "mpiImplementation": "OpenMPI", "sshAuthMountPath": "/root/.ssh"}
        return {**nodes, "mpi": {**mpi, "numProcPerNode": rng.randint(1, 4)}}
    if policy == "flux":
        return {**nodes, "flux": {"numProcPerNode": rng.randint(1, 4)}}
    if policy == "torch" and any(job["name"] == "dataset-initializer" for job in jobs) and rng.random() < 0.5:
        target = {"jobName": "dataset-initializer", "containerNames": ["dataset-initializer"]}
        return {**nodes, "torch": {"envInjection": {"targets": [target]}}}
    return {**nodes, **({} if policy == "plain" else {policy: {}})}


def _runtime(rng: Rng, policy: str, name: str) -> Obj:
    before = _initializers(rng) if policy in ("torch", "torchtune", "jax", "none") and rng.random() < 0.6 else []
    ranks = _ranks(rng, policy)
    if before:
        complete = [{"name": job["name"], "status": "Complete"} for job in before]
        ranks[0]["dependsOn"] = complete
    jobs = [*before, *ranks]
    if rng.random() < 0.2:
        jobs.append(_job(rng, "extra", replicas=rng.randint(1, 3)))
    template: Obj = {"spec": {"replicatedJobs": jobs}}
    if before:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        template["spec"]["volumeClaimPolicies"] = [
            {"templates": [{"metadata": {"name": "initializer"}, "spec": claim}]}
        ]
    template["spec"] |= _some(
        rng,
        0.3,
        failurePolicy={"maxRestarts": rng.randint(0, 3)},
        ttlSecondsAfterFinished=rng.randint(0, 600),
        successPolicy={"operator": "All", "targetReplicatedJobs": [ranks[-1]["name"]]},
        network={"enableDNSHostnames": True, "publishNotReadyAddresses": True},
    )
    if rng.random() < 0.3:
        template["metadata"] = {"labels": {"team": "ml"}, "annotations": {"note": "yes"}}
    spec: Obj = {"template": template}
    if (ml_policy := _ml_policy(rng, policy, jobs)) is not None:
        spec["mlPolicy"] = ml_policy
    gang = rng.choice([None, None, {"coscheduling": {"scheduleTimeoutSeconds": 30}}, {"volcano": {}}])
    metadata: Obj = {"name": name, "labels": {"trainer.kubeflow.org/framework": policy}}
    if gang:
        spec["podGroupPolicy"] = gang
    elif rng.random() < 0.5:
        metadata["annotations"] = {"trainui.dev/gang-scheduler": rng.choice(["auto", "in-tree", "none"])}
    if policy == "torchtune":
        metadata.setdefault("annotations", {})["trainui.dev/torchtune-model"] = "llama3_2/1B"
    api = "trainer.kubeflow.org/v1alpha1"
    return {"apiVersion": api, "kind": "ClusterTrainingRuntime", "metadata": metadata, "spec": spec}


def _trainer(rng: Rng, policy: str, runtime: Obj) -> Obj:
    trainer = _some(rng, 0.5, image="registry.example/mine:2", args=_words(rng), env=_env(rng, "JOB_"))
    if policy == "torchtune":
        return {**trainer, "command": ["tune", "run"], "args": ["epochs=1"]}
    trainer |= _some(rng, 0.5, command=_words(rng), numNodes=rng.randint(1, 12), numProcPerNode=rng.randint(1, 8))
    bare = all("resources" not in _main(job) for job in runtime["spec"]["template"]["spec"]["replicatedJobs"])
    if bare and rng.random() < 0.6 and (resources := _resources(rng)):  # laid over others they might contradict them
        trainer["resourcesPerNode"] = resources
    return trainer


def _initializer(rng: Rng, names: set[str]) -> Obj:
    uris = {
        "dataset": ["hf://org/data", "s3://bucket/key", "pvc://claim/folder"],
        "model": ["hf://org/model", "pvc://claim"],
    }
    found: Obj = {}
    for kind, choices in uris.items():
        if f"{kind}-initializer" in names and rng.random() < 0.7:
            found[kind] = {
                "storageUri": rng.choice(choices),
                **_some(rng, 0.4, env=_env(rng, "IN_"), secretRef={"name": "token"}),
            }
    return found


def _patches(rng: Rng, job: Obj) -> list[Obj]:
    def pod() -> Obj:
        fields = _some(
            rng,
            0.4,
            nodeSelector={"pool": "gpu"},
            tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            serviceAccountName="default",
            imagePullSecrets=[{"name": "pull"}],
            securityContext={"fsGroup": 1000},
            volumes=[{"name": "more", "configMap": {"name": "config", "optional": True}}],
        )
        if "volumes" in fields:
            mounts = [{"name": "more", "mountPath": "/more", "readOnly": True}]
            fields["containers"] = [{"name": _main(job)["name"], "volumeMounts": mounts}]
        return fields

    patches = []
    for manager in rng.sample(["kueue.x-k8s.io/manager", "acme.io/a", "acme.io/b"], rng.randint(0, 2)):
        inner: Obj = {"metadata": {"labels": {"patched": "by"}}, "spec": {"template": {"spec": pod()}}}
        spec: Obj = {"replicatedJobs": [{"name": job["name"], "template": inner}]}
        template = {"metadata": {"annotations": {"acme.io/note": "1"}}, "spec": spec}
        patches.append({"manager": manager, "trainingRuntimeSpec": {"template": template}})
    return patches


def _trainjob(rng: Rng, policy: str, runtime: Obj, name: str, namespace: str) -> Obj:
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    reference = {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "ClusterTrainingRuntime",
        "name": runtime["metadata"]["name"],
    }
    spec: Obj = {"runtimeRef": reference, **_some(rng, 0.3, suspend=True, activeDeadlineSeconds=rng.randint(60, 9999))}
    if policy in ("torchtune", "flux") or rng.random() < 0.8:
        spec["trainer"] = _trainer(rng, policy, runtime)
    if found := _initializer(rng, {job["name"] for job in jobs}):
        spec["initializer"] = found
    if patches := _patches(rng, rng.choice(jobs)):
        spec["runtimePatches"] = patches
    metadata: Obj = {"name": name, "namespace": namespace, **_some(rng, 0.3, labels={"team": "ml"})}
    if policy not in ("torchtune", "none") and rng.random() < 0.2:
        metadata["annotations"] = {"trainui.dev/num-nodes": str(rng.randint(1, 12))}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
