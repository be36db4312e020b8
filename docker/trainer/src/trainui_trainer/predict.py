"""Loads a model of the sample again: `python -m trainui_trainer.predict model.npz` prints its test accuracy."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainui_trainer.digits import SIDE, DataMissing, Pixels, load
from trainui_trainer.network import ModelError, Network

SHADES = " .:-=+*#%@"


def drawing(pixels: Pixels) -> str:
    """Return a picture as text, two characters a pixel, every second row."""
    rows = pixels.reshape(SIDE, SIDE)[::2]
    levels = np.minimum((rows * len(SHADES)).astype(int), len(SHADES) - 1)
    return "\n".join("".join(SHADES[level] for level in row).rstrip() for row in levels)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the test accuracy of a model, and some predictions when asked; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m trainui_trainer.predict", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="draw N test pictures with what they are taken for"
    )
    options = parser.parse_args(arguments)
    try:
        network, seed = Network.load(options.model)
        data = load(seed)
    except (ModelError, DataMissing) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    guesses = network.logits(data.test_x).argmax(axis=1)
    for number in range(min(max(options.show, 0), len(guesses))):
        print(f"{drawing(data.test_x[number])}\ntaken for {guesses[number]}, it is {data.test_y[number]}\n")
    accuracy = float((guesses == data.test_y).mean())
    print(f"test accuracy={accuracy:.4f} on {len(guesses)} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
