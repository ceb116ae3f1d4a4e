"""`overlord init`: what Overlord makes of a repository, before anything is run in it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.domain.text.plain import count
from overlord.entrypoints.invocation import choose_repository
from overlord.entrypoints.terminal.show import as_json, line, show_text

if TYPE_CHECKING:
    from overlord.domain.bootstrap.survey import Survey

_MOST_LISTED = 6
"""Directories and documents that a row names."""


def init(
    path: Annotated[Path, typer.Argument(help="A path in the repository.")] = Path(),
    write: Annotated[bool, typer.Option("--write", help="Write .nebulus files to go on from.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain what is detected in a repository: language, tests, lint, setup, size. Writes nothing unless told to."""
    from overlord.entrypoints.local import checkout, survey

    found = checkout.find(path)
    choose_repository(str(path))
    seen = asyncio.run(survey.survey(found))
    written = survey.write(found, seen) if write else []
    if json:
        as_json({"survey": seen, "written": written})
        return
    show_text(f"{found.place} at {seen.commit[:12]}\n")
    for name, text in _rows(seen):
        show_text(f"  {name:<10}{line(text)}")
    for text in written:
        show_text(f"\n{text}" if text is written[0] else text)
    if not written:
        show_text(
            '\nNothing was written; --write puts this into .nebulus to go on from. Start with `overlord run "…"`.'
        )


def _rows(seen: "Survey") -> list[tuple[str, str]]:
    languages = ", ".join(f"{name} ({count(number, 'file')})" for name, number in seen.languages)
    rows = [
        ("size", f"{count(seen.files, 'file')}, {seen.size / 1e6:.1f} MB"),
        ("language", languages or "none that is known"),
        ("kind", f"{seen.kind.replace('_', ' ')}: {' '.join(seen.kind_reasons)}"),
        ("tests", f"{seen.tests}; {count(seen.test_files, 'test file')}"),
        ("lint", seen.lint),
        *(("setup", sentence) for sentence in seen.setup),
        *(("  runs", command) for command in seen.commands),
    ]
    if seen.layout:
        rows.append(
            ("layout", _shortened([f"{name}/ ({count(number, 'file')})" for name, number in seen.layout]))
        )
    if seen.documents:
        rows.append(("documents", _shortened(seen.documents)))
    if seen.packages:
        rows.append(("packages", ", ".join(seen.packages)))
    return [*rows, *(("note", note) for note in seen.notes)]


def _shortened(items: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(items) - _MOST_LISTED
    return f"{', '.join(items[:_MOST_LISTED])}{f' and {more} more' if more > 0 else ''}"
