"""`python -m trainui.localcluster.agent`: the process that runs the pods of the local cluster."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from trainui.localcluster.agent.agent import Agent
from trainui.localcluster.agent.config import (
    ConfigurationError,
    Settings,
    check_job_env,
    read_environment,
    read_kubeconfig,
)
from trainui.localcluster.agent.machines import MachineError, parse_machines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent until SIGTERM or SIGINT; return the exit code: 2 for settings that cannot be used."""
    parser = argparse.ArgumentParser(prog="trainui.localcluster.agent", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="how to reach the local cluster's API")
    parser.add_argument("--data", type=Path, required=True, help="folder of the installation's data")
    parser.add_argument("--machines", default="", help="NAME:cpu=4,memory=8Gi;NAME:... (empty: two machines)")
    parser.add_argument("--job-env", type=Path, required=True, help="virtual environment of the jobs' programs")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        cores, memory = os.cpu_count() or 1, psutil.virtual_memory().total
        settings = Settings(
            data=options.data.absolute(),
            job_env=check_job_env(options.job_env),
            machines=parse_machines(options.machines, cores, memory),
            **read_environment(os.environ),
        )
        agent = Agent(settings, read_kubeconfig(options.kubeconfig))
    except (ConfigurationError, MachineError) as error:
        print(f"node agent: {error}", file=sys.stderr)
        return 2
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: agent.stop())
    return agent.run()


if __name__ == "__main__":
    sys.exit(main())
