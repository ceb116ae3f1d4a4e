"""`overlord run` as a user meets it: a branch at the end, questions on the way, and nothing lost in between."""

import fcntl
import json
import os
import re
from pathlib import Path

from overlord.embedded.play import blocked, call, edit, read, run, submit
from tests.local import LocalSession, git, local_session
from tests.quick import quick_desk
from tests.world import FIX

TITLE = "add() subtracts"


async def test_a_run_ends_in_a_branch_and_touches_nothing_else() -> None:
    async with local_session() as user:
        (user.repo / "README.md").write_text("half an idea")
        (user.repo / "notes.txt").write_text("mine")
        before = (git(user.repo, "rev-parse", "HEAD"), git(user.repo, "status", "--porcelain"))
        user.home.mkdir()
        user.model.will(read("calc.py"), edit(*FIX), submit("It adds now."))
        with (user.home / "overlord.lock").open("w") as daemon:
            fcntl.flock(daemon, fcntl.LOCK_EX)  # `overlord serve` runs on the same OVERLORD_HOME
            said = await user.overlord("run", TITLE, "--body", "2 and 2 is 4")
        assert said.code == 0, said.out + said.err
        assert "1 file has uncommitted changes and 1 file is untracked; the run starts from HEAD" in said.out
        assert "tests      pass" in said.out
        assert "the Minion is at work; it may write calc.py, tests/test_calc.py\n" in said.out
        assert "calc.py | 2 +-" in said.out
        assert "  git diff main...minion/issue-1\n  git merge minion/issue-1\n" in said.out
        assert git(user.repo, "show", "minion/issue-1:calc.py").startswith("def add(a, b):\n    return a + b")
        assert git(user.repo, "rev-parse", "minion/issue-1^") == before[0]
        assert (git(user.repo, "rev-parse", "HEAD"), git(user.repo, "status", "--porcelain")) == before
        assert git(user.repo, "branch", "--show-current") == "main"
        assert (user.repo / "README.md").read_text() == "half an idea"


async def test_runs_are_numbered_on_listed_and_looked_into() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), submit())
        assert (await user.overlord("run", TITLE)).code == 0
        user.model.will(edit("calc.py", "a * 2", "2 * a"), submit())
        user.model.will(submit("Nothing can show it, and test_add is about another one."))
        again = await user.overlord("run", "double() is odd", "--json")
        assert again.objects[-1]["event"] == "result"
        assert (again.objects[-1]["passed"], again.objects[-1]["run"]) == (True, 2)
        git(user.repo, "merge", "--quiet", "minion/issue-1")
        listed = await user.overlord("history", "--json")
        assert '"merged": true' in listed.out
        table = (await user.overlord("history")).out.splitlines()
        assert [row.split()[0] for row in table] == ["run", "2", "1"]
        assert "merged" in table[2] and "minion/issue-1" in table[2]
        shown = await user.overlord("job", "show", "1", "--repo", ".")
        assert shown.code == 0 and TITLE in shown.out
        assert "pull request" not in shown.out and "on the branch minion/issue-1" in shown.out
        told = (await user.overlord("job", "transcript", "1", "--repo", ".", "--follow")).out
        assert "turn 1 " in told and "    + return a + b" in told and told.endswith("job 1: in review\n")
        changed = (await user.overlord("job", "diff", "1", "--repo", ".")).out
        assert "-    return a - b\n+    return a + b" in changed
        printed = (await user.overlord("job", "logs", "1", "--session", "j1-check-1", "--repo", ".")).out
        assert "== tests: " in printed
        whole = await user.overlord("ledger", "verify", "--repo", str(user.repo / "tests"))
        assert whole.code == 0
        assert (await user.overlord("job", "list")).code == 6, "the daemon's own state is another one"


async def test_what_waits_says_how_it_is_answered_and_resume_goes_on() -> None:
    async with quick_desk() as user:
        user.model.will(blocked("Which of the two is meant?"))
        said = await user.overlord("run", TITLE)
        assert said.code == 1
        assert "  overlord answer 1 retry --repo .   # Try again" in said.out
        assert (await user.overlord("run", "something else", "--json")).code == 1, (
            "one that waits is not in the way"
        )
        assert (await user.overlord("decisions", "answer", "1", "retry", "--repo", ".")).code == 0
        refused = await user.overlord("run", "and more")
        assert refused.code == 5
        assert "run 1 is under way: `overlord resume` goes on with it" in refused.err
        user.model.will(edit(*FIX), submit())
        resumed = await user.overlord("resume")
        assert "git merge minion/issue-1" in resumed.out
        assert resumed.out.endswith("Run 2 waits for an answer: `overlord resume 2`\n")
        assert resumed.code == 0, "what waits for an answer is another run"
        assert "Run 2: something else" in (await user.overlord("resume")).out
        assert "Run 2: something else" in (await user.overlord("resume", "2")).out
        nobody = await user.overlord("resume", "7")
        assert (nobody.code, "there is no run 7" in nobody.err) == (4, True), nobody.err


async def test_an_ended_run_is_tried_again_from_where_head_is_now() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), submit())
        assert (await user.overlord("run", TITLE)).code == 0
        (user.repo / "README.md").write_text("changed since\n")
        git(user.repo, "commit", "--quiet", "--all", "--message=Since")
        user.model.will(edit(*FIX), submit())
        again = await user.overlord("retry", "1")
        assert again.code == 0, again.out + again.err
        assert "git merge minion/issue-1-2" in again.out
        assert git(user.repo, "rev-parse", "minion/issue-1-2^") == git(user.repo, "rev-parse", "HEAD")
        assert (await user.overlord("retry", "7")).code == 4
        nothing = await user.overlord("resume")
        assert (nothing.code, nothing.out.startswith("Nothing is open here.")) == (0, True)


async def test_the_scope_holds_for_the_run_it_was_given_to() -> None:
    async with quick_desk() as user:
        test = ("tests/test_calc.py", "add(2, 2) == 4", "add(2, 2) == 0")
        user.model.will(edit(*FIX), run("sed -i s/Adds/Sums/ README.md"), edit(*test), submit())
        user.model.will(submit("I leave it."))
        said = await user.overlord("run", TITLE, "--scope", "tests/**")
        assert "is outside the scope (tests/**)" in said.out
        assert "it may write tests/**\n" in said.out
        shown = await user.overlord("job", "show", "1", "--repo", ".")
        assert "Scope: tests/**" in shown.out


async def test_a_question_is_asked_and_answered_at_the_terminal() -> None:
    async with quick_desk() as user:
        ask = call("ask_question", question="Plus or minus?", options=["plus", "minus"])
        user.model.will(ask, edit(*FIX), submit())
        at = await user.terminal("run", TITLE)
        shown = await at.until("choose 1-4, or answer in words: ")
        assert "Plus or minus?" in at.shown and "1  “plus”" in at.shown
        at.type("9\n")
        await at.until("choose 1-4, or answer in words: ", after=shown)
        at.type("3\n")
        await at.until("reply: ")
        at.type("plus, please\n")
        assert await at.ended() == 0, at.shown
        assert user.model.messages(1)[-1]["content"] == "A person answered: plus, please"
        assert re.search(r"at work · (turn \d+|\d+:\d\d)", at.shown), "there is a line that is always now"
        assert "minion/issue-1" in at.shown


async def test_a_decision_is_left_at_the_terminal_or_taken_in_words() -> None:
    async with quick_desk() as user:
        user.model.will(blocked("Which?"))
        at = await user.terminal("run", TITLE)
        await at.until("choose 1-5, or answer in words: ")
        assert "1  Try again" in at.shown and "5  Leave it for later" in at.shown
        at.type("5\n")
        assert await at.ended() == 1
        user.model.will(edit(*FIX), submit())
        again = await user.terminal("resume")
        asked = await again.until("choose 1-5, or answer in words: ")
        again.type("drop the second test\n")
        await again.until("choose 1-5, or answer in words: ", after=asked)
        assert "That can be read in two ways" in again.shown
        again.type("the first one\n")
        assert await again.ended() == 0, again.shown
        assert "the first one" in user.model.messages(1)[1]["content"]


async def test_an_answer_from_elsewhere_ends_the_question() -> None:
    async with quick_desk() as user:
        user.model.will(call("ask_question", question="Plus or minus?"), edit(*FIX), submit())
        at = await user.terminal("run", TITLE)
        await at.until("choose 1-2, or answer in words: ")
        answered = await user.overlord("decisions", "answer", "1", "reply", "plus", "--repo", ".")
        assert answered.code == 0, answered.err
        assert await at.ended() == 0
        assert "This needs no answer any more." in at.shown


async def test_taking_over_brings_the_work_as_it_is() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), blocked("The rest is beyond me."))
        at = await user.terminal("run", TITLE)
        await at.until("choose 1-5, or answer in words: ")
        at.type("3\n")
        assert await at.ended() == 1
        assert "a + b" in git(user.repo, "show", "minion/issue-1:calc.py")


async def test_ctrl_c_stops_cleanly_and_resume_goes_on() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), run(_hold(user)), submit("never reached"))
        at = await user.terminal("run", TITLE)
        await at.until("run_command")
        at.type("\x03")
        assert await at.ended() == 130
        assert "What the session has so far is kept" in at.shown
        assert "  overlord resume\r\n" in at.shown
        user.model.will(submit("The rest was done already."))
        said = await user.overlord("resume")
        assert said.code == 0, said.out + said.err
        assert "a + b" in git(user.repo, "show", "minion/issue-1:calc.py"), "what it had done was kept"


async def test_ctrl_c_while_the_tests_run_makes_them_run_again() -> None:
    slow = "import os, pathlib, time\n\ndef test_slow():\n    here = pathlib.Path('{root}')\n    (here / 'holding').touch()\n"
    slow += "    while not (here / 'go').exists():\n        time.sleep(0.02)\n"
    async with local_session() as user:
        user.is_warm = True
        (user.repo / "tests" / "test_slow.py").write_text(slow.format(root=user.root))
        git(user.repo, "add", "--all")
        git(user.repo, "commit", "--quiet", "--message=A slow test")
        user.model.will(edit(*FIX), submit())
        at = await user.terminal("run", TITLE)
        await user.until((user.root / "holding").exists)
        await at.until("being evaluated")
        at.type("\x03")
        assert await at.ended() == 130, at.shown
        (user.root / "go").touch()
        said = await user.overlord("resume")
        assert said.code == 0, said.out + said.err


async def test_a_result_that_was_not_brought_home_is_by_resume() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), submit())
        assert (await user.overlord("run", TITLE)).code == 0
        kept = user.place / "runs" / "1.json"
        record = json.loads(kept.read_text())
        kept.write_text(json.dumps({**record, "landed": []}))  # as if it had been killed just before
        git(user.repo, "branch", "--delete", "--force", "minion/issue-1")
        said = await user.overlord("resume")
        assert (said.code, "git merge minion/issue-1" in said.out) == (0, True)
        assert "a + b" in git(user.repo, "show", "minion/issue-1:calc.py")


async def test_the_second_ctrl_c_leaves_at_once_and_nothing_is_lost() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), run(f"trap '' TERM; {_hold(user)}"), submit())
        at = await user.terminal("run", TITLE)
        await at.until("run_command")
        at.type("\x03")
        await at.until("leaves at once")
        at.type("\x03")
        assert await at.ended() == 130
        (user.root / "go").touch()
        user.model.will(edit(*FIX), submit())
        user.model.will(edit(*FIX), submit())
        said = await user.overlord("resume")
        assert said.code == 0, said.out + said.err


async def test_a_killed_run_is_gone_on_with() -> None:
    async with quick_desk() as user:
        user.model.will(edit(*FIX), run(_hold(user)), submit())
        process = await user.start("run", TITLE)
        await user.until((user.root / "holding").exists)
        beside = await user.overlord("run", "another")
        assert beside.code == 5
        assert "another `overlord run` works on" in beside.err
        process.kill()
        await process.wait()
        (user.root / "go").touch()
        said = await user.overlord("resume")
        assert said.code == 0, said.out + said.err
        assert len(user.model.requests) == 4, "the very same session went on: three turns and a review"


def _hold(user: LocalSession) -> str:
    """A command that runs until the test lets it go."""
    return f"touch {user.root}/holding; until test -e {user.root}/go; do sleep 0.02; done"


async def test_nothing_of_the_users_runs_and_no_branch_of_theirs_is_moved() -> None:
    async with quick_desk() as user:
        git(user.repo, "branch", "minion/issue-1", "HEAD^")
        theirs = git(user.repo, "rev-parse", "minion/issue-1")
        canary = user.root / "canary"
        _arm(user.repo, canary)
        os.utime(user.repo / "calc.py")  # git has to look into it to know that it is the same
        user.model.will(edit(*FIX), submit())
        said = await user.overlord("run", TITLE)
        assert said.code == 0, said.out + said.err
        assert not canary.exists(), canary.read_text()
        assert "There is a branch minion/issue-1 of yours already, and it was left alone." in said.out
        assert git(user.repo, "rev-parse", "minion/issue-1") == theirs
        assert "a + b" in git(user.repo, "cat-file", "-p", "minion/issue-1-2:calc.py")


HOOKS = (
    "pre-commit",
    "post-checkout",
    "reference-transaction",
    "post-index-change",
    "post-merge",
    "pre-push",
)
PROGRAMS = (
    "filter.trip.clean",
    "filter.trip.smudge",
    "diff.trip.textconv",
    "diff.trip.command",
    "diff.external",
    "core.fsmonitor",
    "core.pager",
    "core.sshCommand",
    "core.alternateRefsCommand",
    "uploadpack.packObjectsHook",
)


def _arm(repository: Path, canary: Path) -> None:
    """Everything a repository can make git run writes into the canary, and does when its owner uses git there."""
    trip = repository.parent / "trip"
    trip.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{canary}'\ncat\n")
    trip.chmod(0o755)
    for name in HOOKS:
        (repository / ".git" / "hooks" / name).symlink_to(trip)
    (repository / ".git" / "info" / "attributes").write_text("*.py filter=trip diff=trip\n")
    for key in PROGRAMS:
        git(repository, "config", key, f"{trip} {key}")
    os.utime(repository / "calc.py")
    git(repository, "status")
    git(repository, "update-ref", "refs/heads/gone", "HEAD")
    git(repository, "update-ref", "-d", "refs/heads/gone")
    sprung = canary.read_text()
    assert "core.fsmonitor" in sprung and "filter.trip.clean" in sprung and "reference-transaction" in sprung
    canary.unlink()
    git(repository, "config", "filter.trip.process", str(trip))
    git(repository, "config", "filter.trip.required", "true")
    canary.unlink(missing_ok=True)
