"""The portfolio's pages in a real browser: everybody can read them, they fit a phone, and the keyboard is enough."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from playwright.async_api import Page as Tab

from overlord.domain.portfolio.initiative import InitiativeState
from overlord.store.portfolio import initiatives
from tests import portfolio_filled as sample
from tests.records import NOW
from tests.web.browser import VIEWS, opened
from tests.web.paging import Page, made_page
from tests.web.test_looks import AXE, SERIOUS, TOO_WIDE, UNFOLD, show

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

PATHS = (
    "portfolio",
    "portfolio?state=active",
    "initiatives/i1",
    "initiatives/i2",
    "tasks/i1.1",
    "knowledge",
    "knowledge/n3",
)


@pytest_asyncio.fixture(loop_scope="session")
async def page() -> AsyncIterator[Page]:
    async with made_page(repositories=list(sample.SPACES)) as made:
        await made.world.overlord.parts.database.write("by hand", sample.fill)
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def tab(page: Page, browser: Browser) -> AsyncIterator[Tab]:
    async with opened(browser) as made:
        await made.goto(f"{page.address}?token={page.token}")
        await expect(made.locator("[data-live=on]")).to_have_text("live")
        yield made


async def test_everybody_can_read_the_portfolio(page: Page, browser: Browser) -> None:
    # axe is put into the page, which the policy forbids to everybody else.
    async with opened(browser, bypass_csp=True) as tab:
        await tab.goto(f"{page.address}?token={page.token}")
        for path in PATHS:
            await tab.goto(f"{page.address}{path}")
            await tab.evaluate(UNFOLD)
            await tab.add_script_tag(path=AXE)
            for said, view in VIEWS.items():
                await show(tab, view)
                assert await tab.evaluate(SERIOUS) == [], (path, said)
                assert await tab.evaluate(TOO_WIDE) == [], (path, said)


async def test_an_initiative_is_opened_and_made_urgent_by_keyboard(page: Page, tab: Tab) -> None:
    await tab.keyboard.press("g")
    await tab.keyboard.press("p")
    await expect(tab).to_have_url(f"{page.address}portfolio")
    await tab.keyboard.press("j")
    await tab.keyboard.press("o")
    await expect(tab).to_have_url(f"{page.address}initiatives/i9")
    await tab.goto(f"{page.address}initiatives/i1")
    await tab.locator(".graph a").first.focus()
    await tab.keyboard.press("Enter")
    await expect(tab).to_have_url(f"{page.address}tasks/i1.1")
    await tab.goto(f"{page.address}initiatives/i1")
    priority = tab.locator("details.act", has_text="Priority…")
    await priority.locator("summary").focus()
    await tab.keyboard.press("Enter")
    await priority.locator("select").select_option("priority urgent")
    await priority.get_by_role("button").click()
    await expect(tab.locator(".flash").first).to_be_visible()
    await expect(tab.locator("#part")).to_contain_text("priority urgent")


async def test_the_board_follows_what_happens(page: Page, tab: Tab) -> None:
    await tab.goto(f"{page.address}portfolio")
    await expect(tab.locator("[data-live=on]")).to_have_text("live")
    await expect(tab.locator("section:has(#column-active) #i2")).to_be_visible()
    await page.world.overlord.parts.database.write(
        "by hand", lambda c: initiatives.change(c, 2, at=NOW, state=InitiativeState.PAUSED)
    )
    page.world.overlord.parts.notify()
    await expect(tab.locator("section:has(#column-paused) #i2")).to_be_visible()


async def test_everything_works_without_javascript(page: Page, browser: Browser) -> None:
    async with opened(browser, javascript=False) as tab:
        await tab.goto(f"{page.address}?token={page.token}")
        await tab.get_by_role("link", name="Portfolio").click()
        await tab.locator("select[name=space]").select_option(sample.DOCS)
        await tab.get_by_role("button", name="Show").click()
        await tab.get_by_role("link", name="Each command has a page").click()
        await tab.get_by_role("button", name="Pause").click()
        await expect(tab.locator("#part")).to_contain_text("paused")
        await tab.get_by_role("link", name="Knowledge").click()
        await tab.get_by_role("button", name="Accept").first.click()
        await expect(tab.locator(".flash").first).to_be_visible()
