"""The programs of the test cluster, built from Go modules into a cache outside the checkout, each only when it is missing.

An entry of the cache is a folder named after the program, its version and a hash of the recipe. It comes into being whole (a rename) and under a lock, so
that several test processes and checkouts may ask at once. Manifests (CRDs, webhooks, stages) are kept beside the programs: a warm start needs no Go.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Say = Callable[[str], None]


class RigError(Exception):
    """The test cluster cannot be built or started; the message says which part of it and why."""


@dataclass(frozen=True)
class Program:
    """One command of a Go module at an exact version; `package` is empty where a module is only asked for its manifests."""

    name: str
    module: str
    version: str
    package: str = ""
    link_flags: str = ""
    extra: tuple[str, ...] = ()  # modules that its go.mod forgets, taken at the version of their siblings
    manifests: tuple[str, ...] = ()  # globs in the module whose files are kept beside the program
    main: str = ""  # a main.go of ours, where `package` is "."

    @property
    def key(self) -> str:
        """Return the name of the cache folder."""
        recipe: list[object] = [
            RECIPE,
            self.module,
            self.version,
            self.package,
            self.link_flags,
            self.extra,
            self.manifests,
        ]
        recipe += [self.main] if self.main else []
        digest = hashlib.sha256((json.dumps(recipe) + platform.machine()).encode()).hexdigest()[:10]
        return f"{self.name}-{self.version}-{digest}"


RECIPE = 1  # raised when go_mod() or the build command changes
KUBERNETES = "v1.37.2"
_VERSION_PACKAGE = "k8s.io/component-base/version"
# Without these CRD and webhook code of the API server sees v0.0.0.
_KUBERNETES_FLAGS = " ".join(
    f"-X {_VERSION_PACKAGE}.{name}={value}"
    for name, value in {
        "gitVersion": KUBERNETES,
        "gitMajor": KUBERNETES[1:].split(".")[0],
        "gitMinor": KUBERNETES.split(".")[1],
    }.items()
)


def _kubernetes(name: str) -> Program:
    return Program(name, "k8s.io/kubernetes", KUBERNETES, f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_FLAGS)


def _scheduler_plugins(name: str, command: str, *manifests: str) -> Program:
    module = "sigs.k8s.io/scheduler-plugins"
    # externaljwt is a staging module that its go.mod leaves out, though k8s.io/kubernetes imports it.
    return Program(
        name, module, "v0.35.4-devel", f"{module}/cmd/{command}", extra=("k8s.io/externaljwt",), manifests=manifests
    )


ETCD = Program("etcd", "go.etcd.io/etcd/server/v3", "v3.7.3", "go.etcd.io/etcd/server/v3")
APISERVER = _kubernetes("kube-apiserver")
CONTROLLER_MANAGER = _kubernetes("kube-controller-manager")
SCHEDULER = _kubernetes("kube-scheduler")
KUBELET = _kubernetes("kubelet")
JOBSET = Program(
    "jobset",
    "sigs.k8s.io/jobset",
    "v0.12.0",
    "sigs.k8s.io/jobset",
    manifests=("config/components/crd/bases/*.yaml", "config/components/webhook/manifests.yaml"),
)
KWOK = Program("kwok", "sigs.k8s.io/kwok", "v0.8.0", "sigs.k8s.io/kwok/cmd/kwok")
# With the plugins that the cluster needs, as its manual describes; those of the cloud providers would take minutes more.
COREDNS = Program(
    "coredns",
    "github.com/coredns/coredns",
    "v1.15.0",
    ".",
    main="package main\n\nimport (\n"
    + "".join(
        f'\t_ "github.com/coredns/coredns/plugin/{name}"\n'
        for name in ("bind", "errors", "kubernetes", "ready", "template")
    )
    + '\t"github.com/coredns/coredns/coremain"\n)\n\nfunc main() { coremain.Run() }\n',
)
GANG_SCHEDULER = _scheduler_plugins("gang-scheduler", "scheduler", "config/crd/bases/*.yaml")
GANG_CONTROLLER = _scheduler_plugins("gang-controller", "controller")
_TRAINER = ("trainer", "github.com/kubeflow/trainer/v2", "v2.3.0")
_TRAINER_MANIFESTS = ("manifests/base/crds/*.yaml", "manifests/base/webhook/*.yaml")
TRAINER_CRDS = Program("trainer-crds", *_TRAINER[1:], manifests=_TRAINER_MANIFESTS)
# Not needed by the cluster itself: tests and benches of other controllers ask for them.
TRAINER = Program(
    *_TRAINER, "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager", manifests=_TRAINER_MANIFESTS
)
# Kueue reads two certificates from fixed folders (kueue.py): the second is to be the first.
KUEUE_CERTIFICATES = "/etc/kueue/metrics/certs"
KUEUE = Program(
    "kueue",
    "sigs.k8s.io/kueue",
    "v0.17.0",
    "sigs.k8s.io/kueue/cmd/kueue",
    f"-X sigs.k8s.io/kueue/pkg/visibility.certDir={KUEUE_CERTIFICATES}",
    manifests=("config/components/crd/bases/*.yaml", "config/components/webhook/manifests.yaml"),
)
CLUSTER = (
    TRAINER_CRDS,
    ETCD,
    APISERVER,
    CONTROLLER_MANAGER,
    SCHEDULER,
    JOBSET,
    KWOK,
    KUBELET,
    COREDNS,
    GANG_SCHEDULER,
    GANG_CONTROLLER,
)


def cache() -> Path:
    """Return the cache folder: TRAINUI_RIG_CACHE, else `trainui/rig` in the user's cache."""
    named = os.environ.get("TRAINUI_RIG_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trainui" / "rig"


def progress(text: str) -> None:
    """Print one line of progress, past pytest's capture."""
    print(text, file=sys.__stderr__, flush=True)


def entry(program: Program) -> Path:
    """Return the cache folder of a program, there or not."""
    return cache() / program.key


def binary(program: Program) -> str:
    """Return the path of a built program."""
    return str(entry(program) / program.name)


def manifests(program: Program, contains: str = "") -> list[Path]:
    """Return the kept manifests of a module whose path contains a word, sorted."""
    folder = entry(program) / "manifests"
    return sorted(path for path in folder.rglob("*.yaml") if contains in str(path.relative_to(folder)))


def missing(programs: Sequence[Program] = CLUSTER) -> list[Program]:
    """Return those that are not in the cache yet."""
    return [program for program in programs if not entry(program).is_dir()]


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock of the cache; the kernel lets go of it when the process ends."""
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure(programs: Sequence[Program] = CLUSTER, say: Say = progress) -> None:
    """Build what is missing, one program after the other, telling which, how many and how long."""
    if not missing(programs):
        return
    with locked("build"):
        absent = missing(programs)
        for number, program in enumerate(absent, 1):
            began = time.monotonic()
            what = f"{program.name} {program.version} ({number} of {len(absent)})"
            say(f"test cluster: building {what} ...")
            _make(program)
            say(f"test cluster: built {what} in {time.monotonic() - began:.0f} s")


def _make(program: Program) -> None:
    if shutil.which("go") is None:
        raise RigError(f"Go is not installed: {program.name} {program.version} cannot be built")
    for left in cache().glob(f"{program.key}.tmp-*"):
        shutil.rmtree(left, ignore_errors=True)  # of a build that was killed; the lock is ours
    folder = Path(tempfile.mkdtemp(prefix=f"{program.key}.tmp-", dir=cache()))
    try:
        module = _download(program)
        for pattern in program.manifests:
            _keep_manifests(Path(module["Dir"]), pattern, folder / "manifests")
        if program.package:
            _build(program, Path(module["GoMod"]).read_text(), folder)
        folder.chmod(0o755)
        folder.rename(entry(program))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(program: Program) -> dict[str, str]:
    """Fetch the module into Go's module cache and return where it and its go.mod are."""
    said = _go(["mod", "download", "-json", f"{program.module}@{program.version}"], cache(), program)
    return dict(json.loads(said))


def _keep_manifests(module: Path, pattern: str, target: Path) -> None:
    found = sorted(module.glob(pattern))
    if not found:
        raise RigError(
            f"{module.name} has no {pattern}: its files were moved; change the recipe in tests/rig/programs.py"
        )
    for path in found:
        kept = target / path.relative_to(module)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, kept)


def _build(program: Program, go_mod_of_module: str, folder: Path) -> None:
    source = folder / "source"
    source.mkdir()
    (source / "go.mod").write_text(go_mod(program, go_mod_of_module))
    if program.main:
        (source / "main.go").write_text(program.main)
    flags = f"-s -w {program.link_flags}".strip()
    command = ["build", "-mod=mod", "-trimpath", "-ldflags", flags, "-o", str(folder / program.name), program.package]
    _go(command, source, program)


def go_mod(program: Program, of_module: str) -> str:
    """Return the go.mod that builds a program: Go ignores the `replace` lines of a dependency, so they are repeated from the module's own file."""
    go = re.search(r"^go (\S+)", of_module, re.MULTILINE)
    lines = ["module trainui.dev/rig", f"go {go[1] if go else '1.24'}", f"require {program.module} {program.version}"]
    staging = "v0" + program.version[program.version.index(".") :]
    for name, target, at in re.findall(
        r"^(?:replace\s+|\s+)(\S+)(?: v\S+)? => (\S+)(?: (v\S+))?", of_module, re.MULTILINE
    ):
        if target.startswith("./staging/"):
            lines.append(f"replace {name} => {name} {staging}")
        elif at:
            lines.append(f"replace {name} => {target} {at}")
    for name in program.extra:
        lines.append(f"replace {name} => {name} {_sibling(lines)}")
    return "\n".join(lines) + "\n"


def _sibling(lines: list[str]) -> str:
    """Return the version at which the staging modules are replaced."""
    return next(line.split()[-1] for line in lines if line.startswith("replace k8s.io/api "))


def _go(arguments: list[str], folder: Path, program: Program) -> str:
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(["go", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise RigError(
            f"{program.name} {program.version} cannot be built: go {arguments[0]} ended with {done.returncode}\n{last}"
        )
    return done.stdout
