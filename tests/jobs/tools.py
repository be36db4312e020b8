"""What several tests of whole jobs share."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from runtimes.spec.quantities import parse
from tests.stack import Json, Stack, kubectl_path, wait_for

POD_TAG = "TRAINUI_POD_UID"  # the node agent's mark in the environment of everything a pod starts
SUBMISSION_ID = "trainui.dev/submission-id"
# A container's first process ignores the signals that it does not trap.
FOREVER = 'trap "exit 143" TERM; echo begun; while true; do sleep 0.2; done'


def objects(stack: Stack, kind: str, selector: str = "", namespace: str = "") -> list[Json]:
    """Return objects of the cluster as kubectl reads them."""
    arguments = ["get", kind, "-n", namespace or stack.project, "-o", "json"]
    return list(json.loads(stack.kubectl(*arguments, *(["-l", selector] if selector else [])))["items"])


def pods(stack: Stack, job: str) -> list[Json]:
    """Return the pods of a job that the cluster has now."""
    return objects(stack, "pods", f"jobset.sigs.k8s.io/jobset-name={job}")


def submissions(stack: Stack, job_id: str, namespace: str = "") -> list[str]:
    """Return the names of the TrainJobs that carry a submission's id."""
    jobs = objects(stack, "trainjobs", namespace=namespace)
    return [j["metadata"]["name"] for j in jobs if j["metadata"].get("annotations", {}).get(SUBMISSION_ID) == job_id]


def processes(pod_uids: set[str]) -> list[psutil.Process]:
    """Return every living process that pods started, whatever session it is in: by the node agent's tag, or by what kubelet mounts."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if _pod_of(process) in pod_uids and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _pod_of(process: psutil.Process) -> str:
    if tag := process.environ().get(POD_TAG):
        return tag
    in_pod = re.search(
        r"/pods/([0-9a-f-]{36})/etc-hosts /etc/hosts", Path(f"/proc/{process.pid}/mountinfo").read_text()
    )
    return in_pod.group(1) if in_pod else ""


def having(some: Iterable[psutil.Process], text: str) -> list[psutil.Process]:
    """Return those that live and have a text in their command line."""
    found = []
    for process in some:
        with contextlib.suppress(psutil.Error):
            if text in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def await_no_process(pod_uids: set[str]) -> None:
    """Return once nothing of these pods runs."""
    assert pod_uids
    wait_for(lambda: not processes(pod_uids), 60, "the processes of the pods to be gone")


def uids(some: list[Json]) -> set[str]:
    """Return the uids of objects."""
    return {obj["metadata"]["uid"] for obj in some}


def act(stack: Stack, job_id: str, action: str, who: str = "alice", **body: Any) -> Json:
    """Suspend, resume or cancel by REST."""
    with stack.client(who) as client:
        answer = client.post(f"/api/v1/trainjobs/{job_id}/{action}", json=body)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def rows(stack: Stack, **query: str) -> list[Json]:
    """Return the jobs that a list by REST shows."""
    with stack.client() as client:
        return list(client.get("/api/v1/trainjobs", params={"project": stack.project, **query}).json()["items"])


def row(stack: Stack, name: str) -> Json | None:
    """Return the newest job of a name as the list shows it."""
    return next((job for job in rows(stack, q=name) if job["name"] == name), None)


def submit_trainjob(
    stack: Stack, name: str, command: list[str], who: str = "alice", project: str = "", **spec: Any
) -> Json:
    """Submit a TrainJob of the plain runtime as JSON and return the job."""
    manifest = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": project or stack.project},
        "spec": {"runtimeRef": {"name": "plain-command"}, "trainer": {"command": command}, **spec},
    }
    with stack.client(who) as client:
        answer = client.post("/api/v1/trainjobs", json=manifest)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def wait_said(stack: Stack, job_id: str, *facts: str, seconds: float = 60) -> Json:
    """Wait until the sentence of a job holds all of these texts and return the job."""
    job: Json = {}

    def said() -> bool:
        nonlocal job
        job = stack.job(job_id)
        return all(fact in job["reason"]["sentence"] for fact in facts)

    try:
        wait_for(said, seconds, f"the job to say {' and '.join(facts)}")
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {job['phase']}: {job['reason']}") from None
    return job


def share(stack: Stack, slots: int) -> str:
    """Return how many CPUs a pod asks for when so many pods fill the machines of an instance."""
    selector = ["-l", "trainui.dev/machine=real"] if stack.kubernetes else []
    machines = json.loads(stack.kubectl("get", "nodes", "-o", "json", *selector))["items"]
    cpus = sum(parse(machine["status"]["allocatable"]["cpu"]) for machine in machines)
    return f"{int(cpus * 1000 / slots)}m"


def grace(seconds: int) -> list[Json]:
    """Return the patch of a TrainJob that gives its pods so long to end."""
    pod = {"spec": {"terminationGracePeriodSeconds": seconds}}
    jobs = [{"name": "node", "template": {"spec": {"template": pod}}}]
    return [
        {"manager": "tests.trainui.dev/grace", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    ]


class Follower:
    """A kubectl command that goes on printing."""

    def __init__(self, stack: Stack, output: Path, *arguments: str) -> None:
        self.output = output
        with open(output, "wb") as file:
            self.popen = subprocess.Popen(
                [kubectl_path(), *arguments],
                env=stack.kube_environment(),
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def await_text(self, text: str) -> str:
        wait_for(lambda: text in self.output.read_text(), 90, f"kubectl to print “{text}”")
        return self.output.read_text()

    def end(self) -> None:
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
