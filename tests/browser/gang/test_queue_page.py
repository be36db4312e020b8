"""The queue page as people see it: wide, narrow and dark, and while it changes."""

from pathlib import Path
from typing import Any

from django.utils import timezone
from playwright.sync_api import expect

from jobs.models import MirrorObject, TrainJob, TrainJobDetail
from jobs.state import phases
from tests.browser.gang.scenes import GPU, crowd, demand, job_in
from tests.browser.gang.test_panel import LOOKS
from tests.browser.job_page.test_job_page import WIDER
from tests.unit.web_job.conftest import World
from trainui.cluster.kinds import RESOURCE_QUOTA

RINGS = "document.body.dispatchEvent(new CustomEvent('cluster-changed', {bubbles: true, detail: {stream: true}}))"


def busy(world: World) -> None:
    """Two that wait, one that runs, and a quota that is nearly used up."""
    crowd(world)
    job_in(world, "waiting")
    runs = world.job(phases.RUNNING, name="llama-3-70b-instruct-with-a-long-name")
    TrainJobDetail.objects.filter(job=runs).update(expected={"demand": demand(64)})
    status: dict[str, Any] = {"hard": {f"requests.{GPU}": "72"}, "used": {f"requests.{GPU}": "64"}}
    MirrorObject.objects.create(
        kind=RESOURCE_QUOTA.key, namespace=world.project.namespace, name="gpu-quota", uid="q", resource_version="1",
        raw={"status": status}, seen_at=timezone.now(),
    )  # fmt: skip


def test_it_fits_every_screen(site, tmp_path: Path):
    busy(site.world)
    for look, options in LOOKS.items():
        page = site.open("/queue", **options)
        expect(page.locator("#queue")).to_contain_text("1 job, 24 GPUs")
        expect(page.locator("#queue progress")).to_have_attribute("value", "89")
        assert page.evaluate(WIDER) == []
        page.screenshot(path=str(tmp_path / f"queue-{look}.png"), full_page=True)


def test_it_follows_the_cluster(site):
    busy(site.world)
    page = site.open("/queue")
    expect(page.locator("#queue")).to_contain_text("ahead-of-it")
    TrainJob.objects.filter(name="ahead-of-it").update(phase=phases.CANCELLED)
    page.evaluate(RINGS)
    expect(page.locator("#queue")).not_to_contain_text("ahead-of-it")
    expect(page.locator("#queue")).to_contain_text("nobody")
