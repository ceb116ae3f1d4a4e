"""The Home tab: what waits, what is worked on, what comes next and what it costs, for whoever opens it; answered there."""

import json
import sqlite3
from collections.abc import AsyncIterator

import pytest

from overlord.domain.decision import DecisionState, Verb
from overlord.domain.job import JobState
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.embedded.chat.record import View
from overlord.embedded.play import blocked
from overlord.store.portfolio import initiatives
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.portfolio_filled import SAMPLE, initiative_of
from tests.pressing import WORK, decision, stuck
from tests.records import NOW


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


async def opened(talk: Talk, user: str = "") -> View:
    """What somebody sees who opens their Home tab."""
    await talk.chat.open_home(user or talk.alice)
    await talk.chat.arrived()
    await talk.world.settle()
    view = talk.chat.home(user or talk.alice)
    assert view is not None
    return view


def labels(view: View) -> list[str]:
    return [button.label for button in view.buttons]


async def test_it_says_what_waits_what_is_under_way_and_what_it_costs(talk: Talk) -> None:
    view = await opened(talk)
    assert labels(view) == []
    assert view.plain.splitlines() == [
        "Nothing waits for you",
        "---",
        "At work (0)",
        "No Minion is at work.",
        "Queue (0)",
        "Nothing is queued.",
        "0 of 3 sessions at once are taken.",
        "---",
        "Spent",
        "• Today: 0 tokens",
        "• The last 7 days: 0 tokens",
        "Days are those of UTC.",
    ]


async def test_it_follows_what_happens_after_it_was_opened(talk: Talk) -> None:
    await opened(talk)
    await stuck(talk)
    view = talk.chat.home(talk.alice)
    assert view is not None
    assert view.plain.splitlines()[0] == "1 decision for you"
    assert "Blocker 1  acme/calc#1" in view.plain
    assert labels(view) == [button.label for button in talk.card("Blocker 1").buttons]
    assert "With people (1)" in view.plain
    published = [seen for seen in talk.chat.requests if seen.method == "views.publish"]
    await talk.world.settle()
    assert len([seen for seen in talk.chat.requests if seen.method == "views.publish"]) == len(published)


async def test_an_answer_given_there_counts_once_and_the_card_says_who_gave_it(talk: Talk) -> None:
    await stuck(talk)
    await opened(talk)
    talk.world.model_will(*WORK)
    assert (await talk.chat.click_home(talk.alice, "Try again")).acked
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    assert f"Try again · @{talk.alice}" in talk.card("Blocker 1").plain
    view = talk.chat.home(talk.alice)
    assert view is not None and "Nothing waits for you" in view.plain


async def test_an_answer_in_words_is_given_in_its_form(talk: Talk) -> None:
    await stuck(talk)
    await opened(talk)
    assert (await talk.chat.click_home(talk.alice, "In words …")).acked
    await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
    [form] = talk.chat.open_views(talk.alice)
    talk.world.model_will(blocked("Again"))
    [label] = [block["label"]["text"] for block in form.spec["blocks"] if block["type"] == "input"]
    await talk.chat.submit(form, {label: "The password is in the README"}, talk.alice)
    await talk.world.settle()
    answered = await decision(talk)
    assert (answered.verb, answered.answer) == (Verb.REPLY, "The password is in the README")


async def test_who_may_not_decide_sees_it_and_changes_nothing(talk: Talk) -> None:
    await stuck(talk)
    bob = talk.chat.add_user("bob")
    view = await opened(talk, bob)
    assert "Blocker 1" in view.plain
    assert (await talk.chat.click_home(bob, "Drop it")).acked
    await talk.world.settle()
    [told] = talk.chat.ephemerals(bob)
    assert "Only approvers decide that" in told.plain
    assert (await decision(talk)).state is DecisionState.OPEN


async def test_a_guest_is_shown_nothing_of_the_work(talk: Talk) -> None:
    await stuck(talk)
    view = await opened(talk, talk.chat.add_user("guest", is_guest=True))
    assert view.plain.startswith("I work for the members of this workspace")
    assert "calc" not in view.plain and not view.buttons


async def test_an_app_without_the_tab_works_on(talk: Talk) -> None:
    talk.chat.interactions.has_home = False
    await talk.chat.open_home(talk.alice)
    await stuck(talk)
    refused = [seen for seen in talk.chat.requests if seen.method == "views.publish"]
    assert {seen.error for seen in refused} == {"not_enabled"}
    assert talk.chat.home(talk.alice) is None
    talk.world.model_will(*WORK)
    await talk.press(talk.card("Blocker 1"), "Try again")
    assert (await talk.world.job()).state is JobState.IN_REVIEW


async def test_it_shows_the_portfolio_with_the_way_to_the_board() -> None:
    where = "https://overlord.example.com"

    def rest(connection: sqlite3.Connection) -> None:
        """Twelve that a person lets rest: nothing of them is begun."""
        for number in range(12):
            made = initiatives.add(connection, initiative_of(SAMPLE[0], number, NOW))
            assert made is not None
            initiatives.change(
                connection, made.id, at=NOW, state=InitiativeState.PAUSED, waits="paused <!channel>"
            )

    async with made_memory_talk(page={"url": where}) as talk:
        await opened(talk)
        await talk.world.overlord.parts.database.write("by hand", rest)
        view = await opened(talk)
        assert "Portfolio (12)" in view.plain and "2 more: /overlord portfolio" in view.plain
        assert "The program starts in half a second: paused; waits: paused" in view.plain
        assert labels(view) == ["Open the board", "What is known"]
        shown = json.dumps(view.spec)
        assert f"{where}/initiatives/i1" in shown and f"{where}/portfolio" in shown
        assert '"broadcast"' not in shown, "nobody is called by somebody's words"
        assert len(view.spec["blocks"]) <= 100
