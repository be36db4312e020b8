"""One test cluster from start to end, in the process that keeps it."""

import contextlib
from pathlib import Path
from typing import Any

from tests.rig import (
    access,
    control_plane,
    coscheduling,
    dns,
    image,
    jobset,
    kwok,
    machine,
    programs,
    remains,
    webhooks,
)
from tests.rig.network import Forwarder, take_slot
from tests.rig.processes import Processes
from tests.rig.programs import TRAINER_CRDS
from tests.rig.site import USERS, Site

# Whoever makes pods anew ends first, then who places and runs them, the storage last.
_MAKERS = ["jobset", "kube-controller-manager", "kube-scheduler", "gang-scheduler", "gang-controller", "kwok"]
_RUNNERS = ["kubelet", "coredns"]


class Cluster:
    """Everything there is: control plane, JobSet, gang schedulers, KWOK and, if asked for, the real machine with DNS."""

    def __init__(self, folder: Path, owner: int = 0, with_machine: bool = True) -> None:
        self.folder = folder
        self.with_machine = with_machine
        self.slot = take_slot()
        if self.slot.left is not None:
            remains.clear(self.slot.left, self.slot.network)
        self.slot.note(folder=str(folder), owner=owner)
        self.site = Site(folder, self.slot.network)
        self.forwarder: Forwarder | None = None

    @property
    def processes(self) -> Processes:
        """Return the programs that run."""
        return self.site.processes

    def start(self) -> None:
        """Start everything, side by side where it can, and return when it is usable."""
        site = self.site
        site.network.up()
        control_plane.start_storage(site)
        if self.with_machine:
            machine.start_runtime(site)
        control_plane.wait_for_storage(site)
        self.forwarder = Forwarder(site.network.api_address, 443, site.port("kube-apiserver"))
        api = site.api()
        control_plane.start_controllers(site)
        if self.with_machine:
            machine.start_kubelet(site)
            dns.start(site)
        kwok.start(site)
        first = webhooks.create_crds(api, programs.JOBSET)
        first += webhooks.create_crds(api, programs.GANG_SCHEDULER, "scheduling.x-k8s.io")
        last = webhooks.create_crds(api, TRAINER_CRDS)
        webhooks.wait_until_served(site, first)
        jobset.start(site)
        coscheduling.start(site)
        access.grant(api)
        webhooks.wait_until_served(site, last)
        self._wait()

    def _wait(self) -> None:
        site = self.site
        control_plane.wait_for_controllers(site)
        jobset.install_webhooks(site)
        if self.with_machine:
            site.processes.wait_for(lambda: dns.ready(site), "the DNS server to know the cluster", "coredns")
            machine.wait_until_ready(site)

    def describe(self) -> dict[str, Any]:
        """Return what users of the cluster need to know."""
        site = self.site
        return {
            "folder": str(self.folder),
            "server": site.server,
            "authority": str(site.authority.file),
            "tokens": site.tokens,
            "kubeconfigs": {user: site.kubeconfig(user) for user in USERS},
            "bridge": site.network.bridge,
            "bridge_address": site.network.address,
            "pods": site.network.pods,
            "machine": machine.NAME if self.with_machine else "",
            "image": image.NAME,
        }

    def stop(self) -> None:
        """End everything and leave nothing but the logs: pods first, then programs, mounts, bridge."""
        processes = self.site.processes
        processes.kill_all(_MAKERS)
        if self.with_machine and {"kubelet", "containerd", "kube-apiserver"} <= processes.running.keys():
            with contextlib.suppress(Exception):  # what is left then, clear() ends by force
                machine.remove_pods(self.site)
        processes.kill_all(_RUNNERS)
        if self.forwarder:
            self.forwarder.close()
        processes.kill_all(list(processes.running))
        remains.clear(self.folder, self.slot.network)
        self.slot.release()
