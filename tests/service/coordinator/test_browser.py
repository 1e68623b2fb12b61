"""A campaign begun, watched and finished in a real browser."""

import re
from contextlib import contextmanager

import pytest
from anyio.from_thread import start_blocking_portal
from benchmarks.loopback import serve

from tacit.estimators.persistence import open_model
from tacit.service.coordinator.records import Act, Records
from tacit.service.coordinator.status import Progress
from tacit.service.device.client import Link
from tacit.service.device.join import join
from tests.browser import browser, watched
from tests.service.coordinator.made import ADMIN, CAMPAIGN, folder_of, joining, running
from tests.service.coordinator.test_several import folder_with, service_of

NAME = "<b>Blood</b> & 'pressure'"
TEXT = CAMPAIGN.replace('"trial"', f'"{NAME}"').replace("start = 45", "start = 1000")
OWNERS = 24
TOKENS = [f"token number {i:04d}" for i in range(OWNERS)]


@contextmanager
def joined(folder, url):
    """Owners in their own thread, over HTTP; they leave with the test, however it ends."""

    async def main():
        link = Link.to(url, None, patience=300.0)
        try:
            await join(joining(folder), link, TOKENS)
        finally:
            await link.close()

    with start_blocking_portal() as portal:
        owners = portal.start_task_soon(main)
        try:
            yield owners
        finally:
            owners.cancel()


@pytest.fixture(scope="module")
def seen():
    with browser() as running_browser:
        yield running_browser


def test_a_campaign_begun_watched_and_finished_in_the_browser(seen, tmp_path):
    folder = folder_of(tmp_path, owners=OWNERS, text=TEXT)
    service = running(folder)
    service.store.add_tokens(TOKENS)
    with serve(service.app) as url:
        page, wrong = watched(seen, url)
        page.goto(url)
        assert page.get_by_role("heading", level=1).inner_text() == NAME
        page.get_by_text("0 of 1,000 owners needed to begin have enrolled.").wait_for()
        with joined(folder, url) as owners:
            page.get_by_text(f"{OWNERS} of 1,000 owners needed to begin have enrolled.").wait_for(
                timeout=300_000
            )

            page.get_by_label("Admin key").fill("not the key")
            page.get_by_role("button", name="Begin or go on").click()
            page.get_by_text("That is not the admin key.").wait_for()
            assert contrast(page, "#told.warning") >= 4.5
            assert service.store.standing().state == "enrolling"
            assert [text for text in wrong if "401" not in text] == []
            wrong.clear()

            page.get_by_label("Admin key").fill(ADMIN)
            page.keyboard.press("Tab")  # the keyboard is enough
            page.keyboard.press("Enter")
            page.get_by_text("Done.", exact=True).wait_for()
            assert page.locator("#told.warning").count() == 0
            assert page.get_by_label("Admin key").input_value() == ""
            begun = re.compile(
                r"Question \d+ is open|The model is published"
            )  # a quick one closes between two looks
            page.get_by_text(begun).first.wait_for(timeout=120_000)

            page.get_by_text("The model is published.").wait_for(timeout=300_000)
            owners.result(timeout=300)
            page.get_by_text("there is nothing left to steer").wait_for()
            assert page.get_by_role("button", name="Begin or go on").is_hidden()
            for number in range(60):
                Records(service.store).note(Act("ada", "state", str(number), "", "200"))
            page.get_by_label("Admin key").fill(ADMIN)
            page.get_by_role("button", name="Log").click()  # an administrator may still look
            page.get_by_text("50 lines, the latest first.").wait_for()
            page.get_by_role("cell", name="done", exact=True).first.wait_for()
            page.get_by_role("button", name="Earlier").click()
            page.get_by_role("cell", name="refused").first.wait_for()
            for scheme, width in (("light", 390), ("dark", 390), ("dark", 1280), ("light", 1280)):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                place = page.get_by_role("columnheader", name="Outcome").bounding_box()
                assert place["x"] + place["width"] <= width  # what matters is not off the screen
            with page.expect_download() as model:
                page.get_by_role("link", name="The model").click()
            signed = model.value.path().read_bytes()
            assert open_model(signed)[0] == service.store.standing().model
            table = page.get_by_role("table", name="Questions, and what became of them")
            assert table.get_by_role("row").count() == 1 + len(service.store.questions())
            ratios = page.get_by_role(
                "table", name=re.compile("predicted and measured")
            ).get_by_role("row")
            assert ratios.count() == 1 + len(service.store.questions())
            rounds = len(
                Progress.read(service.store.standing().progress).rounds
            )  # noise may have cost one
            assert page.locator(".chart .ours .marker").count() == rounds
            assert page.locator(".chart .public .stroke").count() == 1
            page.get_by_text("The same as a table").click()
            page.wait_for_timeout(
                2500
            )  # the page was fetched again meanwhile, and the table is still open
            assert page.get_by_role(
                "columnheader", name="The data user's sample alone"
            ).is_visible()
            assert (
                page.evaluate(
                    "[...Object.keys(localStorage), ...Object.keys(sessionStorage), "
                    "document.cookie].join('')"
                )
                == ""
            )
            assert wrong == []


def test_enter_in_the_field_of_the_key_steers_nothing(seen, tmp_path):
    """It pressed "Begin or go on", which cannot be taken back."""
    service = running(folder_of(tmp_path, text=TEXT))
    Records(service.store).note(Act("ada", "state", "", "", "200"))
    with serve(service.app) as url:
        page, wrong = watched(seen, url)
        page.goto(url)
        page.get_by_label("Admin key").fill(ADMIN)
        page.keyboard.press("Enter")
        page.get_by_text("1 lines, the latest first.").wait_for()
        assert service.store.standing().state == "enrolling"
        assert "Enter shows the log" in page.locator("#keyhelp").inner_text()
        page.get_by_label("Admin key").fill("")
        page.get_by_role("button", name="Begin or go on").click()
        assert page.locator("#key:invalid:focus").count() == 1  # it was not sent without a key
        assert service.store.standing().state == "enrolling"
        assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_can_be_read(seen, tmp_path, scheme, width):
    service = running(folder_of(tmp_path, text=TEXT))
    with serve(service.app) as url:
        page, wrong = watched(
            seen, url, color_scheme=scheme, viewport={"width": width, "height": 800}
        )
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        for selector in (
            "h1",
            ".lead",
            ".quiet",
            ".badge",
            "button.second",
            "button",
            ".terms dt",
            "a:not(.skip)",
        ):
            assert contrast(page, selector) >= 4.5, selector
        page.emulate_media(media="print", color_scheme=scheme)
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert page.get_by_label("Admin key").is_hidden()
        for selector in ("h1", ".lead", ".quiet", ".terms dt"):
            assert contrast(page, selector) >= 4.5, selector
        assert wrong == []


@pytest.mark.parametrize("width", [390, 1280])
def test_the_list_fits_whatever_campaigns_are_called(seen, tmp_path, width):
    """A word of sixty letters pushed the page off a telephone's screen."""
    folder = folder_with(tmp_path, "north", "south")
    file = folder / "south.toml"
    file.write_text(file.read_text().replace("trial south", "W" * 100))
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")
    with serve(service.app()) as url:
        page, wrong = watched(seen, url, viewport={"width": width, "height": 800})
        page.goto(url)
        assert page.get_by_role("link", name="W" * 100).is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert wrong == []


def test_the_page_works_without_script(seen, tmp_path):
    service = running(folder_of(tmp_path, text=TEXT))
    with serve(service.app) as url:
        page, wrong = watched(seen, url, java_script_enabled=False)
        page.goto(url)
        assert page.get_by_text("What is promised to owners").is_visible()
        assert page.get_by_label("Admin key").is_hidden()
        assert page.get_by_text("Steering here needs the page's script.").is_visible()
        assert wrong == []


def contrast(page, selector):
    """The contrast of text against the ground behind it, by the formula of WCAG 2."""
    ink, ground = page.evaluate(
        """selector => {
            const found = document.querySelector(selector);
            let behind = found;
            const nothing = "rgba(0, 0, 0, 0)";
            while (getComputedStyle(behind).backgroundColor === nothing)
                behind = behind.parentElement;
            return [getComputedStyle(found).color, getComputedStyle(behind).backgroundColor];
        }""",
        selector,
    )
    light = sorted((luminance(ink), luminance(ground)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
