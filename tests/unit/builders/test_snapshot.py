"""The runtime a job keeps."""

import pytest

from jobs.builders import BuildError, build
from jobs.builders.snapshot import read_snapshot, snapshot_data
from tests.unit.builders.samples import REAL, one, rjob, runtime, trainjob

AWKWARD = {"on": "yes", "octal": "012", "text": "a: b\n# no comment", "empty": "", "umlaut": "ü", "time": "12:30:45"}


def snapshot_of(rt):
    return one(build(trainjob({}), rt, REAL), "ConfigMap", "job-runtime-snapshot")


def test_reads_back_what_was_written():
    rt = runtime(rjob("node", "trainer"), policy={"torch": {}}, metadata={"labels": AWKWARD})
    assert read_snapshot(snapshot_of(rt), trainjob({})) == rt


def test_server_fields_stay_out():
    rt = runtime(rjob("node"), metadata={"resourceVersion": "5", "managedFields": [{}], "uid": "r"})
    assert read_snapshot(snapshot_of(rt), trainjob({}))["metadata"] == {"name": "rt", "namespace": "ml"}


def test_does_not_depend_on_the_order_of_maps():
    rt = runtime(rjob("node", "trainer"), policy={"torch": {}, "numNodes": 2})
    backwards = {key: rt[key] for key in reversed(list(rt))}
    assert snapshot_data(rt) == snapshot_data(backwards)


def test_another_owner_is_refused():
    found = snapshot_of(runtime(rjob("node")))
    other = trainjob({})
    other["metadata"]["uid"] = "u-2"
    with pytest.raises(BuildError) as caught:
        read_snapshot(found, other)
    assert caught.value.findings[0].code == "snapshot_not_ours"


@pytest.mark.parametrize(
    ("text", "code"), [("", "snapshot_unreadable"), ("- 1", "snapshot_unreadable"), (None, "snapshot_mismatch")]
)
def test_another_content_is_refused(text, code):
    found = snapshot_of(runtime(rjob("node"), metadata={"name": "other"}))
    if text is not None:
        found["data"]["runtime"] = text
    with pytest.raises(BuildError) as caught:
        read_snapshot(found, trainjob({}))
    assert caught.value.findings[0].code == code
