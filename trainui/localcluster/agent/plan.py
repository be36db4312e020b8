"""How a container is started: its argument vector, environment and folder. Pure."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.agent.environment import Fetch, resolve_environment
from trainui.localcluster.agent.expansion import expand_all
from trainui.localcluster.agent.mounts import (
    Mount,
    mount_folders,
    mount_variables,
    normal_path,
    rewrite_all,
    rewrite_paths,
)
from trainui.localcluster.agent.programs import no_command_message
from trainui.localcluster.quantities import parse_quantity

Object = Mapping[str, Any]
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
POD_TAG = "TRAINUI_POD_UID"
CONTAINER_TAG = "TRAINUI_CONTAINER_ID"
TERMINATION_LOG = "/dev/termination-log"

# Open MPI 5 on one computer that plays several hosts. coll/han crashes in large reductions, the other settings keep ranks
# on loopback and let them share cores; two daemons would otherwise both bind their first rank to core 0.
MPI_DEFAULTS: Mapping[str, str] = {
    "OMPI_MCA_coll": "^han",
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_btl_tcp_if_include": "127.0.0.0/8",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
# Open MPI 5 ignores ORTE's names, which upstream sets; each is copied to the name that is read.
PRTE_NAMES: Mapping[str, str] = {
    "OMPI_MCA_orte_default_hostfile": "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_set_default_slots": "PRTE_MCA_prte_set_default_slots",
}


class NoCommand(Exception):
    """The container names no program; the message says what to do."""


@dataclass(frozen=True)
class Place:
    """Where a pod lives on this computer."""

    job_env: str
    helpers: str  # folder with trainui-rsh, ssh and sshd
    home: str
    temporary: str  # short, because programs put unix sockets there
    termination_log: str
    rsh_folder: str
    rsh_socket: str
    allocatable: Mapping[str, str]
    devices: Mapping[str, str] = field(default_factory=dict)  # the variables that tell a container its GPUs


@dataclass(frozen=True)
class Launch:
    """All that is needed to start a container's program."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    folders: Mapping[str, str] = field(default_factory=dict)  # what mount paths are rewritten to


def pod_hostname(pod: Object) -> str:
    """Return the host name of a pod: spec.hostname, else its name cut to 63 characters."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"][:63].rstrip("-."))


def container_tag(pod: Object, name: str, restarts: int) -> str:
    """Return the environment entry by which every process of an attempt is found again."""
    return f"{CONTAINER_TAG}={pod['metadata']['uid']}/{name}/{restarts}"


def plan_launch(
    pod: Object, container: Object, restarts: int, mounts: Sequence[Mount], fetch: Fetch, place: Place
) -> Launch:
    """Return how to start a container. Raises ConfigError (to be tried again) or NoCommand."""
    defined = resolve_environment(container, pod, fetch, place.allocatable)
    folders = {
        **_stand_ins(place),
        **mount_folders(mounts),
        normal_path(container.get("terminationMessagePath") or TERMINATION_LOG): place.termination_log,
    }
    argv = expand_all([*(container.get("command") or []), *(container.get("args") or [])], defined)
    if not container.get("command") or not argv[0]:
        raise NoCommand(no_command_message(container["name"], container.get("image") or ""))
    argv = rewrite_all(argv, folders)
    if posixpath.basename(argv[0]) == "sshd":
        argv[0] = posixpath.join(place.helpers, "sshd")
    own = {name: rewrite_paths(value, folders) for name, value in defined.items()}
    env = {
        **_base(pod, container, place),
        **place.devices,
        **_mpi(own, place),
        **mount_variables(mounts),
        **own,
        **_tags(pod, container, restarts),
    }
    return Launch(argv, env, _working_folder(container, folders, place), folders)


def _stand_ins(place: Place) -> dict[str, str]:
    return {
        "/usr/sbin/sshd": posixpath.join(place.helpers, "sshd"),
        "/usr/bin/ssh": posixpath.join(place.helpers, "ssh"),
    }


def _base(pod: Object, container: Object, place: Place) -> dict[str, str]:
    return {
        "PATH": ":".join((place.helpers, posixpath.join(place.job_env, "bin"), SYSTEM_PATH)),
        "HOME": place.home,
        "TMPDIR": place.temporary,
        "LANG": "C.UTF-8",
        "HOSTNAME": pod_hostname(pod),
        "OMP_NUM_THREADS": str(threads(container)),
        "TRAINUI_RSH_DIR": place.rsh_folder,
        "TRAINUI_RSH_SOCKET": place.rsh_socket,
    }


def threads(container: Object) -> int:
    """Return how many threads numeric libraries should use: the whole CPUs of the container, at least one."""
    resources = container.get("resources") or {}
    amount = (resources.get("limits") or {}).get("cpu") or (resources.get("requests") or {}).get("cpu") or "1"
    try:
        return max(1, int(parse_quantity(str(amount))))
    except ValueError:
        return 1


def _mpi(own: Mapping[str, str], place: Place) -> dict[str, str]:
    agent = posixpath.join(place.helpers, "trainui-rsh")
    settings = {
        **MPI_DEFAULTS,
        "OMPI_MCA_plm_rsh_agent": agent,
        "PRTE_MCA_plm_ssh_agent": agent,
        "PRTE_MCA_odls_base_exec_agent": posixpath.join(place.helpers, "trainui-rank"),
        "HYDRA_LAUNCHER": "ssh",  # MPICH
        "HYDRA_LAUNCHER_EXEC": agent,
    }
    for theirs, ours in PRTE_NAMES.items():
        if theirs in own:
            settings[ours] = own[theirs]
    return settings


def _tags(pod: Object, container: Object, restarts: int) -> dict[str, str]:
    name, _, value = container_tag(pod, container["name"], restarts).partition("=")
    return {POD_TAG: pod["metadata"]["uid"], name: value}


def _working_folder(container: Object, folders: Mapping[str, str], place: Place) -> str:
    """Return the folder to start in: the mounted one that workingDir names, else the pod's own (there are no images)."""
    wanted = container.get("workingDir")
    if wanted:
        real = rewrite_paths(normal_path(wanted), folders)
        if real != normal_path(wanted):
            return real
    return place.home
