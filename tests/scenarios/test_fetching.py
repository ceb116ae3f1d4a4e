"""How much of a repository is fetched: a part of its history, its submodules, what Git LFS keeps; and what sessions do with it."""

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.identifiers import Sha
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit
from overlord.store import sessions
from tests.plumbing import Files, commit
from tests.plumbing import run as git
from tests.runners import engine_or_skip
from tests.world import CALC, FIX, REPO, World, made_world


def far(world: World, files: Files) -> Sha:
    """Commit to the forge's repository what no API would take."""
    repository = world.forge.directory(REPO)
    return commit(repository, "main", files, parent=git(repository, "rev-parse", "refs/heads/main"))


def changed(world: World, base: str) -> list[str]:
    """What the pull request changes."""
    return git(world.forge.directory(REPO), "diff", "--name-only", base, "minion/issue-1").splitlines()


# A part of the history.


async def test_a_job_goes_its_whole_way_over_a_part_of_the_history() -> None:
    async with made_world(fetch={"history_depth": 2}) as world:
        for number in range(6):
            base = far(world, {"NEWS.md": f"{number}\n"})
        await world.issue("add() subtracts")
        looked = run("test $(git log --format=%H main | wc -l) = 2 && git blame NEWS.md >/dev/null")
        world.model_will(looked, edit("calc.py", "return a * 2", "return a * 3"), submit())
        world.model_will(edit("calc.py", "return a * 3", "return a * 2"), edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        mirror = world.overlord.parts.home.mirror(REPO)
        assert (mirror / "shallow").exists()
        assert changed(world, base) == ["calc.py"]
        assert git(world.forge.directory(REPO), "rev-list", "--count", f"{base}..minion/issue-1") == "2"
        far(world, {"NEWS.md": "later\n"})
        await world.issue("double() too")
        world.model_will(edit("calc.py", "return a * 2", "return 2 * a"), edit(*FIX), submit())
        await world.settle()
        assert (await world.job(2)).state is JobState.IN_REVIEW
        assert git(mirror, "rev-list", "--count", "refs/heads/main") == "3"


# Submodules.

USES_LIB = {
    **CALC,
    "tests/test_calc.py": (
        "import pathlib\nimport sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'vendor' / 'lib'))\n\n"
        "from calc import add\nfrom tested import expected\n\n\ndef test_add():\n    assert add(2, 2) == expected\n"
    ),
}


async def with_lib(world: World, url: str = "../lib.git") -> tuple[Sha, Sha]:
    """The repository's base commit with a submodule, and the submodule's commit."""
    await world.forge.create_repository("acme/lib")
    lib = commit(world.forge.directory("acme/lib"), "main", {"tested.py": "expected = 4\n"})
    modules = f'[submodule "lib"]\n\tpath = vendor/lib\n\turl = {url}\n'
    return far(world, {".gitmodules": modules, "vendor/lib": ("160000", lib.encode())}), lib


async def test_work_and_checks_find_a_submodules_files_and_the_change_has_none_of_them() -> None:
    async with made_world(USES_LIB, spaces={REPO: {"submodules": True}}) as world:
        base, _ = await with_lib(world)
        await world.issue("add() subtracts")
        used = run(
            "grep -q 'expected = 4' vendor/lib/tested.py && echo more >vendor/lib/generated && git status --short"
        )
        world.model_will(used, edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        tests = next(check for check in await world.checks() if check.name == "tests")
        assert tests.score == "pass"
        assert "1 fixed" in tests.summary
        assert changed(world, base) == ["calc.py"]


async def test_a_submodule_that_cannot_be_had_is_a_question_and_no_loop() -> None:
    async with made_world(USES_LIB, spaces={REPO: {"submodules": True}}) as world:
        await with_lib(world, url="../library.git")
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "The submodule vendor/lib cannot be had from" in decision.body
        assert world.model.requests == []
        await world.forge.create_repository("acme/library", source=world.forge.directory("acme/lib"))
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


# What Git LFS keeps.

TABLE = "".join(f"{number}\n" for number in range(500)).encode()
USES_TABLE = {
    **CALC,
    "tests/test_calc.py": (
        "import pathlib\n\nfrom calc import add\n\nTABLE = pathlib.Path(__file__).parents[1] / 'data' / 'table.dat'\n\n\n"
        "def test_add():\n    assert [add(int(line), 0) for line in TABLE.read_text().split()] == list(range(500))\n"
        "    assert add(1, 1) == 2\n"
    ),
}


def with_table(world: World) -> Sha:
    """The repository's base commit with a file that Git LFS keeps."""
    pointer = world.forge.keep_large(REPO, TABLE)
    return far(
        world, {".gitattributes": "*.dat filter=lfs diff=lfs merge=lfs -text\n", "data/table.dat": pointer}
    )


async def test_work_and_checks_find_what_git_lfs_keeps_and_the_change_leaves_its_pointer() -> None:
    async with made_world(USES_TABLE, spaces={REPO: {"lfs": True}}) as world:
        base = with_table(world)
        await world.issue("add() subtracts")
        used = run("test $(wc -l <data/table.dat) = 500 && touch data/table.dat && git reset -q")
        world.model_will(used, edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        tests = next(check for check in await world.checks() if check.name == "tests")
        assert "1 fixed" in tests.summary
        assert changed(world, base) == ["calc.py"]


async def test_a_change_of_what_git_lfs_keeps_is_refused_to_the_minion_in_words() -> None:
    async with made_world(USES_TABLE, spaces={REPO: {"lfs": True}}) as world:
        base = with_table(world)
        await world.issue("add() subtracts")
        more = run("echo 500 >>data/table.dat")
        world.model_will(edit(*FIX), more, submit(), run("git checkout -- data/table.dat"), submit())
        await world.settle()
        said = [message["content"] for message in world.minion_heard(3) if message["role"] == "tool"][-1]
        assert "data/table.dat: Git LFS keeps this content" in said
        assert (await world.job()).state is JobState.IN_REVIEW
        assert changed(world, base) == ["calc.py"]


async def test_a_pointer_pushed_past_the_minion_is_taken_out_and_said() -> None:
    async with made_world(USES_TABLE, spaces={REPO: {"lfs": True}}) as world:
        base = with_table(world)
        await world.issue("add() subtracts")
        # As a session would that commits and pushes by itself, and goes around what the Minion saves.
        past = run(
            "git checkout -q -- data/table.dat && sed -i s/1/2/ data/table.dat && git commit -qam x"
            " && git push -q origin HEAD && exec kill -9 $PPID"
        )
        world.model_will(edit(*FIX), past)
        world.model_will(submit())
        await world.settle()
        job = await world.job()
        [first, *_] = [item for item in await world.read(sessions.of_job, job.id) if item.dropped]
        assert first.dropped == ("data/table.dat",)
        head = job.head_sha
        mirror = world.overlord.parts.home.mirror(REPO)
        assert git(mirror, "diff", "--name-only", base, str(head)) == "calc.py"


async def test_what_git_lfs_does_not_have_is_a_question() -> None:
    async with made_world(USES_TABLE, fetch={"lfs": True}) as world:
        with_table(world)
        [kept] = (world.forge.directory(REPO) / "lfs").rglob("*/[0-9a-f]*/*")
        kept.unlink()
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "Git LFS does not have the content of data/table.dat" in decision.body
        world.forge.keep_large(REPO, TABLE)
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_forge_that_does_not_give_it_now_is_waited_for_and_nobody_is_asked() -> None:
    async with made_world(USES_TABLE, fetch={"lfs": True}) as world:
        with_table(world)
        world.forge.fail("lfs", kind="503", times=2)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        job = await world.job()
        assert (job.state, job.losses, job.reason) == (JobState.IN_REVIEW, 0, "")
        told = await world.events()
        assert told.count("step_failed") == 1 and "decision_raised" not in told


@pytest.mark.docker
async def test_a_container_finds_submodules_and_what_git_lfs_keeps() -> None:
    await engine_or_skip()
    async with made_world(USES_TABLE, runner="docker", fetch={"lfs": True, "submodules": True}) as world:
        with_table(world)
        base, _ = await with_lib(world)
        await world.issue("add() subtracts")
        used = run("test $(wc -l <data/table.dat) = 500 && cat vendor/lib/tested.py && touch data/table.dat")
        world.model_will(used, edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        tests = next(check for check in await world.checks() if check.name == "tests")
        assert "1 fixed" in tests.summary
        assert changed(world, base) == ["calc.py"]
