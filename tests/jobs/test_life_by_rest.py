"""Recorded lives of TrainJobs (conformance/lifecycle.json) where a user of trainui does by REST what somebody did with kubectl.

The lives were recorded on a real Kubernetes. They are played on the local cluster alone: the status of pods is written by hand, which on a
real machine only its kubelet may do.
"""

from collections.abc import Iterator

import pytest

from tests.conformance.corpus import Case, cases, evaluator
from tests.conformance.lifecycle.instance import Results, played
from tests.conformance.lifecycle.rest import RestPlayer, is_for_users

pytestmark = pytest.mark.xdist_group("lifecycle")
MUST = evaluator()
CASES = [case for case in cases("lifecycle") if is_for_users(case)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Results]:
    """All chosen cases, begun beside each other; each test waits for its own."""
    chosen = [i.callspec.params["case"] for i in request.session.items if getattr(i, "module", None) is request.module]
    with played(tmp_path_factory.mktemp("rest"), chosen, RestPlayer) as begun:
        yield begun


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_life_by_rest(case: Case, results: Results) -> None:
    if differences := MUST.check(case, results[case["id"]].result()):
        pytest.fail("\n".join(differences), pytrace=False)
