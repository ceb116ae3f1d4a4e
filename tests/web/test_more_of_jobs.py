"""What a job's turns cost, the ledger verified on its page, the health of what Overlord calls, and what is news in the inbox."""

import csv
import io
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from overlord.domain.access import AccessRight
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.model_fault import FaultKind, ModelOutage
from overlord.embedded.play import blocked, edit, submit
from overlord.engine.runtime.contact import Contact
from overlord.entrypoints.web.pages import cost as cost_page
from overlord.entrypoints.web.pages import health
from overlord.entrypoints.web.pages.health import Known
from overlord.entrypoints.web.verifying import AGAIN_AFTER_S, EVENTS_A_PIECE
from overlord.errors import RunnerUnavailable
from overlord.failpoints import Failpoint
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.store import access, ledger
from overlord.store.budgets import model_outages
from overlord.store.rows import insert, update
from overlord.store.seen_decisions import A_LOOK
from overlord.store.spaces import spaces
from tests.records import NOW
from tests.web.paging import Page, made_page
from tests.world import FIX, REPO

WORK = (edit(*FIX), submit())
WELL = Known(
    runner="docker",
    runner_contact=Contact(answered_at=NOW),
    has_chat=True,
    chat_contact=Contact(answered_at=NOW),
    is_connected=True,
    free="12 GB free",
    shortage="",
    is_stalled=False,
)


@asynccontextmanager
async def worked() -> AsyncIterator[Page]:
    """A page with one job that was delivered."""
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(*WORK)
        await page.world.settle()
        yield page


@asynccontextmanager
async def visited(page: Page, name: str, right: AccessRight, *spaces: str) -> AsyncIterator[Page]:
    """The page as somebody sees it who signed in with a token."""
    at = page.world.clock.now()
    _, secret = await page.world.overlord.parts.database.write(
        Failpoint.ACCESS_GRANTED,
        lambda c: access.create(c, name, right, spaces=spaces, actor="cli:alice", at=at),
    )
    async with httpx.AsyncClient(base_url=page.address) as client:
        assert (await client.post("/sign-in", data={"token": secret})).status_code == 303
        yield replace(page, client=client, token=secret)


# Cost


async def test_each_turn_of_a_job_is_in_the_chart_the_table_and_the_rows() -> None:
    async with worked() as page:
        shown = await page.text("/jobs/1/cost")
        assert shown.count('<rect class="bar"') == 3 and "Cost per turn" in shown
        words = await page.words("/jobs/1/cost")
        assert "j1-work-1 turn 2" in words and "3 turns" in words
        sent = await page.get("/jobs/1/cost.csv")
        assert sent.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(sent.text)))
        assert [(row["session"], row["turn"], row["status"]) for row in rows] == [
            ("j1-work-1", "1", "200"),
            ("j1-work-1", "2", "200"),
            ("j1-review-1", "1", "200"),
        ]
        assert all(int(row["prompt"]) > 0 for row in rows)
        assert (await page.get("/jobs/2/cost")).status_code == 404
        assert (await page.get("/jobs/2/cost.csv")).status_code == 404


async def test_a_job_says_which_agent_worked_and_with_which_model() -> None:
    async with worked() as page:
        assert (
            " by " not in (await page.text("/jobs/1")).partition('<nav class="tabs"')[0].partition("<h1>")[2]
        )
        named = "acp:<b> goose"
        await page.world.overlord.parts.database.write(
            Failpoint.SESSION_CLEARED, lambda c: update(c, "sessions", "j1-work-1", {"agent": named})
        )
        assert "by acp:&lt;b&gt; goose with scripted" in await page.text("/jobs/1")
        assert "j1-work-1 acp:<b> goose 2" in await page.words("/jobs/1/cost")


async def test_a_job_of_thousands_of_turns_has_a_chart_that_can_be_read_and_pages() -> None:
    async with worked() as page:
        columns = {"session_id": "j1-work-1", "job_id": 1, "space": REPO, "day": "2026-03-02", "at": NOW}
        more = {"model": "=1+1<b>", "reserved": 0, "settled": True, "status": 200, "prompt": 5}

        def add(connection: sqlite3.Connection) -> None:
            for _ in range(2997):
                insert(connection, "exchanges", {**columns, **more, "cost_nusd": 10**9})

        await page.world.overlord.parts.database.write(Failpoint.EXCHANGE_SETTLED, add)
        shown = await page.text("/jobs/1/cost")
        assert "Cost per 30 turns" in shown and "j1-work-1 turn 30 to 59: 30 USD" in shown
        assert shown.count("<tr>") == cost_page.A_PAGE + 4
        assert "=1+1&lt;b&gt;" in shown
        assert 'href="/jobs/1/cost?first=100"' in shown
        last = await page.words("/jobs/1/cost?first=2950")
        assert "turn 1 " in last and "older turns" not in last
        assert "turn 2999" in await page.words("/jobs/1/cost?first=x")
        assert "'=1+1<b>" in (await page.get("/jobs/1/cost.csv")).text


# The ledger


async def verified(page: Page) -> str:
    """Press the button, and wait for the end as whoever asks again does."""
    [form] = [form for form in await page.forms("/jobs/1") if form.action == "/jobs/1/verify-ledger"]
    assert [label for label, _, _ in form.buttons] == ["Verify the ledger"]
    while "being verified" in (said := await page.send("/jobs/1", form.action, form.fields, settles=False)):
        pass
    return said


async def test_the_ledger_is_verified_in_one_click_through_its_last_event() -> None:
    async with worked() as page:
        assert "not verified since" in await page.words("/jobs/1")
        last = await page.world.read(ledger.last_number)
        said = await verified(page)
        assert said == f"The ledger is whole: verified through event {last:,}."
        shown = await page.words("/jobs/1")
        count = await page.world.read(lambda c: ledger.count_of(c, 1))
        assert f"{count} events of the ledger are about this job. {said}" in shown


async def test_a_ledger_that_was_changed_is_said_to_break_where_it_does() -> None:
    async with worked() as page:
        database = page.world.overlord.parts.database

        def forge(connection: sqlite3.Connection) -> None:
            connection.execute("DROP TRIGGER ledger_is_never_changed")
            connection.execute("UPDATE ledger SET actor = 'mallory' WHERE seq = 4")

        await database.write(Failpoint.TROUBLE_NOTED, forge)
        said = await verified(page)
        assert said == (
            "The ledger is not whole: event 4 was changed after it was written. It is verified through event 3."
        )


async def test_a_long_ledger_is_verified_piece_by_piece_and_not_again_at_once() -> None:
    async with worked() as page:

        def lengthen(connection: sqlite3.Connection) -> None:
            for _ in range(2 * EVENTS_A_PIECE):
                ledger.append(connection, LedgerEvent(name=EventName.PAUSED, at=NOW))

        await page.world.overlord.parts.database.write(Failpoint.TROUBLE_NOTED, lengthen)
        last = await page.world.read(ledger.last_number)
        assert last > 2 * EVENTS_A_PIECE
        assert f"through event {last:,}." in await verified(page)
        await page.world.overlord.parts.database.write(Failpoint.TROUBLE_NOTED, lengthen)
        assert f"through event {last:,}." in await verified(page), "a moment ago"
        page.world.clock.move(AGAIN_AFTER_S + 1)
        last = await page.world.read(ledger.last_number)
        assert f"through event {last:,}." in await verified(page)


async def test_who_may_only_look_may_verify_and_who_sees_another_repository_may_not() -> None:
    async with worked() as page:
        async with visited(page, "reads", AccessRight.READ) as reader:
            assert "is whole" in await verified(reader)
        async with visited(page, "other", AccessRight.ACT, "acme/other") as other:
            csrf = (await other.forms("/"))[0].fields["csrf"]
            sent = await other.client.post("/jobs/1/verify-ledger", data={"csrf": csrf})
            assert sent.status_code == 404
            assert (await other.get("/jobs/1/cost")).status_code == 404
            assert (await other.get("/jobs/1/cost.csv")).status_code == 404


# Health


async def test_now_has_a_line_for_each_of_what_overlord_calls() -> None:
    async with worked() as page:
        part = (await page.words("/")).partition("Health")[2]
        for said in (
            "Forge 1 repository read, the last",
            "Chat there is none",
            "Runner memory: answered",
            "Disk",
        ):
            assert said in part, said
        assert "Model" in part and "answered" in part.partition("Model")[2]
        assert 'data-ok="false"' not in await page.text("/")


async def told(page: Page, known: Known = WELL, sees: tuple[str, ...] = ()) -> list[tuple[str, bool, str]]:
    """The lines, each with its advice."""

    def read(connection: sqlite3.Connection) -> list[tuple[str, bool, str]]:
        settings = page.world.overlord.parts.settings
        look = Look(connection=connection, current_settings=lambda: settings, at=NOW + timedelta(minutes=2))
        status = overview.status(connection, settings, at=look.at)
        lines = health.lines(look, status, known, sees)
        return [(line.name, line.is_good, f"{line.text} {line.advice}".strip()) for line in lines]

    found: list[tuple[str, bool, str]] = await page.world.read(read)
    return found


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, ("Runner", True, "docker: answered 2 min ago")),
        ({}, ("Chat", True, "connected, answered 2 min ago")),
        (
            {"runner_contact": Contact()},
            ("Runner", True, "docker: nothing was asked of it since the daemon started"),
        ),
        (
            {"runner_contact": Contact(trouble="no engine answers", failed_at=NOW)},
            (
                "Runner",
                False,
                "docker: no engine answers (since 2 min ago) `overlord doctor` says what is wrong with it.",
            ),
        ),
        (
            {"is_connected": False},
            (
                "Chat",
                False,
                "not connected: what people say there does not arrive; it is tried again without end"
                " `overlord doctor` says what is wrong with it.",
            ),
        ),
        (
            {"shortage": "the disk of /srv is full"},
            ("Disk", False, "the disk of /srv is full Free some of it, or let `overlord gc` do it."),
        ),
        (
            {"is_stalled": True},
            (
                "Daemon",
                False,
                "the loop makes no passes: no job is moved Start Overlord again; its log says where it stood.",
            ),
        ),
    ],
)
async def test_what_is_wrong_is_said_with_what_to_do(
    change: dict[str, object], line: tuple[str, bool, str]
) -> None:
    async with made_page() as page:
        assert line in await told(page, replace(WELL, **change))  # type: ignore[arg-type]


async def test_a_forge_and_a_model_that_give_trouble_are_said_with_what_to_do() -> None:
    async with made_page() as page:
        outage = ModelOutage(model="m", kind=FaultKind.UNREACHABLE, detail="refused", since=NOW, until=None)

        def trouble(connection: sqlite3.Connection) -> None:
            spaces.note_poll(connection, REPO, at=NOW, trouble="GitHub answers 502 <b>")
            model_outages.put(connection, outage, at=NOW)

        await page.world.overlord.parts.database.write(Failpoint.TROUBLE_NOTED, trouble)
        found = await told(page)
        assert ("Forge", False, f"{REPO}: GitHub answers 502 <b> {health.DOCTOR}") in found
        assert [good for name, good, _ in found if name == "Forge"] == [False]
        [model] = [text for name, _, text in found if name == "Model"]
        assert model.startswith("the model m does not answer (refused)") and "OPENAI_BASE_URL" in model
        shown = await page.text("/")
        assert "GitHub answers 502 &lt;b&gt;" in shown and "<code>overlord doctor</code> says" in shown
        assert await told(page, sees=("acme/other",)) == []
        assert [name for name, _, _ in await told(page, sees=(REPO,))] == ["Forge"]


async def test_a_runner_that_fails_at_work_is_seen_on_now_without_being_asked() -> None:
    async with made_page() as page:
        contact = page.world.overlord.parts.contacts.runner
        contact.note_failure(str(RunnerUnavailable("the engine went away")), page.world.clock.now())
        assert "the engine went away" in (await page.words("/")).partition("Health")[2]
        assert contact.failed_at is not None, "nobody asked it because somebody looked"


# The inbox


async def test_what_is_new_or_changed_since_the_last_look_is_marked() -> None:
    async with made_page() as page:
        world = page.world
        await world.issue("first")
        world.model_will(blocked("no"), when="first")
        await world.settle()
        assert 'class="news">new<' in await page.text("/inbox")
        assert 'class="news">new<' in await page.text("/inbox"), "it is still the same look"
        looked = world.clock.now()
        world.clock.move(A_LOOK.total_seconds() + 1)
        assert 'class="news"' not in await page.text("/inbox")

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE decisions SET title = 'another' WHERE id = 1")

        await world.overlord.parts.database.write(Failpoint.TROUBLE_NOTED, change)
        shown = await page.text("/inbox?part=1")
        assert "changed since you looked at <time" in shown
        assert f'datetime="{world.clock.now().isoformat(timespec="seconds")}"' in shown
        assert "changed since you looked" in await page.text("/inbox/1")
        assert "changed since you looked" in await page.text("/inbox")
        assert looked < world.clock.now()
        async with visited(page, "bob", AccessRight.READ) as bob:
            assert 'class="news">new<' in await bob.text("/inbox"), "each has seen what they have seen"
        await page.press("/inbox", "Drop it")
        rows = await world.read(lambda c: c.execute("SELECT count(*) FROM seen_decisions").fetchone()[0])
        assert rows == 0, "nothing is kept of what waits no longer"


# Forms


async def test_who_may_only_look_is_shown_no_form_that_would_be_refused() -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(blocked("no"))
        await page.world.settle()
        paths = ("/", "/inbox", "/inbox/1", "/jobs/1", "/do", "/do/stop", "/spaces", f"/spaces/{REPO}")
        async with visited(page, "reads", AccessRight.READ) as reader:
            for path in paths:
                actions = {form.action for form in await reader.forms(path)}
                assert actions <= {"", "/sign-out", "/jobs/1/verify-ledger"}, path
                assert "Your token may look, and nothing else." in await reader.words(path), path
        async with visited(page, "acts", AccessRight.ACT) as acts:
            assert {form.action for form in await acts.forms("/inbox")} == {
                "/sign-out",
                "/answers",
                "",
                "/answer",
            }
            assert "/do/remove" not in await acts.text("/do") and "/do/stop" in await acts.text("/do")
            assert "This takes more." in await acts.words("/do/remove")


async def test_findings_stand_on_the_page_of_checks_with_their_file() -> None:
    async with worked() as page:
        checks = (
            '[{"name":"tests","score":"fail","summary":"x","findings":[{"check":"tests","rule":"r",'
            '"message":"it fails","file":"calc.py","line":3}],"evidence":[],"subject":""}]'
        )

        def judge(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE evaluations SET checks = ?", (checks,))

        await page.world.overlord.parts.database.write(Failpoint.TROUBLE_NOTED, judge)
        assert "tests in calc.py:3 : it fails" in await page.words("/jobs/1/checks")
