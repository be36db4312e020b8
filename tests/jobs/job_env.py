"""An environment of jobs for tests: the real one of this checkout, and beside its programs stand-ins for what is not installed."""

import shutil
from pathlib import Path

from tests.stack import REPO

REAL = REPO / ".trainui" / "jobs"
STAND_INS = Path(__file__).with_name("standins")


def make_job_env(folder: Path) -> Path:
    """Make the environment in a new folder and return it: Python takes for its own what pyvenv.cfg beside its link says."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").symlink_to(REAL / "lib")
    shutil.copy(REAL / "pyvenv.cfg", folder / "pyvenv.cfg")
    for program in (REAL / "bin").iterdir():
        (folder / "bin" / program.name).symlink_to(program)
    for script in STAND_INS.iterdir():
        target = folder / "bin" / script.name
        target.write_text(f"#!{folder}/bin/python\n{script.read_text()}")
        target.chmod(0o755)
    return folder
