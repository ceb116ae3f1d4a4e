"""What keeps failing becomes a skill: proposed, drafted, edited and approved by a person, written by a Minion, merged, and loaded."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from overlord.domain.job import Job, JobState
from overlord.domain.proposals.proposal import ProposalStatus
from overlord.domain.skills.draft import DraftKind, DraftState
from overlord.domain.skills.record import Origin, SkillAtBase
from overlord.embedded.play import call, edit, run, say, submit, write
from overlord.errors import Refused
from overlord.store.proposals import proposals
from overlord.store.skills import skill_uses, skills
from overlord.verbs.skill import (
    approve_draft,
    retire_skill,
)
from tests.chatting import Talk
from tests.drafting import (
    ALICE,
    DRAFTING,
    PATH,
    approved,
    by_hand,
    draft,
    drafted,
    edited,
    proposed,
    seen_and_proposed,
    skill,
    told,
    until,
    written,
)
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.quick import made_quick_talk
from tests.world import FIX, REPO, World

REVIEWED: dict[str, Any] = {"checks": {"review": True}, "delivery": {"open_pulls": 100}}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A world in which a skill is proposed as p1."""
    async with made_memory_world(**REVIEWED) as world:
        await proposed(world)
        yield world


async def test_the_whole_story_in_the_chat() -> None:
    async with made_quick_talk(**REVIEWED) as talk:
        world = talk.world
        await seen_and_proposed(world)
        card = talk.card("💡 Proposal p1")
        assert "New skill" in card.plain and "Approved, a draft of the skill is put to you here" in card.plain
        world.model.forget()
        world.model_will(say(skill()), when=DRAFTING)
        await talk.press(card, "Approve")
        card = talk.card("📝 Draft d1")
        assert "name: say-why" in card.plain and PATH in card.plain
        assert talk.buttons(card) == ["Approve", "Edit …", "Reject …"]
        assert "d1 · waiting · accept · acme/calc · Add the skill “say-why”" in await talk.command("briefing")
        mine = skill(text="Say why, in one line.")
        await _sends(talk, "Edit …", mine)
        card = talk.card("📝 Draft d1")
        assert "Say why, in one line." in card.plain
        world.model.forget()
        world.model_will(write(PATH, mine), submit("Written."), when="word for word")
        await talk.press(card, "Approve")
        [*_, job] = await world.jobs()
        assert job.state is JobState.IN_REVIEW, await world.transcript()
        assert await world.git_show(job.branch, PATH) == mine
        assert "waits for a person to merge" in talk.card("👀 Draft d1").plain
        await world.forge.merge(REPO, job.pull_number or 0)
        await world.settle()
        assert talk.card("✅ Draft d1")
        assert (await world.read(proposals.get, 1)).status is ProposalStatus.IMPLEMENTED
        third = await world.issue("add() subtracts")
        world.model.forget()
        world.model_will(call("use_skill", name="say-why"), edit(*FIX), submit(), when="add() subtracts")
        await world.settle()
        [*_, job] = await world.jobs()
        assert (job.issue.number, job.state) == (third, JobState.IN_REVIEW), await world.transcript()
        loaded = [item["content"] for item in world.minion_heard() if item["role"] == "tool"]
        assert loaded[0] == "Say why, in one line."
        [known] = await world.read(skills.all_of)
        assert (known.name, known.origin, known.is_present) == ("say-why", Origin.EVOLVED, True)
        assert "say-why · 1.0.0 · evolved · present · acme/calc · 1 of 1" in await talk.command("skills")
        await world.forge.merge(REPO, job.pull_number or 0)
        await world.settle()
        assert (
            await world.read(skill_uses.statistics, known)
        ).sentence == "1 of 1 job went well, beside no others yet"
        assert "1 of 1 · 100 %" in await talk.command("skills")
        assert await told(world) == [
            f"draft_requested by slack:{talk.alice}",
            "draft_composed by overlord",
            "draft_checked by overlord",
            f"draft_edited by slack:{talk.alice}",
            "draft_checked by overlord",
            f"draft_approved by slack:{talk.alice}",
            "draft_dispatched by overlord",
            "draft_delivered by overlord",
            "draft_merged by overlord",
            "draft_deployed by overlord",
        ]


async def _sends(talk: Talk, label: str, text: str, field: str = PATH) -> None:
    """Alice opens a form of the draft's card, writes into it and sends it."""
    [card] = [item for item in talk.cards() if "Draft d1" in item.plain.splitlines()[0]]
    assert (await talk.chat.click(talk.alice, card.ts, label)).acked
    await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
    [form] = talk.chat.open_views(talk.alice)
    assert (await talk.chat.submit(form, {field: text} if text else {}, talk.alice)).acked
    await talk.world.settle()


async def _talk_with_a_draft(talk: Talk) -> None:
    await proposed(talk.world)
    await drafted(talk.world)
    await talk.world.settle()


async def test_a_text_that_is_no_skill_is_refused_and_kept_to_go_on_with() -> None:
    async with made_memory_talk(**REVIEWED) as talk:
        await _talk_with_a_draft(talk)
        await _sends(talk, "Edit …", "name: [broken")
        assert "Draft d1 stays as it was" in talk.chat.ephemerals(talk.alice)[-1].plain
        card = talk.card("📝 Draft d1")
        assert "An edit was not taken" in card.plain and "name: say-why" in card.plain
        assert (await draft(talk.world)).text == skill()
        await talk.chat.click(talk.alice, card.ts, "Edit …")
        await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
        [form] = talk.chat.open_views(talk.alice)
        assert "name: [broken" in str(form.spec) and "Not taken" in form.plain


async def test_an_edit_with_a_secret_in_it_is_said_to_be_one_and_not_kept() -> None:
    async with made_memory_talk(**REVIEWED) as talk:
        await _talk_with_a_draft(talk)
        await _sends(talk, "Edit …", skill(text="Sign in with ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8."))
        assert "held what looks like a secret" in talk.chat.ephemerals(talk.alice)[-1].plain
        found = await draft(talk.world)
        assert (found.text, found.refused, found.trouble) == (skill(), "", "")


async def test_only_an_approver_decides_and_a_rejection_may_say_why() -> None:
    async with made_memory_talk(**REVIEWED) as talk:
        await _talk_with_a_draft(talk)
        bob = talk.chat.add_user("bob")
        await talk.press(talk.card("📝 Draft d1"), "Approve", by=bob)
        assert "Only approvers decide that" in talk.chat.ephemerals(bob)[-1].plain
        for words in ("approve d1", "reject d1"):
            assert "Only approvers decide that" in await talk.command(words, by=bob)
        assert (await draft(talk.world)).state is DraftState.WAITING
        assert "d1 · waiting · accept · acme/calc · Add the skill “say-why”" in await talk.command(
            "drafts", by=bob
        )
        await _sends(talk, "Reject …", "not for us", field="Why")
        assert "> not for us" in talk.card("🚫 Draft d1").plain
        assert "It rests: its draft d1 was rejected" in talk.card("👍 Proposal p1").plain
        assert "d1 was answered before" in await talk.command("approve d1")


async def test_what_is_too_long_for_the_chat_is_said_to_be_and_decided_elsewhere() -> None:
    async with made_memory_talk(**REVIEWED) as talk:
        await proposed(talk.world)
        await drafted(talk.world, skill(text="Say why. " * 400))
        await talk.world.settle()
        card = talk.card("📝 Draft d1")
        assert talk.buttons(card) == ["Reject …"]
        assert "overlord skills drafts d1, which says how it is approved" in card.plain
        assert "overlord skills edit d1" in card.plain


async def test_reviewers_are_told_how_to_have_another_text_and_no_session_begins(world: World) -> None:
    await drafted(world)
    await approved(world)
    await written(world)
    [*_, job] = await world.jobs()
    pull = job.pull_number or 0
    await world.forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Shorter, please.")
    for _ in range(2):
        await world.settle()
    said = [comment.body for comment in world.forge.comments(REPO, pull) if "overlord:draft" in comment.body]
    assert len(said) == 1 and "edit the draft and approve it anew" in said[0]
    assert not await world.read(lambda c: c.execute("SELECT 1 FROM follow_ups WHERE is_owed").fetchall())
    assert (await world.job(job.id)).round == 0
    assert (await draft(world)).note == "reviewers ask for changes (1 point)"
    await world.forge.close_pull(REPO, pull)
    await world.settle()
    assert (await draft(world)).state is DraftState.FAILED
    assert (await world.read(proposals.get, 1)).rests
    await edited(world, skill(text="Shorter."))
    await until(world, DraftState.WAITING)
    assert not (await world.read(proposals.get, 1)).rests
    await approved(world)
    await written(world, write(PATH, skill(text="Shorter.")), submit("Shorter."))
    [*_, again] = await world.jobs()
    assert (again.id > job.id, again.state) == (True, JobState.IN_REVIEW), await world.transcript()


async def test_a_skill_is_retired_by_name_once_a_person_approves_that(world: World) -> None:
    await world.push({PATH: skill()})
    retire = partial(by_hand, world, retire_skill, REPO, "say-why", by=ALICE, reason="Nobody needs it.")
    with pytest.raises(Refused, match="has no skill of that name"):
        await retire()
    seen = SkillAtBase(name="say-why", version="1.0.0", digest="0" * 16, path=PATH, description="")
    at = world.clock.now()
    await world.overlord.parts.database.write("by hand", lambda c: skills.note_base(c, REPO, [seen], at=at))
    await retire()
    found = await until(world, DraftState.WAITING)
    assert (found.kind, found.path, found.text, found.findings) == (DraftKind.RETIRE, PATH, "", ())
    with pytest.raises(Refused, match="draft d1 is about that skill already"):
        await retire()
    await approved(world)
    job = await _deleted(world)
    await world.forge.review(
        REPO, job.pull_number or 0, author="alice", state="CHANGES_REQUESTED", body="No."
    )
    await world.settle()
    said = [comment.body for comment in world.forge.comments(REPO, job.pull_number or 0)]
    assert any("then ask for it anew." in body for body in said)
    await world.forge.close_pull(REPO, job.pull_number or 0)
    await world.settle()
    assert (await draft(world)).state is DraftState.FAILED
    await retire()
    await until(world, DraftState.WAITING, 2)
    assert (await draft(world)).state is DraftState.REJECTED
    await by_hand(world, approve_draft, 2, by=ALICE)
    job = await _deleted(world)
    await world.forge.merge(REPO, job.pull_number or 0)
    await world.settle()
    assert (await draft(world, 2)).state is DraftState.DEPLOYED
    assert not [item for item in await world.read(skills.all_of) if item.is_present]


async def _deleted(world: World) -> Job:
    """A Minion deletes the file; its job."""
    world.model.forget()
    world.model_will(run(f"rm {PATH}"), submit("Gone."), when="Delete the file")
    await world.settle()
    [*_, job] = await world.jobs()
    assert job.state is JobState.IN_REVIEW, await world.transcript()
    return job
