"""A perceptron with one hidden layer, its parameters in one vector so that ranks add their gradients in one step."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainui_trainer.digits import CLASSES, SIDE, Labels, Pixels

Vector = NDArray[np.float32]
INPUTS = SIDE * SIDE


class ModelError(Exception):
    """A file that holds no model of ours."""


class Network:
    """Pixels -> hidden units with ReLU -> the logits of ten digits."""

    def __init__(self, hidden: int, seed: int = 0) -> None:
        """Make a network with random weights that depend on the seed only."""
        self.hidden = hidden
        self.parameters: Vector = np.zeros(self.size(hidden), dtype=np.float32)
        self.gradient: Vector = np.zeros_like(self.parameters)
        self.w1, self.b1, self.w2, self.b2 = self._views(self.parameters)
        self._g1, self._gb1, self._g2, self._gb2 = self._views(self.gradient)
        random = np.random.default_rng(seed)
        self.w1[:] = random.normal(0, np.sqrt(2 / INPUTS), self.w1.shape)
        self.w2[:] = random.normal(0, np.sqrt(1 / hidden), self.w2.shape)

    @staticmethod
    def size(hidden: int) -> int:
        """Return the number of parameters."""
        return INPUTS * hidden + hidden + hidden * CLASSES + CLASSES

    def _views(self, vector: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        shapes = ((INPUTS, self.hidden), (self.hidden,), (self.hidden, CLASSES), (CLASSES,))
        views, start = [], 0
        for shape in shapes:
            length = int(np.prod(shape))
            views.append(vector[start : start + length].reshape(shape))
            start += length
        return views[0], views[1], views[2], views[3]

    def logits(self, pixels: Pixels) -> Vector:
        """Return ten numbers for each picture; the greatest names the digit."""
        hidden: Vector = np.maximum(pixels @ self.w1 + self.b1, 0) @ self.w2 + self.b2
        return hidden

    def learn(self, pixels: Pixels, labels: Labels) -> float:
        """Put the summed gradient of these pictures into `gradient` and return their summed loss."""
        count = len(labels)
        if count == 0:
            self.gradient[:] = 0
            return 0.0
        active = np.maximum(pixels @ self.w1 + self.b1, 0)
        logits = active @ self.w2 + self.b2
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        rows = np.arange(count)
        loss = -float(np.log(np.maximum(chances[rows, labels], 1e-12)).sum())
        chances[rows, labels] -= 1
        np.matmul(active.T, chances, out=self._g2)
        self._gb2[:] = chances.sum(axis=0)
        back = (chances @ self.w2.T) * (active > 0)
        np.matmul(pixels.T, back, out=self._g1)
        self._gb1[:] = back.sum(axis=0)
        return loss

    def right(self, pixels: Pixels, labels: Labels) -> int:
        """Return how many pictures it names rightly."""
        return int((self.logits(pixels).argmax(axis=1) == labels).sum()) if len(labels) else 0

    def save(self, path: Path, seed: int, accuracy: float) -> None:
        """Write the model with the seed of its split and its test accuracy."""
        np.savez_compressed(path, parameters=self.parameters, hidden=self.hidden, seed=seed, accuracy=accuracy)

    @classmethod
    def load(cls, path: Path) -> "tuple[Network, int]":
        """Return the model in a file and the seed of its split. Raises ModelError."""
        try:
            with np.load(path, allow_pickle=False) as file:
                network = cls(int(file["hidden"]))
                parameters, seed = file["parameters"], int(file["seed"])
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise ModelError(f"{path} holds no model of mnist_mpi: {error}") from error
        if parameters.shape != network.parameters.shape:
            raise ModelError(f"{path}: {parameters.size} parameters do not fit {network.hidden} hidden units")
        network.parameters[:] = parameters
        return network, seed
