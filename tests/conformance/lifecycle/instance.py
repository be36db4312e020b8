"""An instance of trainui on which many cases are played beside each other, each in a project of its own.

Its only machine leaves its pods alone: their status is written by hand, as it was when the corpus was recorded.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.corpus import Case
from tests.conformance.lifecycle.api import Api, Json
from tests.conformance.lifecycle.play import Names, Player
from tests.conformance.lifecycle.quiet import Calm
from tests.stack import Stack, running
from trainui.cluster.client import Cluster

BACK_OFF = "1"  # a failed pod was replaced within the step that it failed in
MACHINE = "sim-0:cpu=1000,memory=4000Gi,pods=10000,kind=status"
AT_ONCE = 12
PROJECTS = """
import json
from trainui.accounts.models import Project
for name in json.loads({names!r}):
    Project.objects.get_or_create(name=name)
"""
Results = dict[str, Future[Json]]
MakePlayer = Callable[[Stack, Api, Calm, str, Case], Player]


@contextmanager
def played(folder: Path, cases: Sequence[Case], player: MakePlayer) -> Iterator[Results]:
    """Begin all cases and give the result of each by its id, in the shape of a case."""
    ordered = sorted(cases, key=_counts_seconds)  # when fewer run, a busy machine disturbs these less
    with running(folder / "data", machines=MACHINE, TRAINUI_JOB_BACKOFF_SECONDS=BACK_OFF) as stack:
        kubeconfig = stack.data / "cluster" / "kubeconfig"
        api = Api(kubeconfig)
        calm = Calm(Cluster.from_kubeconfig(str(kubeconfig)), stack.data / "trainui.sqlite3")
        places = {case["id"]: f"case-{number}" for number, case in enumerate(ordered)}
        stack.shell(PROJECTS.format(names=json.dumps(list(places.values()))))
        for name in places.values():
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        names = Names()
        players = {case["id"]: player(stack, api, calm, places[case["id"]], case) for case in ordered}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield {id: pool.submit(player.play, names) for id, player in players.items()}
            pool.shutdown(cancel_futures=True)
        calm.stop()
        api.close()


def _counts_seconds(case: Case) -> bool:
    text = json.dumps([case["runtime"], case["trainJob"]])
    return "eadlineSeconds" in text or "ttlSecondsAfterFinished" in text
