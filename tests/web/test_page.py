"""The operator's page, from the outside: what is going on, what waits, and each act by whoever is signed in."""

import asyncio
import re
import sqlite3
from html import unescape

import httpx
import pytest

from minion.protocol import Finding
from overlord.domain.decision import DecisionState
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.play import blocked, call, edit, submit
from overlord.entrypoints.web.server import page_served
from overlord.store import decisions, jobs
from overlord.store.checks import evaluations
from overlord.store.conversation import steering
from tests.memory.world import made_memory_world
from tests.records import NOW
from tests.stored import claim, evaluating
from tests.web.paging import Page, made_page
from tests.world import CALC, FIX, REPO

WORK = (edit(*FIX), submit())
ASKS = call("ask_question", question="Plus or minus?", kind="question")


async def test_a_decision_is_answered_on_the_page_once() -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(blocked("I need the password"))
        await page.world.settle()
        assert "1 waiting for you" in await page.words("/jobs/1")
        shown = await page.words("/inbox")
        assert (
            "I need the password" in shown and "the job ends; branch, pull request and evidence stay" in shown
        )
        forms = await page.forms("/inbox")
        assert "Decision 1: Drop it" in await page.press("/inbox", "Drop it")
        assert (await page.world.job()).state is JobState.CANCELLED
        [again] = [form for form in forms if form.action == "/answer"]
        said = await page.send("/inbox", again.action, {**again.fields, "verb": "drop"})
        assert "was answered before, by web:" in said
        assert (await page.world.events()).count(EventName.DECISION_ANSWERED) == 1
        assert "web:" in (await page.words("/inbox")).partition("Answered lately")[2]


async def test_a_minion_is_steered_and_stopped_from_its_card() -> None:
    async with made_page() as page:
        world = page.world
        await world.issue("add() subtracts")
        world.model_will(ASKS, *WORK)
        await world.make_due()
        await world.until(world.decisions)
        now = await page.words("/")
        assert "add() subtracts" in now and "at work" in now
        assert "reads it before its next turn" in await page.press(
            "/", "Send", settles=False, words="Use plus"
        )
        assert "message_posted" in await world.events()
        assert "Stopped job 1" in await page.press("/", "Stop")
        assert (await world.job()).state is JobState.CANCELLED


async def test_who_asks_for_work_is_told_what_became_of_it() -> None:
    async with made_page() as page:
        asking = asyncio.create_task(page.press("/do/work", "work", settles=False, issue="#999"))
        while not asking.done():
            await page.world.settle()
        assert "#999" in await asking


async def test_a_jobs_pages_show_its_story_transcript_diff_and_checks() -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(*WORK)
        await page.world.settle()
        story = await page.words("/jobs/1")
        assert "claimed" in story and "What Overlord checked" in story
        transcript = await page.words("/jobs/1/transcript")
        assert "Turn 1" in transcript and "edit_file" in transcript
        diff = await page.text("/jobs/1/diff")
        assert 'class="in-scope"' in diff and "calc.py" in diff and 'class="add"' in diff
        assert "pass" in await page.words("/jobs/1/checks")
        [file, *_] = [
            part.split('"')[0]
            for part in (await page.text("/jobs/1")).split('href="')[1:]
            if "/evidence/" in part
        ]
        kept = await page.get(file)
        assert kept.status_code == 200 and kept.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "path",
    ["/", "/inbox", "/spaces", f"/spaces/{REPO}", "/look/status", "/look/skills", "/look/cost?words=week"],
)
async def test_every_page_is_there_and_its_part_too(path: str) -> None:
    async with made_page(CALC) as page:
        whole = await page.text(path)
        assert whole.startswith("<!doctype html>") and whole.count("<main") == 1
        part = await page.text(f"{path}{'&' if '?' in path else '?'}part=1")
        assert "<main" not in part and part.strip() in whole


async def test_history_is_found_by_words_state_and_repository() -> None:
    async with made_page() as page:
        for title in ("add() subtracts", "100% of _nothing_", "another"):
            await page.world.issue(title)
            page.world.model_will(blocked("no"), when=title)
        await page.world.settle()
        assert "another" in await page.words("/history")
        found = await page.words("/history?q=100%25+_noth&state=waiting")
        assert "100% of" in found and "another" not in found
        assert "There is no word to find in that" in await page.words("/history?q=%25%25%25")
        assert "No job is like that." in await page.words("/history?q=elsewhere")
        assert "No job is like that." in await page.words("/history?state=completed")
        assert "No job is like that." in await page.words("/history?q=another&state=completed")
        assert "another" in await page.words("/history?state=nonsense&before=x")
        assert "No job is like that." in await page.words("/history?space=acme/none")
        assert "100% of" not in await page.words("/history?q=100&before=2")


async def test_history_leads_to_the_place_where_words_were_found() -> None:
    async with made_page(CALC) as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(*WORK)
        await page.world.settle()
        found = await page.text("/history?q=subtracts")
        assert '<a href="/jobs/1">issue</a>' in found and "<mark>subtracts</mark>" in found
        said = await page.text("/history?q=edit_file+calc")
        [address] = re.findall(r'href="(/jobs/1/transcript[^"]*)"', said)
        assert "<mark>edit_file</mark>" in said
        turn = unescape(address).partition("#")[2]
        assert f'id="{turn}"' in await page.text(unescape(address))
        checked = await page.text("/history?q=passed")
        assert '<a href="/jobs/1/checks">check: tests</a>' in checked


async def test_history_goes_on_where_a_page_of_what_was_found_ended() -> None:
    async with made_page() as page:
        await page.world.overlord.parts.database.write("by hand", _many)
        first = await page.text("/history?q=same")
        [older] = re.findall(r'rel="next" href="([^"]*)"', first)
        assert first.count("<li data-row") == 50 and "before=4" in older
        last = await page.text(unescape(older))
        assert last.count("<li data-row") == 3 and 'rel="next"' not in last


async def test_what_a_check_found_stands_with_its_place_in_a_file() -> None:
    async with made_page() as page:
        await page.world.overlord.parts.database.write("by hand", _checked)
        assert "lint in src/calc.py:3 : line too long" in await page.words("/jobs/1/checks")
        assert "check: lint" in await page.words('/history?q="too+long"')


def _checked(connection: sqlite3.Connection) -> None:
    row = evaluations.current(connection, evaluating(connection), at=NOW)
    found = Finding(check="lint", rule="E501", message="line too long", file="src/calc.py", line=3)
    lint = CheckResult(name=CheckName.LINT, score=CheckScore.FAIL, summary="1 new", findings=(found,))
    evaluations.add_check(connection, row, lint, at=NOW)


def _many(connection: sqlite3.Connection) -> None:
    for number in range(1, 54):
        job = claim(connection, number, title=f"same {number}")
        jobs.move(connection, job.id, EventName.STOPPED, at=NOW)


HOSTILE = ['"', "NEAR(", "*", "a OR b", "\0", "-x", "💥", "<script>alert(1)</script>", "w " * 5000, "%FF%00"]


@pytest.mark.parametrize("typed", HOSTILE)
async def test_whatever_is_typed_history_is_shown(typed: str) -> None:
    async with made_page() as page:
        found = await page.get("/history", params={"q": typed})
        assert found.status_code == 200 and "<script>alert" not in found.text


async def test_several_are_answered_at_once_and_each_is_bound_to_what_was_shown() -> None:
    async with made_page() as page:
        for title in ("first thing", "second thing", "third thing"):
            await page.world.issue(title)
            page.world.model_will(blocked("no"), when=title)
        await page.world.settle()
        await page.world.until(lambda: _asked(page, 3))
        one, two, three = [item.id for item in await page.world.decisions()]  # a proposal has a number too
        [many] = [form for form in await page.forms("/inbox") if form.action == "/answers"]
        digests = {
            form.fields["decision"]: form.fields["digest"]
            for form in await page.forms("/inbox")
            if form.action == "/answer"
        }
        sent = await page.client.post(
            "/answers",
            data={
                **many.fields,
                "verb": "reject",
                "chosen": [f"{one} {digests[str(one)]}", f"{two} 0000", f"{three} {digests[str(three)]}"],
            },
        )
        said = httpx.URL(sent.headers["location"]).params["done"]
        assert f"Decision {one}: Drop it." in said and f"Decision {three}: Drop it." in said
        assert f"decision {two} has changed since it was shown; look at it again" in said.lower()
        await page.world.settle()
        states = [(await page.world.read(decisions.get, number)).state for number in (one, two, three)]
        assert states == [DecisionState.ANSWERED, DecisionState.OPEN, DecisionState.ANSWERED]


async def _asked(page: Page, count: int) -> bool:
    return len(await page.world.decisions()) == count


async def test_a_text_of_several_lines_arrives_as_it_was_written() -> None:
    async with made_page() as page:
        assert "<textarea" in await page.text("/do/message")
        await page.world.issue("add() subtracts")
        page.world.model_will(ASKS, *WORK)
        await page.world.make_due()
        await page.world.until(page.world.decisions)
        [form] = [form for form in await page.forms("/do/message") if form.action == "/do/message"]
        fields = {**form.fields, "job": "1", "words": "first\r\n  - second"}
        await page.send("/do/message", form.action, fields, settles=False)
        [message] = await page.world.read(steering.unread, 1)
        assert message.text == "first\n  - second"


async def test_a_home_that_cannot_be_written_has_no_page_and_a_daemon_all_the_same() -> None:
    async with made_memory_world(page={"address": "127.0.0.1:0"}) as world:
        await world.start()
        world.overlord.parts.home.page_token.mkdir()
        async with page_served(world.overlord) as address:
            assert address == ""


async def test_a_daemon_that_was_replaced_leaves_the_address_of_the_next() -> None:
    async with made_memory_world(page={"address": "127.0.0.1:0"}) as world:
        await world.start()
        home = world.overlord.parts.home
        async with page_served(world.overlord):
            home.page.write_text("http://127.0.0.1:1/\nowner")
        assert home.page.exists()
