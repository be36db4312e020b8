"""Flux Framework: a broker on every node, one of which runs the program on all of them."""

import shlex

from jobs.spec.accelerators import device_count

from . import flux_scripts
from .containers import Obj, add_volume, mount, pod_spec
from .draft import Draft, Roles
from .errors import BuildError
from .flux_scripts import Instance
from .keys import Keys, encoded
from .plain import roles as roles
from .z85 import z85

INSTALLER = "flux-installer"
# Upstream's default; a runtime or job names another by FLUX_VIEW_IMAGE.
DEFAULT_VIEW_IMAGE = "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy"
SCRIPTS_PATH = "/etc/flux-config"


def _setting(draft: Draft, target: Obj, name: str, default: str) -> str:
    """Return a setting of Flux from the TrainJob's environment, else from the runtime's container, else the default."""
    for source in (draft.trainer.get("env") or [], target.get("env") or []):
        for entry in source:
            if entry.get("name") == name and entry.get("value"):
                return str(entry["value"])
    return default


def processes(draft: Draft) -> int:
    """Return the processes per node: the TrainJob's, else the runtime's, else 1."""
    stated = (draft.ml_policy.get("flux") or {}).get("numProcPerNode")
    if stated is not None and int(stated) < 1:
        raise BuildError.of(
            "spec.mlPolicy.flux.numProcPerNode", "out_of_range", "numProcPerNode must be 1 or more.", min=1
        )
    return draft.procs_per_node or int(stated or 1)


def instance(draft: Draft, job: Obj, target: Obj) -> Instance:
    """Return the Flux instance of a job.

    `flux run -g` counts GPUs of one task, not of a node, so a node's are divided among its tasks.
    """
    nodes, procs = draft.nodes, processes(draft)
    gpus = device_count(target.get("resources"))
    base = f"{draft.name}-{job.get('name')}-0"
    last = f"0-{nodes - 1}" if nodes > 1 else "0"
    cores = f"--cores=0-{procs - 1}" if procs > 1 else "--cores=0"
    gpu_ids = f" --gpu=0-{gpus - 1}" if gpus > 1 else " --gpu=0" if gpus else ""
    per_task = f" -g {gpus // procs}" if gpus // procs else ""
    domain = f".{draft.capabilities.cluster_domain}" if draft.capabilities.cluster_domain else ""
    return Instance(
        hosts=f"{base}-[{last}]",
        leader=f"{base}-0",
        resources=cores + gpu_ids,
        run=f"-N {nodes} -n {nodes * procs}{per_task}",
        bind=f"tcp://{_setting(draft, target, 'FLUX_NETWORK_DEVICE', 'eth0')}:%p",
        connect=f"tcp://%h.{draft.subdomain}.{draft.namespace}.svc{domain}:%p",
        queue_policy=_setting(draft, target, "FLUX_QUEUE_POLICY", "fcfs"),
    )


def certificate(keys: Keys) -> str:
    """Return the CURVE certificate of an instance, in ZeroMQ's text form."""
    return (
        "#   ZeroMQ CURVE secret certificate\n\n"
        "metadata\n"
        "curve\n"
        f'    public-key = "{z85(keys.curve_public)}"\n'
        f'    secret-key = "{z85(keys.curve_secret)}"\n'
    )


def _wrap_command(draft: Draft, target: Obj) -> None:
    """Let the entry point run the command; quoting is kept, as upstream does not.

    Arguments of the TrainJob become part of the command line; the runtime's own stay in `args`.
    """
    words = list(target.get("command") or [])
    if draft.trainer.get("args") is not None:
        words += target.pop("args", None) or []
    target["command"] = ["/bin/bash", f"{SCRIPTS_PATH}/entrypoint.sh", shlex.join(words)]


def _volumes(draft: Draft, scripts: str) -> list[Obj]:
    return [
        {"name": "flux-install", "emptyDir": {}},
        {"name": "spack-install", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        {"name": "flux-curve", "secret": {"secretName": f"{draft.name}-flux-curve", "defaultMode": 0o400}},
        {"name": scripts, "configMap": {"name": scripts, "defaultMode": 0o755}},
    ]


def configure(draft: Draft, who: Roles) -> None:
    """Add the installer, scripts, key and volumes, and run the command through them."""
    scripts = f"{draft.name}-flux-entrypoint"
    for job in who.ranks:
        target = who.main(job)
        if target is None:
            continue
        flux = instance(draft, job, target)
        pod = pod_spec(job)
        for volume in _volumes(draft, scripts):
            add_volume(pod, volume)
        installer = {
            "name": INSTALLER,
            "image": _setting(draft, target, "FLUX_VIEW_IMAGE", DEFAULT_VIEW_IMAGE),
            "command": ["/bin/bash", f"{SCRIPTS_PATH}/init.sh"],
        }
        mount(installer, "flux-install", flux_scripts.VIEW)
        mount(installer, scripts, SCRIPTS_PATH, readOnly=True)
        pod.setdefault("initContainers", []).append(installer)
        mount(target, "flux-install", flux_scripts.VIEW)
        mount(target, "spack-install", flux_scripts.SOFTWARE)
        mount(target, "flux-curve", flux_scripts.CURVE, readOnly=True)
        mount(target, "shared-memory", "/dev/shm", readOnly=True)  # noqa: S108 (a mount path, as upstream has it)
        mount(target, scripts, SCRIPTS_PATH, readOnly=True)
        _wrap_command(draft, target)
        data = {"init.sh": flux_scripts.init_script(flux), "entrypoint.sh": flux_scripts.entrypoint_script(flux)}
        draft.objects.append(draft.child("v1", "ConfigMap", scripts, data=data))
        break  # one instance a job: a second trainer job would need a ConfigMap of its own
    if draft.keys is not None:
        data = {"curve.cert": encoded(certificate(draft.keys))}
        draft.objects.append(draft.child("v1", "Secret", f"{draft.name}-flux-curve", type="Opaque", data=data))
