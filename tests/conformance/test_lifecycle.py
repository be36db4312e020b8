"""Every recorded life of a TrainJob through all of trainui: API server, watch, reconcile, JobSet and Job controllers, scheduler."""

from collections.abc import Iterator

import pytest

from tests.conformance.corpus import Case, cases, evaluator
from tests.conformance.lifecycle.instance import Results, played
from tests.conformance.lifecycle.play import Player

pytestmark = pytest.mark.xdist_group("lifecycle")
MUST = evaluator()
CASES = cases("lifecycle")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Results]:
    """All chosen cases, begun beside each other; each test waits for its own."""
    chosen = [i.callspec.params["case"] for i in request.session.items if getattr(i, "module", None) is request.module]
    with played(tmp_path_factory.mktemp("lifecycle"), chosen, lambda stack, *place: Player(*place)) as begun:
        yield begun


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_lifecycle(case: Case, results: Results) -> None:
    if differences := MUST.check(case, results[case["id"]].result()):
        pytest.fail("\n".join(differences), pytrace=False)
