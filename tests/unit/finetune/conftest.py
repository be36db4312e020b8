"""The program of docker/finetune, and the reporter that its image has beside it, on the path."""

import sys
from pathlib import Path

DOCKER = Path(__file__).resolve().parents[3] / "docker"
for name in ("trainer", "finetune"):
    sys.path.insert(0, str(DOCKER / name / "src"))
