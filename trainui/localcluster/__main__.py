"""`python -m trainui.localcluster --data DIR [--port N]`: serves the embedded cluster until it is told to end."""

import argparse
import asyncio
import logging
import sqlite3
import sys
from pathlib import Path

from trainui.localcluster import controllers
from trainui.localcluster.folder import AlreadyRunning, ClusterFolder
from trainui.localcluster.server import Server


def main(arguments: list[str] | None = None) -> int:
    """Run the cluster; return the exit code: 0 after a clean end, 1 when it cannot start."""
    parser = argparse.ArgumentParser(prog="python -m trainui.localcluster", description="The embedded cluster.")
    parser.add_argument(
        "--data", type=Path, required=True, help="the data folder; the cluster keeps its files in DIR/cluster"
    )
    parser.add_argument("--port", type=int, help="port on 127.0.0.1; by default the last one, or a free one")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        folder = ClusterFolder.prepare(options.data.resolve())
        lock = folder.lock()
    except (AlreadyRunning, OSError) as error:
        return _refuse(str(error))
    with lock:
        try:
            server = Server(folder, folder.bind(options.port), controllers.start)
        except OSError as error:
            return _refuse(f"port {options.port} of 127.0.0.1 cannot be used: {error.strerror}")
        except (sqlite3.Error, ValueError) as error:
            return _refuse(f"{folder.database} cannot be opened: {error}")
        asyncio.run(server.run(lambda: _say_ready(server)))
    return 0


def _say_ready(server: Server) -> None:
    text = f"local cluster ready on https://127.0.0.1:{server.port}, kubeconfig {server.folder.kubeconfig}"
    print(text, flush=True)


def _refuse(reason: str) -> int:
    sys.stderr.write(f"local cluster: {reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
