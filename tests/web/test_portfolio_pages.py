"""The portfolio's pages, from the outside: the board, an initiative, a task and what is known; who sees what, and what can be done."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import httpx
import pytest

from overlord.domain.access import AccessRight
from overlord.domain.knowledge.note import NoteState
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.entrypoints.web.pages.task_graph import task_graph
from overlord.failpoints import Failpoint
from overlord.store import access
from overlord.store.knowledge import notes, rules
from overlord.store.portfolio import escalations, initiatives, tasks
from tests import portfolio_filled as sample
from tests.records import NOW, REPO
from tests.web.paging import Page, made_page, words_of
from tests.web.test_safety import HOSTILE, acting

Found = TypeVar("Found")
PAGES = (
    *("/portfolio", "/portfolio?state=active", "/initiatives/i1", "/tasks/i1.4", "/knowledge"),
    *("/knowledge/n1", "/look/portfolio", "/look/initiative?words=i1", "/look/task?words=i1.4"),
)


@asynccontextmanager
async def filled() -> AsyncIterator[Page]:
    async with made_page(repositories=list(sample.SPACES)) as page:
        await page.world.overlord.parts.database.write("by hand", sample.fill)
        yield page


async def read(page: Page, act: Callable[[sqlite3.Connection], Found]) -> Found:
    return await page.world.overlord.parts.database.read(act)


def column(text: str, name: str) -> str:
    """What a person reads in a column of the board."""
    return words_of(text.partition(f'aria-labelledby="column-{name}"')[2].partition("</section>")[0])


async def test_a_board_has_each_initiative_in_the_column_of_its_state() -> None:
    async with filled() as page:
        text = await page.text("/portfolio")
        assert "3 of 8 tasks · $1.93 of $20.00" in column(text, "active")
        assert "i2 · acme/web-frontend · urgent" in column(text, "active")
        assert "Asks you: decision 1" in column(text, "planning")
        assert "paused by alice" in column(text, "paused")
        assert "cancelled" in column(text, "done") and "Python 3.13" in column(text, "done")
        assert text.index('id="i2"') < text.index('id="i1"'), "what is urgent comes first"
        words = words_of(text)
        assert "OVERVIEW.md" in words and "the goals end in a comment" in words
        assert "Last run" in words and "assigned i1.4" in words


async def test_a_board_is_of_one_repository_or_a_list_of_one_state() -> None:
    async with filled() as page:
        docs = await page.words("/portfolio?space=acme/docs")
        assert "Each command has a page" in docs and "half a second" not in docs
        listed = await page.text("/portfolio?state=done&space=acme/calc")
        assert "Python 3.13" in listed and 'id="column-active"' not in listed
        assert (await page.get("/portfolio?state=nonsense&first=-1&space=%00")).status_code == 200


async def test_what_does_not_fit_a_column_is_behind_a_link() -> None:
    made = sample.Made(space=REPO, title="One of many", state=InitiativeState.QUEUED, tasks="")
    async with made_page() as page:
        await page.world.overlord.parts.database.write(
            "by hand",
            lambda c: [initiatives.add(c, sample.initiative_of(made, number, NOW)) for number in range(130)],
        )
        text = await page.text("/portfolio")
        assert text.count('class="card"') == 20 and "/portfolio?state=queued" in text
        first = await page.text("/portfolio?state=queued")
        assert first.count('class="card"') == 100 and "first=100" in first
        rest = await page.text("/portfolio?state=queued&first=100")
        assert rest.count('class="card"') == 30 and "those before" in rest


async def test_an_initiative_has_its_plan_tasks_graph_escalations_cost_and_story() -> None:
    async with filled() as page:
        text = await page.text("/initiatives/i1")
        words = words_of(text)
        assert "three libraries that most commands never use" in words, "a paragraph is one"
        assert "i1.5 Fail the build" in words and "for i1.4" in words and "#1052" in words
        assert "i1.5 waits for i1.3 and i1.4" in words
        assert text.count("<rect") == 8 and '<a href="/tasks/i1.1">' in text
        assert "Answered by r1: The one that is there" in words
        assert "job 5" in words and "$0.45" in words
        assert "the plan of i1 was approved (8 tasks)" in words
        assert "May a start take 0.6 s" in words and 'action="/answer"' in text
        proposed = await page.words("/initiatives/i4")
        assert "Plan as it is proposed Exact sums" in proposed
        assert await page.words("/initiatives/the-program-starts-in-half-a-second") == words
        assert (await page.get("/initiatives/i99")).status_code == 404


async def test_a_task_has_its_criteria_with_what_was_said_of_each() -> None:
    async with filled() as page:
        words = await page.words("/tasks/i1.1")
        assert "All tests pass tests/test_start.py::test_3" in words and "Each is loaded lazily." in words
        assert "Before i1.2 , i1.3 , i1.4" in words
        assert [(await page.get(f"/tasks/{ref}")).status_code for ref in ("i1", "i1.99", "x")] == [404] * 3


async def test_an_initiative_is_paused_resumed_and_made_urgent() -> None:
    async with filled() as page:
        assert await page.press("/initiatives/i1", "Pause", settles=False)
        item = await read(page, lambda c: initiatives.get(c, 1))
        assert item.state is InitiativeState.PAUSED
        assert "Pause" not in [
            button[0] for form in await page.forms("/initiatives/i1") for button in form.buttons
        ]
        assert await page.press("/initiatives/i1", "Resume", settles=False)
        await page.press("/initiatives/i1", "Priority…", settles=False, words="priority urgent")
        assert await page.press("/initiatives/i1", "Add a task…", settles=False, words="Say so in the README")
        item = await read(page, lambda c: initiatives.get(c, 1))
        assert item.priority is Priority.URGENT and item.state is InitiativeState.ACTIVE
        assert "Say so in the README" in await page.words("/tasks/i1.9")
        assert await page.press("/tasks/i1.9", "Cancel…", settles=False, reason="it stands there")
        assert (await read(page, lambda c: tasks.named(c, "i1.9"))).has_ended


async def test_notes_are_found_accepted_edited_and_their_history_told() -> None:
    async with filled() as page:
        words = await page.words("/knowledge")
        assert "2 wait for a yes or no" in words and "they live in src/components now" in words
        assert "It answers a question that says yaml and library" in words
        found = await page.words("/knowledge?q=cents")
        assert "Money is in whole cents" in found and "Small pull requests" not in found
        assert "Small pull requests" in await page.words("/knowledge?space=everywhere&kind=preference")
        assert "Plug-ins register themselves" in await page.words("/knowledge?state=withdrawn")
        assert await page.press("/knowledge/n4", "Accept", settles=False)
        assert await page.press("/knowledge/n4", "Edit…", settles=False, words="A start may take 0.4 s.")
        note = await read(page, lambda c: notes.get(c, 4))
        assert (note.state, note.text) == (NoteState.ACTIVE, "A start may take 0.4 s.")
        told = await page.words("/knowledge/n4")
        assert "note n4 counts from now on" in told and "note n4 was changed" in told
        assert await page.press("/knowledge", "Revoke", settles=False)
        assert (await read(page, lambda c: rules.get(c, 1))).revoked_at is not None
        assert (await page.get("/knowledge/nx")).status_code == 404


async def test_a_rule_is_previewed_from_the_page() -> None:
    async with filled() as page:
        assert 'action="/look/rule-preview"' in await page.text("/knowledge")
        shown = await page.words("/look/rule-preview?words=Which+cache+do+we+use%3F+Redis.")
        assert "cache" in shown


async def _token(page: Page, right: AccessRight, space: str) -> str:
    at = page.world.clock.now()
    _, secret = await page.world.overlord.parts.database.write(
        Failpoint.ACCESS_GRANTED,
        lambda c: access.create(c, "theirs", right, spaces=(space,), actor="cli:alice", at=at),
    )
    return secret


def elsewhere(connection: sqlite3.Connection) -> None:
    """A task of an initiative of one repository that is done in another."""
    like = tasks.named(connection, "i1.8")
    made = tasks.add(connection, replace(like, id=0, space=sample.WEB, subject="A word of the shop"))
    tasks.link(connection, made, [like], at=NOW)


async def test_who_may_see_one_repository_sees_nothing_of_the_others() -> None:
    async with filled() as page:
        await page.world.overlord.parts.database.write("by hand", elsewhere)
        token = await _token(page, AccessRight.READ, REPO)
        async with httpx.AsyncClient(base_url=page.address) as client:
            assert (await client.get("/", params={"token": token})).status_code == 303
            theirs = replace(page, client=client)
            board = await theirs.words("/portfolio")
            assert "half a second" in board and "keyboard alone" not in board and "OVERVIEW" not in board
            assert "assigned i1.4 and i2.5" not in board, "what a run did is of all repositories"
            shown = await theirs.text("/initiatives/i1")
            assert "i1.9" in shown and "A word of the shop" not in shown and "/tasks/i1.9" not in shown
            assert 'action="/do/' not in shown, "a token that reads is offered nothing to do"
            for path in ("/initiatives/i2", "/tasks/i2.1", "/tasks/i1.9", "/knowledge/n3"):
                assert (await client.get(path)).status_code == 404, path
            known = await theirs.words("/knowledge")
            assert "whole cents" in known and "src/parts" not in known and "Every page begins" not in known
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=page.address, headers=headers) as api:
            found = (await api.get("/api/v1/queries/initiative?initiative=i1")).json()
            assert [task["subject"] for task in found["tasks"]][-1] == ""
            assert "A word of the shop" not in str(found)
            assert (await api.get("/api/v1/queries/initiative?initiative=i2")).status_code == 404
            assert (await api.get("/api/v1/queries/portfolio")).status_code == 403
            board = (await api.get(f"/api/v1/queries/portfolio?space={REPO}")).json()
            assert {item["space"] for item in board["initiatives"]} == {REPO}


def hostile(connection: sqlite3.Connection) -> None:
    """Every word that people, models and repositories write is hostile."""
    sample.fill(connection)
    initiatives.change(
        connection, 1, at=NOW, title=HOSTILE, goal=HOSTILE, waits=HOSTILE, replan=HOSTILE, actor=HOSTILE
    )
    for number in (1, 4):
        row = tasks.named(connection, f"i1.{number}").id
        tasks.change(
            connection,
            row,
            at=NOW,
            subject=HOSTILE,
            description=f"# {HOSTILE}\n\n- {HOSTILE}\n\n```\n{HOSTILE}\n```\n",
            acceptance_criteria=(HOSTILE,),
            labels=(HOSTILE,),
            paths=(HOSTILE,),
            waits=HOSTILE,
            completion_notes=HOSTILE,
        )
    for table, names in (
        ("escalations", ("question", "context", "escalated_by", "resolution", "resolved_by", "cites")),
        ("notes", ("text", "question", "reason", "contradicted_by", "actor")),
        ("rules", ("question", "answer", "actor")),
        ("portfolio_files", ("text", "trouble")),
        ("portfolio_cycles", ("summary", '"trigger"')),
    ):
        columns = ", ".join(f"{name} = ?" for name in names)
        connection.execute(f"UPDATE {table} SET {columns}", [HOSTILE] * len(names))
    escalations.withdraw(connection, 1, reason=HOSTILE, at=NOW)


async def test_hostile_words_of_plans_tasks_and_notes_are_text() -> None:
    async with made_page(repositories=list(sample.SPACES)) as page:
        await page.world.overlord.parts.database.write("by hand", hostile)
        for path in PAGES:
            shown = await page.text(path)
            assert acting(shown) == [], path
            assert "9449848657217" not in shown and "\u202e" not in shown, path
        assert "&lt;script&gt;alert(1)" in await page.text("/initiatives/i1")


@pytest.mark.parametrize("path", PAGES)
async def test_who_is_not_signed_in_sees_nothing_of_the_portfolio(path: str) -> None:
    async with filled() as page, httpx.AsyncClient(base_url=page.address) as stranger:
        found = await stranger.get(path)
        assert found.status_code == 401 and "half a second" not in found.text


async def test_a_part_of_the_board_is_fetched_again_when_something_changes() -> None:
    async with filled() as page:
        part = await page.text("/portfolio?part=1")
        assert part.lstrip().startswith("<p") and "<html" not in part and 'id="i1"' in part


def test_a_graph_of_one_task_is_none() -> None:
    assert task_graph([]) == ""
