"""From `overlord init` to a merged `overlord build`: real projects and an empty folder, at a terminal and by script.

Checks and setups are played: what a repository's own tests say is the subject of `tests/scenarios/test_real_projects.py`.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.discovery.question import ProjectKind
from overlord.embedded.play import Turn, run, submit, write
from tests.architect import documented, example, planned, proposed, recorded, without_usd
from tests.local import LocalSession, Said, Terminal, git
from tests.projects import ITSDANGEROUS, PROJECTS
from tests.quick import quick_desk
from tests.sdists import Sdist, files_of
from tests.world import CALC

CHOOSE, QUESTION, MERGE = ": ", "\r\n> ", "[y/N] "
CONFIRM, EDIT, REJECT = "1", "2", "3"
APPROVE = WRITE_TESTS = "1"
HTTPBIN = Sdist(
    name="httpbin",
    version="0.10.2",
    sha256="632148698261c8684ea2d2b624cdea845b402b1fe91736e89df886408c6317a9",
)
PLAN = write(
    "plan/plan.md", "# Plan\n\n## Layout\n\nAs it is.\n\n## Acceptance\n\nIt is done.\n\n## Risks\n\nNone.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A project, the contract that its architect proposes, and what is built under it."""

    name: str
    kind: ProjectKind
    contract: dict[str, Any]
    requirement: str
    sessions: Sequence[Sequence[Turn]]
    """What each role does, in order."""
    built: Mapping[str, str]
    """What the files hold once it is merged."""
    gate: str
    """What the terminal says of the build's gate."""
    files: Sdist | None
    columns: int = 80
    has_tests: bool = True
    """Whether nobody has to be asked how work is judged where there are no tests."""
    words: Mapping[int, str] = field(default_factory=dict)
    """What is typed at the n-th question; Enter, if nothing."""
    dear: dict[str, Any] | None = None
    """What the architect proposes first: it caps dollars, and nobody said what the model costs."""
    refuses: str = ""
    """What the person wants changed first."""
    edits: tuple[str, str] = ("", "")
    """What the person's editor puts in place of what."""


def _library() -> Story:
    source, tests = "src/itsdangerous/looks.py", "tests/test_itsdangerous/test_looks.py"
    code = f"from .encoding import base64_decode\nfrom .exc import BadData\n\n\n{ITSDANGEROUS.code}"
    test = "from itsdangerous.looks import is_base64\n\n\ndef test_is_base64() -> None:\n    assert is_base64('YQ')\n"
    return Story(
        name="itsdangerous",
        kind=ProjectKind.LIBRARY,
        contract=planned("itsdangerous", ["src/**", "tests/**"]),
        requirement="Tell whether text is base64",
        sessions=(
            (PLAN, submit("The plan is made.")),
            (write(source, code), write(tests, test), submit("It is told.")),
        ),
        built={source: "def is_base64(", tests: "def test_is_base64("},
        gate="Gate plan_approval, between plan and build",
        files=ITSDANGEROUS.sdist,
        words={0: "Data that comes back from untrusted places.", 4: "A token that was changed is refused."},
        refuses="A job may take a day, not two.",
    )


def _cli() -> Story:
    project = next(item for item in PROJECTS if item.sdist.name == "junitparser")
    asserted = 'assert hasattr(xunit2, "is_suite") and xunit2.is_suite("testsuite")'
    test = f"from junitparser import xunit2\n\n\ndef test_is_suite() -> None:\n    {asserted}\n"
    contract = without_usd(example("cli"))
    approval = {"on": "red->green", "audience": "person", "inputs": ["tests/**"]}
    contract["gates"]["tests_approval"] = {**approval, "approve": "green", "reject": "red"}
    return Story(
        name="junitparser",
        kind=ProjectKind.CLI,
        contract=contract,
        requirement="Tell which elements are suites",
        sessions=(
            (write("tests/test_is_suite.py", test), submit("It fails now.")),
            (project.change[0], submit("It passes.")),
        ),
        built={project.source: "def is_suite(", "tests/test_is_suite.py": "def test_is_suite("},
        gate="Gate tests_approval, between red and green",
        files=project.sdist,
        columns=120,
        has_tests=False,
        words={1: "Whoever merges reports of tests in a build."},
        edits=("hours: 72", "hours: 36"),
    )


def _web() -> Story:
    source, tests = "httpbin/utils.py", "tests/test_utils.py"
    code = 'def is_even(number):\n    """Whether it can be halved."""\n    return number % 2 == 0\n'
    test = "from httpbin.utils import is_even\n\n\ndef test_is_even():\n    assert is_even(2) and not is_even(3)\n"
    return Story(
        name="httpbin",
        kind=ProjectKind.WEB_APP,
        contract=planned("httpbin", ["httpbin/**", "tests/**"]),
        requirement="Tell whether a number is even",
        sessions=(
            (PLAN, submit("The plan is made.")),
            (run(f"cat >>{source} <<'END'\n\n\n{code}END"), write(tests, test), submit("It is told.")),
        ),
        built={source: "def is_even(", tests: "def test_is_even("},
        gate="Gate plan_approval, between plan and build",
        files=HTTPBIN,
        columns=120,
    )


def _empty() -> Story:
    test = "from greeting import greet\n\n\ndef test_greet() -> None:\n    assert greet('Ann') == 'Hello, Ann!'\n"
    first = "from greeting import greet\n\n\ndef test_it_greets() -> None:\n    assert greet('')\n"
    code = 'def greet(name: str) -> str:\n    """Say hello."""\n    return f"Hello, {name}!"\n'
    contract = without_usd(example("empty"))
    contract["roles"]["developer"]["scope"].append("tests/**")
    contract["shared"] = [{"paths": ["tests/**"], "roles": ["developer", "tester"]}]
    return Story(
        name="greeting",
        kind=ProjectKind.OTHER,
        contract=contract,
        requirement="Greet people by their names",
        sessions=(
            (PLAN, submit("The plan is made.")),
            (
                write("README.md", "# Greeting\n"),
                write("src/greeting.py", code),
                write("tests/test_first.py", first),
                submit("It begins."),
            ),
            (
                write("src/greeting.py", code.replace("Say hello.", "Say hello to somebody.")),
                submit("It greets."),
            ),
            (write("tests/test_greet.py", test), submit("It is tested.")),
        ),
        built={"src/greeting.py": "def greet(", "tests/test_greet.py": "def test_greet("},
        gate="Gate plan_approval, between plan and scaffold",
        files=None,
        has_tests=False,
        dear=example("empty"),
        words={0: "People who are greeted by nobody.", 2: "They type their name and read a greeting."},
    )


STORIES = {make.__name__.strip("_"): make for make in (_library, _cli, _web, _empty)}


def will_propose(user: LocalSession, story: Story) -> None:
    """What the architect does, from its look round to its proposal."""
    user.model.will(recorded(story.kind), submit("I looked at everything."))
    user.model.will(*documented())
    user.model.will(*proposed(*([story.dear] if story.dear else []), story.contract))


def will_build(user: LocalSession, story: Story) -> None:
    for turns in story.sessions:
        user.model.will(*turns)


@contextlib.asynccontextmanager
async def desk_of(story: Story) -> AsyncIterator[LocalSession]:
    """A machine whose user works in a repository with the project's files, or in an empty folder."""
    files = files_of(story.files) if story.files else CALC
    async with quick_desk(files, kinds="check|setup") as user:
        if not story.files:
            user.repo = user.root / "greeting"
            user.repo.mkdir()
        yield user


async def type_line(terminal: Terminal, text: str) -> None:
    """Type a line at a prompt, and see that it is gone on from there."""
    shown = len(terminal.shown)
    terminal.type(f"{text}\n")
    await terminal.until("\r\n", after=shown)


async def answer_questions(terminal: Terminal, story: Story) -> None:
    """Answer every question of the architect: with Enter, or in words."""
    number = 0
    while await terminal.prompt(QUESTION, CHOOSE) == QUESTION:
        await type_line(terminal, story.words.get(number, ""))
        number += 1
    assert number > max(story.words, default=0)


async def confirm(user: LocalSession, terminal: Terminal, story: Story) -> None:
    """Look at the proposed contract, have it changed as the story says, and confirm it."""
    if story.refuses:
        user.model.will(*proposed({**story.contract, "lifetime": {"hours": 24}}))
        await type_line(terminal, REJECT)
        await terminal.prompt("what has to change: ")
        await type_line(terminal, story.refuses)
        await terminal.prompt(CHOOSE)
        assert "a job takes at most 24 h" in terminal.shown
        assert story.refuses in str(user.model.messages())
    if story.edits[0]:
        await type_line(terminal, EDIT)
        await terminal.prompt(CHOOSE)
        assert "a job takes at most 36 h" in terminal.shown
    await type_line(terminal, CONFIRM)


async def merge(terminal: Terminal, number: int) -> None:
    """Say yes to the merge, and see the program end well."""
    await terminal.prompt(MERGE)
    await type_line(terminal, "y")
    await terminal.until(f"minion/issue-{number} is merged into main.")
    assert await terminal.ended() == 0, terminal.shown


@pytest.mark.parametrize("make", STORIES.values(), ids=STORIES)
async def test_at_a_terminal(make: Callable[[], Story], tmp_path: Path) -> None:
    story = make()
    async with desk_of(story) as user:
        will_propose(user, story)
        editor = {"EDITOR": str(_editor(tmp_path, *story.edits))}
        terminal = await user.terminal("init", columns=story.columns, environment=editor)
        if not story.files:
            await terminal.prompt("Begin a repository here? [Y/n]: ")
            await type_line(terminal, "")
        await answer_questions(terminal, story)
        await confirm(user, terminal, story)
        if story.dear:
            assert "leave every `usd` out of the contract" in str(user.model.messages())
        await merge(terminal, 1)
        keep_shown(story, terminal)
        assert f"kind      {story.kind.replace('_', ' ')}: " in terminal.shown
        await assert_contracted(user, story)
        will_build(user, story)
        terminal = await user.terminal("build", story.requirement, columns=story.columns)
        if not story.has_tests:
            await terminal.until("no tests were found; how is the work here to be judged?")
            await terminal.prompt(CHOOSE)
            await type_line(terminal, WRITE_TESTS)
        await terminal.until(story.gate)
        await terminal.prompt(CHOOSE)
        await type_line(terminal, APPROVE)
        await merge(terminal, 2)
        keep_shown(story, terminal)
        assert_built(user, story)
        assert_nothing_escapes(terminal.shown)


async def test_by_script_without_a_terminal() -> None:
    story = _library()
    async with desk_of(story) as user:
        will_propose(user, story)
        asked = await user.overlord("init", "--defaults", "--json", "--no-merge")
        await _scripted(user, story, asked)


async def test_an_empty_folder_by_script_without_a_terminal() -> None:
    story = _empty()
    async with desk_of(story) as user:
        refused = await user.overlord("init", "--defaults", "--json")
        assert refused.code == 5 and "give --git-init" in refused.err
        will_propose(user, story)
        asked = await user.overlord("init", "--git-init", "--defaults", "--json")
        await _scripted(user, story, asked)


async def _scripted(user: LocalSession, story: Story, asked: Said) -> None:
    """Confirm the contract and build under it, each answer by the number that the result names."""
    number = waiting(asked)
    approved = await user.overlord("approve", number, "--repo", ".")
    assert approved.code == 0, approved.err
    ended = await user.overlord("resume", "--json", "--merge")
    assert (ended.code, ended.objects[-1]["merged"]) == (0, True), ended
    await assert_contracted(user, story)
    will_build(user, story)
    begun = await user.overlord("build", story.requirement, "--json", "--merge")
    if not story.has_tests:
        said = await user.overlord("answer", waiting(begun), "write_tests", "--repo", ".")
        assert said.code == 0, said.err
        begun = await user.overlord("resume", "--json")
    assert (await user.overlord("approve", waiting(begun), "--repo", ".")).code == 0
    ended = await user.overlord("resume", "--json")
    assert (ended.code, ended.objects[-1]["merged"]) == (0, True), ended
    assert_built(user, story)


def waiting(said: Said) -> str:
    """The number of the one decision that a run waits for, as its result has it."""
    result = said.objects[-1]
    assert (result["event"], said.code) == ("result", 1), said
    [decision] = result["decisions"]
    return str(decision)


def keep_shown(story: Story, terminal: Terminal) -> None:
    """Leave what a terminal showed where somebody wants to look at it."""
    if folder := os.environ.get("SHOWN_IN"):
        with Path(folder, f"{story.name}-{story.columns}.txt").open("a", encoding="utf-8") as file:
            file.write(terminal.shown)


def _editor(folder: Path, old: str, new: str) -> Path:
    path = folder / "editor"
    path.write_text(f'#!/bin/sh\nsed -i "s/{old}/{new}/" "$1"\n')
    path.chmod(0o755)
    return path


async def assert_contracted(user: LocalSession, story: Story) -> None:
    """The contract and both documents are on the user's branch, each a commit, and the contract holds."""
    checked = await user.overlord("contract", "check")
    assert checked.code == 0, checked
    contract = (user.repo / ".nebulus/contract/contract.yaml").read_text()
    assert all(f"  {role}:" in contract for role in story.contract["roles"])
    assert git(user.repo, "log", "--format=%s", "-2").splitlines() == [
        "Contract, as a person confirmed it",
        "Propose a contract",
    ]
    changed = git(user.repo, "diff", "--name-only", "HEAD~2").splitlines()
    assert changed == [".nebulus/contract/contract.yaml", "architecture.md", "vision.md"]


def assert_built(user: LocalSession, story: Story) -> None:
    """What was wanted is in the user's files, under the user's branch, and nothing else is changed."""
    for path, text in story.built.items():
        assert text in (user.repo / path).read_text()
    assert git(user.repo, "rev-parse", "main") == git(user.repo, "rev-parse", "minion/issue-2")
    assert git(user.repo, "status", "--porcelain") == ""
    assert git(user.repo, "log", "-1", "--format=%s") == story.requirement
    assert not (user.repo / "plan").exists()


def assert_nothing_escapes(shown: str) -> None:
    """No text is shown as it would be written for a forge."""
    for mark in ("&lt;", "&gt;", "&amp;", "\u200b", "\u2060"):
        assert mark not in shown
