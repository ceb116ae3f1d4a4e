"""`overlord run`, `resume`, `retry`, `history`: the whole machine around one repository, from the command line."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minion.protocol import read_agent_name
from overlord.entrypoints.invocation import choose_repository
from overlord.entrypoints.local.build.requirement import BODY_CHARS, TITLE_CHARS
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.show import age, as_json, console, table
from overlord.errors import OverlordError

if TYPE_CHECKING:
    from overlord.entrypoints.local.local_session import LocalSession
    from overlord.entrypoints.local.place import Place
    from overlord.entrypoints.local.screen import Screen
    from overlord.entrypoints.local.start import WorkRequest

    Attach = Callable[[Place, Screen], Awaitable[int | None]]

Act = Callable[["LocalSession"], Awaitable[int]]
"""A verb, done at a desk; its exit code."""


class RunnerName(StrEnum):
    """What sessions run in."""

    AUTO = "auto"
    DOCKER = "docker"
    PROCESS = "process"
    SWARM = "swarm"
    KUBERNETES = "kubernetes"


Repo = Annotated[str, typer.Option(help="A path in the repository, or an address to clone.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line; asks nothing.")]
Model = Annotated[str, typer.Option(help="The model; if absent, the configured one, or Ollama's first.")]
Runner = Annotated[
    RunnerName | None, typer.Option(help="What sessions run in: containers, or processes of yours.")
]
Agent = Annotated[
    str,
    typer.Option(
        help="Who works: native, claude-code, codex, opencode, aider, cursor, gemini, acp:COMMAND; if absent, the contract's."
    ),
]
Budget = Annotated[float | None, typer.Option(min=0.01, help="The most it may cost, in USD.")]
Scope = Annotated[
    list[str], typer.Option(help="Which files it may write, as src/**; may be given more than once.")
]
MergeNow = Annotated[
    bool | None,
    typer.Option(
        "--merge/--no-merge", help="Merge the result, if it passes, into the branch it started from."
    ),
]
Base = Annotated[str, typer.Option(help="The branch, tag or commit to start from; if absent, HEAD.")]


def run(
    *,
    title: Annotated[str, typer.Argument(help="What you want, in a line.")],
    body: Annotated[str, typer.Option(help="More about it.")] = "",
    body_file: Annotated[str, typer.Option(help="A file with more about it; - is standard input.")] = "",
    repo: Repo = ".",
    scope: Scope = [],  # noqa: B006 - Typer reads it
    model: Model = "",
    runner: Runner = None,
    agent: Agent = "",
    budget: Budget = None,
    base: Base = "",
    json: Json = False,
) -> None:
    """Have one thing done in a repository, and judged; the result is a branch in it, and nothing else is touched."""
    if not title.strip() or len(title) > TITLE_CHARS:
        raise typer.BadParameter(f"a title has 1 to {TITLE_CHARS} characters; more goes into --body")
    text = body_text(body, body_file)

    def begin() -> Act:
        from overlord.entrypoints.local import start

        work_request = start.WorkRequest(
            title=title.strip(),
            body=text,
            base=base,
            scope=tuple(scope),
            model=model,
            runner=runner or "",
            budget_usd=budget,
            agent=agent_name(agent),
        )
        return lambda local_session: start.run(local_session, work_request)

    in_local_session(repo, json, begin)


def resume(
    *,
    number: Annotated[
        int | None,
        typer.Argument(help="The run, as `history` shows it; else what was interrupted, or waits."),
    ] = None,
    repo: Repo = ".",
    model: Model = "",
    runner: Runner = None,
    agent: Agent = "",
    budget: Budget = None,
    merge: MergeNow = None,
    json: Json = False,
) -> None:
    """Go on with what was interrupted; where nothing was, ask what waits for an answer; attach to what another process works."""

    def go_on() -> Act:
        from overlord.entrypoints.local import start

        work_request = _work_request(model, runner, budget, agent, merge=merge)
        return lambda local_session: start.resume(local_session, number, work_request)

    def attach(place: "Place", shown: "Screen") -> Awaitable[int | None]:
        from overlord.entrypoints.local import attach

        return attach.attach(place, shown, environment(), number=number, json=json)

    in_local_session(repo, json, go_on, attach=attach)


def retry(
    *,
    number: Annotated[
        int | None, typer.Argument(help="The run, as `history` shows it; else the last.")
    ] = None,
    repo: Repo = ".",
    model: Model = "",
    runner: Runner = None,
    agent: Agent = "",
    budget: Budget = None,
    json: Json = False,
) -> None:
    """Work a run again: one that waits goes on where it is, one that has ended starts over from HEAD."""

    def again() -> Act:
        from overlord.entrypoints.local import start

        work_request = _work_request(model, runner, budget, agent)
        return lambda local_session: start.retry(local_session, number, work_request)

    in_local_session(repo, json, again)


def history(
    repo: Annotated[
        str, typer.Option(help="A path in the repository, or an address to clone; here if absent.")
    ] = "",
    detail: Annotated[
        int | None,
        typer.Option(
            metavar="JOB",
            min=1,
            help="Tell the decisions of this job of the daemon, or with --repo of a run's, from the ledger.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Every run of a repository, newest first; with `--detail JOB` every decision of one job, from its ledger alone."""
    if detail is not None:
        from overlord.entrypoints.cli.commands.job_evidence import tell_history

        tell_history(detail, repo, json=json)
        return
    from overlord.entrypoints.local.history import history as told
    from overlord.entrypoints.local.place import place_of

    place = place_of(repo or ".", environment())
    found = asyncio.run(told(place)) if place.home.database.exists() else []
    if json:
        as_json(found)
    elif not found:
        console.print("No runs yet.")
    else:
        rows = [
            (
                str(item.run),
                str(item.job or "-"),
                item.title[:60],
                f"{item.state} ({item.phase})" if item.phase and not item.merged else item.state,
                item.cost,
                f"{item.work_s:.0f} s",
                item.branch or "-",
                age(item.at),
            )
            for item in found
        ]
        table(("run", "job", "title", "state", "cost", "work", "branch", "age"), rows)


def _work_request(
    model: str, runner: RunnerName | None, budget: float | None, agent: str, *, merge: bool | None = None
) -> "WorkRequest":
    from overlord.entrypoints.local.build.offer_merge import MergeWish
    from overlord.entrypoints.local.start import WorkRequest

    said = {True: MergeWish.YES, False: MergeWish.NO, None: MergeWish.UNSAID}
    return WorkRequest(
        model=model, runner=runner or "", budget_usd=budget, merge=said[merge], agent=agent_name(agent)
    )


def agent_name(text: str) -> str:
    """The name of an agent as it was typed; empty for none. Raises BadParameter for what can be none."""
    if not text:
        return ""
    try:
        return read_agent_name(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def body_text(body: str, file: str) -> str:
    if body and file:
        raise typer.BadParameter("give --body or --body-file, not both")
    text = body
    if file:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(f"{file} cannot be read: {error}") from None
    if len(text) > BODY_CHARS:
        raise typer.BadParameter(f"the body has {len(text):,} characters; {BODY_CHARS:,} is the most")
    return text


def in_local_session(repo: str, json: bool, verb: Callable[[], Act], attach: "Attach | None" = None) -> None:
    """Run one verb on a repository's place, and end with its code. Where there is no place, nothing else is imported. `attach`: what
    is done while another process works there; None to be refused."""
    from overlord.entrypoints.local.place import PlaceBusy, place_of

    place = place_of(repo, environment())
    choose_repository(place.named)
    from overlord.entrypoints.local import screen
    from overlord.entrypoints.local.interruption import INTERRUPTED
    from overlord.entrypoints.local.local_session import sit_down
    from overlord.entrypoints.terminal import logs

    logs.configure_logs(json=json, level=logging.WARNING)
    act = verb()

    async def sitting(shown: "Screen") -> int:
        async with sit_down(place, shown, environment(), json=json) as local_session:
            try:
                return await act(local_session)
            except OverlordError:
                if not local_session.interruption.came.is_set():
                    raise
                local_session.screen.write("Stopped. `overlord resume` goes on with what was begun.")
                return INTERRUPTED

    async def sitting_or_attached() -> int:
        shown = screen.choose(json=json)
        while True:
            try:
                return await sitting(shown)
            except PlaceBusy:
                if attach is None:
                    raise
                code = await attach(place, shown)
            if code is not None:
                return code

    raise typer.Exit(asyncio.run(sitting_or_attached()))
