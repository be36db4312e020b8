"""The files of a pod: volumes, state, logs, and the short folder for its sockets."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainui.localcluster.agent.config import ConfigurationError, Settings
from trainui.localcluster.agent.expansion import expand
from trainui.localcluster.agent.mounts import Mount
from trainui.localcluster.agent.volumes import VolumeError, VolumePlan, sub_path

AGENT_FOLDER = Path(__file__).resolve().parent
TAIL_BYTES = 8192
_PLAIN = re.compile(r"[\w./+@%-]+")


def isolated_python(script: str) -> list[str]:
    """Return the command line of one of our stdlib-only programs: it inherits no settings and imports no site packages."""
    return [sys.executable, "-X", "utf8", "-S", "-I", str(AGENT_FOLDER / script)]


def short_folder(data: Path) -> Path:
    """Return a private folder with a short path, made if missing: socket paths may have 104 bytes only.

    Raises ConfigurationError when someone else owns it.
    """
    parent = Path("/tmp") if os.access("/tmp", os.W_OK) else data  # noqa: S108  made 0700 and checked below
    digest = hashlib.sha256(os.fsencode(data.absolute())).hexdigest()[:8]
    folder = parent / f"trainui-{os.getuid()}-{digest}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise ConfigurationError(f"{folder} belongs to someone else: remove it")
    folder.chmod(0o700)
    return folder


def is_plain(path: Path) -> bool:
    """Tell whether a path can stand unquoted in a shell's words and in lists with colons or commas."""
    return _PLAIN.fullmatch(str(path)) is not None


def helper_folder(settings: Settings, short: Path) -> Path:
    """Return the folder of the programs that every pod has first on its PATH; Open MPI cuts its agent's path at spaces."""
    folder = settings.data / "cluster" / "bin"
    return folder if is_plain(folder) else short / "bin"


def write_helpers(folder: Path) -> None:
    """Write the programs that stand in for ssh and sshd, and before mpirun, in every pod."""
    folder.mkdir(parents=True, exist_ok=True)
    rsh, mpirun = shlex.join(isolated_python("rsh.py")), shlex.join(isolated_python("mpirun.py"))
    commands = {"trainui-rsh": f"{rsh} call", "ssh": f"{rsh} call", "sshd": f"{rsh} serve"}
    commands |= dict.fromkeys(("mpirun", "mpiexec", "prterun"), f'{mpirun} "$0"')
    # PRRTE's daemon misses the end of a program that ends within milliseconds, such as `hostname`, and mpirun waits for ever.
    put(folder / "trainui-rank", b'#!/bin/sh\nsleep 0.05\nexec "$@"\n', 0o755)
    for name, command in commands.items():
        put(folder / name, f'#!/bin/sh\nexec {command} "$@"\n'.encode(), 0o755)


def put(path: Path, content: bytes, mode: int) -> None:
    """Write a file so that a reader sees the old or the new content, with these permission bits."""
    temporary = path.with_name(f".{path.name}.tmp")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    os.replace(temporary, path)


def remove(folder: Path) -> None:
    """Remove a folder with all it holds, also where a program took its own permissions away."""
    if not folder.exists():
        return
    for parent, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(parent, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


class PodFolder:
    """Where one pod lives on disk. Names of ours begin with `_`, which no container's name can."""

    def __init__(self, settings: Settings, short: Path, uid: str) -> None:
        self.root = settings.pods / uid
        self.short = short / uid.replace("-", "")[:12]
        self.home = self.root / "_work"
        self.helpers = helper_folder(settings, short)
        self.rsh = settings.data / "cluster" / "rsh"
        self._claims = settings.claims
        self._state = self.root / "_state.json"
        self._written: dict[str, set[str]] = {}  # volume -> the files we wrote into it

    def create(self) -> None:
        """Make the folders; those that exist stay."""
        for folder in (self.root, self.home, self.root / "volumes"):
            folder.mkdir(parents=True, exist_ok=True)
        self.short.mkdir(mode=0o700, exist_ok=True)

    def file(self, container: str, restarts: int, suffix: str) -> Path:
        """Return an attempt's file: suffix "log", "exit" or "pid"."""
        return self.root / container / f"{restarts}.{suffix}"

    def termination_log(self, container: str) -> Path:
        """Return the file in which a program may leave its last words."""
        return self.root / container / "_termination"

    def prepare_container(self, container: str) -> None:
        """Make a container's folder and clear its last words."""
        folder = self.root / container
        folder.mkdir(parents=True, exist_ok=True)
        self.termination_log(container).write_bytes(b"")

    def load_state(self) -> dict[str, Any] | None:
        """Return what was saved, or None."""
        return read_json(self._state)

    def save_state(self, state: Mapping[str, Any]) -> None:
        """Keep a pod's state for the next agent."""
        self.root.mkdir(parents=True, exist_ok=True)
        put(self._state, json.dumps(state).encode(), 0o600)

    def set_up(self, plan: VolumePlan, namespace: str) -> Path:
        """Make a volume and return its folder. Raises VolumeError."""
        try:
            if plan.claim is not None:
                folder = self._claims / namespace / plan.claim
                folder.mkdir(parents=True, exist_ok=True)
                return folder
            if plan.host_path is not None:
                return _host_folder(Path(plan.host_path), plan.create)
            folder = self.root / "volumes" / plan.name
            folder.mkdir(parents=True, exist_ok=True)
            for file in plan.files:
                path = folder / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                if not _same(path, file.content, file.mode):
                    put(path, file.content, file.mode)
            paths = {file.path for file in plan.files}
            for gone in self._written.get(plan.name, set()) - paths:
                (folder / gone).unlink(missing_ok=True)
            self._written[plan.name] = paths
            return folder
        except OSError as error:
            raise VolumeError(f"{error.filename or plan.name}: {error.strerror}") from error

    def mounts(
        self, container: Mapping[str, Any], folders: Mapping[str, Path], variables: Mapping[str, str]
    ) -> list[Mount]:
        """Return the mounts of a container, with the folders of `subPath` made; `variables` are for `subPathExpr`.

        Raises VolumeError.
        """
        mounts = []
        for mount in container.get("volumeMounts") or []:
            folder = folders.get(mount["name"])
            if folder is None:
                raise VolumeError(f"volume {mount['name']} is not declared in the pod")
            below = sub_path(mount.get("subPath") or expand(mount.get("subPathExpr") or "", variables))
            if below:
                folder = folder / below
                try:
                    if not folder.exists():
                        folder.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise VolumeError(f"subPath {below}: {error.strerror}") from error
            mounts.append(Mount(mount["name"], mount["mountPath"], str(self._plain_path(folder))))
        return mounts

    def _plain_path(self, folder: Path) -> Path:
        """Return a path that does not fall apart when it takes the place of a mount path in a shell script."""
        if is_plain(folder):
            return folder
        link = self.short / f"v{hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]}"
        with contextlib.suppress(FileExistsError):
            link.symlink_to(folder)
        return link

    def log_tail(self, container: str, restarts: int, size: int = TAIL_BYTES) -> str:
        """Return the end of a log without stamps, for hints and last words."""
        try:
            with self.file(container, restarts, "log").open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - 2 * size))
                lines = file.read().split(b"\n")
        except OSError:
            return ""
        words = [line.split(b" ", 3)[3] for line in lines if line.count(b" ") >= 3]
        return b"\n".join(words)[-size:].decode("utf-8", "replace")

    def last_words(self, container: str) -> str:
        """Return what a program left in its termination log, at most 4096 bytes."""
        try:
            with self.termination_log(container).open("rb") as file:
                return file.read(4096).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def shim_fault(self, container: str) -> str:
        """Return the last line that a broken shim left, '' when it left none."""
        try:
            lines = (self.root / container / "_shim.err").read_text("utf-8", "replace").strip().split("\n")
        except OSError:
            return ""
        return lines[-1]

    def remove_short(self) -> None:
        """Remove the folder of sockets and temporary files."""
        remove(self.short)

    def unregister(self, namespace: str, hostname: str) -> None:
        """Remove the registration for ssh that a worker of this pod left when it was killed."""
        path = self.rsh / namespace / f"{hostname}.json"
        if str((read_json(path) or {}).get("socket", "")).startswith(f"{self.short}/"):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all files of the pod."""
        self.remove_short()
        remove(self.root)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None when there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _same(path: Path, content: bytes, mode: int) -> bool:
    try:
        return path.read_bytes() == content and stat.S_IMODE(path.stat().st_mode) == mode
    except OSError:
        return False


def _host_folder(path: Path, create: bool) -> Path:
    if not path.exists():
        if not create:
            raise VolumeError(f"hostPath {path} does not exist")
        path.mkdir(parents=True)
    return path


def pod_folders(settings: Settings) -> Sequence[str]:
    """Return the uids of all pods that have files."""
    try:
        return sorted(entry.name for entry in settings.pods.iterdir() if entry.is_dir())
    except FileNotFoundError:
        return []
