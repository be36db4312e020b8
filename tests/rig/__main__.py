"""`make cluster`: start a test cluster for people and keep it until Ctrl-C; with --keep, for another process."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.rig.keeper import Keeper
from tests.rig.rig import Rig, obstacle


def main() -> int:
    """Keep a cluster in the foreground."""
    parser = argparse.ArgumentParser(prog="python -m tests.rig", description=__doc__)
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="where its data go; a temporary folder by default")
    parser.add_argument("--owner", type=int, default=0, help="the process with which it ends")
    parser.add_argument("--no-machine", action="store_true", help="without the real machine: no containers")
    parser.add_argument("--fake", metavar="N", type=int, default=0, help="add fake machines of 8 GPUs")
    given = parser.parse_args()
    if why := obstacle():
        print(why, file=sys.stderr)
        return 1
    if given.keep:
        return Keeper(given.keep, given.owner, not given.no_machine).run()
    folder = Path(tempfile.mkdtemp(prefix="trainui-rig-"))
    try:
        return Keeper(folder, 0, not given.no_machine).run(lambda facts: _announce(facts, given.fake))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _announce(facts: dict[str, Any], fake: int) -> None:
    kubeconfigs = facts["kubeconfigs"]
    fakes = Rig(facts).add_machines(fake, "gpu")
    print(
        f"""
The test cluster is ready after {facts["start_seconds"]:.0f} s. Ctrl-C ends it and removes all of it.

  export KUBECONFIG={kubeconfigs["admin"]}

  {kubeconfigs["trainui"]}   what deploy/ allows trainui
  {kubeconfigs["stranger"]}   no rights

  API server      {facts["server"]}, from pods https://kubernetes.default
  real machine    {facts["machine"] or "none"}; pods of image {facts["image"]} (Python, numpy, mpi4py, OpenMPI, sshd)
  this computer   {facts["bridge_address"]} as pods see it
  schedulers      default-scheduler with scheduling.k8s.io/v1beta1 PodGroups, gang-scheduler with Coscheduling
  controllers     JobSet with its webhooks; CRDs of the Kubeflow Trainer
  fake machines   {", ".join(fakes) or "none (FAKE=4 makes some)"}; the life of their pods: tests/rig/README.md
  logs            {facts["folder"]}/logs
""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
