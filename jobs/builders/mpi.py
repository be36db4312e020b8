"""MPI: one launcher, nodes that run sshd, a host list, an SSH key, and the environment mpirun reads."""

from jobs.spec.accelerators import device_count

from . import deepspeed, hostfile
from .containers import INITIALIZERS, NODE, Obj, add_volume, container, mount, pod_spec, private_mode, role, set_env
from .containers import value_env as values
from .counts import pods, replicas, set_pods
from .draft import Draft, Roles
from .errors import BuildError
from .gang.edges import drop_edge
from .keys import encoded

LAUNCHER = "launcher"
HOSTFILE_PATH = "/etc/mpi"
DEFAULT_SSH_PATH = "/root/.ssh"
SSH_ARGUMENTS = "-o ConnectionAttempts=10"
IMPLEMENTATION = "trainui.dev/mpi-implementation"
HOSTS = "trainui.dev/hostfile-hosts"
WAIT_CONTAINER = "trainui-wait-for-nodes"
WAIT_SECONDS = 600

# Runs before a launcher whose Ready edge was dropped: asks every other host through the agent mpirun will use.
# Its argument is the launcher's own host.
_WAIT = f"""\
end=$(( $(date +%s) + {WAIT_SECONDS} ))
agent=${{PRTE_MCA_plm_ssh_agent:-${{OMPI_MCA_plm_rsh_agent:-ssh -o ConnectTimeout=5 -o BatchMode=yes}}}}
while read -r host rest; do
  host=${{host%%:*}}
  [ "${{host%%.*}}" = "$1" ] && continue
  until $agent "$host" true </dev/null >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge "$end" ]; then
      echo "no answer from $host within {WAIT_SECONDS} s" >&2
      exit 1
    fi
    sleep 1
  done
done < {HOSTFILE_PATH}/hostfile
"""


def _main(job: Obj) -> Obj | None:
    """Return the container that runs MPI: `node`, else one named like the job (conformance obj-mpi-048)."""
    return container(job, NODE, str(job.get("name", "")))


def find_launcher(jobs: list[Obj]) -> Obj | None:
    """Return the launcher: by its name, else the one labelled trainer among several jobs; None if nodes start alone."""
    named = next((job for job in jobs if job.get("name") == LAUNCHER), None)
    others = [job for job in jobs if role(job) not in INITIALIZERS]
    labelled = [job for job in others if role(job) == "trainer" and job.get("name") != NODE]
    return named or (labelled[0] if labelled and len(others) > 1 else None)


def find_workers(jobs: list[Obj], launcher: Obj | None) -> list[Obj]:
    """Return the jobs whose pods mpirun starts processes in.

    `node` if there is one, else what the launcher waits for to be Ready, else the only other job: found by role, not by
    a fixed name (conformance obj-mpi-063).
    """
    others = [job for job in jobs if job is not launcher and role(job) not in INITIALIZERS]
    if named := [job for job in others if job.get("name") == NODE]:
        return named
    awaited = {edge.get("name") for edge in (launcher or {}).get("dependsOn") or [] if edge.get("status") == "Ready"}
    if waited_for := [job for job in others if job.get("name") in awaited]:
        return waited_for
    return others if len(others) == 1 else []


def runs_on_launcher(draft: Draft) -> bool:
    """Return whether the launcher runs ranks itself."""
    return bool((draft.ml_policy.get("mpi") or {}).get("runLauncherAsNode"))


def roles(draft: Draft) -> Roles:
    """Return launcher and workers: ranks run on the workers, and on the launcher if the runtime says so."""
    launcher = find_launcher(draft.jobs)
    workers = find_workers(draft.jobs, launcher)
    on_launcher = launcher is not None and runs_on_launcher(draft)
    ranks = [job for job in draft.jobs if job in workers or (on_launcher and job is launcher)]
    return Roles(ranks=ranks, trainers=[launcher] if launcher else [], followers=workers, main=_main)


def set_counts(draft: Draft, who: Roles) -> None:
    """Give the job exactly one launcher pod, and as many worker pods as the nodes need.

    A launcher that runs ranks is one of the nodes (kubeflow/trainer#3954). A launcher does not wait for workers that
    do not exist.
    """
    launcher = who.trainers[0] if who.trainers else None
    counted = 1 if launcher is not None and launcher in who.ranks else 0
    if draft.nodes > 1 and counted and not who.followers:
        message = "The runtime has no replicated job for more than the launcher: numNodes can only be 1."
        raise BuildError.of("spec.trainer.numNodes", "out_of_range", message, max=1)
    if launcher is not None:
        set_pods(launcher, 1)
        launcher["replicas"] = 1
    left = draft.nodes - counted
    for place, worker in enumerate(who.followers):
        share = left // len(who.followers) + (1 if place < left % len(who.followers) else 0)
        set_pods(worker, share)
        worker["replicas"] = 1
        if share == 0 and launcher is not None:
            drop_edge(launcher, worker)


def slots(draft: Draft, who: Roles) -> int:
    """Return the processes per host.

    The TrainJob's numProcPerNode; else the accelerators of a rank's container if the runtime says 1; else what the
    runtime says. The order of the jobs does not matter (conformance obj-mpi-032).
    """
    stated = (draft.ml_policy.get("mpi") or {}).get("numProcPerNode")
    runtime = 1 if stated is None else int(stated)
    if runtime < 1:
        raise BuildError.of(
            "spec.mlPolicy.mpi.numProcPerNode", "out_of_range", "numProcPerNode must be 1 or more.", min=1
        )
    if asked := draft.procs_per_node:
        return asked
    found = max((device_count(target.get("resources")) for target in who.rank_containers), default=0)
    return found if runtime == 1 and found > 1 else runtime


def implementation(draft: Draft) -> hostfile.Implementation:
    """Return the MPI implementation: our annotation (the CRD refuses all but OpenMPI), else the policy's, else OpenMPI.

    Raises BuildError for one we do not know.
    """
    wanted = (
        draft.annotation(IMPLEMENTATION) or (draft.ml_policy.get("mpi") or {}).get("mpiImplementation") or "OpenMPI"
    )
    wanted = "IntelMPI" if wanted == "Intel" else wanted
    for known in hostfile.IMPLEMENTATIONS:
        if known == wanted and known != "Horovod":
            return known
    message = f"{wanted} is not an MPI implementation we know: use OpenMPI, IntelMPI, MPICH or DeepSpeed."
    raise BuildError.of("spec.mlPolicy.mpi.mpiImplementation", "unknown_implementation", message)


def environment(kind: hostfile.Implementation, count: int) -> list[Obj]:
    """Return the variables by which an implementation's mpirun finds hosts and slots.

    Open MPI 5 reads PRTE's names only; without them a job silently runs on one host (kubeflow/trainer#4028). PRTE must
    not keep full names, or it connects to itself (facts: mpi-and-gang-scheduling 1.4).
    """
    path = f"{HOSTFILE_PATH}/hostfile"
    if kind == "IntelMPI":
        return values(
            [
                ("I_MPI_HYDRA_HOST_FILE", path),
                ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", SSH_ARGUMENTS),
                ("I_MPI_PERHOST", str(count)),
            ]
        )
    if kind == "MPICH":
        return values([("HYDRA_HOST_FILE", path), ("HYDRA_LAUNCH_EXTRA_ARGS", SSH_ARGUMENTS)])
    return values(
        [
            ("OMPI_MCA_orte_default_hostfile", path),
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            ("OMPI_MCA_orte_set_default_slots", str(count)),
            ("OMPI_MCA_plm_rsh_args", SSH_ARGUMENTS),
            ("PRTE_MCA_prte_default_hostfile", path),
            ("PRTE_MCA_prte_keep_fqdn_hostnames", "false"),
            ("PRTE_MCA_prte_set_default_slots", str(count)),
            ("PRTE_MCA_plm_ssh_args", SSH_ARGUMENTS),
        ]
    )


def _host_names(draft: Draft) -> hostfile.HostNames:
    mode = draft.annotation(HOSTS) or "short"
    if mode not in ("short", "fqdn"):
        message = f"{mode} is not a way to name hosts here: use short or fqdn."
        raise BuildError.of(f"metadata.annotations[{HOSTS}]", "unknown_host_mode", message)
    return hostfile.HostNames(
        draft.name,
        draft.namespace,
        draft.subdomain,
        "fqdn" if mode == "fqdn" else "short",
        draft.capabilities.cluster_domain,
    )


def _host_list(draft: Draft, who: Roles, kind: hostfile.Implementation, count: int) -> str:
    names = _host_names(draft)
    groups = [hostfile.HostGroup(str(job.get("name")), replicas(job), pods(job), count) for job in who.ranks]
    try:
        return hostfile.render(kind, names, groups)
    except hostfile.HostfileError as error:
        if error.code == "no_hosts":  # a launcher alone that runs no ranks: what its program does is its own affair
            return ""
        raise BuildError.of("metadata.name", error.code, f"The host list cannot be written: {error.code}.") from error


def _check_filters(hosts: str, who: Roles, count: int) -> None:
    """Refuse filters of the DeepSpeed launcher that the host list cannot satisfy."""
    pool = {line.partition(" ")[0]: count for line in hosts.splitlines()}
    for job in who.trainers:
        if (target := who.main(job)) is not None:
            deepspeed.check_filters(pool, [*(target.get("command") or []), *(target.get("args") or [])])


def _add_ssh(draft: Draft, job: Obj, target: Obj) -> None:
    """Mount the SSH key pair where the implementation looks for it, with a mode that ssh and sshd accept."""
    pod = pod_spec(job)
    items = [
        {"key": "ssh-privatekey", "path": "id_rsa", "mode": private_mode(pod, target)},
        {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
        {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
    ]
    source = {"secretName": f"{draft.name}-mpi-ssh-auth", "defaultMode": 0o400, "items": items}
    add_volume(pod, {"name": "mpi-ssh-auth", "secret": source})
    path = (draft.ml_policy.get("mpi") or {}).get("sshAuthMountPath") or DEFAULT_SSH_PATH
    mount(target, "mpi-ssh-auth", path)


def configure(draft: Draft, who: Roles) -> None:
    """Add host list, SSH key, mounts and environment."""
    kind, count = implementation(draft), slots(draft, who)
    data = {hostfile.file_name(kind): _host_list(draft, who, kind, count)}
    hostfile.check_size(data)
    if kind == "DeepSpeed":
        _check_filters(data[hostfile.file_name(kind)], who, count)
    name = f"{draft.name}-mpi-hostfile"
    for job in [*who.trainers, *who.followers]:
        if (target := who.main(job)) is not None:
            _add_ssh(draft, job, target)
    for job in who.trainers:
        if (target := who.main(job)) is not None:
            item = {"key": "hostfile", "path": "hostfile", "mode": 0o444}
            add_volume(pod_spec(job), {"name": "mpi-hostfile", "configMap": {"name": name, "items": [item]}})
            mount(target, "mpi-hostfile", HOSTFILE_PATH)
            set_env(target, environment(kind, count), first=True)
    draft.objects.append(draft.child("v1", "ConfigMap", name, data=data))
    if draft.keys is not None:
        pair = {
            "ssh-privatekey": encoded(draft.keys.ssh_private),
            "ssh-publickey": encoded(draft.keys.ssh_public),
        }
        secret = draft.child(
            "v1", "Secret", f"{draft.name}-mpi-ssh-auth", type="kubernetes.io/ssh-auth", immutable=True, data=pair
        )
        draft.objects.append(secret)


def wait_in_container(draft: Draft, who: Roles, source: str) -> None:
    """Let the launcher wait for its nodes itself, in an init container: as a gang member it cannot wait to be created.

    The init container is a copy of the main one, so it asks for no more than the pod needs anyway.
    """
    for job in who.trainers:
        target = who.main(job)
        if job.get("name") != source or target is None:
            continue
        kept = ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts", "securityContext", "resources")
        waiting = {key: target[key] for key in kept if key in target}
        own = f"{draft.name}-{source}-0-0"
        waiting |= {"name": WAIT_CONTAINER, "command": ["/bin/sh", "-c", _WAIT, WAIT_CONTAINER, own]}
        pod_spec(job).setdefault("initContainers", []).append(waiting)
