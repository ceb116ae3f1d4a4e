"""The stand-in chat in a browser: it looks as the operator's page does, everybody can read it, and it fits a phone."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from overlord.embedded.play import blocked, edit, submit
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.web.browser import VIEWS, opened
from tests.web.test_looks import AXE, SERIOUS, TOO_WIDE
from tests.world import FIX

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

HOSTILE = "<img src=x onerror=alert(1)> " + "a_very_long_word_" * 12


@pytest_asyncio.fixture(loop_scope="session")
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as made:
        await made.world.issue("add() subtracts")
        made.world.model_will(edit(*FIX), submit(), when="add() subtracts")
        await made.world.settle()
        await made.world.issue(HOSTILE)
        made.world.model_will(blocked(HOSTILE), when="a_very_long")
        await made.world.settle()
        await made.command("help")
        yield made


@pytest.mark.parametrize("view", VIEWS)
async def test_everybody_can_read_the_chat_and_answer_in_it(talk: Talk, browser: Browser, view: str) -> None:
    async with opened(browser, VIEWS[view], bypass_csp=True) as tab:
        await tab.goto(talk.chat.page_url())
        await expect(tab.locator("#link")).to_have_text("Overlord is connected")
        await tab.add_script_tag(path=AXE)
        for click in ("", "#messages .replies:not(.none)", "#thread-close", "#home-link"):
            if click:
                await tab.locator(click).last.click()
            assert await tab.evaluate(SERIOUS) == [], (view, click)
            assert await tab.evaluate(TOO_WIDE) == [], (view, click)
        assert await tab.locator("main img").count() == 0


async def test_it_has_the_colours_of_the_page(talk: Talk, browser: Browser) -> None:
    async with opened(browser) as tab:
        await tab.goto(talk.chat.page_url())
        await expect(tab.locator("#link")).to_have_text("Overlord is connected")
        sheets = await tab.evaluate("[...document.styleSheets].map((one) => new URL(one.href).pathname)")
        assert sheets == ["/style.css", "/page.css"]
        button = tab.locator("#composer button")
        accent = await tab.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
        assert accent and await button.evaluate("(one) => getComputedStyle(one).borderRadius") == "6px"
