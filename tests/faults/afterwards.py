"""What goes on around a pull request, one step after another in as many spaces at once, for an Overlord that is a GitHub App.

A person approves a proposal, whose issue is opened and worked on; somebody asks for an explanation, a reviewer writes at a line
of the diff and pushes what they mean, a check fails, and the work is merged. `delivery.rounds` is 0, so that none of it takes
another work session: people are asked whether to go on, and what they do at the forge is their answer.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import Job, JobState
from overlord.domain.person import Person
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.embedded.forge.record import Comment, Pull
from overlord.engine.skills.review_pulls import STATUS_CONTEXT
from overlord.store import decisions, sessions
from overlord.store.conversation import follow_ups, processed_comments
from overlord.store.proposals import proposals
from overlord.store.rows import select
from overlord.verbs import proposal as commands_proposal
from tests import stored
from tests.app_keys import keys, write_key
from tests.drafting import PATH, skill
from tests.faults.player import FIXED
from tests.faults.spaces import job_of, made_spaces, name_of, trouble_of
from tests.world import World

LOG, QUESTION, EXPLAINED = "what the log says", "/overlord explain", "explanations"
REACTION, ISSUE, BRANCH = "reactions/create-for-issue-comment", "issues/update", "git/delete-ref"
REPLY, CHECKS = "pulls/create-reply-for-review-comment", "checks/list-for-ref"
STRANGER = "mallory"
READ_LOG, KEPT_LOG = "actions/download-job-logs-for-workflow-run", "log"
OPERATIONS = (
    "apps/get-repo-installation",
    "apps/create-installation-access-token",
    "issues/create",
    REACTION,
    REPLY,
    CHECKS,
    READ_LOG,
    KEPT_LOG,
    ISSUE,
    BRANCH,
    "git/get-tree",
    "git/get-blob",
)
VETTED = "vetted"


@contextlib.asynccontextmanager
async def made_stage(count: int) -> AsyncIterator[World]:
    """Spaces in each of which a proposal waits for its approval; the Overlord is to be started."""
    delivery = {"rounds": 0, "delete_branch": True}
    async with made_spaces(count, "", delivery=delivery) as world:
        names = [name_of(number) for number in range(1, count + 1)]
        app = world.forge.add_app("overlord", keys()[1], names)
        key = str(write_key(world.root / "key.pem"))
        world.forge.add_user(STRANGER, association="NONE")
        world.overrides["forge"] = {"token": "", "app_id": str(app.id), "private_key_file": key}
        yield world


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What people do in a space, and when that has led where it leads."""

    name: str
    act: Callable[[World, str], Awaitable[None]]
    is_done: Callable[[World, str], Awaitable[bool]]


async def _propose(world: World, space: str) -> None:
    await world.overlord.parts.database.write("by hand", lambda c: stored.propose(c, space))
    await approve(world, space)


async def approve(world: World, space: str) -> None:
    """A person approves the proposal of a space; of one that rests, has it taken up again."""
    proposal, by = await proposal_of(world, space), Person.of("cli:alice")
    at = world.clock.now()
    act = commands_proposal.approve_proposal
    await world.overlord.parts.database.write("by hand", lambda c: act(c, proposal.id, by=by, at=at))
    world.overlord.wakeup.notify()


async def proposal_of(world: World, space: str) -> EnhancementProposal:
    found: list[EnhancementProposal] = await world.read(proposals.newest)
    [mine] = [item for item in found if item.space == space]
    return mine


async def _is_delivered(world: World, space: str) -> bool:
    job = await job_of(world, space)
    return job is not None and job.state is JobState.IN_REVIEW


async def _ask(world: World, space: str) -> None:
    await world.forge.comment(space, (await the_job(world, space)).issue.number, QUESTION)


async def _is_answered(world: World, space: str) -> bool:
    asked = _question(world, space).id
    is_heard = await world.read(lambda c: processed_comments.is_known(c, space, asked))
    return is_heard and not await world.read(lambda c: processed_comments.owed(c, space))


def _question(world: World, space: str) -> Comment:
    [issue] = world.forge.issues(space)
    [asked] = [item for item in world.forge.comments(space, issue.number) if item.body == QUESTION]
    return asked


def _explanations(world: World, space: str) -> list[str]:
    [issue] = world.forge.issues(space)
    said = [comment.body for comment in world.forge.comments(space, issue.number)]
    return [body for body in said if "overlord:reply" in body]


async def _review(world: World, space: str) -> None:
    remarks = (("calc.py", 2, "Say what it adds."),)
    await world.forge.review(
        space, the_pull(world, space).number, author="alice", state="CHANGES_REQUESTED", comments=remarks
    )


async def _is_asked(world: World, space: str) -> bool:
    job = await the_job(world, space)
    return job.state is JobState.WAITING and [item.subject for item in await _open(world, job)] == [
        Subject.ROUNDS
    ]


async def _push(world: World, space: str) -> None:
    mine = {"calc.py": FIXED + b"# Numbers.\n"}
    await world.forge.push_files(space, the_pull(world, space).head_branch, mine, "Say it")


async def _is_replied(world: World, space: str) -> bool:
    job = await the_job(world, space)
    return job.state is JobState.IN_REVIEW and job.head_sha == the_pull(world, space).head_sha


async def _fail(world: World, space: str) -> None:
    await world.forge.check_run(space, the_pull(world, space).head_sha, "ci", log=f"{LOG}\n")


async def _merge(world: World, space: str) -> None:
    """Somebody merges, and opens the issue again that this has closed."""
    await world.forge.merge(space, the_pull(world, space).number)
    await world.forge.reopen_issue(space, (await the_job(world, space)).issue.number)


async def _is_over(world: World, space: str) -> bool:
    return (await the_job(world, space)).state is JobState.COMPLETED


async def _offer(world: World, space: str) -> None:
    await world.forge.fork_pull(space, "A skill", {PATH: skill()}, author=STRANGER)


async def _is_vetted(world: World, space: str) -> bool:
    return _vetted(world, space)[:1] == ["success"]


def _vetted(world: World, space: str) -> list[str]:
    """The newest status of what a stranger offers: its state, and its words."""
    offered = [pull for pull in world.forge.pulls(space) if pull.author == STRANGER]
    found = [item for pull in offered for item in world.forge.statuses(space, pull.head_sha)]
    mine = [item for item in found if item.context == STATUS_CONTEXT]
    return [mine[-1].state, mine[-1].description or ""] if mine else []


STEPS = (
    Step(name="approved", act=_propose, is_done=_is_delivered),
    Step(name="asked about", act=_ask, is_done=_is_answered),
    Step(name="reviewed", act=_review, is_done=_is_asked),
    Step(name="pushed to", act=_push, is_done=_is_replied),
    Step(name="failing", act=_fail, is_done=_is_asked),
    Step(name="merged", act=_merge, is_done=_is_over),
    Step(name="offered a skill", act=_offer, is_done=_is_vetted),
)


async def the_job(world: World, space: str) -> Job:
    job = await job_of(world, space)
    assert job is not None
    return job


def the_pull(world: World, space: str) -> Pull:
    [pull] = [pull for pull in world.forge.pulls(space) if pull.author != STRANGER]
    return pull


async def told(world: World, space: str) -> str:
    """What people are told of what the forge does not do. A note is about nothing else."""
    far_end = (f"/repos/{space}", "/app/installations", f"installed on {space}", "the log of a check")
    lines = (await trouble_of(world, space)).splitlines()
    said = [line for line in lines if any(words in line for words in far_end)]
    vetted = _vetted(world, space)
    said += vetted[1:] if vetted[:1] == ["error"] else []
    return "\n".join([*said, (await proposal_of(world, space)).note]).strip()


async def let_go_on(world: World, space: str) -> None:
    """A person lets be tried again what was refused."""
    job = await job_of(world, space)
    for decision in await world.decisions():
        is_mine = decision.space == space or (job is not None and decision.job_id == job.id)
        if is_mine and decision.subject is not Subject.ROUNDS:
            again = [verb for verb in (Verb.RETRY, Verb.REDELIVER) if verb in decision.verbs]
            assert again, f"nobody can let it be tried again: {decision}"
            await world.answer(decision, again[0])
    if (await proposal_of(world, space)).rests:
        await approve(world, space)


async def _open(world: World, job: Job) -> list[Decision]:
    return list(await world.read(lambda c: decisions.waiting(c, job.id)))


async def came_of(world: World, space: str) -> Mapping[str, Any]:
    """How everything in a space stands in the end."""
    job, pull = await the_job(world, space), the_pull(world, space)
    [issue] = world.forge.issues(space)
    made = await world.read(lambda c: sessions.of_job(c, job.id))
    raised = await world.read(
        select, Decision, "SELECT * FROM decisions WHERE job_id = ? ORDER BY id", job.id
    )
    found = await world.read(follow_ups.of_round, job)
    return {
        "job": job.state,
        "proposal": (await proposal_of(world, space)).status,
        "sessions": [str(session.kind) for session in made],
        REACTION: [item.content for item in world.forge.reactions(_question(world, space).id)],
        EXPLAINED: len(_explanations(world, space)),
        REPLY: len(world.forge.review_comments(space, pull.number)) - 1,
        "asked": [item.subject for item in raised],
        READ_LOG: any(LOG in item.finding.evidence for item in found),
        ISSUE: issue.open,
        BRANCH: pull.head_branch in await world.forge.heads(space),
        VETTED: _vetted(world, space)[:1],
    }


EXPECTED: Mapping[str, Any] = {
    "job": JobState.COMPLETED,
    "proposal": ProposalStatus.IMPLEMENTED,
    "sessions": ["work", "check", "review", "check", "review"],
    REACTION: ["+1"],
    EXPLAINED: 1,
    REPLY: 1,
    "asked": [Subject.ROUNDS, Subject.ROUNDS],
    READ_LOG: True,
    ISSUE: False,
    BRANCH: False,
    VETTED: ["success"],
}
