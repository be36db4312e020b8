"""`python -m trainui.up`: start everything, print the address, stop everything at Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from types import FrameType

from trainui.up.config import BASE_DIR, Config, read_config
from trainui.up.jobs import running_jobs
from trainui.up.preflight import (
    CannotStart,
    check_broker,
    check_disk,
    check_local_cluster,
    check_port,
    start_over,
    take_lock,
)
from trainui.up.processes import manage, processes
from trainui.up.supervisor import Supervisor

GROUND = ("broker", "local cluster")  # what the others connect to


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)


def main() -> int:
    """Run an instance until it is asked to stop; 0 when it stopped in order."""
    config = read_config()
    check_disk(config)
    lock = take_lock(config)
    if os.environ.get("FRESH", "") not in ("", "0"):
        say(f"Starting over: removing {config.data}")
        lock.close()
        start_over(config.data)
        check_disk(config)
        lock = take_lock(config)
    check_port(config)
    check_broker(config)
    if config.own_cluster:
        check_local_cluster(config)
    supervisor = Supervisor(config, say)
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT may be inherited as ignored
        signal.signal(number, _interrupt)
    try:
        _start(config, supervisor)
        supervisor.watch()
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: say("Already stopping; it takes at most the grace of the running jobs."))
        _say_what_stops(config)
    finally:
        supervisor.stop()
        lock.close()
    say("Stopped. `make up` goes on where it was.")
    return 0


def _start(config: Config, supervisor: Supervisor) -> None:
    began = time.monotonic()
    everything = processes(config)
    ground = [process for process in everything if process.name in GROUND]
    others = [process for process in everything if process.name not in GROUND]
    say(f"Starting {' and '.join(process.name for process in ground) or 'with servers that run already'}")
    supervisor.start(*ground)
    say("Preparing database, blueprints and static files")
    greeting = _manage(config, "prepare", *([] if config.sample else ["--no-sample"]))
    say(f"Starting {', '.join(process.name for process in others)}")
    supervisor.start(*others)
    say("")
    say(f"trainui is ready after {time.monotonic() - began:.0f} s:  {config.url}")
    if greeting.strip():
        say(greeting.rstrip())
    say("Ctrl-C stops it.")


def _manage(config: Config, *arguments: str) -> str:
    """Run a `manage.py` command and return what it printed. Raises CannotStart with its last words."""
    done = subprocess.run(
        manage(*arguments),
        cwd=BASE_DIR,
        env=config.environment(),
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        if done.stdout.strip():
            say(done.stdout.rstrip())  # the admin's password may be in it, and is said only once
        words = (done.stderr or done.stdout).strip().splitlines()[-5:]
        if words and words[-1].startswith("trainui: "):  # one clear line of ours
            raise SystemExit(words[-1])
        raise CannotStart(f"`manage.py {arguments[0]}` failed:\n" + "\n".join(f"    {line}" for line in words))
    return done.stdout


def _say_what_stops(config: Config) -> None:
    jobs = running_jobs(config)
    say(
        f"\nStopping {len(jobs)} running job{'s' if len(jobs) != 1 else ''}{': ' + ', '.join(jobs[:5]) if jobs else ''}{' …' if len(jobs) > 5 else ''}"
    )


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
