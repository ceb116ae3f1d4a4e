"""Slack answers badly, is away, drops its socket, or takes less than there is to say: what stands there in the end stands there
once, and no job waits for it."""

import sqlite3
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pytest

from minion.protocol import Issue
from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.domain.pause import EVERYTHING, Pause
from overlord.domain.question import ask
from overlord.embedded.chat.delivery import Delivered
from overlord.embedded.chat.record import Message, RecordedCall
from overlord.embedded.fault import AFTER_THE_EFFECT
from overlord.engine.runtime.chat_output import PACE_S
from overlord.entrypoints.chat import talk
from overlord.store import decisions, jobs
from overlord.store.chat.messages import MessageKind
from overlord.store.spaces import pauses
from tests.faults.chat_invariants import key_of
from tests.faults.chat_stage import Stage, made_stage
from tests.world import REPO

pytestmark = pytest.mark.timeout(1200)
IN_CHANNEL = ("chat.postMessage", "chat.update", "chat.postEphemeral")
LOOKS = ("conversations.history", "conversations.replies")
OTHERS = ("users.info", "usergroups.users.list", "views.open", "views.publish", "auth.test", "response")
METHODS = (*IN_CHANNEL, *LOOKS, *OTHERS)
TIMEOUTS = ("timeout-before", "timeout-after")
REFUSALS = ("error:token_revoked", "error:channel_not_found")
KINDS = (
    *("429", "500", "503", *TIMEOUTS, "reset", "reset-after", "bad-json", "error:internal_error"),
    *REFUSALS,
)
TIMEOUT_S = 0.5
EVER = 1_000_000
PRESSES = 4
"""How often somebody presses a button whose form does not open."""
HOUR_S = 3600.0
STEP_S = 120.0
MANY, ASKED = 200, 5
PING_S = 0.2
"""How often the socket is looked at here, so that nothing is waited for."""


def settings(kind: str) -> dict[str, object]:
    """With a budget that asks people, and patience for what never answers."""
    given: dict[str, object] = {"budget": {"session_tokens": 1}}
    return {**given, "slack": {"timeout_s": TIMEOUT_S}} if kind in TIMEOUTS else given


def concerned(kind: str) -> tuple[str, ...]:
    """The methods that may be answered so."""
    return (*IN_CHANNEL, *LOOKS) if kind == "error:channel_not_found" else METHODS


def card(stage: Stage, kind: MessageKind, number: int = 1) -> Message:
    found = [message for message in stage.chat.messages() if key_of(message) == f"{kind} {number} 0"]
    assert len(found) == 1, f"{len(found)} messages about {kind} {number}\n{stage.chat.transcript()}"
    return found[0]


async def heard(stage: Stage, said: Delivered) -> Delivered:
    """What somebody did, once it has had its effect."""
    assert said.acked, f"{said.error}\n{stage.chat.transcript()}"
    stage.heard.append(said)
    await stage.catch_up()
    return said


async def fill_in(stage: Stage) -> None:
    """Answer a card in words, and press again where the form does not open."""
    chat, alice = stage.chat, stage.alice
    for _ in range(PRESSES):
        before = _came_of_it(stage)
        pressed = await chat.click(alice, card(stage, MessageKind.DECISION).ts, "Other amount …")
        assert pressed.acked
        await chat.until(partial(_is_more, stage, before))
        if chat.open_views(alice):
            break
    form = chat.open_views(alice)[-1]
    await heard(stage, await chat.submit(form, {"How much to add": "500k"}, alice))


def _came_of_it(stage: Stage) -> int:
    """What alice has seen of her presses: forms, and words instead of one, or a call that failed to bring her those."""
    said = sum(seen.method == "chat.postEphemeral" for seen in stage.chat.requests)
    return said + len(stage.chat.ephemerals(stage.alice)) + len(stage.chat.open_views(stage.alice))


def _is_more(stage: Stage, before: int) -> bool:
    return _came_of_it(stage) > before


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_fails_once_changes_nothing(kind: str) -> None:
    async with made_stage(**settings(kind)) as stage:
        chat = stage.chat
        await stage.world.start()
        for method in concerned(kind):
            chat.fail(method, kind=kind)
        chat.fail("chat.postMessage", kind=kind, after=2)  # one of a thread
        await chat.open_home(stage.alice)
        await stage.issue("plain")
        await stage.catch_up()
        said = await heard(stage, await chat.command(stage.alice, "status"))
        most = 2 if kind in AFTER_THE_EFFECT else 1  # it may not have been seen, and nobody can look
        assert (kind not in REFUSALS) <= len(said.responses) <= most, chat.transcript()
        await heard(stage, await chat.say(stage.bob, "drop", thread=card(stage, MessageKind.DECISION).ts))
        [decision] = await stage.world.decisions()
        await fill_in(stage)
        assert decision.id not in [item.id for item in await stage.world.decisions()]
        await heard(stage, await chat.click(stage.alice, card(stage, MessageKind.JOB).ts, "Stop"))
        assert (await stage.world.job()).state is JobState.CANCELLED
        left = {fault.operation for fault in chat.wire.faults.pending} - {"conversations.replies"}
        assert not left, f"never called: {left}"
        chat.mend()
        assert (chat.home(stage.alice) is not None) or kind in REFUSALS
        await stage.check()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_chat_that_does_nothing_holds_nobody_up_and_is_told_all_of_it_once_it_does(kind: str) -> None:
    slack = {"timeout_s": TIMEOUT_S} if kind in TIMEOUTS else {}
    async with made_stage(slack=slack) as stage:
        chat, world = stage.chat, stage.world
        await world.start()
        await heard(stage, await chat.command(stage.alice, "help"))  # who we are there is known from then on
        for method in concerned(kind):
            chat.fail(method, kind=kind, times=EVER)
        issue = await stage.issue("plain")
        said = await chat.command(stage.alice, "status")
        assert said.acked
        stage.heard.append(said)
        await world.make_due()
        await world.until(lambda: is_through(stage))
        assert "in-review" in world.forge.issue(REPO, issue).labels
        assert any(seen.method == "chat.postMessage" and not seen.ok for seen in chat.requests)
        chat.mend()
        await stage.catch_up()
        assert said.plain or kind in REFUSALS, chat.transcript()
        assert "In review" in card(stage, MessageKind.JOB).plain
        await stage.check()


async def is_through(stage: Stage) -> bool:
    return [job.state for job in await stage.world.jobs()] == [JobState.IN_REVIEW]


async def test_slack_away_for_an_hour_holds_no_job_up_and_hears_of_both_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(vars(talk), "PING_S", PING_S)
    async with made_stage() as stage:
        world = stage.world
        await world.start()
        await stage.away()
        await stage.issue("plain")
        await stage.issue("blocked")
        await world.make_due()
        await world.until(lambda: are_through(stage))
        for _ in range(int(HOUR_S / STEP_S)):
            world.clock.move(STEP_S)
            await world.until(lambda: are_through(stage))
        assert stage.chat.messages() == []
        await stage.back()
        await stage.chat.until(lambda: stage.chat.links > 0)
        await stage.catch_up()
        assert len([m for m in stage.chat.messages() if key_of(m).startswith(MessageKind.JOB)]) == 2
        said = await stage.chat.command(stage.alice, "status")
        assert said.acked, said.error
        stage.heard.append(said)
        await stage.catch_up()
        assert "2 open jobs" in said.plain
        await stage.check()


async def are_through(stage: Stage) -> bool:
    return sorted(job.state for job in await stage.world.jobs()) == [JobState.IN_REVIEW, JobState.WAITING]


async def test_what_is_said_while_the_socket_is_down_is_heard_once_when_it_is_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(vars(talk), "PING_S", PING_S)
    async with made_stage() as stage:
        chat, world = stage.chat, stage.world
        await stage.issue("blocked")
        await stage.catch_up()
        [card] = [m for m in chat.messages() if key_of(m).startswith(MessageKind.DECISION)]
        chat.drop_links()
        said = await chat.say(stage.alice, "drop", thread=card.ts)
        assert not said.acked
        await chat.until(lambda: said.acked)
        stage.heard.append(said)
        again = await chat.replay(said)
        assert again.acked
        await stage.catch_up()
        assert (await world.events()).count("decision_answered") == 1
        assert (await world.job()).state is JobState.CANCELLED
        await stage.check()


async def test_two_hundred_jobs_that_talk_at_once_keep_the_pace_and_lose_nothing() -> None:
    async with made_stage() as stage:
        chat, world = stage.chat, stage.world
        await world.start()
        chat.limit(per_channel_s=PACE_S)
        for number in range(MANY):
            await world.forge.open_issue(REPO, f"Issue {number}")
        await world.overlord.parts.database.write("by hand", lambda c: _claim(c, stage))
        await world.until(lambda: len(_posts(chat.requests)) > ASKED)
        asked_after = len(_posts(chat.requests))
        await world.overlord.parts.database.write("by hand", lambda c: _ask(c, stage))
        await world.until(lambda: _is_quiet(stage))
        posts = _posts(chat.requests)
        kinds = [_kind(seen) for seen in posts]
        assert kinds.count(MessageKind.JOB) == MANY
        assert kinds[asked_after : asked_after + ASKED] == [MessageKind.DECISION] * ASKED
        said = [seen.at for seen in chat.requests if seen.method in ("chat.postMessage", "chat.update")]
        pauses_s = [(after - before).total_seconds() for before, after in pairwise(said)]
        assert min(pauses_s) >= PACE_S
        assert all(seen.ok for seen in chat.requests)
        assert stage.violations() == []


def _claim(connection: sqlite3.Connection, stage: Stage) -> None:
    """Many jobs at once; none of them begins."""
    parts, at = stage.world.overlord.parts, stage.world.clock.now()
    pauses.add(connection, Pause(space=EVERYTHING, actor="cli:alice", at=at))
    for number in range(1, MANY + 1):
        issue = Issue(number=number, title=f"Issue {number}", body="", author="alice")
        contract = parts.contract(REPO)
        jobs.claim(connection, space=REPO, issue=issue, base_branch="main", contract=contract, at=at)


def _ask(connection: sqlite3.Connection, stage: Stage) -> None:
    for number in range(1, ASKED + 1):
        asked = ask(jobs.get(connection, number), Subject.BLOCKED, "Why?", at=stage.world.clock.now())
        decisions.raise_decision(connection, asked)


async def _is_quiet(stage: Stage) -> bool:
    return not await stage.world.turning.is_talking()


def _posts(seen: Sequence[RecordedCall]) -> list[RecordedCall]:
    return [call for call in seen if call.method == "chat.postMessage"]


def _kind(call: RecordedCall) -> str:
    key = str(call.arguments["metadata"]["event_payload"]["key"])
    return key.split(" ")[1]
