"""Writes the table of environment variables into README.md, between its two marks. `--check` only compares."""

import subprocess
import sys
from pathlib import Path

BASE = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- settings: made by tools/readme_settings.py -->", "<!-- /settings -->"


def main() -> int:
    """Return 1 when --check finds an outdated table."""
    table = subprocess.run(
        [sys.executable, "manage.py", "settings_doc"], cwd=BASE, capture_output=True, text=True, check=True
    ).stdout.strip()
    path = BASE / "README.md"
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    wanted = f"{head}{BEGIN}\n{table}\n{END}{tail}"
    if "--check" in sys.argv:
        return 0 if wanted == text else 1
    path.write_text(wanted, encoding="utf-8")
    return 0


sys.exit(main())
