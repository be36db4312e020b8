"""The image of the real machine's pods: Debian packages as one layer (mmdebstrap writes it), a small layer of ours above, and the container store they are in.

No image registry is asked. The packages' layer and a container store with the image imported are kept in the cache, since they take a minute and ten seconds.
"""

import datetime
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.rig.programs import RigError, Say, cache, locked, progress

PACKAGES = (
    "ca-certificates",
    "openmpi-bin",
    "openssh-client",
    "openssh-server",
    "procps",
    "python3",
    "python3-mpi4py",
    "python3-numpy",
)
NAME = "local/mpi:1"
PAUSE = "local/pause:1"
# The images that trainui's own blueprints name: no registry can be reached, so ours stands in for them.
STANDS_IN_FOR = (
    "trainui/trainer:0.1",
    "library/python:3.11-slim",
    "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime",
)
_REPO = Path(__file__).resolve().parents[2]
TORCHRUN = _REPO / "tests" / "jobs" / "standins" / "torchrun"
REPORT = _REPO / "docker" / "trainer" / "src" / "trainui_report.py"
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_RECIPE = 1


def store(import_into: Callable[[Path, Path], None], say: Say = progress) -> Path:
    """Return the cached container store that holds the image, made first where it is missing: `import_into(archive, folder)` fills it."""
    layer = small_layer()
    digest = hashlib.sha256(
        layer + json.dumps([_base_key(), NAME, PAUSE, STANDS_IN_FOR, _RECIPE]).encode()
    ).hexdigest()[:12]
    made = cache() / f"image-{digest}"
    if made.is_dir():
        return made
    with locked("image"):
        if made.is_dir():
            return made
        base = _base(say)
        folder = Path(tempfile.mkdtemp(prefix=f"{made.name}.tmp-", dir=cache()))
        try:
            write_archive(folder / "image.tar", base, layer)
            import_into(folder / "image.tar", folder / "store")
            (folder / "image.tar").unlink()
            folder.rename(made)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return made


def copy_store(cached: Path, target: Path) -> None:
    """Copy a container store: its layers are never written to, so hard links do where both are on one file system; its databases are copied."""
    target.parent.mkdir(parents=True, exist_ok=True)
    linked = subprocess.run(["cp", "-al", str(cached), str(target)], capture_output=True, check=False)
    if linked.returncode:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", str(cached), str(target)], check=True)
        return
    for database in target.rglob("*.db"):
        if "snapshots" not in database.relative_to(target).parts:
            content = database.read_bytes()
            database.unlink()
            database.write_bytes(content)


def _base_key() -> str:
    month = datetime.datetime.now(datetime.UTC).strftime("%Y-%m")
    return hashlib.sha256(json.dumps([sorted(PACKAGES), _suite(), month, _RECIPE]).encode()).hexdigest()[:12]


def _base(say: Say) -> Path:
    """Return the tar of the packages' layer; where this month's cannot be made, an older one of the same packages would be another key and is not taken."""
    made = cache() / f"debian-{_base_key()}.tar"
    if made.exists():
        return made
    began = time.monotonic()
    say("test cluster: building the image of the pods from Debian packages ...")
    unfinished = made.with_suffix(".tmp.tar")
    options = [
        "--mode=root",
        "--variant=minbase",
        "--aptopt=APT::Install-Recommends false",
        "--dpkgopt=force-unsafe-io",
    ]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")]
    options += ["--include=" + ",".join(PACKAGES)]
    options += ['--customize-hook=chroot "$1" useradd --uid 1000 --create-home --shell /bin/bash mpiuser']
    command = ["mmdebstrap", *options, _suite(), str(unfinished), *_sources()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        raise RigError("mmdebstrap could not make the image of the pods:\n" + "\n".join(done.stderr.splitlines()[-12:]))
    unfinished.rename(made)
    say(f"test cluster: built the image of the pods in {time.monotonic() - began:.0f} s")
    return made


def _suite() -> str:
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return release.get("VERSION_CODENAME", "stable").strip('"')


def _sources() -> list[str]:
    """Return the lines that name the machine's own Debian source, as apt itself understands its configuration."""
    wanted = "$(ORIGIN)|$(SUITE)|$(CODENAME)|$(RELEASE)|$(COMPONENT)|$(REPO_URI)"
    said = subprocess.run(
        ["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = []
    for entry in said.stdout.splitlines():
        origin, _, codename, release, component, address = entry.split("|")
        if origin == "Debian" and codename.startswith(_suite()) and component == "main":
            lines.append(f"deb {address} {release} main")
    if not lines:
        raise RigError(
            "apt's configuration names no Debian source (after apt-get update): the image of the pods cannot be made"
        )
    return sorted(set(lines))


def small_layer() -> bytes:
    """Return the tar of what Debian lacks: `python` by that name, trainui_report as our own image has it, and the stand-in for torchrun."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        link = tarfile.TarInfo("usr/local/bin/python")
        link.type, link.linkname, link.mode = tarfile.SYMTYPE, "/usr/bin/python3", 0o777
        tar.addfile(link)
        _add(tar, "usr/lib/python3/dist-packages/trainui_report.py", REPORT.read_bytes())
        _add(tar, "usr/local/bin/torchrun", b"#!/usr/bin/python3\n" + TORCHRUN.read_bytes(), mode=0o755)
    return buffer.getvalue()


def write_archive(target: Path, base: Path, layer: bytes) -> None:
    """Write the tar that `docker save` would: the image, its stand-in names and the pause image, all of the same layers."""
    digests = [_digest(base), hashlib.sha256(layer).hexdigest()]
    names = [NAME, *STANDS_IN_FOR]
    images = []
    with tarfile.open(target, "w") as tar:
        tar.add(base, f"{digests[0]}.tar")
        _add(tar, f"{digests[1]}.tar", layer)
        for tags, command in ((names, ["/bin/bash"]), ([PAUSE], ["/bin/sleep", "infinity"])):
            config = {
                "architecture": _architecture(),
                "os": "linux",
                "config": {"Env": [_PATH], "Cmd": command, "WorkingDir": "/"},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
            }
            content = json.dumps(config).encode()
            file = f"{hashlib.sha256(content).hexdigest()}.json"
            _add(tar, file, content)
            layers = [f"{digest}.tar" for digest in digests]
            images.append({"Config": file, "RepoTags": [f"docker.io/{tag}" for tag in tags], "Layers": layers})
        _add(tar, "manifest.json", json.dumps(images).encode())


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _architecture() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    tar.addfile(info, io.BytesIO(content))
