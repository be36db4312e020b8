"""`torchrun -m trainui_finetune --model NAME --dataset NAME`."""

import sys

from trainui_finetune.options import parse
from trainui_finetune.train import train

if __name__ == "__main__":
    sys.exit(train(parse(sys.argv[1:])))
