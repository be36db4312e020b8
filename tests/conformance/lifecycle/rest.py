"""The same cases where a user of trainui does what somebody did with kubectl: submit, suspend, resume and delete go through REST."""

from tests.conformance.corpus import Case
from tests.conformance.lifecycle.api import Answer, Api, Json
from tests.conformance.lifecycle.play import Player
from tests.conformance.lifecycle.quiet import Calm
from tests.stack import Stack, wait_for

JOBS = "/api/v1/trainjobs"
CATALOG_SECONDS = 60.0


def is_for_users(case: Case) -> bool:
    """Tell whether a case is about what users do, and does nothing else to the TrainJob."""
    actions = [step["action"] for step in case["steps"]]
    about = "suspend" in case["tags"] or any(action["do"] == "delete" for action in actions)
    changes = [action["patch"] for action in actions if action["do"] == "patch"]
    alien = any(action["do"] in ("status", "recreate") for action in actions) or any(
        list(change) != ["spec"] or list(change["spec"]) != ["suspend"] for change in changes
    )
    return about and not alien and "upstream_bug" not in case


class RestPlayer(Player):
    """Plays a case with REST in place of kubectl for everything that concerns the TrainJob."""

    def __init__(self, stack: Stack, api: Api, calm: Calm, namespace: str, case: Case) -> None:
        super().__init__(api, calm, namespace, case)
        self.stack = stack
        self.id = ""

    def _create(self, action: Json) -> Answer:
        wait_for(self._is_known, CATALOG_SECONDS, "the catalog to know the runtime")
        answer = self._call("POST", JOBS, self.trainjob)
        self.id = answer.body.get("id", "")
        return answer

    def _patch(self, action: Json) -> Answer:
        verb = "suspend" if action["patch"]["spec"]["suspend"] else "resume"
        return self._call("POST", f"{JOBS}/{self.id}/{verb}", {})

    def _delete(self, action: Json) -> None:
        answer = self._call("DELETE", f"{JOBS}/{self.id}")
        assert answer.accepted, answer

    def _is_known(self) -> bool:
        errors = self._call("POST", f"{JOBS}?dry_run=true", self.trainjob).body["errors"]
        return all(error["code"] != "runtime_not_found" for error in errors)

    def _call(self, method: str, path: str, body: Json | None = None) -> Answer:
        with self.stack.client("admin") as http:
            answer = http.request(method, path, json=body)
        return Answer(answer.status_code, answer.json() if answer.content else {}, [])
