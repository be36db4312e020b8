"""What the training loop tells while it runs, as reports of trainui_report."""

import time
from collections.abc import Callable, Mapping
from typing import Any

METRICS = ("loss", "learning_rate", "grad_norm", "mean_token_accuracy", "epoch")
Report = Callable[[float | None, Mapping[str, Any] | None, float | None], bool]


class Progress:
    """Answers the events of transformers' trainer; mixed into its TrainerCallback (see train.py).

    The remaining time is that of the steps left at the pace since the start, or since the checkpoint it went on from.
    """

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._clock = report, clock
        self._began, self._first_step = clock(), 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self._began, self._first_step = self._clock(), state.global_step
        self._report(percent(state), {"step": state.global_step}, None)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """Report what was logged."""
        metrics = {name: logs[name] for name in METRICS if name in logs} if logs else {}
        if metrics:
            self._report(percent(state), {"step": state.global_step, **metrics}, self._remaining(state))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report the end; the weights are still to be written."""
        self._report(min(percent(state), 99.0), {"step": state.global_step}, None)

    def _remaining(self, state: Any) -> float | None:
        done = state.global_step - self._first_step
        if done <= 0 or state.max_steps <= 0:
            return None
        return (self._clock() - self._began) / done * max(0, state.max_steps - state.global_step)


def percent(state: Any) -> float:
    """Return how much is done."""
    return 100.0 * state.global_step / state.max_steps if state.max_steps > 0 else 0.0
