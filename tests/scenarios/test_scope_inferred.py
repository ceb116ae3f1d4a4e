"""What an issue names decides what its sessions may write, unless something else says it; and everybody sees why."""

import asyncio
import json

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.embedded.play import call, edit, run, submit, write
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.main import run as typed
from overlord.store import sessions
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.world import CALC, FIX, REPO, World

STRAY = run("sed -i s/Adds/Doubles/ README.md")


def environment(world: World) -> dict[str, str]:
    """What a terminal beside this world's Overlord has to know."""
    home = world.overlord.parts.home.root
    forge = {"GITHUB_API_URL": world.forge_url, "GITHUB_TOKEN": world.forge.token}
    return {**forge, "OVERLORD_HOME": str(home), "OVERLORD_REPOS": REPO, "COLUMNS": "200"}


async def first_session(world: World) -> Session:
    found: list[Session] = await world.read(sessions.of_job, 1)
    return found[0]


async def test_an_issue_that_names_a_file_opens_it_and_its_tests_and_says_why() -> None:
    async with made_memory_world() as world:
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
    async with made_quick_world() as world:
        await world.issue("add() in calc.py subtracts")
        own = "tr '\\0' '\\n' < /proc/$PPID/environ | sed -n s/^MINION_SCOPE=//p"
        world.model_will(run(own), edit(*FIX), submit())
        await world.settle()
        result = next(m["content"] for m in world.minion_heard() if m["role"] == "tool")
        assert (await first_session(world)).scope in result


async def test_where_nothing_can_be_said_any_file_may_be_written() -> None:
    async with made_memory_world() as world:
        await world.issue("It is wrong")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert json.loads((await first_session(world)).scope) == {"mode": "unrestricted", "patterns": []}
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_where_it_is_not_wanted_the_text_decides_nothing() -> None:
    async with made_memory_world(infer_scope=False) as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert json.loads((await first_session(world)).scope)["mode"] == "unrestricted"


async def test_labels_open_what_the_repository_and_the_settings_say() -> None:
    files = {**CALC, ".nebulus/scope.yaml": 'labels: {Docs: ["*.md"], maths: [nothing/**]}\n'}
    spaces = {REPO: {"scope_map": {"maths": ["calc.py"]}}}
    async with made_memory_world(files, spaces=spaces) as world:
        await world.forge.open_issue(REPO, "It is wrong", "", labels=["nebulus-ready", "docs", "maths"])
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert set(json.loads((await first_session(world)).scope)) == {"*.md", "calc.py"}


async def test_a_scope_that_is_given_goes_before_what_the_text_says() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(write("tests/test_more.py", "def test_more():\n    assert True\n"), submit())
        await world.settle()
        assert json.loads((await first_session(world)).scope) == ["tests/**"]


async def test_a_grant_widens_what_was_told_from_the_issue() -> None:
    async with made_memory_world() as world:
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
    async with made_memory_world({**CALC, ".nebulus/scope.yaml": "labels: [docs]\n"}) as world:
        await world.issue("add() in calc.py subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DISPATCH_REFUSED
        assert ".nebulus/scope.yaml" in decision.body


async def test_explain_tells_what_a_job_may_write_and_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with made_memory_world() as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        for name, value in environment(world).items():
            monkeypatch.setenv(name, value)
        assert typed(lambda: app(["scope", "explain", "#1"], standalone_mode=False)) == 0
    out = capsys.readouterr().out
    assert "j1-work-1 may write calc.py" in out
    assert "calc.py: named in the title" in out


# What was granted, said and pushed


async def test_what_a_review_named_in_one_round_may_still_be_changed_in_the_next() -> None:
    async with made_memory_world() as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        for number, said in enumerate(("Say doubles.", "And twice.")):
            at = (("README.md", 3, said),) if not number else (("calc.py", 2, said),)
            job = await world.job()
            await world.forge.review(
                REPO, job.pull_number or 0, author="alice", state="CHANGES_REQUESTED", comments=at
            )
            change = STRAY if not number else edit("calc.py", "a + b", "b + a")
            world.model_will(change, submit())
            await world.settle()
        job = await world.job()
        assert (job.state, job.round, job.revision) == (JobState.IN_REVIEW, 2, 0)
        assert "Doubles" in await world.git_show(job.branch, "README.md")
        found: list[Session] = await world.read(sessions.of_job, 1)
        last = next(session for session in reversed(found) if session.kind == "work")
        assert "README.md: what was said after delivery is about it (round 1)" in last.brief


async def test_what_people_push_stands_and_is_not_held_against_a_session() -> None:
    async with made_memory_world() as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        job = await world.job()
        theirs = {f"docs/{name}.md": "Mine.\n" for name in "abcd"}
        await world.forge.push_files(REPO, job.branch, theirs, "Mine")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        await world.forge.review(
            REPO,
            job.pull_number or 0,
            author="alice",
            state="CHANGES_REQUESTED",
            comments=(("calc.py", 2, "?"),),
        )
        world.model_will(run("echo Yours. > docs/a.md"), edit("calc.py", "a + b", "b + a"), submit())
        world.model_will(submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        for path, text in theirs.items():
            assert await world.git_show(job.branch, path) == text, "what a session did to it was put back"


async def test_people_who_push_what_is_closed_to_sessions_are_asked_about_it() -> None:
    async with made_memory_world() as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        job = await world.job()
        await world.forge.push_files(REPO, job.branch, {".github/workflows/a.yml": "on: push\n"}, "Mine")
        await world.settle()
        assert (await world.job()).state is JobState.WAITING


async def test_a_grant_after_the_last_attempt_lets_another_session_write_there() -> None:
    async with made_memory_world() as world:
        await world.issue("add() in calc.py subtracts")
        for _ in range(3):
            world.model_will(edit(*FIX) if not _ else run("true"), STRAY, submit())
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, decision.patterns) == (Subject.ESCALATION, ("README.md",))
        assert Verb.GRANT in decision.verbs
        world.model_will(STRAY, submit())
        await world.answer(decision, Verb.GRANT)
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW
        assert "Doubles" in await world.git_show(job.branch, "README.md")
        assert "scope_granted" not in await world.events()
        [pull] = world.forge.pulls(REPO)
        assert "README.md: granted by cli:alice, until " in pull.body


async def test_a_wider_scope_answers_what_waits_for_it() -> None:
    async with made_memory_world() as world:
        issue = await world.issue("add() in calc.py subtracts")
        world.model_will(
            edit(*FIX), run("mkdir docs; for n in a b c; do echo A > docs/$n.md; done"), submit(), submit()
        )
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.SCOPE
        await world.forge.comment(REPO, issue, "/overlord scope +docs/a.md", author="alice")
        await world.settle()
        assert await world.decisions() == [decision], "that is not all it asks for"
        await world.forge.comment(REPO, issue, "/overlord scope +docs/**", author="alice")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_grant_counts_for_the_running_session_the_next_brief_and_the_check_after_it() -> None:
    async with made_memory_world() as world:
        await world.issue("add() in calc.py subtracts")
        ask = call("ask_question", question="May I?", kind="scope", patterns=["docs/**"])
        world.model_will(ask, write("docs/a.md", "# A\n"), edit(*FIX), submit())
        await world.make_due()
        await world.until(world.decisions)
        await world.answer((await world.decisions())[0], Verb.GRANT)
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW
        assert await world.git_show(job.branch, "docs/a.md") == "# A\n", "the check after it let it stand"
        await world.forge.review(
            REPO, job.pull_number or 0, author="alice", state="CHANGES_REQUESTED", body="More."
        )
        world.model_will(write("docs/b.md", "# B\n"), submit())
        await world.settle()
        found: list[Session] = await world.read(sessions.of_job, 1)
        first, second = (session for session in found if session.kind == "work")
        assert "docs/**" not in first.brief and "docs/**: granted by cli:alice" in second.brief
        assert "docs/**" in json.loads(first.scope) and "docs/**" in json.loads(second.scope)
        assert await world.git_show(job.branch, "docs/b.md") == "# B\n"


async def test_the_settings_scope_says_that_it_is_theirs() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["calc.py", "tests/**"]}}) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [pull] = world.forge.pulls(REPO)
        assert "\n- calc.py: settings, scope\n" in pull.body


async def test_explain_foretells_the_scope_of_a_first_session_and_of_an_issue_nobody_has_taken_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with made_quick_world() as world:
        world.write_settings("contract: approve-scope\n")
        vague = await world.issue("It is wrong")
        clear = await world.issue("add() in calc.py subtracts", label="")
        await world.settle()
        for name, value in environment(world).items():
            monkeypatch.setenv(name, value)

        async def explained(number: int) -> str:
            words = ["scope", "explain", f"#{number}"]
            assert await asyncio.to_thread(typed, lambda: app(words, standalone_mode=False)) == 0
            return capsys.readouterr().out

        waiting = await explained(vague)
        assert "has had no session" in waiting and "may write any file" in waiting
        assert "Its contract asks a person first." in waiting
        untaken = await explained(clear)
        assert f"No job works on {REPO}#{clear} yet" in untaken
        assert "calc.py: named in the title" in untaken


async def test_a_grant_reaches_a_session_that_runs_and_has_not_asked() -> None:
    async with made_memory_world() as world:
        issue = await world.issue("add() in calc.py subtracts")
        refused, taken = write("docs/a.md", "# A\n"), write("docs/b.md", "# B\n")
        world.model_will(refused, world.hold(), taken, edit(*FIX), submit())
        await world.until_holding()
        said = await world.forge.comment(REPO, issue, "/overlord scope +docs/**", author="alice")
        await world.make_due()
        await world.until(lambda: world.forge.reactions(said))
        world.let_go()
        await world.settle()
        told = [m["content"] for m in world.minion_heard() if m["role"] == "tool"]
        assert "is outside this session's scope" in told[0] and "outside" not in told[2]
        branch = (await world.job()).branch
        assert await world.git_show(branch, "docs/b.md") == "# B\n"
        assert "question" not in str(await world.events())


async def test_what_was_written_before_the_issue_said_it_stands_after_an_upgrade() -> None:
    async with made_memory_world(infer_scope=False) as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), STRAY, submit())
        await world.settle()
        job = await world.job()
        await world.stop()
        world.overrides.pop("infer_scope")
        await world.forge.review(
            REPO, job.pull_number or 0, author="alice", state="CHANGES_REQUESTED", body="Say why."
        )
        world.model_will(edit("calc.py", "a + b", "b + a"), run("echo more >> README.md"), submit(), submit())
        world.model_will(submit())
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW
        assert await world.git_show(job.branch, "README.md") == "# calc\n\nDoubles numbers.\n"
