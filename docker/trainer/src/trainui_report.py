"""Progress reports of a training program, in one file of the standard library: copy it beside your program, or install it.

    import trainui_report
    trainui_report.report(40, {"loss": 0.31, "accuracy": 0.91}, eta_seconds=90)
    trainui_report.save_artifact("model.npz")

It speaks Kubeflow Trainer's progress report, so it works wherever a TrainJob has KUBEFLOW_TRAINER_SERVER_URL; without that it
does nothing. Only rank 0 reports. Nothing here raises into the program: what goes wrong is said once on standard error.
"""

import atexit
import contextlib
import json
import os
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

THROTTLE_SECONDS = 5.0  # as Kubeflow's own SDK: at most one report in this time
TIMEOUT_SECONDS = 5.0
REST_SECONDS = 30.0  # after a failure, so that a dead server does not slow the training
UPLOAD_TIMEOUT_SECONDS = 300.0
UPLOAD_ATTEMPTS = 3
MAX_METRICS = 256
MAX_TEXT = 64
RANK_VARIABLES = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "JAX_PROCESS_ID",
    "SLURM_PROCID",
    "DMLC_TASK_ID",
    "JOB_COMPLETION_INDEX",  # last: a node of a launcher has it too
)


def rank() -> int:
    """Return this process's rank as the launcher told it, 0 when it told none."""
    for name in RANK_VARIABLES:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 0


def report(
    progress_percent: float | None = None,
    metrics: Mapping[str, Any] | None = None,
    eta_seconds: float | None = None,
) -> bool:
    """Report progress; return whether it was sent now.

    At most one report is sent in five seconds; the last one that was held back is sent when the program ends, and 100 percent
    at once. Metrics of earlier reports are kept until they are given again. Never raises.
    """
    try:
        return _reporter.report(progress_percent, metrics or {}, eta_seconds)
    except Exception as error:
        _complain(error)
        return False


def flush() -> bool:
    """Send what was held back; return whether something was sent. Never raises."""
    try:
        return _reporter.flush()
    except Exception as error:
        _complain(error)
        return False


def save_artifact(path: str, name: str | None = None, all_ranks: bool = False) -> bool:
    """Keep a file with the job, under its own name or another; return whether it was kept.

    Only rank 0 keeps files unless `all_ranks` is set. A second file of the same name replaces the first. Never raises.
    """
    try:
        if rank() != 0 and not all_ranks:
            return False
        return _upload(path, name or os.path.basename(path))
    except Exception as error:
        _complain(error)
        return False


class _Reporter:
    """Holds back reports that come too soon."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, str] = {}
        self._pending: dict[str, Any] | None = None
        self._next = 0.0

    def report(self, percent: float | None, metrics: Mapping[str, Any], eta: float | None) -> bool:
        if rank() != 0 or not os.environ.get("KUBEFLOW_TRAINER_SERVER_URL"):
            return False
        with self._lock:
            for name, value in metrics.items():
                self._metrics[str(name)[:MAX_TEXT]] = _text(value)
            status: dict[str, Any] = {"lastUpdatedTime": _now()}
            if percent is not None:
                status["progressPercentage"] = max(0, min(100, int(percent)))
            if eta is not None and 0 <= eta < 2**31:
                status["estimatedRemainingSeconds"] = int(eta)
            entries: list[dict[str, str]] = [{"name": n, "value": v} for n, v in self._metrics.items()]
            if entries:
                status["metrics"] = entries[:MAX_METRICS]
            self._pending = status
            if time.monotonic() < self._next and not (percent is not None and percent >= 100):
                return False
            return self._send()

    def flush(self) -> bool:
        with self._lock:
            return self._send() if self._pending is not None else False

    def _send(self) -> bool:
        body = json.dumps({"trainerStatus": self._pending}).encode()
        self._next = time.monotonic() + REST_SECONDS
        request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], data=body, method="POST")
        request.add_header("Content-Type", "application/json")
        _open(request, TIMEOUT_SECONDS)
        self._next = time.monotonic() + THROTTLE_SECONDS
        self._pending = None
        return True


def _text(value: Any) -> str:
    try:
        return repr(float(value))[:MAX_TEXT]
    except (TypeError, ValueError):
        return str(value)[:MAX_TEXT] or "-"


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: UP017  images may have Python 3.10


def _open(request: urllib.request.Request, timeout: float) -> None:
    """Send a request with the job's token. Raises OSError, urllib's errors among them, for any answer but a good one."""
    token = os.environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN")
    if token:
        with open(token, encoding="utf-8") as file:  # read each time: a cluster may renew it
            request.add_header("Authorization", "Bearer " + file.read().strip())
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]  # the server is inside the cluster
    authority = os.environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT")
    if authority and request.type == "https":
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority)))
    with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
        answer.read()


def _upload(path: str, name: str) -> bool:
    base = os.environ.get("TRAINUI_ARTIFACTS_URL")
    if not base:
        return False
    url = base.rstrip("/") + "/" + quote(name)
    for attempt in range(1, UPLOAD_ATTEMPTS + 1):
        try:
            with open(path, "rb") as file:
                request = urllib.request.Request(url, data=file, method="PUT")
                request.add_header("Content-Type", "application/octet-stream")
                request.add_header("Content-Length", str(os.fstat(file.fileno()).st_size))
                _open(request, UPLOAD_TIMEOUT_SECONDS)
            return True
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == UPLOAD_ATTEMPTS:
                raise
        except urllib.error.URLError:
            if attempt == UPLOAD_ATTEMPTS:
                raise
        time.sleep(attempt)
    return False


_said: set[str] = set()


def _complain(error: Exception) -> None:
    """Say what went wrong, each thing once."""
    text = str(error) or type(error).__name__
    if isinstance(error, urllib.error.HTTPError):
        with contextlib.suppress(OSError):
            text += ": " + error.read(300).decode("utf-8", "replace")
    if text not in _said:
        _said.add(text)
        with contextlib.suppress(OSError, ValueError):
            print("trainui_report: " + text, file=sys.stderr, flush=True)


_reporter = _Reporter()
atexit.register(flush)
