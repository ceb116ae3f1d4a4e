"""A gate in the demo: a person at a terminal answers it; where nobody is there, the demo types the command that they would.

It is typed for real, as a program of its own, so that whoever reads the output can do the same with their own Overlord.
"""

import asyncio
import os
import sqlite3
import sys
from pathlib import Path

from overlord.domain.decision import Decision, DecisionState, Subject
from overlord.entrypoints.invocation import command
from overlord.entrypoints.terminal.show import card, console, show_text
from overlord.store import decisions

_KEPT = ("PATH", "HOME", "LANG", "TMPDIR")
"""Of the environment; the rest could name another Overlord."""


def first_open(connection: sqlite3.Connection) -> Decision | None:
    """The gate that waits for a person, if one does."""
    waiting = decisions.waiting(connection)
    return next((decision for decision in waiting if decision.subject is Subject.GATE), None)


def is_open(connection: sqlite3.Connection, decision: Decision) -> bool:
    return decisions.get(connection, decision.id).state is DecisionState.OPEN


def show(decision: Decision) -> None:
    """What the gate shows."""
    console.print()
    card(decision.body)
    console.print()


def say_how_to_answer(decision: Decision, home: Path, page: str) -> None:
    """The ways there are for whoever watches."""
    show_text("The gate waits for you. Answer it on the page, in its Inbox:")
    if page:
        show_text(f"  {page}")
    show_text("or in another terminal:")
    for words in (f"approve {decision.id}", f"reject {decision.id} 'what has to change'"):
        show_text(f"  {command(words, home=home)}")
    console.print()


async def answer(decision: Decision, home: Path) -> bool:
    """Approve it with the command that a person would type; whether that was done."""
    show_text("Nobody is at a terminal to answer, so the demo approves it with this command:")
    show_text(f"  {command(f'approve {decision.id}', home=home)}")
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "overlord", "approve", str(decision.id)),
        env={**kept, "OVERLORD_HOME": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await program.communicate()
    show_text(said.decode(errors="replace").rstrip())
    console.print()
    return program.returncode == 0
