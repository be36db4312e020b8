"""Makes the Python environments: ours (.venv) and that of local jobs (.trainui/jobs). Standard library only, runs under the system's Python.

An environment is made anew only when its list of requirements changed. Packages are pinned with hashes, so that what is installed is what
was tested.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

BASE = Path(__file__).resolve().parent.parent
REQUIREMENTS = BASE / "requirements"
OLDEST = (3, 11)
NEEDED_BYTES = 2 << 30


def fail(line: str) -> None:
    """End with one line."""
    sys.exit(f"trainui: {line}")


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)


def run(*command: str, env: dict[str, str] | None = None) -> None:
    """Run a command; end with its last lines when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        last = "\n".join(f"    {line}" for line in (done.stderr or done.stdout).strip().splitlines()[-12:])
        fail(f"`{Path(command[0]).name} {' '.join(command[1:4])} ...` failed:\n{last}")


def stamp(files: list[Path]) -> str:
    """Return what an environment made from these files is known by."""
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def make(folder: Path, wants: list[tuple[str, list[str]]], extra: list[Path], what: str) -> None:
    """Make the environment `folder` from requirement files (name, options of the installer) and local packages `extra`."""
    sources = [
        f for package in extra for f in sorted(package.rglob("*")) if f.is_file() and "__pycache__" not in f.parts
    ]
    wanted = stamp([REQUIREMENTS / name for name, _ in wants] + sources)
    # One mark for each list: `make up` and `make test` share an environment and must not undo each other's.
    mark = folder / f"trainui-stamp-{wants[0][0].removesuffix('.txt')}"
    if mark.exists() and mark.read_text() == wanted:
        return
    say(f"Installing {what} into {os.path.relpath(folder, BASE)} (once)")
    if shutil.disk_usage(BASE).free < NEEDED_BYTES:
        fail(f"less than {NEEDED_BYTES >> 30} GB are free at {BASE}. Free space and run `make up` again.")
    python = folder / "bin" / "python"
    if not python.exists():
        shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)  # half an environment would pass for a whole one the next time
            fail(
                "Python cannot make an environment. Install its venv module (Debian: apt install python3-venv) and run `make up` again."
            )
    uv = installer()
    for name, options in wants:
        say(f"  {name}")
        run(*uv, "--python", str(python), "--require-hashes", *options, "-r", str(REQUIREMENTS / name))
    for package in extra:
        run(*uv, "--python", str(python), "--no-deps", "--no-build-isolation", "--reinstall", str(package))
    mark.write_text(wanted)


def installer() -> list[str]:
    """Return the installer's command: uv from its own wheel, pinned like everything else."""
    home = BASE / ".venv"
    uv = home / "bin" / "uv"
    if not uv.exists():
        if not (home / "bin" / "python").exists():
            run(sys.executable, "-m", "venv", str(home))
        run(
            str(home / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            str(REQUIREMENTS / "uv.txt"),
        )
    return [str(uv), "pip", "install", "--quiet"]


def main() -> None:
    """Make what the arguments name: `app` (to run), `dev` (to run and test), `jobs` (where local jobs run), `sdk` (Kubeflow's, for tests)."""
    if sys.version_info < OLDEST:
        fail(
            f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {sys.version.split()[0]}. Install one and run: make up PYTHON=python3.11"
        )
    for name in sys.argv[1:]:
        if name == "jobs":
            if os.environ.get("TRAINUI_JOB_ENV"):
                continue  # somebody's own: nothing is installed into it, and nothing of it removed
            folder = BASE / ".trainui" / "jobs"
            trainer = BASE / "docker" / "trainer"
            make(
                folder, [("jobs.txt", []), ("jobs-data.txt", ["--no-deps"])], [trainer], "the environment of local jobs"
            )
        elif name == "sdk":
            make(BASE / ".trainui" / "sdk", [("sdk.txt", [])], [], "Kubeflow's SDK for tests")
        else:
            # Tests of MPI and of the sample need what jobs need.
            more: list[tuple[str, list[str]]] = [("jobs.txt", [])] if name == "dev" else []
            make(BASE / ".venv", [(f"{name}.txt", []), *more], [], "trainui")


main()
