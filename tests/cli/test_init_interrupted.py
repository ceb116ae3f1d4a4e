"""`overlord init`, `build` and `fix` that are interrupted or killed at a terminal: `resume` goes on, and asks nothing twice that was answered."""

import contextlib
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from overlord.domain.decision import Subject
from overlord.domain.discovery.bank import questions
from overlord.domain.discovery.question import Discovery, Kind, ProjectKind, read_discovery
from overlord.domain.question import ask
from overlord.embedded.play import call, run, submit, write
from overlord.entrypoints.local.init.kept_answers import NAME, KeptAnswers
from tests.architect import CONTRACT, VISION
from tests.local import LocalSession, Terminal, git
from tests.local_contract import PATH, hold
from tests.quick import quick_desk
from tests.records import NOW, a_job

ENDS = (signal.SIGINT, signal.SIGKILL)
MINE = "People who add numbers."
MENU = "choose 1-5: "
IDENTITY = "[user]\nname = Ann\nemail = ann@x\n"


async def stopped(at: Terminal, sign: int) -> None:
    """The user presses Ctrl-C, or somebody kills the command."""
    os.kill(at.process.pid, sign)
    await at.ended()


def discovery_of(user: LocalSession) -> Discovery:
    with closing(sqlite3.connect(user.place / "overlord.db")) as connection:
        [text] = connection.execute("SELECT text FROM discoveries").fetchone()
        return read_discovery(text)


def will_propose(user: LocalSession) -> None:
    user.model.will(call("propose_contract", contract=CONTRACT), submit("proposed"))


def will_ask(user: LocalSession) -> None:
    """The architect finds everything but two answers, which code does not say either."""
    sure = {"confidence": "high", "source": "calc.py", "quote": "def add(a, b):", "answer": "other"}
    found = [item.id for item in questions(ProjectKind.OTHER)]
    answers = [
        {"id": name, "confidence": "low"} if place < 2 else {"id": name, **sure}
        for place, name in enumerate(found)
    ]
    user.model.will(call("record_discovery", answers=answers), submit("I looked at everything."))


def will_write(user: LocalSession, discovery: Discovery) -> None:
    made = [item for item in discovery.questions if item.kind is Kind.DECISION]
    entries = "".join(
        f"### {item.section} `{item.id}`\n\nDecision: so.\nRationale: it fits.\nAlternatives: none.\n\n"
        for item in made
    )
    text = f"# Architecture\n\n## Overview\n\nOne.\n\n## Structure\n\nOne.\n\n## Decisions\n\n{entries}\n## Tests\n\npytest\n"
    user.model.will(write("vision.md", VISION), write("architecture.md", text), submit("written"))


async def merges(user: LocalSession, at: Terminal, after: int = 0) -> None:
    """Confirm it, merge it, and see that it is there."""
    await at.until(MENU, after=after)
    at.type("1\n")
    await at.until("now? [y/N] ")
    at.type("y\n")
    assert await at.ended() == 0, at.shown
    assert git(user.repo, "show", f"main:{PATH}").startswith("# Proposed by an architect")


@pytest.fixture
async def init_desk() -> AsyncIterator[LocalSession]:
    async with quick_desk() as user:
        (user.root / ".gitconfig").write_text(IDENTITY)
        yield user


@pytest.mark.parametrize("sign", ENDS, ids=lambda sign: signal.Signals(sign).name)
async def test_init_is_gone_on_with_after_its_session_was_cut_off(init_desk: LocalSession, sign: int) -> None:
    user = init_desk
    user.model.will(run(hold(user)), call("propose_contract", contract=CONTRACT), submit("proposed"))
    at = await user.terminal("init", "--skip-discovery")
    await user.until((user.root / "holding").exists)
    if sign == signal.SIGINT:
        will_propose(user)
    await stopped(at, sign)
    (user.root / "go").touch()
    again = await user.terminal("resume")
    await merges(user, again)


@pytest.mark.parametrize("sign", ENDS, ids=lambda sign: signal.Signals(sign).name)
async def test_an_answer_that_was_typed_is_not_asked_for_again(init_desk: LocalSession, sign: int) -> None:
    user = init_desk
    will_ask(user)
    at = await user.terminal("init")
    place = await at.until("> ")
    at.type(f"{MINE}\n")
    await at.until("> ", after=place)
    await stopped(at, sign)
    again = await user.terminal("resume")
    place = await again.until("What you typed before is kept: 1 answer.")
    will_write(user, discovery_of(user))
    will_propose(user)
    shown = place
    for _ in range(len(discovery_of(user).open) - 1):
        place = await again.until("> ", after=place)
        again.type("\n")
    await merges(user, again, after=place)
    discovery = discovery_of(user)
    assert discovery.questions[0].answer == MINE
    assert discovery.questions[0].ask not in again.shown[shown:], again.shown
    assert not (user.place / NAME).exists(), "it is sent"


@pytest.mark.parametrize("sign", ENDS, ids=lambda sign: signal.Signals(sign).name)
async def test_the_gate_is_shown_again_after_it_was_left(init_desk: LocalSession, sign: int) -> None:
    user = init_desk
    will_propose(user)
    at = await user.terminal("init", "--skip-discovery")
    await at.until(MENU)
    await stopped(at, sign)
    again = await user.terminal("resume")
    await merges(user, again)
    assert again.shown.count("Confirm it") == 1


@pytest.mark.parametrize("sign", ENDS, ids=lambda sign: signal.Signals(sign).name)
async def test_nothing_is_changed_by_an_editor_that_was_open(init_desk: LocalSession, sign: int) -> None:
    user = init_desk
    will_propose(user)
    editor = user.root / "editor"
    editor.write_text(f"#!/bin/sh\necho $$ > {user.root}/editing\nexec sleep 60\n")
    editor.chmod(0o755)
    at = await user.terminal("init", "--skip-discovery", environment={"EDITOR": str(editor)})
    await at.until(MENU)
    at.type("2\n")
    await user.until(lambda: (user.root / "editing").exists() and (user.root / "editing").read_text().strip())
    try:
        await stopped(at, sign)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((user.root / "editing").read_text()), signal.SIGKILL)
    again = await user.terminal("resume")
    await merges(user, again)


@pytest.mark.parametrize("sign", ENDS, ids=lambda sign: signal.Signals(sign).name)
async def test_what_was_confirmed_is_merged_later(init_desk: LocalSession, sign: int) -> None:
    user = init_desk
    will_propose(user)
    at = await user.terminal("init", "--skip-discovery")
    await at.until(MENU)
    at.type("1\n")
    await at.until("now? [y/N] ")
    await stopped(at, sign)
    said = await user.overlord("resume", "1", "--merge")
    assert said.code == 0, said.out + said.err
    assert "choose" not in said.out
    assert git(user.repo, "show", f"main:{PATH}").startswith("# Proposed by an architect")


def test_what_is_no_file_of_ours_counts_as_nothing(tmp_path: Path) -> None:
    decision = ask(a_job(), Subject.DISCOVERY, "1. Who?", at=NOW, options=("a", "b"))
    kept = KeptAnswers(path=tmp_path / NAME)
    assert kept.of(decision) == []
    for text in ("", "[]", "{}", "\x00", '{"decision": 1, "digest": "x", "answers": ["no"]}'):
        kept.path.write_text(text)
        assert kept.of(decision) == []
    kept.keep(decision, ["x", "y"])
    assert kept.of(decision) == ["x", "y"]
    kept.forget()
    assert kept.of(decision) == []
