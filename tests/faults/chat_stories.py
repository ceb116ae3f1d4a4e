"""Where the points are reached at which people are talked with: stories in which they command, press, reply and read."""

import contextlib
from collections.abc import Mapping
from functools import partial

from overlord.domain.conversation.issue_request import IssueRequest
from overlord.domain.job import JobState
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.delivery import Delivered
from overlord.embedded.chat.record import Message
from overlord.failpoints import Failpoint
from overlord.store.chat.messages import MessageKind
from overlord.store.database import open_reader
from overlord.store.rows import select
from overlord.store.spaces import pauses
from tests.faults.campaign import ALICE, Campaign
from tests.faults.chat_invariants import key_of
from tests.faults.invariants import must_hold
from tests.faults.story import Story
from tests.world import REPO

S = JobState
BOB = "bob"
"""Whose word does not count."""


def _shown(told: Campaign, kind: MessageKind, number: int) -> Message:
    """The one message about something."""
    found = [message for message in told.chat.messages() if key_of(message) == f"{kind} {number} 0"]
    assert len(found) == 1, f"{len(found)} messages about {kind} {number}\n{told.chat.transcript()}"
    return found[0]


def _card(told: Campaign, issue: int) -> Message:
    return _shown(told, MessageKind.JOB, told.job(issue).id)


async def _talked(told: Campaign) -> None:
    """A job is one message from its claim to its merge."""
    issue = await told.issue("plain")
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    card = _card(told, issue)
    await told.world.forge.close_pull(REPO, job.pull_number or 0)
    await told.settle()
    told.expect(issue, S.CANCELLED)
    assert _card(told, issue).ts == card.ts


async def _asked_for(told: Campaign) -> None:
    """Somebody has an issue worked on by a command, and stops the job by its button."""
    issue = await told.world.forge.open_issue(REPO, "blocked")
    told.play()
    said = await told.says(lambda chat: chat.command(ALICE, f"work on {REPO}#{issue}"))
    job = told.expect(issue, S.WAITING)
    assert len(said.responses) <= 1, said.plain  # a crash may lose it, and never repeats it
    await told.says(lambda chat: chat.click(ALICE, _card(told, issue).ts, "Stop"))
    assert told.expect(issue, S.CANCELLED).id == job.id
    assert told.events(issue).count("stopped") == 1


async def _mentioned(told: Campaign) -> None:
    """Work is paused and goes on by words, which are answered where they were said."""
    for words, is_paused in (("pause", True), ("resume", False)):
        said = await told.says(partial(EmbeddedChat.mention, user=ALICE, text=f"{words} {REPO}"))
        with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
            assert (pauses.of(connection, REPO) is not None) == is_paused, told.chat.transcript()
        assert len(told.chat.messages(thread=said.ts)) == 1, told.chat.transcript()


async def _replied(told: Campaign) -> None:
    """Whose word does not count is told so, and them alone; whose does decides."""
    issue = await told.issue("blocked")
    await told.settle()
    [decision] = told.waiting()
    card = _shown(told, MessageKind.DECISION, decision)
    whispers = len(told.chat.ephemerals(BOB))
    await told.says(lambda chat: chat.say(BOB, "drop", thread=card.ts))
    told.expect(issue, S.WAITING)
    assert len(told.chat.ephemerals(BOB)) <= whispers + 1
    await told.says(lambda chat: chat.say(ALICE, "drop", thread=card.ts))
    told.expect(issue, S.CANCELLED)


async def _filled_in(told: Campaign) -> None:
    """An answer in words is given in a form."""
    issue = await told.issue("plain")
    await told.settle()
    [decision] = told.waiting()
    card = _shown(told, MessageKind.DECISION, decision)

    async def opened(chat: EmbeddedChat) -> Delivered | None:
        pressed = await chat.click(ALICE, card.ts, "Other amount …")
        await chat.until(lambda: chat.open_views(ALICE) or not chat.links)
        if pressed.acked and chat.open_views(ALICE):
            return pressed
        for form in chat.open_views(ALICE):  # beside "something went wrong": they begin again
            await chat.view_closed(form, ALICE)
        return None

    await told.says(opened)
    [form] = told.chat.open_views(ALICE)
    await told.says(lambda chat: chat.submit(form, {"How much to add": "500k"}, ALICE))
    told.expect(issue, S.IN_REVIEW, S.WAITING)  # what reviews it has a budget of its own
    assert told.events(issue).count("decision_answered") == 1
    await told.close(issue)


async def _built(told: Campaign) -> None:
    """A sentence in the chat becomes an issue, which is worked on. Who was not heard says it again: then it is another request."""
    told.play()
    said = await told.says(lambda chat: chat.command(ALICE, f"build {REPO} plain"))
    assert len(said.responses) <= 2, said.plain  # a crash may lose one, and never repeats it
    await told.settle()
    for row in _requests(told):
        job = told.expect(row.issue_number or 0, S.IN_REVIEW)
        assert job.issue.title == "plain"
        await told.close(row.issue_number or 0)


def _requests(told: Campaign) -> list[IssueRequest]:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        rows = select(connection, IssueRequest, "SELECT * FROM issue_requests")
    still_open = {issue.number for issue in told.world.forge.issues(REPO) if issue.open}
    return [row for row in rows if row.issue_number is None or row.issue_number in still_open]


async def _built_from_a_comment(told: Campaign) -> None:
    """The same from a comment, whose author is told the number once."""
    ideas = await told.world.forge.open_issue(REPO, "Ideas")
    told.play()
    await told.world.forge.comment(REPO, ideas, "/overlord build plain", author=ALICE)
    await told.settle()
    [row] = _requests(told)
    told.expect(row.issue_number or 0, S.IN_REVIEW)
    opened = [
        item.body for item in told.world.forge.comments(REPO, ideas) if f"#{row.issue_number} is" in item.body
    ]
    must_hold([f"{ALICE} was told {len(opened)} times"] * (len(opened) != 1), told.log())
    await told.close(row.issue_number or 0)
    await told.world.forge.close_issue(REPO, ideas)


async def _briefed(told: Campaign) -> None:
    """What waits for people is told in the morning, once."""
    issue = await told.issue("blocked")
    await told.settle()
    before = len(_briefings(told))
    told.later(days=1)
    await told.settle()
    assert len(_briefings(told)) == before + 1, told.chat.transcript()
    await told.close(issue)


def _briefings(told: Campaign) -> list[str]:
    keys = map(key_of, told.chat.messages())
    return [key for key in keys if key.startswith(MessageKind.BRIEFING)]


async def _at_home(told: Campaign) -> None:
    """Somebody opens the Home tab, sees what waits for them, and answers it there."""
    await told.says(lambda chat: chat.open_home(ALICE))
    assert "Nothing waits for you" in _home(told)
    issue = await told.issue("blocked")
    await told.settle()
    [decision] = told.waiting()
    assert f"Blocker {decision}" in _home(told)
    await told.says(lambda chat: chat.click_home(ALICE, "Drop it"))
    told.expect(issue, S.CANCELLED)
    assert told.events(issue).count("decision_answered") == 1
    assert "Nothing waits for you" in _home(told)


def _home(told: Campaign) -> str:
    view = told.chat.home(ALICE)
    return view.plain if view is not None else ""


async def _held(told: Campaign) -> None:
    """The same by commands of the CLI, without a chat."""
    await told.settle()
    # Whoever gives a command again hears that it was carried out.
    await told.command("pause", REPO, done=(0, 5))
    await told.command("resume", REPO, done=(0, 5))
    issue = await told.world.forge.open_issue(REPO, "plain")
    told.play()
    await told.command("work", f"{REPO}#{issue}")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    await told.close(issue)


CHAT: Mapping[str, Mapping[str, object]] = {"slack": {}}
TALKED = Story(name="talked", tell=_talked, settings=CHAT)
ASKED_FOR = Story(name="asked for", tell=_asked_for, settings=CHAT)
BUILT = Story(name="built", tell=_built, settings=CHAT)
BUILT_FROM_A_COMMENT = Story(name="built from a comment", tell=_built_from_a_comment)
MENTIONED = Story(name="mentioned", tell=_mentioned, settings=CHAT)
REPLIED = Story(name="replied", tell=_replied, settings=CHAT)
FILLED_IN = Story(name="filled in", tell=_filled_in, settings={**CHAT, "budget": {"session_tokens": 1}})
BRIEFED = Story(name="briefed", tell=_briefed, settings=CHAT)
AT_HOME = Story(name="at home", tell=_at_home, settings=CHAT)
HELD = Story(name="held", tell=_held)

P = Failpoint
PLACES: Mapping[Failpoint, Story] = {
    **dict.fromkeys(
        (P.MESSAGE_WANTED, P.MESSAGE_ORDERED, P.MESSAGE_NOTED, P.POST_MESSAGE, P.EDIT_MESSAGE), TALKED
    ),
    **dict.fromkeys((P.REQUEST_CARRIED_OUT, P.RESPOND, P.WORK_REQUEST_ANSWERED), ASKED_FOR),
    P.ISSUE_ORDERED: BUILT,
    **dict.fromkeys((P.ISSUE_REQUESTED, P.ISSUE_REQUEST_SETTLED), BUILT_FROM_A_COMMENT),
    **dict.fromkeys((P.REQUEST_RECEIVED, P.REQUEST_ANSWERED), MENTIONED),
    P.EPHEMERAL: REPLIED,
    P.OPEN_FORM: FILLED_IN,
    P.BRIEFING_MADE: BRIEFED,
    **dict.fromkeys((P.HOME_OPENED, P.HOME_MADE, P.HOME_NOTED, P.PUBLISH_HOME), AT_HOME),
    **dict.fromkeys((P.WORK_PAUSED, P.WORK_RESUMED, P.WORK_WISHED), HELD),
}
