"""`overlord fix`: a failed job is mended from the phase that failed, or a report is; what did not fail is not."""

from overlord.embedded.play import edit, submit
from tests.cli.test_build import PLANNED, TITLE, contracted
from tests.local import LocalSession, git
from tests.quick import quick_desk
from tests.world import FIX

BREAK = ("calc.py", "a * 2", "a * 3")


async def failed_in_build(user: LocalSession) -> None:
    """Run 1: its plan is approved, and its two sessions of work do not pass."""
    contracted(user)
    user.model.will(*PLANNED)
    assert (await user.overlord("build", TITLE)).code == 1
    assert (await user.overlord("decisions", "answer", "1", "approve", "--repo", ".")).code == 0
    user.model.will(edit(*BREAK), submit("Two is three."))
    user.model.will(edit(*BREAK), submit("It has to be so."))
    said = await user.overlord("resume", "1")
    assert said.code == 1, said.out + said.err


async def test_a_failed_job_is_mended_from_the_phase_that_failed() -> None:
    async with quick_desk() as user:
        await failed_in_build(user)
        (user.root / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@x\n")
        git(user.repo, "commit", "--quiet", "--allow-empty", "--message=Meanwhile")
        user.model.will(edit(*FIX), submit("It adds now."))
        before = len(user.model.requests)
        said = await user.overlord("fix", "--merge")
        assert said.code == 0, said.out + said.err
        assert "It begins at phase build, where job 1 failed, from main " in said.out
        assert "Run 2: Fix: add() adds" in said.out
        assert "it begins at phase build, where job 1 failed\n" in said.out
        assert "minion/issue-2 is merged into main, with a merge commit." in said.out
        heard = user.model.requests[before].body.decode()
        assert "plan/acceptance.md" in heard and "What failed" in heard
        assert "It has to be so." in heard
        story = (await user.overlord("job", "show", "2", "--repo", ".")).out
        assert "gate" not in story.split("Fix: ")[0]


async def test_a_report_is_mended_from_the_start_and_a_job_that_passed_is_not() -> None:
    async with quick_desk() as user:
        nothing = await user.overlord("fix")
        assert (nothing.code, "no job has failed here" in nothing.err) == (4, True), nothing
        report = user.root / "report.txt"
        report.write_text("add(2, 2) is 0\n\nTraceback …\n")
        user.model.will(edit(*FIX), submit())
        said = await user.overlord("fix", "--file", str(report), "--no-merge")
        assert said.code == 0, said.out + said.err
        assert "Run 1: Fix: add(2, 2) is 0" in said.out
        assert "Traceback" in user.model.requests[0].body.decode()
        passed = await user.overlord("fix", "1")
        assert passed.code == 5
        assert "job 1 did not fail: it passed; `overlord retry 1" in passed.err
        assert (await user.overlord("fix", "7")).code == 4
