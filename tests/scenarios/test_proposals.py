"""What comes up again is proposed once, with its evidence; a person's yes becomes an issue that is worked on."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from overlord.domain.decision import Verb
from overlord.domain.job import JobState
from overlord.domain.person import Person
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus, ProposalType, Trigger
from overlord.domain.skills.draft import DraftState
from overlord.embedded.play import Turn, blocked, call, edit, run, say, submit
from overlord.embedded.reviewer import REVIEW
from overlord.errors import Refused
from overlord.store import ledger
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from overlord.verbs.proposal import (
    approve_proposal,
    reject_proposal,
)
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

SCOPE = {REPO: {"scope": ["calc.py"]}}
STRAY = run("echo Sums. >> README.md")
ALICE = Person.of("cli:alice")
HOSTILE = "@everyone closes #1, approve p1 <script>"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A world in which only calc.py may be written, and no number of pull requests is too large."""
    async with made_memory_world(spaces=SCOPE, delivery={"open_pulls": 100}) as world:
        yield world


async def strays(world: World, title: str) -> int:
    """An issue whose work first goes outside its scope."""
    number = await world.issue(title)
    world.model_will(STRAY, edit(*FIX), submit(), when=title)
    world.model_will(edit("calc.py", "a + b", "b + a"), submit(), when=title)
    await world.settle()
    return number


async def proposed(world: World) -> list[EnhancementProposal]:
    found: list[EnhancementProposal] = await world.read(proposals.newest)
    return found[::-1]


async def approve(world: World, number: int = 1, **more: Any) -> EnhancementProposal:
    at = world.clock.now()
    done: EnhancementProposal = await world.overlord.parts.database.write(
        "by hand", lambda c: approve_proposal(c, number, by=ALICE, at=at, **more)
    )
    world.overlord.wakeup.notify()
    return done


async def reject(world: World, number: int = 1, **more: Any) -> None:
    at = world.clock.now()
    await world.overlord.parts.database.write(
        "by hand", lambda c: reject_proposal(c, number, by=ALICE, at=at, **more)
    )


async def told(world: World) -> list[str]:
    """What the ledger says of the first proposal, and who did it."""
    entries = await world.read(lambda c: list(ledger.entries(c)))
    ours = [entry for entry in entries if entry.name.startswith("proposal")]
    return [f"{entry.name} by {entry.actor}" for entry in ours if json.loads(entry.data)["proposal"] == 1]


async def test_two_issues_that_fail_alike_are_one_proposal_and_a_third_is_more_evidence(world: World) -> None:
    await strays(world, "First")
    assert await proposed(world) == []
    await strays(world, "Second")
    [found] = await proposed(world)
    assert (found.trigger, found.type, found.status) == (
        Trigger.FAILURE,
        ProposalType.CONFIG_CHANGE,
        ProposalStatus.PENDING,
    )
    assert found.title == "Keep “scope/outside-scope” from coming back"
    assert found.sample.startswith("README.md is outside the scope (calc.py).")
    assert (found.weight, found.issues, found.jobs, found.related) == (
        2,
        (1, 3),
        (1, 2),
        (f"{REPO}#1", f"{REPO}#3"),
    )
    await strays(world, "Third")
    [more] = await proposed(world)
    assert (more.id, more.weight, more.issues) == (found.id, 3, (1, 3, 5)), await world.transcript()
    assert more.digest == found.digest and "3 issues" in more.rationale
    assert await told(world) == ["proposal_raised by overlord"]


async def test_one_issue_that_fails_twice_is_no_pattern(world: World) -> None:
    number = await world.issue("First")
    world.model_will(STRAY, submit(), when="First")
    world.model_will(STRAY, submit(), when="First")
    await world.settle()
    assert (await world.job()).issue.number == number
    assert await proposed(world) == []


async def test_a_rejected_one_comes_back_only_with_twice_the_evidence(world: World) -> None:
    for title in ("First", "Second"):
        await strays(world, title)
    await reject(world, reason="we like it so")
    await strays(world, "Third")
    assert [item.status for item in await proposed(world)] == [ProposalStatus.REJECTED]
    await strays(world, "Fourth")
    before, again = await proposed(world)
    assert (before.status, before.weight, before.reason) == (ProposalStatus.REJECTED, 2, "we like it so")
    assert (again.status, again.weight) == (ProposalStatus.PENDING, 4)


async def test_patterns_are_counted_for_each_repository_and_after_a_restart_too(world: World) -> None:
    await strays(world, "First")
    await world.stop()
    await strays(world, "Second")
    assert len(await proposed(world)) == 1
    await world.stop()
    await world.settle()
    assert len(await proposed(world)) == 1
    assert await told(world) == ["proposal_raised by overlord"]


async def test_a_person_may_turn_it_off() -> None:
    off = {"issues": None, "systemic": False, "blockers": None, "same_answers": None}
    async with made_memory_world(spaces=SCOPE, proposals=off) as world:
        for title in ("First", "Second"):
            await strays(world, title)
        assert await proposed(world) == []


async def test_no_more_wait_for_people_than_the_settings_say() -> None:
    async with made_memory_world(spaces=SCOPE, proposals={"pending": 1}) as world:
        for title in ("First", "Second"):
            await strays(world, title)
        for title in ("Third", "Fourth"):
            await world.issue(title)
            world.model_will(blocked("I need the password"), when=title)
            await world.settle()
        [first] = await proposed(world)
        await reject(world)
        world.overlord.wakeup.notify()
        await world.settle()
        _, second = await proposed(world)
        assert (first.trigger, second.trigger, second.status) == (
            Trigger.FAILURE,
            Trigger.BLOCKER,
            ProposalStatus.PENDING,
        )
        assert (second.times, second.issues) == (2, (5, 6))


async def test_approved_it_is_an_issue_that_is_worked_on_and_merged_it_is_implemented(world: World) -> None:
    for title in ("First", "Second"):
        await strays(world, title)
    world.model_will(edit(*FIX), submit("Said it in calc.py."), when="Keep “scope/outside-scope”")
    approved = await approve(world, reason="yes please")
    assert (approved.status, approved.decided_by, approved.reason) == (
        ProposalStatus.APPROVED,
        "cli:alice",
        "yes please",
    )
    await world.settle()
    [_, _, job] = await world.jobs()
    issue = world.forge.issue(REPO, job.issue.number)
    assert (issue.title, issue.labels) == (approved.title, ("in-review",))
    assert "> README.md is outside the scope (calc.py)." in issue.body
    assert "approved by alice: yes please" in issue.body and "Seen at #1, #3." in issue.body
    assert job.state is JobState.IN_REVIEW, await world.transcript()
    assert (await proposed(world))[0].status is ProposalStatus.APPROVED
    await world.forge.merge(REPO, job.pull_number or 0)
    await world.settle()
    assert (await proposed(world))[0].status is ProposalStatus.IMPLEMENTED
    assert await told(world) == [
        "proposal_raised by overlord",
        "proposal_approved by cli:alice",
        "proposal_dispatched by overlord",
        "proposal_implemented by overlord",
    ]


async def test_what_is_not_merged_rests_until_a_person_takes_it_up_again(world: World) -> None:
    await given_up(world)
    for _ in range(2):
        world.model_will(edit(*FIX), submit(), when="Give Minions what they lack")
    await approve(world)
    await world.settle()
    [_, job] = await world.jobs()
    await world.forge.close_pull(REPO, job.pull_number or 0)
    await world.settle()
    [rests] = await proposed(world)
    assert (rests.status, rests.note) == (
        ProposalStatus.APPROVED,
        f"job {job.id} ended without a merge (pr closed)",
    )
    again = await approve(world)
    assert again.note == ""
    await world.settle()
    *_, second = await world.jobs()
    assert (second.issue.number, second.state) == (job.issue.number, JobState.IN_REVIEW)
    with pytest.raises(Refused, match="p1 was answered before, by cli:alice: Approve"):
        await approve(world)


async def test_an_issue_that_the_forge_refuses_is_told_and_tried_again_when_a_person_says_so(
    world: World,
) -> None:
    await given_up(world)
    world.forge.fail("issues/create", kind="403", times=1000)
    await approve(world)
    await world.until(lambda: _rests(world))
    [rests] = await proposed(world)
    assert rests.note.startswith("its issue cannot be opened: ")
    world.forge.wire.faults.pending.clear()
    world.model_will(edit(*FIX), submit(), when="Give Minions what they lack")
    await approve(world)
    await world.settle()
    await world.until(lambda: _has_issue(world))
    assert len([issue for issue in world.forge.issues(REPO) if issue.title == rests.title]) == 1


async def _rests(world: World) -> bool:
    return (await proposed(world))[0].rests


async def _has_issue(world: World) -> bool:
    return (await proposed(world))[0].issue_number is not None


async def test_an_answer_is_bound_to_what_was_shown(world: World) -> None:
    await given_up(world)
    with pytest.raises(Refused, match="changed since it was shown"):
        await approve(world, digest="0" * 16)
    [found] = await proposed(world)
    await approve(world, digest=found.digest)
    with pytest.raises(Refused, match="answered before"):
        await reject(world)


async def test_a_blocker_that_nobody_could_mend_is_proposed(world: World) -> None:
    await world.issue("First")
    for _ in range(2):
        world.model_will(blocked("There is no key for db.example.org"), when="First")
    await world.settle()
    assert await proposed(world) == []
    [asked] = await world.decisions()
    await world.answer(asked, Verb.RETRY)
    await world.settle()
    [found] = await proposed(world)
    assert (found.trigger, found.type, found.impact) == (Trigger.BLOCKER, ProposalType.TOOL_FIX, "medium")
    assert found.title == "Give Minions what they lack: “There is no key for db.example.org”"
    assert found.sample == "There is no key for db.example.org"


async def test_a_job_given_up_over_its_blocker_counts_as_one_more(world: World) -> None:
    await world.issue("First")
    world.model_will(blocked(HOSTILE), when="First")
    await world.settle()
    [asked] = await world.decisions()
    await world.answer(asked, Verb.DROP)
    await world.settle()
    [found] = await proposed(world)
    assert found.title == "Give Minions what they lack: “everyone closes 1, approve p1 <script>”"
    await approve(world)
    await world.until(lambda: _has_issue(world))
    issue = world.forge.issue(REPO, (await proposed(world))[0].issue_number or 0)
    assert "@everyone" not in issue.body and "closes #1" not in issue.body and "<script>" not in issue.body


async def given_up(world: World) -> None:
    """The cheapest proposal: a job is given up over its blocker."""
    await world.issue("First")
    world.model_will(blocked("There is no key"), when="First")
    await world.settle()
    [asked] = await world.decisions()
    await world.answer(asked, Verb.DROP)
    await world.settle()


async def test_an_issue_that_is_not_taken_up_says_why(world: World) -> None:
    await given_up(world)
    world.forge.fail("issues/get", kind="404", times=1000)
    await approve(world)
    await world.until(lambda: _rests(world))
    world.forge.wire.faults.pending.clear()
    [rests] = await proposed(world)
    assert rests.note.startswith("its issue was not taken up: There is no issue #2 in acme/calc")
    assert (await told(world))[-1] == "proposal_rested by overlord"


async def test_an_issue_whose_opening_was_cut_off_is_found_and_not_opened_again(world: World) -> None:
    await given_up(world)
    world.forge.fail("issues/create", kind="reset-after", times=1)
    world.model_will(edit(*FIX), submit(), when="Give Minions what they lack")
    await approve(world)
    await world.until(lambda: _has_issue(world))
    await world.settle()
    [found] = await proposed(world)
    assert [issue.title for issue in world.forge.issues(REPO)] == ["First", found.title]
    assert (await world.job(2)).issue.number == found.issue_number


async def test_nothing_is_opened_where_overlord_does_not_work_any_more(world: World) -> None:
    await given_up(world)
    await world.stop()
    world.overrides["repositories"] = ["acme/other"]
    await world.forge.create_repository("acme/other", files={"a.txt": "a"})
    await world.start()
    await approve(world)
    await world.until(lambda: _rests(world))
    [rests] = await proposed(world)
    assert rests.note == "its issue cannot be opened: acme/calc is not managed by Overlord any more"
    assert [issue.title for issue in world.forge.issues(REPO)] == ["First"]


def review(*findings: dict[str, Any]) -> Turn:
    return say(json.dumps({"files_reviewed": ["calc.py"], "findings": list(findings)}))


async def test_what_the_review_calls_systemic_asks_for_a_skill_which_is_drafted_first(world: World) -> None:
    finding = {"rule": "task-not-done", "file": "calc.py", "line": 2, "message": "Nobody says why."}
    finding |= {"evidence": "", "suggestion": "Say why.", "systemic": True}
    await world.issue("First")
    world.model_will(review(finding), when=REVIEW)
    world.model_will(review(), when=REVIEW)
    world.model_will(edit(*FIX), submit(), when="First")
    world.model_will(edit("calc.py", "a + b", "b + a"), submit(), when="First")
    await world.settle()
    [found] = await proposed(world)
    assert (found.trigger, found.type, found.sample) == (
        Trigger.SYSTEMIC,
        ProposalType.NEW_SKILL,
        "Nobody says why.",
    )
    await approve(world)
    [draft] = await world.read(drafts.unfinished)
    assert (draft.proposal_id, draft.state, draft.requested_by) == (1, DraftState.DRAFTING, "cli:alice")
    assert [issue.title for issue in world.forge.issues(REPO)] == ["First"]


async def test_the_same_answer_three_times_is_written_down(world: World) -> None:
    await world.start()
    for number, (title, answer) in enumerate(
        [("First", "Plus"), ("Second", "minus"), ("Third", "plus"), ("Fourth", " PLUS."), ("Fifth", "plus")]
    ):
        assert await proposed(world) == [], f"{number} answers"
        await world.issue(title)
        ask = call("ask_question", question="Plus or minus?", options=["plus", "minus"])
        world.model_will(ask, edit(*FIX), submit(), when=title)
        await world.make_due()
        await world.until(world.decisions)
        [asked] = await world.decisions()
        await world.answer(asked, Verb.REPLY, answer)
        await world.settle()
    [found] = await proposed(world)
    assert (found.trigger, found.type) == (Trigger.QUESTION, ProposalType.WORKFLOW_IMPROVEMENT)
    assert (found.sample, found.answer, found.weight) == ("Plus or minus?", "plus", 3)
    assert found.issues == (5, 7, 9)


async def test_the_same_request_for_scope_answered_alike_is_settled(world: World) -> None:
    for title in ("First", "Second", "Third"):
        await world.issue(title)
        ask = call("ask_question", question=f"{title}: may I?", kind="scope", patterns=["README.md"])
        world.model_will(ask, edit(*FIX), submit(), when=title)
        await world.make_due()
        await world.until(world.decisions)
        [asked] = await world.decisions()
        await world.answer(asked, Verb.ONCE if title == "First" else Verb.GRANT)
        await world.settle()
    [found] = await proposed(world)
    assert (found.trigger, found.type, found.risk) == (
        Trigger.SCOPE_REQUEST,
        ProposalType.CONFIG_CHANGE,
        "high",
    )
    assert (found.sample, found.answer) == ("README.md", "allow")
