"""The design in a browser, on sample pages: everybody can read it, it fits a phone, and the keyboard is enough."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from overlord.embedded.server import serve
from tests.web.browser import VIEWS, View, opened
from tests.web.looks import PAGES
from tests.web.sample_site import SampleSite

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

AXE = Path(__file__).parent / "axe.min.js"
SERIOUS = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.filter(({impact}) => ["serious", "critical"].includes(impact))
    .map(({id, nodes}) => [id, ...nodes.map((node) => node.html.slice(0, 200) + node.failureSummary)]);
}"""
TOO_WIDE = """() => document.documentElement.scrollWidth > innerWidth ? ["the page"] : [...document.querySelectorAll("body *")]
  .filter((one) => !one.closest(".scroll > *, .visually-hidden, .skip") && one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 120))"""
UNFOLD = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[SampleSite]:
    made = SampleSite()
    async with serve(made.application()) as made.url:
        yield made
        made.cut()


@pytest_asyncio.fixture(loop_scope="session")
async def page(site: SampleSite, browser: Browser) -> AsyncIterator[Page]:
    async with opened(browser) as made:
        yield made


async def go(page: Page, site: SampleSite, name: str) -> None:
    """Open a sample page and wait until it hears of changes."""
    await page.goto(f"{site.url}/{name}")
    await expect(page.locator("[data-live=on]")).to_have_text("live")
    await site.connected.wait()


async def selected(page: Page) -> Any:
    return await page.evaluate(
        "[...document.querySelectorAll('[data-row][aria-current=true]')].map((row) => row.id)"
    )


async def show(page: Page, view: View) -> None:
    """Let the page be seen in another way, as somebody does who turns the light off or takes a phone."""
    await page.emulate_media(color_scheme=view.scheme)
    await page.set_viewport_size({"width": view.width, "height": view.height})


@pytest.mark.parametrize("name", PAGES)
async def test_everybody_can_read_a_page_in_light_in_the_dark_and_on_a_phone(
    site: SampleSite, browser: Browser, name: str
) -> None:
    # axe is put into the page, which the policy forbids to everybody else.
    async with opened(browser, bypass_csp=True) as page:
        await page.goto(f"{site.url}/{name}")
        await page.evaluate(UNFOLD)
        await page.add_script_tag(path=AXE)
        for said, view in VIEWS.items():
            await show(page, view)
            assert await page.evaluate(SERIOUS) == [], said
            assert await page.evaluate(TOO_WIDE) == [], said


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
async def test_everybody_can_read_the_help(site: SampleSite, browser: Browser, view: View) -> None:
    async with opened(browser, view, bypass_csp=True) as page:
        await page.goto(f"{site.url}/history")
        await page.keyboard.press("?")
        await page.add_script_tag(path=AXE)
        assert await page.evaluate(SERIOUS) == []
        assert await page.evaluate(TOO_WIDE) == []


async def test_rows_are_selected_and_opened_by_keys(site: SampleSite, page: Page) -> None:
    await go(page, site, "now")
    for key, row in (("j", "job-1"), ("j", "job-2"), ("k", "job-1"), ("k", "job-1")):
        await page.keyboard.press(key)
        assert await selected(page) == [row]
    await page.keyboard.press("o")
    assert page.url.endswith("#job-1")
    await page.keyboard.press("Escape")
    assert await selected(page) == []


async def test_pages_search_and_help_are_reached_by_keys(site: SampleSite, page: Page) -> None:
    await go(page, site, "now")
    await page.keyboard.press("g")
    await page.keyboard.press("h")
    await page.wait_for_url("**/history")
    await page.keyboard.press("/")
    await page.keyboard.type("j?g")
    await expect(page.locator("input[type=search]")).to_have_value("j?g")
    assert await selected(page) == []
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await expect(page.locator("dialog#help")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("dialog#help")).to_be_hidden()


async def test_single_keys_can_be_turned_off(site: SampleSite, page: Page) -> None:
    await go(page, site, "inbox")
    await page.get_by_role("button", name="Keys").click()
    await page.get_by_label("Use these keys").uncheck()
    await page.get_by_role("button", name="Close").click()
    await page.keyboard.press("j")
    assert await selected(page) == ["answered-1"]


async def test_a_digit_gives_the_selected_question_its_answer(site: SampleSite, page: Page) -> None:
    await go(page, site, "inbox")
    await page.keyboard.press("Escape")
    await page.keyboard.press("2")
    assert site.pressed == [], "no question is selected"
    for key in "jkka":  # what was selected, two rows up, its first answer
        await page.keyboard.press(key)
    await expect(page.locator("#question-2 .answers button").first).to_be_focused()
    async with page.expect_navigation():
        await page.keyboard.press("2")
    assert site.pressed == [{"csrf": "a-token", "answer": "once"}]


async def test_what_cannot_be_undone_is_asked_first(site: SampleSite, page: Page) -> None:
    await go(page, site, "inbox")
    question, stop = page.locator("dialog#confirm"), page.locator("#question-1 .danger")
    await stop.click()
    await expect(question).to_contain_text("Stop this job? The work so far stays on its branch.")
    await page.keyboard.press("Escape")
    await expect(question).to_be_hidden()
    await expect(stop).to_be_focused()
    assert site.pressed == []
    await stop.click()
    async with page.expect_navigation():
        await question.get_by_role("button", name="Yes, go on").click()
    assert site.pressed == [{"csrf": "a-token", "answer": "stop"}]


async def test_a_change_leaves_what_the_reader_did(site: SampleSite, page: Page) -> None:
    await go(page, site, "now")
    await page.locator("#scope-2 summary").click()
    await page.evaluate("scrollTo(0, 60)")
    site.change()
    await expect(page.locator("#job-2 .facts")).to_contain_text("13 of 60")
    assert await selected(page) == ["job-2"]
    await expect(page.locator("#scope-2 summary")).to_be_focused()
    assert await page.evaluate("[document.querySelector('#scope-2').open, scrollY]") == [True, 60]
    await expect(page.locator("#job-2 time")).to_contain_text("15:03")


async def test_a_question_that_somebody_else_answered_takes_its_selection_along(
    site: SampleSite, page: Page
) -> None:
    await go(page, site, "inbox")
    await page.locator("#question-1 summary").click()
    site.change()
    await expect(page.locator("#question-1")).to_have_count(0)
    assert await selected(page) == []
    await page.keyboard.press("1")
    await page.keyboard.press("j")
    assert await selected(page) == ["question-2"]
    assert site.pressed == []


async def test_many_changes_at_once_are_read_together(site: SampleSite, page: Page) -> None:
    await go(page, site, "now")
    for _ in range(9):
        site.change()
    await expect(page.locator("#job-1 .facts")).to_contain_text("21 of 60")
    assert site.parts_read <= 2


async def test_a_page_that_lost_its_server_connects_again_and_reads_what_it_missed(
    site: SampleSite, page: Page
) -> None:
    await go(page, site, "now")
    site.cut()
    site.round += 1
    await expect(page.locator("#job-1 .facts")).to_contain_text("13 of 60")
    await expect(page.locator("[data-live=on]")).to_have_text("live")


async def test_forms_and_links_work_without_javascript(site: SampleSite, browser: Browser) -> None:
    async with opened(browser, javascript=False) as page:
        await page.goto(f"{site.url}/inbox")
        await page.locator("#question-1 .danger").click()
        assert site.pressed == [{"csrf": "a-token", "answer": "stop"}]
        await page.get_by_role("link", name="History").click()
        assert page.url.endswith("/history")
