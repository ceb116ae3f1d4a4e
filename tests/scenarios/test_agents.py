"""Other coding agents in whole sessions, by stand-ins that speak their wires: chosen by a label, governed and judged as the native one."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.embedded.play import Turn, call, say
from overlord.store import sessions
from overlord.store.budgets import exchanges
from tests.agents.plays import done, sentinel
from tests.quick import made_quick_world
from tests.world import CALC, REPO, World

STAND_IN = Path(__file__).parents[1] / "agents" / "wire_stand_in.py"
CURSOR = Path(__file__).parents[1] / "minion" / "cursor_stub.py"
WITH_TOOLS = ("claude-code", "codex", "opencode", "gemini")
OLD, NEW = "    return a - b\n", "    return a + b\n"
MENDED = CALC["calc.py"].replace(OLD, NEW)
ISSUE = ("add() subtracts in calc.py", "`add(2, 2)` is 0.")


@asynccontextmanager
async def world_of(agent: str, *arguments: str, **overrides: Any) -> AsyncIterator[World]:
    """A world whose agent of this name is the stand-in, and an issue that asks for it."""
    own = {"command": (sys.executable, str(STAND_IN), agent), "arguments": arguments}
    async with made_quick_world(agents={agent: own}, **overrides) as world:
        await open_issue(world, agent)
        yield world


async def open_issue(world: World, agent: str) -> None:
    await world.forge.open_issue(REPO, *ISSUE, labels=["nebulus-ready", f"agent:{agent}"])


def mend(agent: str, old: str = OLD, new: str = NEW, path: str = "calc.py") -> Turn:
    """The model replaces lines of a file, as this agent lets it."""
    if agent == "aider":
        return say(f"I do it.\n\n{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n")
    script = (
        f"import pathlib; p = pathlib.Path({path!r}); p.write_text(p.read_text().replace({old!r}, {new!r}))"
    )
    return call("shell", command=f'"{sys.executable}" -c "{script}"')


def task(agent: str) -> tuple[Turn, ...]:
    """The whole task."""
    if agent == "aider":  # its last words are those with its edits
        return (say(f"{mend(agent).text}\n{done('add adds').text}"),)
    return (mend(agent), done("add adds"))


async def work_of(world: World) -> list[Session]:
    found: list[Session] = await world.read(sessions.of_job, 1)
    return [session for session in found if session.kind is SessionKind.WORK]


async def check_delivered(world: World, agent: str, *, work: int = 1) -> None:
    """The issue became a pull request with this agent's work, which is on record."""
    job = await world.job()
    assert job.state is JobState.IN_REVIEW
    [pull] = world.forge.pulls(REPO)
    assert not pull.draft
    assert "add adds" in pull.body
    assert await world.git_show(job.branch, "calc.py") == MENDED
    assert [session.agent for session in await work_of(world)] == [agent] * work


async def asked(world: World) -> Decision:
    await world.make_due()
    await world.until(world.decisions)
    [decision] = await world.decisions()
    return decision


@pytest.mark.parametrize("agent", [*WITH_TOOLS, "aider"])
async def test_a_label_has_another_agent_take_the_issue_to_a_pull_request(agent: str) -> None:
    async with world_of(agent) as world:
        world.model_will(*task(agent))
        await world.settle()
        await check_delivered(world, agent)
        [session] = await work_of(world)
        booked = await world.read(exchanges.of_session, session.id)
        assert len(booked) == len(task(agent))
        assert all(item.status == 200 and item.prompt and item.completion for item in booked)
        usage, _ = await world.read(exchanges.job_usage, 1)
        assert usage.prompt + usage.completion == sum(request.tokens for request in world.model.requests)
        for secret in (world.model.key, world.forge.token):
            assert all(secret.encode() not in request.body for request in world.model.requests)
            assert world.files_with(secret) == []


async def test_cursor_works_for_a_service_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "cursor-agent"
    program.write_text(CURSOR.read_text())
    steps = [{"write": ["calc.py", MENDED]}, {"say": done("add adds").text}]
    program.with_suffix(".json").write_text(json.dumps(steps))
    async with made_quick_world(agents={"cursor": {"command": (sys.executable, str(program))}}) as world:
        await open_issue(world, "cursor")
        await world.settle()
        await check_delivered(world, "cursor")
        [session] = await work_of(world)
        assert await world.read(exchanges.of_session, session.id) == []


async def test_what_a_check_refuses_is_mended_by_the_same_agent() -> None:
    async with world_of("codex") as world:
        world.model_will(mend("codex", OLD, "    return a - b - 1\n"), done("add adds more"))
        world.model_will(mend("codex", "    return a - b - 1\n", NEW), done("add adds"))
        await world.settle()
        await check_delivered(world, "codex", work=2)
        assert (await world.job()).revision == 1
        assert (await world.events()).count("revision_ordered") == 1


async def test_a_scope_is_asked_for_by_a_line_and_granted() -> None:
    async with world_of("aider", spaces={REPO: {"scope": ["tests/**"]}}) as world:
        line = sentinel("QUESTION", question="May I?", kind="scope", patterns=["calc.py"])
        world.model_will(say(f"I need calc.py.\n\n{line}"), *task("aider"))
        request = await asked(world)
        assert (request.subject, request.patterns) == (Subject.SCOPE_REQUEST, ("calc.py",))
        await world.answer(request, Verb.GRANT)
        await world.settle()
        await check_delivered(world, "aider")
        assert "You may now write: tests/**, calc.py." in str(world.minion_heard()[-1])


@pytest.mark.parametrize("agent", WITH_TOOLS)
async def test_a_scope_is_asked_for_by_a_tool_and_the_agents_own_permissions_follow(agent: str) -> None:
    async with world_of(agent, spaces={REPO: {"scope": ["tests/**"]}}) as world:
        ask = call("overlord_ask_question", question="May I?", kind="scope", patterns=["calc.py"])
        world.model_will(ask, say("I end my turn."), *task(agent))
        await world.answer(await asked(world), Verb.GRANT)
        await world.settle()
        await check_delivered(world, agent)
        heard = str(world.model.messages(-2))
        assert "Your own tools refuse these paths until your next prompt" in heard
        assert "You may now write: tests/**, calc.py. Go on with the task" in heard


async def test_a_label_that_names_no_agent_is_a_persons_question_and_starts_nothing() -> None:
    async with made_quick_world() as world:
        await open_issue(world, "nobody")
        decision = await asked(world)
        assert "nobody" in decision.body
        assert "there is native, claude-code, codex" in decision.body
        assert await work_of(world) == []


async def test_a_program_that_never_exits_is_ended_and_its_work_counts() -> None:
    async with world_of("claude-code", "--linger") as world:
        world.model_will(*task("claude-code"))
        await world.settle()
        await check_delivered(world, "claude-code")


async def test_an_agent_that_ends_in_good_order_without_work_is_a_persons_question() -> None:
    async with world_of("gemini") as world:
        world.model_will(say("All is well."), say("All is well, I said."))
        decision = await asked(world)
        assert decision.subject is Subject.STOPPED_SHORT
        assert "gemini ended twice without a change" in decision.body
        [session] = await work_of(world)
        assert session.report is not None
        assert session.report.reason == "no_work"  # type: ignore[union-attr]
        assert world.forge.pulls(REPO) == []


async def test_an_agent_that_ignores_its_permissions_is_sent_back_by_the_scope_check() -> None:
    async with world_of("opencode", spaces={REPO: {"scope": ["calc.py"]}}) as world:
        stray = mend("opencode", "# calc\n", "# CALC\n", "README.md")
        world.model_will(stray, *task("opencode"), done("add adds"))
        world.model_will(mend("opencode", "# CALC\n", "# calc\n", "README.md"), done("add adds"))
        await world.settle()
        await check_delivered(world, "opencode", work=2)
        told = [item.summary for item in await world.checks() if item.name == "scope"]
        assert told == ["1 change outside was taken out", "1 file, all inside"]
        assert await world.git_show((await world.job()).branch, "README.md") == CALC["README.md"]
