"""What only a browser shows of the cluster page: it follows what happens, slots lead to their jobs, narrow screens."""

import pytest
from playwright.sync_api import expect

from jobs.models import MirrorObject
from tests.browser.life.conftest import Site
from tests.unit.life.test_cluster import node, pod

WIDER = "() => document.documentElement.scrollWidth - innerWidth"


def test_it_follows_what_happens_and_hears_the_last_of_many_events(site: Site) -> None:
    node("m-0")
    page = site.open("/cluster")
    expect(page.locator(".slots-head").first).to_contain_text("4 of 4 free")
    job = site.world.job("mine")
    pod(job, "mine-0", "m-0", cpu="1")
    site.ring(page, "cluster-changed", "cluster")
    expect(page.locator(".slots-head").first).to_contain_text("3 of 4 free")
    pod(job, "mine-1", "m-0", cpu="2")
    for _ in range(20):  # within the pause: one refresh follows for all
        site.ring(page, "cluster-changed", "cluster")
    expect(page.locator(".slots-head").first).to_contain_text("1 of 4 free")
    MirrorObject.objects.filter(name="m-0").update(
        raw=MirrorObject.objects.get(name="m-0").raw | {"spec": {"unschedulable": True}}
    )
    site.ring(page, "cluster-changed", "cluster")
    expect(page.locator(".machine .pill")).to_have_text("cordoned")


def test_a_slot_leads_to_its_job_by_click_and_by_key(site: Site) -> None:
    node("m-0")
    job = site.world.job("mine")
    pod(job, "mine-0", "m-0", cpu="2", memory="4Gi")
    page = site.open("/cluster")
    page.locator("a.slot").first.click()
    page.wait_for_url(f"**/jobs/{job.pk}")
    page.go_back()
    page.locator("a.slot").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{job.pk}")


def test_slots_are_as_wide_as_what_they_hold(site: Site) -> None:
    node("m-0")
    pod(site.world.job("mine"), "mine-0", "m-0", cpu="1", memory="4Gi")
    page = site.open("/cluster")
    for index, share in ((0, 0.25), (1, 0.5)):
        bar = page.locator("svg.slots").nth(index)
        whole, held = bar.bounding_box(), bar.locator("a.slot svg rect").bounding_box()
        assert whole
        assert held
        assert abs(held["width"] / whole["width"] - share) < 0.02


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(site: Site, width: int) -> None:
    for number in range(3):
        name = f"a-machine-with-a-rather-long-name-{number}.cluster.example.org"
        node(name, **{"nvidia.com_gpu": "8"})
        pod(site.world.job(f"llama3-8b-instruct-sft-{number}"), f"p{number}", name, cpu="1", **{"nvidia.com_gpu": "3"})
    page = site.open("/cluster", viewport={"width": width, "height": 800})
    assert page.evaluate(WIDER) <= 0
