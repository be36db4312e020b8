"""A DeepSpeed command whose filters fit nothing is refused before the job starts."""

import pytest

from jobs.builders import BuildError, build
from tests.unit.builders.samples import REAL, mpi_runtime, one, trainjob

DEEPSPEED = {"trainui.dev/mpi-implementation": "DeepSpeed"}


def built(args: list[str], command: str = "deepspeed", annotations: dict[str, str] | None = None) -> list[dict]:
    job = trainjob({"command": [command], "args": args, "numNodes": 2, "numProcPerNode": 4}, annotations or DEEPSPEED)
    return build(job, mpi_runtime(), REAL)


@pytest.mark.parametrize(
    "args",
    [
        ["train.py"],
        ["--include", "job-node-0-0.job:0,3", "train.py"],
        ["--exclude=job-node-0-0.job", "train.py"],
        ["train.py", "--include", "nothing-of-deepspeed"],
    ],
)
def test_filters_that_fit(args: list[str]) -> None:
    assert one(built(args), "ConfigMap", "job-mpi-hostfile")["data"]["hostfile"].count("slots=4") == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-i", "worker-1", "train.py"], "no host “worker-1”"),
        (["--include=job-node-0-0.job:4", "train.py"], "only 0 to 3"),
        (["--include=job-node-0-0.job:x", "train.py"], "only 0 to 3"),
        (["-i", "job-node-0-0.job", "-e", "job-launcher-0-0.job", "train.py"], "cannot be used together"),
        (["-e", "job-node-0-0.job@job-launcher-0-0.job", "train.py"], "leaves no host"),
    ],
)
def test_filters_that_do_not(args: list[str], said: str) -> None:
    with pytest.raises(BuildError) as caught:
        built(args)
    [finding] = caught.value.findings
    assert (finding.path, finding.code) == ("spec.trainer.args", "invalid_filter")
    assert said in finding.message


def test_other_programs_may_have_such_options() -> None:
    assert built(["--include", "x"], command="mpirun")
    assert built(["--include", "x", "train.py"], annotations={"a": "b"})
