"""What a person does with Kubeflow's SDK, unmodified. Runs in the SDK's own environment: sdk_client.py KUBECONFIG NAMESPACE; prints one JSON object.

Steps that a user takes between two looks at trainui wait for a line on standard input.
"""

import json
import sys
from typing import Any

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient

RUNTIME = "plain-command"


def train(steps: int) -> None:
    """What runs on each node. The SDK sends its source."""
    import os
    import time

    node = os.environ["JOB_COMPLETION_INDEX"]
    for step in range(steps):
        print(f"node {node} step {step}", flush=True)
        time.sleep(0.2)


def runtimes(client: TrainerClient) -> dict[str, Any]:
    """List the runtimes and read one."""
    listed = {runtime.name: runtime.trainer.framework for runtime in client.list_runtimes()}
    return {"runtimes": listed, "runtime": client.get_runtime(RUNTIME).name}


def life(client: TrainerClient) -> dict[str, Any]:
    """Train, look, wait, read logs and events."""
    trainer = CustomTrainer(func=train, func_args={"steps": 10}, num_nodes=2)
    name = client.train(runtime=client.get_runtime(RUNTIME), trainer=trainer)
    client.wait_for_job_status(name, status={"Running"}, timeout=120, polling_interval=1)
    running = client.get_job(name)
    followed = "".join(line if line.endswith("\n") else f"{line}\n" for line in client.get_job_logs(name, follow=True))
    done = client.wait_for_job_status(name, timeout=120, polling_interval=1)
    second = "\n".join(client.get_job_logs(name, step="node-1"))
    return {
        "name": name,
        "running": [(step.name, step.status) for step in running.steps],
        "status": done.status,
        "nodes": done.num_nodes,
        "followed": followed,
        "second": second,
        "listed": [job.name for job in client.list_jobs()],
        "events": sorted({event.reason for event in client.get_job_events(name)}),
    }


def main() -> None:
    """Do it all; the job is deleted when whoever started us says so."""
    kubeconfig, namespace = sys.argv[1:]
    client = TrainerClient(backend_config=KubernetesBackendConfig(config_file=kubeconfig, namespace=namespace))
    found = runtimes(client) | life(client)
    print(json.dumps(found), flush=True)
    sys.stdin.readline()
    client.delete_job(found["name"])
    print(json.dumps({"listed": [job.name for job in client.list_jobs()]}), flush=True)


main()
