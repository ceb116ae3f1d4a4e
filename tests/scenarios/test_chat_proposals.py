"""Proposals in the chat: one card for each, answered by those whose word counts, by a button, a form or a word."""

from collections.abc import AsyncIterator

import pytest

from overlord.domain.job import JobState
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.embedded.play import blocked, edit, submit
from overlord.store.proposals import proposals
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.world import FIX, REPO

START = "💡 Proposal p1"
LACK = "There is no key for db.example.org"


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    """A talk in which one thing is proposed: a job was given up over its blocker."""
    async with made_memory_talk() as talk:
        await stuck(talk, "First", drop=True)
        yield talk


async def stuck(talk: Talk, title: str, *, drop: bool = False) -> None:
    await talk.world.issue(title)
    talk.world.model_will(blocked(LACK), when=title)
    await talk.world.settle()
    if drop:
        *_, card = talk.cards("Blocker")
        await talk.press(card, "Drop it")


async def proposal(talk: Talk, number: int = 1) -> EnhancementProposal:
    found: EnhancementProposal = await talk.world.read(proposals.get, number)
    return found


async def test_approved_in_the_chat_it_is_worked_on_and_its_card_says_what_became_of_it(talk: Talk) -> None:
    card = talk.card(START)
    assert [message.ts for message in talk.cards() if LACK in message.plain and message.buttons] == [card.ts]
    assert card.plain.splitlines() == [
        f"💡 Proposal p1: Give Minions what they lack: “{LACK}”",
        f"Tool fix for {REPO}",
        "Minions could not go on, and what people answered did not fix it: 2 times at 1 issue.",
        f"> {LACK}",
        "Proposed: Make the repository's tests and tools work with what a session has, or say in its instructions what to do"
        " without it.",
        f"impact medium · risk medium · seen at {REPO}#1 · jobs 1",
        "Approved, it becomes an issue and is worked on like any other.",
        "[Approve] [Reject …]",
    ], card.plain
    talk.world.model_will(edit(*FIX), submit(), when="Give Minions what they lack")
    await talk.press(card, "Approve")
    await talk.world.settle()
    _, job = await talk.world.jobs()
    assert (job.state, job.issue.title) == (JobState.IN_REVIEW, (await proposal(talk)).title)
    card = talk.card("👍 Proposal p1")
    assert f"Approved · @{talk.alice}" in card.plain and f"Its issue: {job.issue_ref}" in card.plain
    assert talk.buttons(card) == []
    await talk.world.forge.merge(REPO, job.pull_number or 0)
    await talk.world.settle()
    assert f"Merged: {job.issue_ref}" in talk.card("✅ Proposal p1").plain
    assert (await proposal(talk)).status is ProposalStatus.IMPLEMENTED


async def test_what_rests_is_taken_up_again_by_a_button(talk: Talk) -> None:
    for _ in range(2):
        talk.world.model_will(edit(*FIX), submit(), when="Give Minions what they lack")
    await talk.press(talk.card(START), "Approve")
    await talk.world.settle()
    _, job = await talk.world.jobs()
    await talk.world.forge.close_pull(REPO, job.pull_number or 0)
    await talk.world.settle()
    card = talk.card("👍 Proposal p1")
    assert f"It rests: job {job.id} ended without a merge (pr closed)" in card.plain
    assert talk.buttons(card) == ["Take up again"]
    bob = talk.chat.add_user("bob")
    await talk.press(card, "Take up again", by=bob)
    assert "Only approvers decide that" in talk.chat.ephemerals(bob)[-1].plain
    await talk.press(card, "Take up again")
    await talk.world.settle()
    *_, again = await talk.world.jobs()
    assert (again.issue.number, again.state) == (job.issue.number, JobState.IN_REVIEW)
    card = talk.card("👍 Proposal p1")
    assert "It rests" not in card.plain and talk.buttons(card) == []


async def test_more_evidence_edits_the_card_and_posts_no_other(talk: Talk) -> None:
    before = talk.card(START)
    await stuck(talk, "Second")
    after = talk.card(START)
    assert after.ts == before.ts and "3 times at 2 issues" in after.plain
    await talk.press(after, "Approve")
    assert (await proposal(talk)).status is ProposalStatus.APPROVED


@pytest.mark.parametrize("why", ["", "We give them no keys."])
async def test_it_is_rejected_in_a_form_whose_reason_may_be_left_out(talk: Talk, why: str) -> None:
    card = talk.card(START)
    assert (await talk.chat.click(talk.alice, card.ts, "Reject …")).acked
    await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
    [form] = talk.chat.open_views(talk.alice)
    assert (await proposal(talk)).status is ProposalStatus.PENDING
    assert (await talk.chat.submit(form, {"Why": why} if why else {}, talk.alice)).acked
    await talk.world.settle()
    rejected = await proposal(talk)
    assert (rejected.status, rejected.reason) == (ProposalStatus.REJECTED, why)
    card = talk.card("🚫 Proposal p1")
    assert f"Rejected · @{talk.alice}" in card.plain and talk.buttons(card) == []


async def test_only_an_approvers_word_counts(talk: Talk) -> None:
    bob = talk.chat.add_user("bob")
    card = talk.card(START)
    await talk.press(card, "Approve", by=bob)
    assert "Only approvers decide that" in talk.chat.ephemerals(bob)[-1].plain
    assert "Only approvers decide that" in await talk.command("approve p1", by=bob)
    assert (await talk.chat.click(bob, card.ts, "Reject …")).acked
    await talk.chat.until(lambda: len(talk.chat.ephemerals(bob)) > 1)
    assert talk.chat.open_views(bob) == []
    assert (await proposal(talk)).status is ProposalStatus.PENDING
    assert "p1 · pending · tool fix · acme/calc · Give Minions what they lack" in await talk.command(
        "proposals", by=bob
    )


async def test_words_do_what_buttons_do_and_the_first_answer_counts(talk: Talk) -> None:
    shown = await talk.command("proposals")
    assert "1 proposal waiting for a person" in shown and "tool fix · acme/calc" in shown
    assert await talk.command("reject p1 not for us") == (
        "Proposal p1: rejected. It comes back only with twice the evidence."
    )
    assert "> not for us" in talk.card("🚫 Proposal p1").plain
    assert f"p1 was answered before, by slack:{talk.alice}: Reject" in await talk.command("approve p1")
    assert "There is no proposal p7; `/overlord proposals` shows" in await talk.command("approve p7")
    assert "0 proposals waiting" in await talk.command("proposals")


async def test_a_proposals_number_is_no_decisions(talk: Talk) -> None:
    assert "answered before" in await talk.command("approve 1") or "no plain yes" in await talk.command(
        "approve 1"
    )
    assert (await proposal(talk)).status is ProposalStatus.PENDING
    assert "Proposal p1 takes another answer" in await talk.command("answer p1 yes")
    assert "rejected" in await talk.command("answer p1 reject not now")
    assert (await proposal(talk)).reason == "not now"


async def test_a_reply_in_the_thread_of_a_card_answers_it_and_talk_there_does_not(talk: Talk) -> None:
    card = talk.card(START)
    told = len(talk.chat.ephemerals(talk.alice))
    await talk.chat.say(talk.alice, "what would that change?", thread=card.ts)
    await talk.chat.say(talk.alice, "reject it is not worth it", thread=card.ts)
    await talk.world.settle()
    assert "> it is not worth it" in talk.card("🚫 Proposal p1").plain
    assert len(talk.chat.ephemerals(talk.alice)) == told


async def test_what_was_answered_elsewhere_is_said_by_its_card(talk: Talk) -> None:
    card = talk.card(START)
    await talk.command("approve p1 good idea")
    old = await talk.chat.click(talk.alice, card.ts, "Approve") if talk.buttons(card) else None
    assert old is None and "> good idea" in talk.card("👍 Proposal p1").plain


async def test_the_briefing_tells_of_what_is_newly_proposed(talk: Talk) -> None:
    said = await talk.command("briefing")
    assert (
        "PROPOSALS (1)" in said
        and "p1 · pending · tool fix · acme/calc · Give Minions what they lack" in said
    )
    await talk.command("reject p1")
    assert "PROPOSALS" not in await talk.command("briefing")
