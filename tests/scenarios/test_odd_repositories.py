"""Repositories as they come: each is worked on like any other, or it is said in a sentence why not."""

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit
from tests.plumbing import Files, commit
from tests.plumbing import run as git
from tests.world import CALC, FIX, REPO, World, made_world

MODULES = '[submodule "lib"]\n\tpath = lib\n\turl = https://example.invalid/lib\n'
ODD: Files = {
    ".gitmodules": MODULES,
    "lib": ("160000", b"a" * 40),
    ".gitattributes": "*.txt text\n*.bat text eol=crlf\n* ident\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
    "dos.txt": "a\r\nb\r\n",
    "good.bat": "a\nb\n",
    "id.txt": "$Id: 0123 $\n",
    "data.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n",
    b"caf\xe9.md": "not UTF-8\n",
    "Notes": "one\n",
    "notes": "two\n",
    "loop/a": ("120000", b"b"),
    "loop/b": ("120000", b"a"),
    "farm/calc.py": ("120000", b"../calc.py"),
    "hooks/post-checkout": ("100755", b"#!/bin/sh\nexit 1\n"),
}


def far(world: World, files: Files, branch: str = "main") -> str:
    """Commit to the forge's repository what no API would take."""
    repository = world.forge.directory(REPO)
    return commit(repository, branch, files, parent=git(repository, "rev-parse", "refs/heads/main"))


async def test_what_a_session_did_not_touch_is_no_part_of_its_change() -> None:
    async with made_world() as world:
        base = far(world, ODD)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        changed = git(world.forge.directory(REPO), "diff", "--name-only", base, "minion/issue-1")
        assert changed == "calc.py"


async def test_line_ends_and_pointers_change_as_much_as_was_edited() -> None:
    async with made_world(infer_scope=False) as world:
        base = far(world, ODD)
        await world.issue("add() subtracts")
        sizes = run("sed -i s/12345/54321/ data.bin; sed -i s/b/c/ dos.txt good.bat; grep -c $'\\r' good.bat")
        world.model_will(edit(*FIX), sizes, submit())
        await world.settle()
        counted = git(world.forge.directory(REPO), "diff", "--numstat", base, "minion/issue-1").split("\n")
        assert counted == ["1\t1\tcalc.py", "1\t1\tdata.bin", "1\t1\tdos.txt", "1\t1\tgood.bat"]


async def test_a_name_that_is_no_text_is_taken_out_like_any_other_outside_the_scope() -> None:
    async with made_world(spaces={REPO: {"scope": ["calc.py"]}}) as world:
        base = far(world, ODD)
        await world.issue("add() subtracts")
        sneaky = run("for name in caf*.md; do echo more >>$name; done")
        world.model_will(edit(*FIX), sneaky, submit(), submit())
        world.model_will(submit())
        await world.settle()
        first = (await world.checks())[0]
        assert (first.name, first.score) == ("scope", "needs_revision")
        assert [finding.file for finding in first.findings] == ["caf\\xe9.md"]
        head = (await world.job()).head_sha
        changed = git(world.overlord.parts.home.mirror(REPO), "diff", "--name-only", base, str(head))
        assert changed == "calc.py"


async def test_a_repository_a_command_left_behind_is_not_taken_for_work() -> None:
    async with made_world() as world:
        base = far(world, ODD)
        await world.issue("add() subtracts")
        nested = run(
            "git init -q vendor && cd vendor && git -c user.name=m -c user.email=m@x commit -q --allow-empty -m x"
        )
        world.model_will(edit(*FIX), nested, submit(), run("rm -rf vendor"), submit())
        await world.settle()
        refused = [said["content"] for said in world.minion_heard(3) if said["role"] == "tool"][-1]
        assert "vendor: a git repository of its own inside this one" in refused
        assert (await world.job()).state is JobState.IN_REVIEW
        changed = git(world.forge.directory(REPO), "diff", "--name-only", base, "minion/issue-1")
        assert changed == "calc.py"


async def test_a_branch_of_that_name_is_left_to_whoever_made_it() -> None:
    async with made_world() as world:
        theirs = far(world, {"x": "theirs\n"}, branch="minion/issue-1")
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert [pull.head_branch for pull in world.forge.pulls(REPO)] == ["minion/issue-1-2"]
        assert git(world.forge.directory(REPO), "rev-parse", "refs/heads/minion/issue-1") == theirs


async def test_a_branch_in_the_way_of_all_of_ours_is_said_to_a_person() -> None:
    async with made_world() as world:
        far(world, {"x": "theirs\n"}, branch="minion")
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DELIVERY_REFUSED
        assert "the forge has a branch called minion" in decision.body
        git(world.forge.directory(REPO), "branch", "-m", "minion", "robots")
        await world.answer(decision, Verb.REDELIVER)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_tests_that_hang_are_ended_and_are_no_pass() -> None:
    hanging = "import threading\n\n\ndef test_hangs():\n    threading.Event().wait()\n"
    async with made_world({**CALC, "tests/test_hangs.py": hanging}, checks={"tests_s": 2}) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        tests = next(check for check in await world.checks() if check.name == "tests")
        assert tests.score != "pass"
        assert await world.decisions()
        assert world.forge.pulls(REPO)[0].draft


async def test_a_test_that_needs_a_network_that_is_not_there_is_not_held_against_a_change() -> None:
    needy = "import socket\n\n\ndef test_far_away():\n    socket.create_connection(('127.0.0.1', 9), timeout=5).close()\n"
    async with made_world({**CALC, "tests/test_far.py": needy}) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        tests = next(check for check in await world.checks() if check.name == "tests")
        assert tests.score == "pass"
        assert "1 fixed, 0 broken, 1 failing before and after" in tests.summary


async def test_tests_that_need_a_network_fail_at_base_too_and_no_change_is_held_to_them() -> None:
    # An address that is nobody's: without a network and with one, nothing answers there.
    needs_network = "import socket\n\n\ndef test_reaches():\n    socket.create_connection(('192.0.2.1', 9), timeout=0.2).close()\n"
    async with made_world({**CALC, "tests/test_reaches.py": needs_network}) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        [tests] = [check for check in await world.checks() if check.name == "tests"]
        assert "1 failing before and after" in tests.summary
