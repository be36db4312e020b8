"""The state of a job: pure functions from observed objects to a phase, a reason and one sentence."""

from jobs.state.explain import Explanation, explain
from jobs.state.model import Cause, Counts, GangState, JobState, NodeState
from jobs.state.observe import observe

__all__ = ["Cause", "Counts", "Explanation", "GangState", "JobState", "NodeState", "explain", "observe"]
