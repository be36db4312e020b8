"""What a job asks of the cluster as a whole."""

from jobs import builders
from jobs.builders.demand import demand
from tests.unit.builders.samples import REAL, Obj, mpi_runtime, rjob, runtime, trainjob

GPUS = {"limits": {"nvidia.com/gpu": "8"}, "requests": {"cpu": "500m"}}


def asked(job: Obj, template: Obj) -> Obj:
    record = builders.expected(job, template, REAL)["gang"]
    return demand(job, builders.build(job, template, REAL), record)


def test_all_members_of_the_gang_count():
    job = trainjob({"numNodes": 3}, annotations={"trainui.dev/gang-scheduler": "auto"})
    found = asked(job, runtime(rjob("node", "trainer", resources=GPUS), policy={"torch": {}}))
    assert found == {
        "pods": 3,
        "accelerators": 24,
        "requests": {"cpu": "1500m", "nvidia.com/gpu": "24"},
        "queue": {"kind": "scheduler", "name": "default-scheduler"},
    }


def test_what_does_not_run_with_the_ranks_is_left_out():
    job = trainjob({"numNodes": 2}, annotations={"trainui.dev/gang-scheduler": "auto"})
    assert asked(job, mpi_runtime(as_node=False))["pods"] == 2


def test_the_queue_is_kueues_or_volcanos_where_there_is_one():
    job = trainjob({"numNodes": 2})
    plain = runtime(rjob("node", "trainer"), policy={"torch": {}})
    labelled = job | {"metadata": job["metadata"] | {"labels": {"kueue.x-k8s.io/queue-name": "team"}}}
    assert asked(labelled, plain)["queue"] == {"kind": "kueue", "name": "team"}
    volcano = runtime(rjob("node", "trainer"), policy={"torch": {}}, podGroupPolicy={"volcano": {}})
    assert asked(job, volcano)["queue"] == {"kind": "volcano", "name": "default"}
    other = runtime(rjob("node", "trainer", schedulerName="mine"), policy={"torch": {}})
    assert asked(job, other)["queue"] == {"kind": "scheduler", "name": "mine"}
