"""The story again, in containers of a real engine."""

import pytest

from minion.protocol import SessionKind
from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit, write
from overlord.store import evidence, sessions
from tests.runners import engine_or_skip
from tests.world import FIX, REPO, made_world

pytestmark = pytest.mark.docker


async def test_a_labelled_issue_becomes_a_pull_request_by_a_minion_in_a_container() -> None:
    await engine_or_skip()
    async with made_world(runner="docker") as world:
        await world.issue("add() subtracts")
        look = run("id -u; ls /run/door; cat /proc/net/route | wc -l; env | grep -ci token")
        world.model_will(look, edit(*FIX), run("python -m pytest -q"), submit("adds"))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert not world.forge.pulls(REPO)[0].draft
        seen = next(m["content"] for m in world.minion_heard() if m["role"] == "tool")
        assert seen.splitlines()[:3] == ["10001", "s", "1"]
        assert await world.overlord.parts.runner.sessions() == []


async def test_a_restarted_daemon_finds_its_container_again() -> None:
    await engine_or_skip()
    async with made_world(runner="docker") as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.stop()
        world.let_go()
        await world.start()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (await world.events()).count("session_started") == 1


async def test_a_container_killed_from_outside_is_started_again_and_spends_no_attempt() -> None:
    await engine_or_skip()
    async with made_world(runner="docker") as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.kill_session("j1-work-1")
        await world.until_holding("j1-work-2")
        world.let_go("j1-work-2")
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 0)


async def test_a_container_out_of_memory_is_a_question_with_its_evidence() -> None:
    await engine_or_skip()
    async with made_world(runner="docker", sessions={"memory_mb": 96}) as world:
        await world.issue("add() subtracts")
        # The agent itself is made the first to be killed: what is left never reports.
        first = "for p in /proc/[0-9]*; do echo 1000 > $p/oom_score_adj; done; echo -999 > /proc/self/oom_score_adj"
        world.model_will(run(f"{first}; head -c 200M /dev/zero | tail -c 190M | sort > /dev/null"), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject in (Subject.STOPPED_SHORT, Subject.LOSSES)
        assert [item.kind for item in await world.read(evidence.exhibits, 1)][:2] == ["log", "brief"]


async def test_a_container_is_given_what_was_told_from_the_issue_byte_for_byte_and_the_next_what_was_granted() -> (
    None
):
    await engine_or_skip()
    own = "tr '\\0' '\\n' < /proc/$PPID/environ | sed -n s/^MINION_SCOPE=//p"
    async with made_world(runner="docker") as world:
        issue = await world.issue("add() in calc.py subtracts")
        world.model_will(run(own), edit(*FIX), submit())
        await world.settle()
        pull = (await world.job()).pull_number or 0
        await world.forge.comment(REPO, issue, "/overlord scope +docs/**", author="alice")
        await world.forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Say why.")
        world.model_will(run(own), write("docs/why.md", "# Why\n"), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        seen = dict[str, None]()
        for index in range(len(world.model.requests)):
            messages = world.model.messages(index)
            if messages[0]["content"].startswith("You are a Minion"):
                lines = (m["content"].splitlines() for m in messages if m["role"] == "tool")
                seen |= dict.fromkeys(line for told in lines for line in told if line[:2] in {'{"', '["'})
        given = [item for item in await world.read(sessions.of_job, 1) if item.kind is SessionKind.WORK]
        assert list(seen) == [session.scope for session in given]
        assert list(seen) == [
            '{"mode": "explicit", "patterns": ["calc.py", "tests/test_calc.py"]}',
            '["calc.py", "tests/test_calc.py", "docs/**"]',
        ]
