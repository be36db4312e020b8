"""Host lists of MPI launchers, byte for byte as each implementation reads them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import BuildError

Implementation = Literal["OpenMPI", "IntelMPI", "MPICH", "DeepSpeed", "Horovod"]
HostMode = Literal["short", "fqdn", "ip"]

CONFIGMAP_LIMIT = 1_048_576  # bytes over the values of all keys (Kubernetes' limit of a ConfigMap)
IMPLEMENTATIONS: tuple[Implementation, ...] = ("OpenMPI", "IntelMPI", "MPICH", "DeepSpeed", "Horovod")
HOST_MODES: tuple[HostMode, ...] = ("short", "fqdn", "ip")


class HostfileError(ValueError):
    """The host list cannot be written now. `code` says why, `missing` names pods without an address."""

    def __init__(self, code: str, missing: Sequence[str] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.missing = list(missing)


@dataclass(frozen=True)
class HostGroup:
    """The pods of one replicated job that run ranks.

    pods: per replica. slots: processes per pod.
    """

    name: str
    replicas: int
    pods: int
    slots: int


@dataclass(frozen=True)
class Pod:
    """What is known of a running pod: its place in the job, and its address once it has one."""

    replicated_job: str
    job_index: int
    index: int
    phase: str
    ip: str | None = None
    created: str = ""
    deleting: bool = False


@dataclass(frozen=True)
class HostNames:
    """How pods of a job are called.

    subdomain: the headless service; the name of the job unless the runtime sets one.
    domain: the cluster's domain for `fqdn`; "" ends the name at `svc`.
    """

    job: str
    namespace: str
    subdomain: str = ""
    mode: HostMode = "short"
    domain: str = "cluster.local"

    def host(self, group: str, replica: int, index: int) -> str:
        """Return the bare host name of a pod."""
        return f"{self.job}-{group}-{replica}-{index}"

    def address(self, group: str, replica: int, index: int) -> str:
        """Return the name other pods reach it by."""
        name = f"{self.host(group, replica, index)}.{self.subdomain or self.job}"
        if self.mode != "fqdn":
            return name
        return f"{name}.{self.namespace}.svc" + (f".{self.domain}" if self.domain else "")


def _places(groups: Iterable[HostGroup]) -> Iterable[tuple[HostGroup, int, int]]:
    return (
        (group, replica, index) for group in groups for replica in range(group.replicas) for index in range(group.pods)
    )


def _by_name(names: HostNames, groups: Sequence[HostGroup]) -> list[tuple[str, int]]:
    return [(names.address(group.name, replica, index), group.slots) for group, replica, index in _places(groups)]


def _by_address(names: HostNames, groups: Sequence[HostGroup], pods: Iterable[Pod]) -> list[tuple[str, int]]:
    """Return pod addresses: of each place the newest pod that is neither failed nor terminating."""
    newest: dict[tuple[str, int, int], Pod] = {}
    for pod in sorted(pods, key=lambda p: p.created):
        if pod.phase != "Failed" and not pod.deleting:
            newest[(pod.replicated_job, pod.job_index, pod.index)] = pod
    hosts: list[tuple[str, int]] = []
    missing: list[str] = []
    for group, replica, index in _places(groups):
        found = newest.get((group.name, replica, index))
        if found and found.ip:
            hosts.append((found.ip, group.slots))
        else:
            missing.append(names.host(group.name, replica, index))
    if missing:
        raise HostfileError("hosts_not_ready", missing)
    return hosts


def _running(names: HostNames, groups: Sequence[HostGroup], pods: Iterable[Pod]) -> list[tuple[str, int]]:
    alive = {(p.replicated_job, p.job_index, p.index) for p in pods if p.phase == "Running" and not p.deleting}
    return [
        (names.address(group.name, replica, index), group.slots)
        for group, replica, index in _places(groups)
        if (group.name, replica, index) in alive
    ]


def file_name(implementation: Implementation) -> str:
    """Return the name of the file that holds the host list."""
    return "discover_hosts.sh" if implementation == "Horovod" else "hostfile"


def render(
    implementation: Implementation, names: HostNames, groups: Sequence[HostGroup], pods: Iterable[Pod] = ()
) -> str:
    """Return the host list of the groups, in their order, then replica, then index.

    pods: what runs now; only `ip` mode and Horovod look at it, names list every desired pod.
    Raises HostfileError: no_hosts, hosts_not_ready, duplicate_host, ipv6_not_supported. Source: fixtures, section hostfiles.
    """
    if implementation == "Horovod":
        # horovodrun reads empty output as one host with an empty name, so an empty list is a failure, which it retries.
        lines = [f"echo {host}:{slots}" for host, slots in _running(names, groups, pods)] or ["exit 1"]
        return "\n".join(["#!/bin/sh", *lines, ""])
    hosts = _by_address(names, groups, pods) if names.mode == "ip" else _by_name(names, groups)
    if not hosts:
        raise HostfileError("no_hosts")
    if len({host for host, _ in hosts}) < len(hosts):
        raise HostfileError("duplicate_host")
    if implementation in ("IntelMPI", "MPICH"):
        if any(":" in host for host, _ in hosts):
            raise HostfileError("ipv6_not_supported")
        return "".join(f"{host}:{slots}\n" for host, slots in hosts)
    return "".join(f"{host} slots={slots}\n" for host, slots in hosts)


def check_size(data: dict[str, str]) -> None:
    """Refuse a ConfigMap that is larger than Kubernetes stores.

    Raises BuildError with the byte count and the limit, before anything is created.
    """
    size = sum(len(value.encode()) for value in data.values())
    if size > CONFIGMAP_LIMIT:
        message = (
            f"The host list has {size:,} bytes, a ConfigMap holds {CONFIGMAP_LIMIT:,}: use fewer nodes, shorter names, or "
            "short host names (annotation trainui.dev/hostfile-hosts: short)."
        )
        raise BuildError.of("spec.trainer.numNodes", "too_large", message, size=size, max=CONFIGMAP_LIMIT)
