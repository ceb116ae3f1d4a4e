"""`overlord contract edit`: a proposed contract in the person's editor, or from a file, before it is confirmed."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from overlord.domain.contracts.contract_files import MOST_BYTES
from overlord.domain.job import Job, JobId
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.show import person, show_text
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.verbs import contract


def edit(
    job: Annotated[int, typer.Argument(min=1, help="The job of `init` that proposed it.")],
    file: Annotated[str, typer.Option(help="Take this file's text, in place of an editor.")] = "",
    _repo: Repo = "",
) -> None:
    """Change a proposed contract before it is confirmed, in $EDITOR or with --file. It is judged and asked about anew."""
    number = JobId(job)
    if not state.home().database.exists() and (here := state.local_runs_here()):
        state.choose(here)
    with state.reading() as connection:
        text, row = contract.draft_of(connection, number), jobs.get(connection, number)
    existing = asyncio.run(_listing(row))
    made = _from_file(Path(file)) if file else _edited(text, existing)
    if made is None or made == text:
        show_text("Nothing was changed.")
        return
    state.write(
        Failpoint.CONTRACT_EDITED,
        lambda c: contract.edit_contract(
            c, number, made, existing=existing, actor=person(), at=datetime.now(UTC)
        ),
    )
    show_text(
        f"The contract of job {number} is as you have it now; it is judged again, and asked about again."
    )


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise Refused(f"a contract may have {MOST_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused(f"{path} is no UTF-8 text") from None


def _edited(text: str, existing: tuple[str, ...]) -> str | None:
    from overlord.entrypoints.local.asking import can_ask
    from overlord.entrypoints.local.init.editing import edited

    if not can_ask():
        raise Refused("there is no terminal for an editor; give --file")
    return asyncio.run(edited(text, existing, environment()))


async def _listing(job: Job) -> tuple[str, ...]:
    """The files at the job's head, of this home's mirror."""
    from overlord.adapters.git.mirrors import GitMirrors

    settings = state.settings()
    git = GitMirrors(state.home(), extent=settings.extent)
    return tuple(await git.listing(job.space, job.head_sha or job.base))
