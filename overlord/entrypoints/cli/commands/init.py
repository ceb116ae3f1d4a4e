"""`overlord init`: from a repository, or an empty folder, to the contract by which jobs work there."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.domain.text.plain import count
from overlord.entrypoints.cli.commands.build import MergeAsked, PullRequest, wish
from overlord.entrypoints.cli.commands.run import Agent, Budget, Model, Runner, agent_name, in_local_session
from overlord.entrypoints.invocation import choose_repository
from overlord.entrypoints.terminal.show import as_json, line, show_text
from overlord.errors import Refused

if TYPE_CHECKING:
    from overlord.domain.bootstrap.survey import Survey
    from overlord.entrypoints.cli.commands.run import Act
    from overlord.entrypoints.local.checkout import Checkout
    from overlord.entrypoints.local.documents import Document

_MOST_LISTED = 6
"""Directories and documents that a row names."""


Review = Annotated[
    bool,
    typer.Option(
        "--review",
        help="Start from the contract that is there, and from what happened to jobs under it.",
    ),
]
Files = Annotated[
    list[Path],
    typer.Option(
        "--file", help="A document to read: md, txt, rst, pdf or docx; may be given more than once."
    ),
]
SkipDiscovery = Annotated[
    bool,
    typer.Option(
        "--skip-discovery",
        help="Ask no questions and write no documents: propose the contract alone.",
    ),
]
Defaults = Annotated[
    bool,
    typer.Option(
        "--defaults",
        help="Answer every question with what is proposed. You are still asked to confirm the contract.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Have a contract proposed and print it. No questions, no documents; nothing is kept.",
    ),
]
SurveyOnly = Annotated[
    bool, typer.Option("--survey", help="Only print what is detected here. Asks no model and writes nothing.")
]
Write = Annotated[
    bool,
    typer.Option(
        "--write",
        help="Write what is detected into .nebulus, for you to change and commit. Asks no model.",
    ),
]
GitInit = Annotated[
    bool, typer.Option("--git-init", help="If the folder is empty, make it a git repository without asking.")
]


def init(
    *,
    path: Annotated[Path, typer.Argument(help="A path in the repository, or an empty folder.")] = Path(),
    file: Files = [],  # noqa: B006 - Typer reads it
    review: Review = False,
    skip_discovery: SkipDiscovery = False,
    defaults: Defaults = False,
    dry_run: DryRun = False,
    survey: SurveyOnly = False,
    write: Write = False,
    git_init: GitInit = False,
    merge: MergeAsked = None,
    pull_request: PullRequest = False,
    model: Model = "",
    runner: Runner = None,
    agent: Agent = "",
    budget: Budget = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; asks nothing.")] = False,
) -> None:
    """Have an architect, a model, propose the contract that jobs go by in this repository. You confirm it; the result is a branch.

    It reads code and documents, asks you what they do not say, and writes vision.md and architecture.md. Afterwards
    `overlord build` works by the contract. With `--survey` or `--write` no model is asked.
    """
    if survey or write:
        _tell(path, write=write, json=json)
        return
    _begin_repository(path.resolve(), json=json, git_init=git_init)
    documents = _documents(file, json=json)
    _show_survey(*_survey(path), is_quiet=json)

    def begin() -> "Act":
        from overlord.entrypoints.local.init import first_contract

        asked = first_contract.InitRequest(
            is_review=review,
            discovers=not skip_discovery,
            is_dry_run=dry_run,
            accepts=defaults,
            merge=wish(merge),
            proposes=pull_request,
            documents=documents,
            model=model,
            runner=runner or "",
            budget_usd=budget,
            agent=agent_name(agent),
        )
        return lambda local_session: first_contract.init(local_session, asked)

    in_local_session(str(path), json, begin)


def _begin_repository(path: Path, *, json: bool, git_init: bool) -> None:
    """Make sure there is a repository with a commit; of an empty folder one is made if the user wants that."""
    from overlord.entrypoints.local.asking import can_ask
    from overlord.entrypoints.local.init import new_repository

    here = path.resolve()

    async def begin() -> None:
        found = new_repository.found_or_none(path)
        if found is not None and not await new_repository.needs_first_commit(found):
            return
        folder = (found.root if found is not None else None) or here
        if not new_repository.is_empty(folder):
            await new_repository.start_repository(folder)  # tells what to do
        if not git_init:
            what = "has no commit yet" if found is not None else "is empty and in no git repository"
            if json or not can_ask():
                raise Refused(f"{folder} {what}; give --git-init to have it made one")
            if not typer.confirm(f"{folder} {what}. Begin a repository here?", default=True):
                raise Refused("nothing was done")
        made = await new_repository.start_repository(folder)
        if not json:
            show_text(f"{made.place} is a repository now, with a first commit that has no files.")

    asyncio.run(begin())


def _documents(files: list[Path], *, json: bool) -> "tuple[Document, ...]":
    if not files:
        return ()
    from overlord.entrypoints.local.documents import read_documents

    documents = read_documents(files)
    for item in documents:
        if item.note and not json:
            show_text(f"{item.name}: {line(item.note)}")
    return documents


def _survey(path: Path) -> "tuple[Checkout, Survey]":
    from overlord.entrypoints.local import checkout, survey

    found = checkout.find(path)
    choose_repository(str(path))
    return found, asyncio.run(survey.survey(found))


def _tell(path: Path, *, write: bool, json: bool) -> None:
    """What is detected, without a model."""
    from overlord.entrypoints.local import survey

    found, seen = _survey(path)
    written = survey.write(found, seen) if write else []
    if json:
        as_json({"survey": seen, "written": written})
        return
    _show_survey(found, seen)
    for text in written:
        show_text(f"\n{text}" if text is written[0] else text)
    if not written:
        show_text(
            "\nNothing was written; --write puts this into .nebulus to go on from, and `overlord init` has a contract proposed."
        )


def _show_survey(found: "Checkout", seen: "Survey", *, is_quiet: bool = False) -> None:
    if is_quiet:
        return
    show_text(f"{found.place} at {seen.commit[:12]}\n")
    for name, text in _rows(seen):
        show_text(f"  {name:<10}{line(text)}")
    show_text("")


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
