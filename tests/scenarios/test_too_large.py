"""Work that is too large to be judged: nothing reads it whole, people are told, and it goes on without it."""

import pytest

from overlord.adapters.git.content import listing
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit
from overlord.store import sessions
from tests.plumbing import run as git
from tests.quick import made_quick_world
from tests.world import FIX, REPO

BOMB = """
named=$(echo x | git hash-object -w --stdin) kind='100644 blob'
for level in 1 2 3 4 5 6 7; do
    named=$(for n in 0 1 2 3 4 5 6 7 8 9; do printf '%s %s\\tn%s\\n' "$kind" $named $n; done | git mktree)
    kind='040000 tree'
done
made=$(git -c user.name=m -c user.email=m@x commit-tree $named -p HEAD -m x)
git push -q origin $made:refs/heads/minion/issue-1 && exec kill -9 $PPID
"""


async def test_a_session_that_pushes_ten_million_paths_is_a_question_and_no_loop() -> None:
    async with made_quick_world() as world:
        await world.issue("add() subtracts")
        world.model_will(run(BOMB))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.STOPPED_SHORT
        assert "is too large to be judged: it makes the list of files longer by 10,000,000" in decision.body
        [session] = await world.read(sessions.of_job, 1)
        assert session.ending.startswith("killed: SIGKILL. What it pushed is too large to be judged")
        mirror = world.overlord.parts.home.mirror(REPO)
        assert git(mirror, "for-each-ref", "refs/overlord/canonical") == "", "it stays where it was pushed"


async def test_work_that_is_submitted_too_large_is_a_question_and_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(vars(listing), "MOST_MORE_BYTES", 3000)
    async with made_quick_world() as world:
        await world.issue("add() subtracts")
        world.model_will(run("for n in $(seq 80); do echo x >new$n; done"), edit(*FIX), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.STOPPED_SHORT
        why = "What it pushed is too large to be judged: it makes the list of files longer by 3,000 bytes or more."
        assert decision.body.startswith(why)
        job = await world.job()
        assert (job.state, job.head_sha, job.reason) == (JobState.WAITING, None, why)
        [session] = await world.read(sessions.of_job, job.id)
        assert why in session.ending
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert git(world.forge.directory(REPO), "diff", "--name-only", "main", "minion/issue-1") == "calc.py"
