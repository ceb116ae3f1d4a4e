"""A contract whose roles are worked by other agents, played: a plan by one, the change by another, and people between them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from minion.protocol import Brief, Report, SessionKind, decode
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.entrypoints.terminal.brief_text import brief_text
from overlord.store import decisions, job_outcomes, sessions
from overlord.store.contracts import plan_files, role_notes
from overlord.verbs.message import send_message
from tests.played_agents import PlayedAgent, Steps, done
from tests.quick import made_quick_world
from tests.two_roles import CONTRACT, PLAN
from tests.world import CALC, REPO, World

TWO_AGENTS = (
    CONTRACT.replace("    scope: [docs/**]\n", "    scope: [docs/**]\n    agent: opencode\n")
    .replace("    scope: [calc.py]\n", "    scope: [calc.py]\n    agent: codex\n    commands: [python]\n")
    .replace('{command_succeeds: "printf card-%s 4242"}, ', "")
    .replace("redact:", 'escalation: [architect, person]\nsecret_paths: ["private/**"]\nredact:')
    .replace(
        "budget: {iterations: 2, turns: 20, exhausted: ask}\nphases",
        "budget: {iterations: 2, turns: 20, exhausted: architect}\nphases",
    )
)
PLANS: Steps = [["action", "look"], ["write", "plan/acceptance.md", PLAN], done("the plan is made")]
MENDS: Steps = [
    ["shell", "grep -q card-1111 plan/acceptance.md && sed -i 's/a - b/a + b/' calc.py"],
    ["write", "plan/own.md", "mine\n"],
    done("add() adds"),
]


@asynccontextmanager
async def two_agents(
    plans: tuple[Steps, ...] = (PLANS,), mends: tuple[Steps, ...] = (MENDS,)
) -> AsyncIterator[tuple[World, PlayedAgent, PlayedAgent]]:
    """A world where OpenCode is the architect and Codex the backend."""
    async with made_quick_world({**CALC, "private/key": "k\n"}) as world:
        architect = PlayedAgent(world.root, "opencode", *plans)
        backend = PlayedAgent(world.root, "codex", *mends)
        world.overrides["agents"] = {"opencode": architect.settings, "codex": backend.settings}
        world.contract(TWO_AGENTS)
        yield world, architect, backend


async def planned(world: World) -> None:
    """The plan is made, and a person lets the work through the gate."""
    await world.start()
    await world.issue("add() subtracts")
    await world.settle()
    [asked] = await world.read(decisions.waiting, 1)
    assert asked.subject is Subject.GATE, await world.transcript()
    await world.answer(asked, Verb.APPROVE, "small, please")


async def is_in_review(world: World) -> None:
    assert (await world.job()).state is JobState.IN_REVIEW, await world.transcript()


async def test_a_plan_by_one_agent_is_worked_by_another() -> None:
    async with two_agents() as (world, architect, backend):
        await planned(world)
        await world.settle()
        await is_in_review(world)
        job = await world.job()
        assert set(await world.read(plan_files.of_job, 1)) == {"plan/acceptance.md"}
        listing = await world.overlord.parts.git.listing(job.space, job.head)
        assert not [path for path in listing if path.startswith("plan/")]
        assert "plan/acceptance.md" in backend.prompt(0), "it is told where the plan is"
        assert "small, please" in backend.prompt(0), "and so is what the gate's person said"
        [settings] = [text for name, text in architect.started[0]["files"].items() if "opencode.json" in name]
        permission = json.loads(settings)["permission"]
        assert permission["read"]["private/*"] == "deny"
        assert permission["edit"]["plan/*"] == "allow"
        await world.forge.merge(REPO, job.pull_number or 0)
        await world.settle()
        today = world.clock.now().date()
        wanted = job_outcomes.Wanted(first=today - timedelta(1), last=today + timedelta(1))
        assert [row[0] for row in await world.read(job_outcomes.by_agent, wanted)] == ["opencode, codex"]


async def test_an_architect_answers_a_role_of_another_agent_with_a_tool() -> None:
    stuck = {"type": "NEEDS_ESCALATION", "reason": "Plus or minus?", "context": "The issue does not say."}
    asks: Steps = [["words", f"OVERLORD_EVENT {json.dumps(stuck)}"]]
    guides: Steps = [
        ["tool", "give_answer", {"choice": "guidance", "text": "Line 2: plus."}],
        ["words", "Told."],
    ]
    async with two_agents((PLANS, guides), (asks, MENDS)) as (world, architect, backend):
        await planned(world)
        await world.settle()
        await is_in_review(world)
        assert "Plus or minus?" in architect.prompt(1)
        assert "the session ends here" in architect.told
        assert "Line 2: plus." in backend.prompt(1)
        notes = await world.read(role_notes.of_job, 1)
        assert [(note.kind, note.role) for note in notes] == [
            ("escalation", "backend"),
            ("guidance", "backend"),
        ]


async def test_an_agent_whose_session_is_over_takes_no_more_turns_than_its_last_words_need() -> None:
    stuck: Steps = [["words", 'OVERLORD_EVENT {"type":"EXCEPTION","reason":"I cannot go on","impact":"all"}']]
    guides: Steps = [["tool", "give_answer", {"choice": "guidance", "text": "Line 2: plus."}]]
    on: Steps = [["action", "on"], ["shell", "git status"]]
    async with two_agents((PLANS, guides + on * 15), (stuck, MENDS)) as (world, _, _backend):
        await planned(world)
        await world.settle()
        await is_in_review(world)
        report = (await world.read(sessions.get, "j1-work-3")).report
        assert isinstance(report, Report)
        assert report.turns < 10


async def test_an_agent_without_our_tools_is_not_asked_what_a_tool_answers() -> None:
    stuck: Steps = [["words", 'OVERLORD_EVENT {"type":"EXCEPTION","reason":"I cannot go on","impact":"all"}']]
    async with two_agents((PLANS,), (stuck,)) as (world, architect, _):
        await planned(world)
        world.write_settings("spaces: {acme/calc: {issue_agents: {1: aider}}}\n")
        await world.until_settings_are_read()
        await world.settle()
        [asked] = await world.read(decisions.waiting, 1)
        assert len(architect.started) == 1
        assert asked.subject is Subject.DISPATCH_REFUSED, await world.transcript()
        assert "names aider, which takes no tools of Overlord's, and the role architect answers" in asked.body


async def test_a_question_in_words_is_answered_in_the_same_conversation() -> None:
    question = {"type": "QUESTION", "question": "Plus or minus?", "options": ["plus", "minus"]}
    asks: Steps = [["words", f"OVERLORD_EVENT {json.dumps(question)}"]]
    async with two_agents(mends=(asks, MENDS)) as (world, _, backend):
        await planned(world)
        await world.make_due()
        await world.until(world.decisions)
        [asked] = await world.decisions()
        assert "Plus or minus?" in asked.body
        await world.answer(asked, Verb.REPLY, "plus")
        await world.settle()
        await is_in_review(world)
        assert "resume" in backend.started[1]["arguments"], backend.started[1]["arguments"]
        assert "plus" in backend.prompt(1)
        assert "add() subtracts" not in backend.prompt(1), "it knows the rest"


async def test_what_people_write_and_grant_reaches_an_agent_at_the_end_of_its_prompt() -> None:
    wish = {"type": "QUESTION", "question": "May I write util.py?", "kind": "scope", "patterns": ["util.py"]}
    asks: Steps = [["words", f"OVERLORD_EVENT {json.dumps(wish)}"]]
    both: Steps = [["write", "util.py", "ONE = 1\n"], *MENDS]
    async with two_agents(mends=(asks, both)) as (world, _, backend):
        await planned(world)
        await world.make_due()
        await world.until(world.decisions)
        say = partial(send_message, job_id=1, text="Name it ONE.", actor="cli:alice", at=world.clock.now())
        await world.overlord.parts.database.write("by hand", say)
        [asked] = await world.decisions()
        await world.answer(asked, Verb.ONCE)
        await world.settle()
        await is_in_review(world)
        prompts = "".join(backend.prompt(number) for number in range(1, len(backend.started)))
        assert "Name it ONE." in prompts
        job = await world.job()
        assert "util.py" in await world.overlord.parts.git.listing(job.space, job.head)


async def test_what_a_session_was_told_is_shown_with_its_own_agents_words() -> None:
    async with two_agents() as (world, _, backend):
        await planned(world)
        await world.settle()
        work = [item for item in await world.read(sessions.of_job, 1) if item.kind is SessionKind.WORK]
        assert [item.agent for item in work] == ["opencode", "codex"]
        told = brief_text(decode(Brief, work[1].brief))
        assert "a work session of role backend, worked by codex" in told
        assert "task_complete when the work is done" in told and "edit_file" not in told
        words = backend.started[0]["files"]
        assert any("OVERLORD_EVENT" in text for text in (*words.values(), backend.prompt(0)))
        assert "OVERLORD_EVENT" in told
