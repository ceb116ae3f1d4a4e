"""`overlord build` and `fix`: a requirement, or what failed, worked under the repository's own contract."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.entrypoints.cli.commands.run import (
    Act,
    Agent,
    Base,
    Budget,
    Json,
    Model,
    Repo,
    Runner,
    Scope,
    agent_name,
    body_text,
    in_local_session,
)
from overlord.entrypoints.local.build.requirement import TITLE_CHARS, title_of
from overlord.entrypoints.process_environment import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from overlord.entrypoints.local.build.offer_merge import MergeWish
    from overlord.entrypoints.local.documents import Document

Files = Annotated[
    list[Path],
    typer.Option(
        "--file",
        help="A document with what is wanted: md, txt, rst, pdf or docx; may be given more than once.",
    ),
]
Reports = Annotated[
    list[Path],
    typer.Option(
        "--file", help="A report of what is wrong: md, txt, rst, pdf or docx; may be given more than once."
    ),
]
MergeAsked = Annotated[
    bool | None,
    typer.Option(
        "--merge/--no-merge",
        help="Merge the result, if it passes, into the branch it started from. If absent, you are asked at a terminal.",
    ),
]


PullRequest = Annotated[
    bool,
    typer.Option(
        "--pull-request",
        help="Push the result, if it passes, to origin, and open a pull request with your GITHUB_TOKEN.",
    ),
]


DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Print who would do what and what it may cost. Asks no model."),
]


def build(
    *,
    requirement: Annotated[
        str, typer.Argument(help="What you want, in a line; if absent, the first line of --file.")
    ] = "",
    file: Files = [],  # noqa: B006 - Typer reads it
    body: Annotated[str, typer.Option(help="More about it.")] = "",
    body_file: Annotated[str, typer.Option(help="A file with more about it; - is standard input.")] = "",
    dry_run: DryRun = False,
    merge: MergeAsked = None,
    pull_request: PullRequest = False,
    repo: Repo = ".",
    scope: Scope = [],  # noqa: B006 - Typer reads it
    model: Model = "",
    runner: Runner = None,
    agent: Agent = "",
    budget: Budget = None,
    base: Base = "",
    json: Json = False,
) -> None:
    """Have a requirement built under the repository's own contract; the result is a branch, merged only if you say so."""
    documents = _documents(file)
    title = _title(requirement, documents)
    text = body_text(body, body_file)
    if dry_run:
        _show_plan(repo, title, base, budget, json=json)
        return

    def begin() -> Act:
        from overlord.entrypoints.local.build import build as builder
        from overlord.entrypoints.local.start import WorkRequest

        work_request = WorkRequest(
            title=title,
            body=text,
            base=base,
            scope=tuple(scope),
            model=model,
            runner=runner or "",
            budget_usd=budget,
            agent=agent_name(agent),
            merge=wish(merge),
            proposes=pull_request,
        )
        return lambda local_session: builder.build(local_session, work_request, documents)

    in_local_session(repo, json, begin)


def fix(
    *,
    job: Annotated[
        int | None,
        typer.Argument(help="The job that failed, as `history` shows it; if absent, the last that did."),
    ] = None,
    file: Reports = [],  # noqa: B006 - Typer reads it
    merge: MergeAsked = None,
    pull_request: PullRequest = False,
    repo: Repo = ".",
    scope: Scope = [],  # noqa: B006 - Typer reads it
    model: Model = "",
    runner: Runner = None,
    agent: Agent = "",
    budget: Budget = None,
    json: Json = False,
) -> None:
    """Have a failed job mended, from the phase that failed, or what a report says from the start."""
    report = _documents(file)
    title = f"Fix: {title_of(report[0])}" if report and job is None else ""

    def begin() -> Act:
        from overlord.entrypoints.local.build import build as builder
        from overlord.entrypoints.local.start import WorkRequest

        work_request = WorkRequest(
            title=title,
            scope=tuple(scope),
            model=model,
            runner=runner or "",
            budget_usd=budget,
            agent=agent_name(agent),
            merge=wish(merge),
            proposes=pull_request,
        )
        return lambda local_session: builder.fix(local_session, job, work_request, report)

    in_local_session(repo, json, begin)


def _documents(files: "Sequence[Path]") -> "Sequence[Document]":
    """What is handed over, read before anything is made."""
    if not files:
        return ()
    from overlord.entrypoints.local.documents import read_documents

    return read_documents(files)


def _title(requirement: str, documents: "Sequence[Document]") -> str:
    title = requirement.strip() or (title_of(documents[0]) if documents else "")
    if not title:
        raise typer.BadParameter("say what you want, in a line, or give --file with a document that does")
    if len(title) > TITLE_CHARS:
        raise typer.BadParameter(
            f"a requirement has 1 to {TITLE_CHARS} characters in a line; more goes into --body or --file"
        )
    return title


def wish(merge: bool | None) -> "MergeWish":
    from overlord.entrypoints.local.build.offer_merge import MergeWish

    return {True: MergeWish.YES, False: MergeWish.NO, None: MergeWish.ASK}[merge]


def _show_plan(repo: str, title: str, base: str, budget: float | None, *, json: bool) -> None:
    from overlord.entrypoints.invocation import choose_repository
    from overlord.entrypoints.local.build import dry_run
    from overlord.entrypoints.local.place import place_of

    place = place_of(repo, environment())
    choose_repository(place.named)
    asyncio.run(dry_run.show(place, environment(), title=title, base=base, budget_usd=budget, json=json))
