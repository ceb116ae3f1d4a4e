"""What an issue names decides what its sessions may write, where the settings ask for that; and everybody sees why."""

import json
from typing import Any

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.embedded.play import call, edit, run, submit, write
from overlord.entrypoints.cli.main import app
from overlord.entrypoints.cli.main import run as typed
from overlord.store import sessions
from tests.quick import made_quick_world
from tests.world import CALC, FIX, REPO, World

ASKED: dict[str, Any] = {"infer_scope": True}
STRAY = run("sed -i s/Adds/Doubles/ README.md")


async def first_session(world: World) -> Session:
    found: list[Session] = await world.read(sessions.of_job, 1)
    return found[0]


async def test_an_issue_that_names_a_file_opens_it_and_its_tests_and_says_why() -> None:
    async with made_quick_world(**ASKED) as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), STRAY, submit())
        world.model_will(submit())
        await world.settle()
        session = await first_session(world)
        scope = json.loads(session.scope)
        assert scope["mode"] == "explicit" and {"calc.py", "tests/test_calc.py"} <= set(scope["patterns"])
        assert session.dropped == ("README.md",)
        told = str(world.minion_heard())
        assert "Why you may write what you may" in told and "calc.py: named in the title" in told
        [pull] = world.forge.pulls(REPO)
        assert "\n- calc.py: named in the title" in pull.body


async def test_what_the_container_is_given_is_exactly_that() -> None:
    async with made_quick_world(**ASKED) as world:
        await world.issue("add() in calc.py subtracts")
        own = "tr '\\0' '\\n' < /proc/$PPID/environ | sed -n s/^MINION_SCOPE=//p"
        world.model_will(run(own), edit(*FIX), submit())
        await world.settle()
        result = next(m["content"] for m in world.minion_heard() if m["role"] == "tool")
        assert (await first_session(world)).scope in result


async def test_where_nothing_can_be_said_any_file_may_be_written() -> None:
    async with made_quick_world(**ASKED) as world:
        await world.issue("It is wrong")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert json.loads((await first_session(world)).scope) == {"mode": "unrestricted", "patterns": []}
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_unless_it_is_asked_for_the_text_decides_nothing() -> None:
    async with made_quick_world() as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert json.loads((await first_session(world)).scope)["mode"] == "unrestricted"


async def test_labels_open_what_the_repository_and_the_settings_say() -> None:
    files = {**CALC, ".nebulus/scope.yaml": 'labels: {Docs: ["*.md"], maths: [nothing/**]}\n'}
    spaces = {REPO: {"scope_map": {"maths": ["calc.py"]}}}
    async with made_quick_world(files, spaces=spaces, **ASKED) as world:
        await world.forge.open_issue(REPO, "It is wrong", "", labels=["nebulus-ready", "docs", "maths"])
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert set(json.loads((await first_session(world)).scope)) == {"*.md", "calc.py"}


async def test_a_scope_that_is_given_goes_before_what_the_text_says() -> None:
    async with made_quick_world(spaces={REPO: {"scope": ["tests/**"]}}, **ASKED) as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(write("tests/test_more.py", "def test_more():\n    assert True\n"), submit())
        await world.settle()
        assert json.loads((await first_session(world)).scope) == ["tests/**"]


async def test_a_grant_widens_what_was_told_from_the_issue() -> None:
    async with made_quick_world(**ASKED) as world:
        await world.issue("add() in calc.py subtracts")
        ask = call("ask_question", question="May I?", kind="scope", patterns=["docs/**"])
        world.model_will(ask, write("docs/a.md", "# A\n"), edit(*FIX), submit())
        await world.make_due()
        await world.until(world.decisions)
        [request] = await world.decisions()
        await world.answer(request, Verb.GRANT)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.git_show((await world.job()).branch, "docs/a.md") == "# A\n"


async def test_a_scope_file_that_does_not_parse_is_a_persons_and_never_unrestricted() -> None:
    async with made_quick_world({**CALC, ".nebulus/scope.yaml": "labels: [docs]\n"}, **ASKED) as world:
        await world.issue("add() in calc.py subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DISPATCH_REFUSED
        assert ".nebulus/scope.yaml" in decision.body


async def test_explain_tells_what_a_job_may_write_and_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with made_quick_world(**ASKED) as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        home = world.overlord.parts.home.root
        for name, value in {"OVERLORD_HOME": str(home), "OVERLORD_REPOS": REPO, "COLUMNS": "200"}.items():
            monkeypatch.setenv(name, value)
        assert typed(lambda: app(["scope", "explain", "#1"], standalone_mode=False)) == 0
    out = capsys.readouterr().out
    assert "j1-work-1 may write calc.py" in out
    assert "calc.py: named in the title" in out
