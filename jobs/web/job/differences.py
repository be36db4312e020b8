"""How a job on the local cluster differs from the same job on Kubernetes: said on its page, so that nobody is surprised elsewhere."""

from jobs.models import TrainJob

DIFFERENCES = (
    (
        "Images",
        "No image is pulled: programs of the machine run, in the job environment of trainui. The image is kept for another cluster.",
    ),
    (
        "Isolation",
        "A pod is a process group of this machine with a clean environment, not a container: it sees the machine's files and network.",
    ),
    ("Volumes", "Volumes are folders. They are removed with the pod, except those of a claim."),
    ("GPUs", "Machines and GPU slots are virtual: they order who runs when, and hide no device."),
)
_RENDEZVOUS = "Pod names do not resolve: ranks meet at an address of this machine and a port leased to the job"
_MPI = ("MPI", "mpirun starts its ranks through an agent of trainui that reads the same hostfile, in place of sshd.")


def of_local_cluster() -> list[tuple[str, str]]:
    """Return (what, how) of everything in which the local cluster differs."""
    return [
        *DIFFERENCES[:1],
        ("Rendezvous", f"{_RENDEZVOUS}, in place of pod name and 29500."),
        *DIFFERENCES[1:],
        _MPI,
        (
            "Use",
            "It is for trying out, developing, and one trusted user on one workstation. Other clusters need no other jobs.",
        ),
    ]


def differences(job: TrainJob) -> list[tuple[str, str]]:
    """Return (what, how) for a job, MPI only where it uses it."""
    port = f" ({job.port})" if job.port else ""
    found = [
        *DIFFERENCES[:1],
        ("Rendezvous", f"{_RENDEZVOUS}{port}, in place of pod name and 29500."),
        *DIFFERENCES[1:],
    ]
    policy = ((job.detail.runtime or {}).get("spec") or {}).get("mlPolicy") or {}
    return [*found, _MPI] if "mpi" in policy else found
