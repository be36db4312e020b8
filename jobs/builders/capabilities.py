"""What a cluster has, as far as the objects of a job depend on it: plain values, no look-ups."""

from dataclasses import dataclass, field
from typing import Literal

GangScheduler = Literal["in_tree", "coscheduling", "volcano"]

DEFAULT_PORT = 29500


@dataclass(frozen=True)
class Rendezvous:
    """Where the ranks of a job meet on a machine that cannot resolve pod names.

    address: what every rank can reach.
    port: leased to this job alone.
    """

    address: str
    port: int


@dataclass(frozen=True)
class Progress:
    """Where a program reports progress and stores artifacts, and what proves that it may.

    url: answers the POST of Kubeflow's progress report.
    artifacts_url: takes the files a job keeps.
    token: put into a Secret of the job, never into an environment variable.
    audience: in place of a token, where the cluster makes one for each pod: whom that token is for.
    authority: the CA certificate (PEM) of an https address that the image does not know.
    """

    url: str
    artifacts_url: str
    token: str = field(default="", repr=False)
    audience: str = ""
    authority: str = ""


@dataclass(frozen=True)
class Capabilities:
    """The cluster as a builder sees it.

    gang_schedulers: the gang schedulers that are installed.
    auto_gang: what `trainui.dev/gang-scheduler: auto` means here; None makes no pod group.
    replace_gang: use `auto_gang` where a runtime asks for a gang scheduler that is not installed (local cluster).
    in_tree_version: the version of Kubernetes' own PodGroup: v1beta1 since 1.37, v1alpha2 in 1.36 (removed in 1.37).
    coscheduling_scheduler, volcano_scheduler: `schedulerName` of gang pods whose runtime names none, by default the
        names that their charts install; "" leaves it to the runtime, as upstream does.
    pod_dns: pod host names resolve. Where they do not, `rendezvous` takes the place of pod name and port 29500.
    cluster_domain: the last part of a pod's full name; "" ends it at `svc`.
    progress: where programs report; None leaves every trace of it out.
    """

    gang_schedulers: frozenset[GangScheduler] = frozenset()
    auto_gang: GangScheduler | None = None
    replace_gang: bool = False
    in_tree_version: str = "v1beta1"
    coscheduling_scheduler: str = "scheduler-plugins-scheduler"
    volcano_scheduler: str = "volcano"
    pod_dns: bool = True
    cluster_domain: str = "cluster.local"
    rendezvous: Rendezvous | None = None
    progress: Progress | None = None

    @classmethod
    def local(cls, rendezvous: Rendezvous | None = None, progress: Progress | None = None) -> "Capabilities":
        """Return what the local cluster has: its own gang scheduler, no pod names."""
        return cls(
            gang_schedulers=frozenset({"in_tree"}),
            auto_gang="in_tree",
            replace_gang=True,
            pod_dns=False,
            rendezvous=rendezvous,
            progress=progress,
        )
