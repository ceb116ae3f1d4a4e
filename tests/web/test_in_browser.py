"""The page of a world at work, in a real browser: what a person does in a morning, by keyboard."""

import socket
import sqlite3
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import product
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from playwright.async_api import Page as Tab

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.play import blocked, call, edit, say, submit
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.rows import insert
from tests.stored import claim, prepare
from tests.web.browser import VIEWS, opened
from tests.web.paging import Page, made_page
from tests.web.test_github_sign_in import ground
from tests.web.test_looks import AXE, SERIOUS, TOO_WIDE
from tests.world import FIX, REPO

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

WORK = (edit(*FIX), submit())
ASKS = call("ask_question", question="Plus or minus?", kind="question")
HOSTILE = "<script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\">"


@pytest_asyncio.fixture(loop_scope="session")
async def page() -> AsyncIterator[Page]:
    async with made_page() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def tab(page: Page, browser: Browser) -> AsyncIterator[Tab]:
    """A browser that is signed in by the printed address."""
    async with opened(browser) as made:
        await made.goto(f"{page.address}?token={page.token}")
        await expect(made).to_have_url(page.address)
        await expect(made.locator("[data-live=on]")).to_have_text("live")
        yield made


async def test_a_decision_is_answered_by_keyboard(page: Page, tab: Tab) -> None:
    await page.world.issue("add() subtracts")
    page.world.model_will(blocked("I need the password"), when="add() subtracts")
    await page.world.settle()
    page.world.model_will(*WORK)
    await expect(tab.locator("nav .count")).to_have_text("1")
    await tab.keyboard.press("g")
    await tab.keyboard.press("i")
    await expect(tab).to_have_url(f"{page.address}inbox")
    await expect(tab.locator("#ask-1")).to_be_visible()
    await tab.keyboard.press("j")
    await tab.keyboard.press("1")
    await expect(tab.locator(".flash")).to_contain_text("Decision 1: Try again.")
    await page.world.settle()
    assert (await page.world.job()).state is JobState.IN_REVIEW, await page.world.transcript()


async def test_somebody_signs_in_with_github_and_out(browser: Browser) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    async with ground(url=f"http://{place}", listens=place) as here, opened(browser) as tab:
        here.people.oauth.person = "ada"
        await tab.goto(f"http://{place}/sign-in")
        await tab.get_by_role("link", name="Sign in with GitHub").click()
        await expect(tab).to_have_url(f"http://{place}/")
        await expect(tab.locator(".person")).to_contain_text("ada")
        await expect(tab.locator("[data-live=on]")).to_have_text("live")
        await tab.get_by_role("button", name="Sign out").click()
        await expect(tab).to_have_url(f"http://{place}/sign-in")
        assert [cookie["name"] for cookie in await tab.context.cookies()] == []


async def test_a_minion_is_steered_and_a_job_stopped_while_the_page_is_live(page: Page, tab: Tab) -> None:
    world = page.world
    await world.issue("add() subtracts")
    world.model_will(ASKS, *WORK)
    await world.make_due()
    await world.until(world.decisions)
    card = tab.locator("#job-1")
    await expect(card).to_contain_text("at work")
    await card.get_by_placeholder("Message the Minion").fill("Use plus")
    await tab.keyboard.press("Enter")
    await expect(tab.locator(".flash")).to_contain_text("reads it before its next turn")
    assert "message_posted" in await world.events()
    await tab.locator("#job-1").get_by_role("button", name="Stop").click()
    await expect(tab.locator("dialog#confirm")).to_contain_text("Stop job 1?")
    await tab.get_by_role("button", name="Yes, go on").click()
    await expect(tab.locator(".flash")).to_contain_text("Stopped job 1")
    await world.settle()
    assert (await world.job()).state is JobState.CANCELLED
    await expect(tab.locator("#now")).to_contain_text("No session runs.")


async def test_a_transcript_is_read_and_a_diff(page: Page, tab: Tab) -> None:
    await page.world.issue("add() subtracts")
    page.world.model_will(*WORK)
    await page.world.settle()
    await tab.goto(f"{page.address}jobs/1")
    await expect(tab.locator(".timeline")).to_contain_text("claimed")
    await tab.get_by_role("link", name="Transcript").click()
    turn = tab.locator("#turn-1")
    await expect(turn).to_contain_text("edit_file")
    await turn.locator("details summary").last.click()
    await expect(turn.locator("details[open] pre").last).to_contain_text("calc.py")
    await tab.get_by_role("link", name="Diff").click()
    await expect(tab.locator("tr.add")).to_contain_text("return a + b")
    await expect(tab.locator(".in-scope")).to_be_visible()


SHOWN = "<script>document.title='hit'</script>"


async def is_text(tab: Tab, words: str = SHOWN) -> None:
    """It is read on the page, and nothing of it acts: no element, no title, no dialog."""
    await expect(tab.locator("main")).to_contain_text(words)
    assert await tab.title() != "hit" and await tab.locator("main img, main script").count() == 0


async def test_scripts_in_every_field_are_text(page: Page, tab: Tab) -> None:
    """Those that the models and the repository fill: title, text, calls, outputs, questions, files, reports."""
    world = page.world
    await world.issue(HOSTILE, HOSTILE)
    world.model_will(call("run_command", command=f"echo '{HOSTILE}'"), blocked(HOSTILE), when="hit")
    await world.issue("add() subtracts")
    hostile = (edit("calc.py", "return a - b", f"return a + b  # {HOSTILE}"), submit(HOSTILE))
    world.model_will(say(HOSTILE), *hostile, when="add()")
    await world.settle()
    await tab.locator("nav").get_by_role("link", name="Inbox").click()
    for path in (
        "",
        "inbox",
        "inbox/1",
        "jobs/1",
        "jobs/1/transcript",
        "history",
        "history?q=title",
        "look/why?words=1",
    ):
        await tab.goto(f"{page.address}{path}")
        await is_text(tab)
    for path in ("jobs/2", "jobs/2/transcript", "jobs/2/diff", "look/job?words=2"):
        await tab.goto(f"{page.address}{path}")
        await is_text(tab)


async def test_scripts_that_people_type_are_text(page: Page, tab: Tab) -> None:
    """Those that whoever is signed in fills, and those of an address made by hand."""
    world = page.world
    await world.issue("add() subtracts")
    world.model_will(ASKS, *WORK)
    await world.make_due()
    await world.until(world.decisions)
    card = tab.locator("#job-1")
    await card.get_by_placeholder("Message the Minion").fill(HOSTILE)
    await tab.keyboard.press("Enter")
    await expect(tab.locator(".flash")).to_contain_text("reads it before its next turn")
    await tab.goto(f"{page.address}jobs/1")
    await is_text(tab)
    await tab.goto(f"{page.address}inbox")
    await tab.get_by_label("Words with your answer").fill(HOSTILE)
    await tab.get_by_role("button", name="Reply").click()
    await is_text(tab)
    await tab.goto(f"{page.address}spaces/{REPO}")
    await tab.get_by_placeholder("Why").fill(HOSTILE)
    await tab.get_by_role("button", name="Pause").click()
    for path in ("spaces", "", "look/status"):
        await tab.goto(f"{page.address}{path}")
        await is_text(tab)
    typed = quote(HOSTILE, safe="")
    for path in (f"history?q={typed}", f"trends?model={typed}", f"history?space={typed}&state={typed}"):
        await tab.goto(f"{page.address}{path}")
        assert await tab.title() != "hit" and await tab.locator("main img, main script").count() == 0
    await tab.goto(f"{page.address}history?q={typed}")
    await expect(tab.locator("input[type=search]")).to_have_value(HOSTILE)


@pytest.mark.parametrize("view", VIEWS)
async def test_everybody_can_read_every_page(page: Page, browser: Browser, view: str) -> None:
    world = page.world
    for title in ("add() subtracts", "a_very_long_word_" * 12):
        await world.issue(title)
    world.model_will(blocked("I need the password"), when="a_very")
    world.model_will(ASKS, *WORK, when="add()")
    await world.make_due()
    await world.until(lambda: _asked_twice(page))
    async with opened(browser, VIEWS[view], bypass_csp=True) as tab:
        await tab.goto(f"{page.address}?token={page.token}")
        for path in (
            "",
            "inbox",
            "jobs/1",
            "jobs/1/transcript",
            "jobs/1/diff",
            "jobs/1/checks",
            "jobs/1/cost",
            *OTHERS,
        ):
            await tab.goto(f"{page.address}{path}")
            await tab.add_script_tag(path=AXE)
            assert await tab.evaluate(SERIOUS) == [], path
            if view == "phone":
                assert await tab.evaluate(TOO_WIDE) == [], path


@pytest.mark.parametrize("view", VIEWS)
async def test_everybody_can_read_agents_side_by_side(page: Page, browser: Browser, view: str) -> None:
    await page.world.overlord.parts.database.write(
        Failpoint.SESSION_CLEARED, lambda c: _worked_by_many(c, page.world.clock.now())
    )
    async with opened(browser, VIEWS[view], bypass_csp=True) as tab:
        await tab.goto(f"{page.address}?token={page.token}")
        await tab.goto(f"{page.address}trends")
        await tab.get_by_role("link", name="Agents side by side").click()
        await expect(tab.locator("table")).to_have_count(3)
        await expect(tab.locator("table").first).to_contain_text("a-model-of-a-very-long-name")
        await tab.add_script_tag(path=AXE)
        assert await tab.evaluate(SERIOUS) == []
        assert await tab.evaluate(TOO_WIDE) == []


def _worked_by_many(connection: sqlite3.Connection, at: datetime) -> None:
    """Jobs of two repositories that ended, by several agents and models, some of which have long names."""
    agents = ("native", "claude-code", f"acp:npx {HOSTILE} {'goose-' * 20}")
    for number, (space, agent) in enumerate(product((REPO, "acme/" + "web-" * 20), agents), 100):
        job = claim(connection, number, space)
        session = prepare(connection, job, agent=agent).id
        books = {"session_id": session, "job_id": job.id, "space": space, "day": at.date(), "at": at}
        model = "a-model-of-a-very-long-name-" * 4 if agent == "native" else "opus"
        insert(
            connection, "exchanges", {**books, "model": model, "status": 200, "settled": True, "reserved": 0}
        )
        jobs.move(connection, job.id, EventName.STOPPED, at=at, data={"reason": "x"})


OTHERS = (
    "inbox/1",
    "spaces",
    f"spaces/{REPO}",
    "history",
    "history?q=add",
    "do",
    "do/scope",
    "look/status",
    "look/skills",
)


async def _asked_twice(page: Page) -> bool:
    return len(await page.world.decisions()) == 2


async def test_without_javascript_the_inbox_works(page: Page, browser: Browser) -> None:
    await page.world.issue("add() subtracts")
    page.world.model_will(blocked("I need the password"))
    await page.world.settle()
    async with opened(browser, javascript=False) as tab:
        await tab.goto(f"{page.address}inbox?token={page.token}")
        await tab.get_by_role("button", name="Drop it").click()
        await expect(tab.locator(".flash")).to_contain_text("Decision 1: Drop it.")
