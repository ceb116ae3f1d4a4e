"""The registry of skills from the outside: what is at base, what Minions load, how that work goes, and what is asked for then."""

import sqlite3
from dataclasses import replace
from datetime import datetime

import pytest

from minion.protocol import Scope, ScopeMode
from overlord.domain.job import JobState
from overlord.domain.proposals.proposal import ProposalStatus, ProposalType, Trigger
from overlord.domain.skills.draft import DraftKind, DraftState
from overlord.domain.skills.file import parse_skill
from overlord.domain.skills.record import Origin, SkillAtBase, text_digest
from overlord.embedded.play import call, edit, submit, write
from overlord.errors import Refused
from overlord.store import jobs
from overlord.store.proposals import proposals
from overlord.store.rows import insert
from overlord.store.skills import skill_uses, skills
from tests.drafting import PATH, approved, drafted, edited, skill, until, written
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.records import an_issue, contract
from tests.world import CALC, FIX, REPO

SAY_WHY = parse_skill(skill().encode(), PATH)
UNLIMITED = Scope.unrestricted().to_json()
IDLE = ".nebulus/skills/idle.yaml"


async def test_what_is_loaded_counts_once_and_only_what_was_offered() -> None:
    idle = skill("idle").replace("subtracts", "nowhere")
    async with made_memory_world({**CALC, PATH: skill(), IDLE: idle}) as world:
        await world.issue("add() subtracts")
        load = [call("use_skill", name=name) for name in ("say-why", "idle", "say-why")]
        world.model_will(*load, edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW, await world.transcript()
        assert [(item.name, item.is_present) for item in await world.read(skills.all_of)] == [
            ("idle", True),
            ("say-why", True),
        ]
        assert await world.read(skill_uses.loaded_by, 1) == ("say-why 1.0.0",)
        assert (await world.events()).count("skill_loaded") == 1
        [pull] = world.forge.pulls(REPO)
        assert "Skills it could load: say-why 1.0.0" in pull.body
        assert "Skills it loaded: say-why 1.0.0" in pull.body


async def test_the_registry_follows_what_is_at_base() -> None:
    async with made_memory_world({**CALC, PATH: skill()}) as world:
        for number, changed in enumerate(({}, {PATH: skill(version="1.1.0")}, {PATH: "name: [\n"})):
            if changed:
                await world.push(changed)
            await world.issue(f"add() subtracts, {number}")
            world.model.forget()
            world.model_will(edit(*FIX), submit())
            await world.settle()
            [known] = await world.read(skills.all_of)
            assert (known.version, known.is_present) == (("1.0.0", "1.1.0", "1.1.0")[number], number < 2)


def past(
    connection: sqlite3.Connection,
    number: int,
    *,
    loaded: bool,
    well: bool,
    at: datetime,
    scope: str = UNLIMITED,
) -> None:
    """A job that has ended, as rows."""
    issue = an_issue(number=number)
    job = jobs.claim(connection, space=REPO, issue=issue, base_branch="main", contract=contract(), at=at)
    assert job is not None
    state = JobState.COMPLETED if well else JobState.CANCELLED
    connection.execute(
        "UPDATE jobs SET state = ?, projected = ?, is_open = 0 WHERE id = ?", (state, state, job.id)
    )
    session = f"{job.id}-work-1"
    row = {"id": session, "job_id": job.id, "kind": "work", "state": "ended", "brief": "{}", "scope": scope}
    limits = {"branch": job.branch, "token_budget": 1, "time_limit_s": 1, "prepared_at": at, "cleared": True}
    insert(connection, "sessions", {**row, **limits})
    if loaded:
        use = {"space": REPO, "name": "say-why", "version": "1.0.0", "digest": text_digest(SAY_WHY)}
        more = {"session_id": session, "job_id": job.id, "offered_at": at, "loaded_at": at}
        insert(connection, "skill_uses", {**use, **more})


async def test_a_skill_that_does_worse_than_work_without_it_is_revised_all_the_way() -> None:
    async with made_memory_world({**CALC, PATH: skill()}) as world:
        await world.settle()
        at = world.clock.now()

        def history(connection: sqlite3.Connection) -> None:
            for number in range(10):
                past(connection, 100 + number, loaded=number % 2 == 0, well=number % 2 == 1, at=at)

        await world.overlord.parts.database.write("by hand", history)
        number = await world.issue("add() subtracts")
        world.model_will(call("use_skill", name="say-why"), edit(*FIX), submit())
        await world.settle()
        assert not await world.read(proposals.newest)
        await world.forge.close_issue(REPO, number)
        await world.settle()
        [proposal] = await world.read(proposals.newest)
        assert (proposal.trigger, proposal.type) == (Trigger.SKILL, ProposalType.REVISED_SKILL)
        assert proposal.title == "Revise the skill “say-why 1.0.0”"
        assert "or retire it; the statistics of skills" in proposal.action
        stale = skill(text="Say why, in one line.")
        draft = await drafted(world, stale)
        assert (draft.kind, draft.state, draft.path) == (DraftKind.REVISE, DraftState.WAITING, PATH)
        assert draft.text == stale
        with pytest.raises(Refused, match="rejected by the judge: skill/version"):
            await approved(world)
        revised = skill(text="Say why, in one line.", version="1.1.0")
        await edited(world, revised)
        await until(world, DraftState.WAITING)
        await approved(world)
        await written(world, write(PATH, revised), submit("Revised."))
        [*_, job] = await world.jobs()
        assert job.state is JobState.IN_REVIEW, await world.transcript()
        assert await world.git_show(job.branch, PATH) == revised
        await world.forge.merge(REPO, job.pull_number or 0)
        await world.issue("add() subtracts again")
        world.model.forget()
        world.model_will(call("use_skill", name="say-why"), edit(*FIX), submit(), when="subtracts again")
        await world.settle()
        [known] = await world.read(skills.all_of)
        assert (known.version, known.origin, known.is_present) == ("1.1.0", Origin.EVOLVED, True)
        assert await world.read(skill_uses.loaded_by, job.id + 1) == ("say-why 1.1.0",)
        assert (await world.read(skill_uses.statistics, known)).loaded == 1
        [proposal] = await world.read(proposals.newest)
        assert proposal.status is ProposalStatus.IMPLEMENTED


async def test_a_skill_is_asked_to_go_by_its_name_in_the_chat() -> None:
    async with made_memory_talk({**CALC, PATH: skill()}) as talk:
        await talk.world.settle()
        at, mine = talk.world.clock.now(), [SkillAtBase.read(SAY_WHY, PATH)]

        def known(connection: sqlite3.Connection) -> None:
            for space in (REPO, "acme/other"):
                skills.note_base(connection, space, mine, at=at)

        await talk.world.overlord.parts.database.write("by hand", known)
        assert "Only approvers decide that" in await talk.command(
            f"retire {REPO} say-why", by=talk.chat.add_user("bob")
        )
        assert "Several repositories have a skill of that name: acme/calc and" in await talk.command(
            "retire say-why"
        )
        assert "o repository has a skill of that name" in await talk.command("retire say-how")
        said = await talk.command(f"retire {REPO} say-why nobody needs it")
        assert f"Draft d1 would retire say-why of {REPO}" in said
        card = talk.card("📝 Draft d1").plain
        assert "Retire the skill “say-why”" in card and "> nobody needs it" in card
        assert "raft d1 is about that skill already" in await talk.command(f"retire {REPO} say-why")


async def test_figures_go_by_the_text_and_leave_out_jobs_that_write_a_skill_and_calls() -> None:
    async with made_memory_world({**CALC, PATH: skill()}) as world:
        await world.settle()
        at, writes = world.clock.now(), Scope(mode=ScopeMode.SKILL, patterns=(PATH,)).to_json()
        mine = SkillAtBase.read(SAY_WHY, PATH)

        def history(connection: sqlite3.Connection) -> None:
            skills.note_base(connection, REPO, [mine], at=at)
            past(connection, 1, loaded=True, well=True, at=at)
            past(connection, 2, loaded=False, well=True, at=at)
            past(connection, 3, loaded=False, well=False, at=at, scope=writes)
            past(connection, 4, loaded=False, well=True, at=at)
            connection.execute("UPDATE jobs SET issue_number = -1 WHERE issue_number = 4")

        await world.overlord.parts.database.write("by hand", history)
        [known] = await world.read(skills.all_of)
        standing = await world.read(lambda c: skill_uses.statistics(c, known))
        assert (standing.loaded, standing.well, standing.others, standing.others_well) == (1, 1, 1, 1)
        other = replace(known, digest="0" * 16)
        standing = await world.read(lambda c: skill_uses.statistics(c, other))
        assert (standing.offered, standing.loaded, standing.ended) == (0, 0, 0)
