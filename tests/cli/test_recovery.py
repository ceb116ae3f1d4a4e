"""A run under a contract that was killed, or whose repositories somebody removed: `resume` goes on from the last commit there is."""

import shutil

import pytest

from overlord.embedded.play import edit, run, submit, write
from tests.local import LocalSession, Said, git
from tests.local_contract import CONTRACT, PATH, TITLE, contract_desk, hold, will_plan
from tests.quick import quick_desk
from tests.world import CALC, FIX

DOCUMENTED = (
    CONTRACT.replace("artifact_exists: plan/acceptance.md", "artifact_exists: docs/plan.md")
    .replace("plan/acceptance.md", "docs/plan.md")
    .replace("plan/**", "docs/**")
)
"""Its first phase leaves a commit, which nothing pushes before the second."""
PLAN = write("docs/plan.md", "# Plan\n")


async def decided(user: LocalSession, number: int, verb: str) -> None:
    said = await user.overlord("answer", str(number), verb, "--repo", ".")
    assert said.code == 0, said.err


def times_asked(user: Said) -> int:
    return user.out.count("the work is at gate plan_approval")


async def killed(user: LocalSession, *words: str) -> None:
    """A command that is killed while its session runs."""
    process = await user.start(*words)
    await user.until((user.root / "holding").exists)
    process.kill()
    await process.wait()
    (user.root / "holding").unlink()


async def test_a_run_that_is_killed_in_each_phase_goes_on_there_and_no_gate_is_asked_twice() -> None:
    async with contract_desk() as user:
        user.model.will(run(hold(user)), write("plan/acceptance.md", "# Acceptance\n"), submit("planned"))
        await killed(user, "run", TITLE)
        (user.root / "go").touch()
        at_gate = await user.overlord("resume")
        assert at_gate.code == 1 and "may the work go on?" in at_gate.out
        again = await user.overlord("resume")
        assert "may the work go on?" in again.out and "overlord answer 1 approve --repo ." in again.out
        (user.root / "go").unlink()
        await decided(user, 1, "approve")
        user.model.will(edit(*FIX), run(hold(user)), submit("It adds."))
        await killed(user, "resume")
        (user.root / "go").touch()
        said = await user.overlord("resume")
        assert said.code == 0, said.out + said.err
        assert "a + b" in git(user.repo, "show", "minion/issue-1:calc.py")
        told = await user.overlord("history", "--detail", "1", "--repo", ".")
        assert (times_asked(told), told.out.count("phase plan begins")) == (1, 1)
        assert "j1-work-3" not in told.out, "the very same sessions went on"


async def test_a_gate_is_shown_again_and_answered_at_the_terminal() -> None:
    async with contract_desk() as user:
        will_plan(user)
        assert (await user.overlord("run", TITLE)).code == 1
        user.model.will(edit(*FIX), submit("It adds."))
        at = await user.terminal("resume")
        await at.until("choose 1-5")
        assert "# Acceptance" in at.shown and "1  Approve" in at.shown
        at.type("1\n")
        assert await at.ended() == 0, at.shown


async def documented(user: LocalSession) -> None:
    """Up to the gate behind a phase that left a commit."""
    user.model.will(PLAN, submit("planned"))
    said = await user.overlord("run", TITLE)
    assert said.code == 1 and "docs/plan.md | 1 +" in said.out, said.out


async def test_a_forge_that_was_removed_is_made_anew() -> None:
    async with quick_desk({**CALC, PATH: DOCUMENTED}) as user:
        await documented(user)
        shutil.rmtree(user.place / "forge" / "git")
        shutil.rmtree(user.place / "sessions", ignore_errors=True)
        shutil.rmtree(user.place / "ready", ignore_errors=True)
        await decided(user, 1, "approve")
        user.model.will(edit(*FIX), submit("It adds."))
        said = await user.overlord("resume")
        assert said.code == 0, said.out + said.err
        assert "is gone; it is made anew from" in said.out
        assert git(user.repo, "show", "minion/issue-1:docs/plan.md") == "# Plan"
        assert "a + b" in git(user.repo, "show", "minion/issue-1:calc.py")


@pytest.mark.parametrize("also_forge", [False, True])
async def test_commits_that_were_only_in_a_mirror_that_is_gone_are_made_again_if_a_person_says_so(
    also_forge: bool,
) -> None:
    async with quick_desk({**CALC, PATH: DOCUMENTED}) as user:
        await documented(user)
        await decided(user, 1, "approve")
        shutil.rmtree(user.place / "mirrors")
        if also_forge:
            shutil.rmtree(user.place / "forge" / "git")
        said = await user.overlord("resume")
        assert said.code == 1, said.out + said.err
        assert "The work so far is lost: commit" in said.out and "are not kept any more" in said.out
        await decided(user, 2, "retry")
        user.model.will(PLAN, submit("planned again"))
        at_gate = await user.overlord("resume")
        assert "the job starts over from phase plan" in at_gate.out, at_gate.out + at_gate.err
