"""Makes docs/job.png: starts trainui on a temporary folder, lets the sample train, and takes the picture of its page."""

import sys
import tempfile
from pathlib import Path

BASE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BASE))

from tests.chromium import chromium  # noqa: E402
from tests.stack import running, wait_for  # noqa: E402

PROGRESS = 60


def main() -> None:
    """Take the picture once the sample is well under way."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "data", machines="local-0:cpu=4,memory=8Gi;local-1:cpu=4,memory=8Gi") as stack,
    ):
        job = stack.submit("240", name="digits", blueprint="sample-mnist", parameter="epochs")
        wait_for(lambda: (stack.job(job["id"])["progress"]["percent"] or 0) >= PROGRESS, 180, "the sample to train")
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.goto(f"{stack.url}/sign-in")
            page.fill("[name=username]", "alice")
            page.fill("[name=password]", "correct horse alice")
            page.click("button[type=submit]")
            page.goto(f"{stack.url}/jobs/{job['id']}")
            page.wait_for_selector(".uplot, svg")
            page.screenshot(path=str(BASE / "docs" / "job.png"))


main()
