"""What the builders make is what a real API server takes: generated jobs, our blueprints and Kubeflow's stock runtimes; applied again, nothing changes.

200 generated jobs, 2,000 with TRAINUI_LONG=1.
"""

import datetime
import os
from dataclasses import replace
from typing import Any

import pytest
import yaml

from jobs.builders import build, generate_keys
from jobs.spec.defaults import default_trainjob
from jobs.spec.validation import validate_trainjob
from runtimes.services import BLUEPRINTS_DIR
from runtimes.spec.blueprint import blueprint_of_runtime, load_blueprint
from runtimes.spec.defaults import default_runtime
from runtimes.spec.parameters import bind
from tests.generated_jobs import CAPABILITIES, generated
from tests.rig import programs
from tests.rig.rig import Rig
from trainui.cluster.client import Cluster
from trainui.cluster.kinds import TRAIN_JOB

pytestmark = pytest.mark.xdist_group("rig")

Obj = dict[str, Any]
BATCH = 20
BATCHES = 100 if os.environ.get("TRAINUI_LONG") == "1" else 10
# What the test cluster has: Volcano is not there, so Kubernetes' own pod groups stand in for it.
ON_RIG = replace(CAPABILITIES, gang_schedulers=frozenset({"in_tree", "coscheduling"}), replace_gang=True)
KEYS = generate_keys()
# Kubeflow's runtimes as they come with its release.
STOCK = replace(programs.TRAINER_CRDS, name="trainer-runtimes", manifests=("manifests/base/runtimes/**/*.yaml",))


@pytest.fixture
def cluster(rig: Rig) -> Cluster:
    """The product's client with the rights that deploy/ gives."""
    return Cluster.from_kubeconfig(str(rig.kubeconfig("trainui-all")))


def version(obj: Obj) -> tuple[Any, ...]:
    """What a change of an object's content changes; the status of a JobSet is its controller's."""
    metadata = obj["metadata"]
    return (metadata["uid"], metadata.get("generation") or metadata["resourceVersion"])


def check(cluster: Cluster, trainjob: Obj, runtime: Obj) -> None:
    """Let the server judge a job in all its parts, then make it, suspended, and apply it again."""
    assert validate_trainjob(trainjob, runtime).refused == []
    # Under another name: a living runtime of the same one may not be changed in every field.
    named = runtime["metadata"] | {"name": f"checked-{runtime['metadata']['name']}"}
    cluster.apply(runtime | {"metadata": named}, dry_run=True)
    submitted = default_trainjob(trainjob, datetime.datetime.now(datetime.UTC))
    stored = cluster.create(submitted, dry_run=True)
    assert stored["spec"] == submitted["spec"], "our defaults are the server's"
    live = cluster.create(submitted | {"spec": submitted["spec"] | {"suspend": True}})
    try:
        for obj in objects(live, runtime, suspend=False):
            cluster.apply(obj, dry_run=True)
        suspended = objects(live, runtime, suspend=True)
        before = [version(cluster.apply(obj)) for obj in suspended]
        assert [version(cluster.apply(obj)) for obj in suspended] == before
    finally:
        cluster.delete(TRAIN_JOB, live["metadata"]["namespace"], live["metadata"]["name"])


def objects(live: Obj, runtime: Obj, suspend: bool) -> list[Obj]:
    job = live | {"spec": live["spec"] | {"suspend": suspend}}
    return build(job, default_runtime(runtime), ON_RIG, KEYS)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_generated_jobs(cluster: Cluster, rig_namespace: str, batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        job = generated(seed, rig_namespace)
        try:
            check(cluster, job.trainjob, job.runtime)
        except Exception as error:
            error.add_note(f"seed {seed}, policy {job.policy}")
            raise


@pytest.mark.parametrize("path", sorted(BLUEPRINTS_DIR.glob("*.yaml")), ids=lambda path: path.stem)
def test_blueprints(cluster: Cluster, rig_namespace: str, path: Any) -> None:
    blueprint = load_blueprint(path.read_text(encoding="utf-8"))
    values = {p.name: ["python", "train.py"] for p in blueprint.parameters if p.required and p.type == "command"}
    trainjob, findings = bind(blueprint, "job", rig_namespace, values, channel="api")
    assert findings.refused == []
    check(cluster, trainjob, blueprint.runtime)


def test_the_stock_runtimes_of_kubeflow(cluster: Cluster, rig_namespace: str) -> None:
    programs.ensure((STOCK,))
    documents = [doc for path in programs.manifests(STOCK) for doc in yaml.safe_load_all(path.read_text())]
    runtimes = [doc for doc in documents if doc and doc.get("kind") == "ClusterTrainingRuntime"]
    names = {runtime["metadata"]["name"] for runtime in runtimes}
    assert {"torch-distributed", "deepspeed-distributed", "torchtune-llama3.2-1b"} <= names
    for number, runtime in enumerate(runtimes):
        trainjob, findings = bind(blueprint_of_runtime(runtime), f"stock-{number}", rig_namespace, {"nodes": 1}, "api")
        assert findings.refused == []
        check(cluster, trainjob, runtime)
