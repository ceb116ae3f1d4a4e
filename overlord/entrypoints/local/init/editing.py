"""A proposed contract in the person's own editor, until it holds or they leave it as it was."""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from overlord.domain.bootstrap.proposal import review_text
from overlord.entrypoints.local.asking import read_line
from overlord.entrypoints.terminal.show import line, show_text
from overlord.errors import Refused

MOST_BYTES = 200_000
MOST_SHOWN = 12


async def edited(text: str, existing: Collection[str], environment: Mapping[str, str]) -> str | None:
    """What the person made of it: a contract that holds; None where they changed nothing or gave up. Raises Refused without an
    editor."""
    with tempfile.TemporaryDirectory(prefix="overlord-") as directory:
        path = Path(directory) / "contract.yaml"
        path.write_text(text, encoding="utf-8")
        while True:
            await _run(editor(environment), path)
            made = _read(path)
            if made == text:
                show_text("Nothing was changed.")
                return None
            problems = problems_of(made, existing)
            if not problems:
                return made
            show_text(f"\nIt does not hold yet ({len(problems)}):")
            for number, problem in enumerate(problems[:MOST_SHOWN], start=1):
                show_text(f"  {number}  {line(problem)}")
            typed = await read_line("Enter edits it again, q leaves it as it was: ")
            if typed is None or typed.lower() in ("q", "quit"):
                return None


def problems_of(text: str, existing: Collection[str]) -> list[str]:
    """What the rules hold against it."""
    return list(review_text(text, existing=existing).problems)


def editor(environment: Mapping[str, str]) -> list[str]:
    """The program and its arguments. Raises Refused where none is named or installed."""
    named = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        words = shlex.split(named)
    except ValueError:
        words = []
    if not words:
        raise Refused(f"EDITOR={named} is no command")
    return words


async def _run(words: list[str], path: Path) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*words, str(path), env=dict(os.environ))
    except OSError as error:
        raise Refused(f"{words[0]} cannot be started ({error.strerror}); set EDITOR to an editor") from None
    code = await process.wait()
    if code:
        raise Refused(f"{words[0]} ended with {code}; nothing was changed")


def _read(path: Path) -> str:
    if path.stat().st_size > MOST_BYTES:
        raise Refused(f"a contract may have {MOST_BYTES:,} bytes")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused("the file is no UTF-8 text any more") from None
