"""The sample: trains a small neural network on handwritten digits, data-parallel over MPI ranks.

Every rank has the same weights, takes its share of each batch, and the ranks add their gradients. With the same seed and the
same number of ranks it gives the same result.

    mpirun -n 2 python -m trainui_trainer.mnist_mpi --epochs 600
"""

import argparse
import math
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

# One thread a rank: ranks share the cores, and the arithmetic library would otherwise start as many threads as there are cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import trainui_report  # noqa: E402
from mpi4py import MPI  # noqa: E402

from trainui_trainer.digits import DataMissing, Digits, load, shifted  # noqa: E402
from trainui_trainer.network import Network  # noqa: E402

MOMENTUM = 0.9
SHIFT = 2  # pixels
LINES = 60  # how many lines a training prints
WARM_UP_EPOCHS = 2


class Diverged(Exception):
    """The loss is no number any more."""


def positive(kind: type) -> "type":
    """Return an argparse type for numbers above zero."""

    def parse(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value  # type: ignore[no-any-return]

    parse.__name__ = kind.__name__
    return parse  # type: ignore[return-value]


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m trainui_trainer.mnist_mpi", description="Learns handwritten digits."
    )
    parser.add_argument("--epochs", type=positive(int), default=600, help="how often every picture is seen")
    parser.add_argument("--hidden", type=positive(int), default=256, help="hidden units")
    parser.add_argument("--learning-rate", type=positive(float), default=0.05)
    parser.add_argument("--batch-size", type=positive(int), default=128, help="pictures of a step, over all ranks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("model.npz"), help="where rank 0 writes the model")
    return parser.parse_args(arguments)


class Training:
    """One training run on this rank."""

    def __init__(self, options: argparse.Namespace, data: Digits, comm: MPI.Intracomm) -> None:
        self.options = options
        self.data = data
        self.comm = comm
        self.network = Network(options.hidden, options.seed)
        comm.Bcast(self.network.parameters, root=0)
        self.velocity = np.zeros_like(self.network.parameters)
        self.total = np.empty_like(self.network.parameters)
        self.steps = math.ceil(len(data.train_y) / options.batch_size)
        self.began = time.monotonic()

    def run(self) -> float:
        """Train to the end and return the test accuracy."""
        epochs = self.options.epochs
        every = max(1, epochs // LINES)
        accuracy = 0.0
        for epoch in range(1, epochs + 1):
            loss = self._epoch(epoch)
            if epoch % every == 0 or epoch == epochs or (epoch < every and epoch <= 5):
                accuracy = self.test()
                self._tell(epoch, loss, accuracy)
        return accuracy

    def _epoch(self, epoch: int) -> float:
        """See every picture once; return the mean loss."""
        random = np.random.default_rng((self.options.seed, epoch))  # the same on every rank
        order = random.permutation(len(self.data.train_y))
        rate = self._rate(epoch)
        losses = 0.0
        for step in range(self.steps):
            batch = order[step * self.options.batch_size : (step + 1) * self.options.batch_size]
            down, right = (int(value) for value in random.integers(-SHIFT, SHIFT + 1, size=2))
            mine = batch[self.comm.rank :: self.comm.size]
            losses += self.network.learn(shifted(self.data.train_x[mine], down, right), self.data.train_y[mine])
            self.comm.Allreduce(self.network.gradient, self.total)
            self.velocity *= MOMENTUM
            self.velocity -= np.float32(rate / len(batch)) * self.total
            self.network.parameters += self.velocity
        mean = float(self.comm.allreduce(losses)) / len(order)
        if not math.isfinite(mean):
            raise Diverged(f"the loss is {mean} after epoch {epoch}: choose a lower learning rate")
        return mean

    def _rate(self, epoch: int) -> float:
        """Return the learning rate: it rises in the first epochs, then falls along a cosine."""
        warm = min(1.0, epoch / WARM_UP_EPOCHS)
        return float(
            self.options.learning_rate * warm * 0.5 * (1.05 + 0.95 * math.cos(math.pi * epoch / self.options.epochs))
        )

    def test(self) -> float:
        """Return the share of test pictures that are named rightly, each rank judging its part."""
        mine = slice(self.comm.rank, None, self.comm.size)
        right = self.network.right(self.data.test_x[mine], self.data.test_y[mine])
        return float(self.comm.allreduce(right)) / len(self.data.test_y)

    def _tell(self, epoch: int, loss: float, accuracy: float) -> None:
        if self.comm.rank != 0:
            return
        epochs = self.options.epochs
        step = epoch * self.steps
        print(f"epoch {epoch}/{epochs} step {step} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)
        left = (time.monotonic() - self.began) / epoch * (epochs - epoch)
        # 100 is kept for the end: the model is not saved yet.
        percent = min(99, 100 * epoch // epochs)
        trainui_report.report(
            percent, {"loss": round(loss, 6), "accuracy": accuracy, "epoch": epoch, "step": step}, left
        )


def abort_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End every rank when one fails: the others would wait for its gradient for ever."""
    if isinstance(error, (DataMissing, Diverged)):
        print(f"error: {error}", file=sys.stderr, flush=True)
    else:
        traceback.print_exception(kind, error, trace)
        sys.stderr.flush()
    trainui_report.flush()
    MPI.COMM_WORLD.Abort(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, save, keep the model with the job; return the exit code."""
    comm = MPI.COMM_WORLD
    sys.excepthook = abort_all
    options = read_options(arguments)
    data = load(options.seed)
    if comm.rank == 0:
        text = f"{len(data.train_y)} training and {len(data.test_y)} test pictures, {comm.size} ranks"
        print(f"{text}, {Network.size(options.hidden)} parameters", flush=True)
    training = Training(options, data, comm)
    accuracy = training.run()
    if comm.rank == 0:
        training.network.save(options.output, options.seed, accuracy)
        seconds = time.monotonic() - training.began
        print(f"final test accuracy={accuracy:.4f} after {seconds:.1f} s, model in {options.output}", flush=True)
        kept = trainui_report.save_artifact(str(options.output))
        print(f"the model is {'kept with the job' if kept else 'not kept: no artifact address is set'}", flush=True)
        trainui_report.report(100, {"accuracy": accuracy}, 0)
    comm.Barrier()
    return 0


if __name__ == "__main__":
    sys.exit(main())
