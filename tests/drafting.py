"""Steps that scenarios about drafts of skills share."""

import json
import sqlite3
from typing import Any

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.person import Person
from overlord.domain.proposals.proposal import ProposalType
from overlord.domain.skills.draft import DraftState, SkillDraft
from overlord.embedded.play import Turn, edit, say, submit, write
from overlord.embedded.reviewer import REVIEW
from overlord.store import jobs, ledger
from overlord.store.skills import drafts
from overlord.verbs.proposal import approve_proposal
from overlord.verbs.skill import approve_draft, edit_draft
from tests.stored import claim, propose
from tests.world import FIX, World

DRAFTING = "You write one skill"
"""How a request for a draft begins."""
ALICE = Person.of("cli:alice")
LESSON, LABEL = "Nobody says why.", "review/task-not-done"
PATH = ".nebulus/skills/say-why.yaml"


def skill(
    name: str = "say-why", text: str = "Say in a comment why a sign was changed.", *, version: str = "1.0.0"
) -> str:
    """A skill's file."""
    return (
        f"name: {name}\ndescription: How signs are changed here\nversion: '{version}'\n"
        f"triggers:\n  keywords:\n  - subtracts\ninstructions: |\n  {text}\n"
    )


def review(*findings: dict[str, Any]) -> Turn:
    return say(json.dumps({"files_reviewed": ["calc.py"], "findings": list(findings)}))


def finding(message: str = LESSON) -> dict[str, Any]:
    found = {"rule": "task-not-done", "file": "calc.py", "line": 2, "message": message, "evidence": ""}
    return {**found, "suggestion": "Say why.", "systemic": False}


async def fails_review(world: World, title: str) -> int:
    """An issue whose work the review sends back once."""
    number = await world.issue(title)
    world.model.forget()
    world.model_will(review(finding()), when=REVIEW)
    world.model_will(review(), when=REVIEW)
    world.model_will(edit(*FIX), submit(), when=title)
    world.model_will(edit("calc.py", "a + b", "b + a"), submit(), when=title)
    await world.settle()
    return number


async def seen_and_proposed(world: World) -> None:
    """Two issues fail alike: a skill is proposed as p1."""
    for title in ("First", "Second"):
        await fails_review(world, title)


async def proposed(world: World) -> None:
    """A skill is proposed as p1, as if it had been seen at two issues whose jobs are over: written down, and not played."""
    await world.settle()
    numbers = [await world.issue(title, label="") for title in ("First", "Second")]

    def write(connection: sqlite3.Connection) -> None:
        for number in numbers:
            job = claim(connection, number)
            jobs.move(connection, job.id, EventName.DROPPED, at=world.clock.now())
            jobs.repair(connection, job.id, projected=JobState.CANCELLED)
        propose(
            connection,
            type=ProposalType.NEW_SKILL,
            title=f"Keep “{LABEL}” from coming back",
            sample=LESSON,
            issues=tuple(numbers),
        )

    await world.overlord.parts.database.write("by hand", write)
    world.overlord.wakeup.notify()
    await world.settle()


async def drafted(world: World, *answers: str) -> SkillDraft:
    """The proposal is approved, and the model answers so when it is asked for a draft."""
    world.model.forget()
    world.model_will(*map(say, answers or (skill(),)), when=DRAFTING)
    await by_hand(world, approve_proposal, 1, by=ALICE)
    await world.until(lambda: _is_over(world))
    return await draft(world)


async def _is_over(world: World) -> bool:
    found = await world.read(drafts.newest)
    return bool(found) and found[0].state in {DraftState.WAITING, DraftState.FAILED}


async def draft(world: World, number: int = 1) -> SkillDraft:
    found: SkillDraft = await world.read(drafts.get, number)
    return found


async def until(world: World, state: DraftState, number: int = 1) -> SkillDraft:
    """The draft, once it is there."""

    async def is_there() -> bool:
        return (await draft(world, number)).state is state

    await world.until(is_there)
    return await draft(world, number)


async def by_hand(world: World, verb: Any, *arguments: Any, **named: Any) -> Any:
    """A verb, given by a person."""
    at = world.clock.now()
    done = await world.overlord.parts.database.write("by hand", lambda c: verb(c, *arguments, **named, at=at))
    world.overlord.wakeup.notify()
    return done


async def edited(world: World, text: str, **more: Any) -> SkillDraft:
    changed: SkillDraft = await by_hand(world, edit_draft, 1, text, by=ALICE, **more)
    return changed


async def approved(world: World, **more: Any) -> None:
    await by_hand(world, approve_draft, 1, by=ALICE, **more)


async def written(world: World, *turns: Turn) -> None:
    """A Minion works on the draft's issue."""
    world.model.forget()
    world.model_will(*(turns or (write(PATH, skill()), submit("Written."))), when="word for word")
    await world.settle()


async def told(world: World) -> list[str]:
    """What the ledger says of drafts, and who did it."""
    entries = await world.read(lambda c: list(ledger.entries(c)))
    return [f"{entry.name} by {entry.actor}" for entry in entries if entry.name.startswith("draft_")]
