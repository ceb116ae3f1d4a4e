"""`overlord job transcript|diff|logs`: what was done in a job's sessions, while it is done and afterwards.

What is shown comes from models, commands and repositories: it is printed without control characters, and acted on by nobody.
"""

import asyncio
import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import typer
from rich.text import Text

from minion.protocol import NATIVE, CheckReport, SessionKind
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.identifiers import SessionId
from overlord.domain.job import Job, JobState
from overlord.domain.session import Session, SessionState
from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import visible
from overlord.domain.text.redaction import Redactor
from overlord.domain.transcript import Conversation, exchange_of
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import DIFF_COLOURS, console, line, show_text
from overlord.entrypoints.terminal.show import diff as say_diff
from overlord.errors import ExternalServiceError, GitFailed, NotFound
from overlord.ports.runner import Runner
from overlord.queries import session as inquiries_session
from overlord.settings.load import rebuilt
from overlord.store import decisions, jobs, sessions
from overlord.store.evidence import EvidenceFile, EvidenceStore

LOOK_S = 0.5
LOG_BYTES = 200_000

Number = Annotated[int, typer.Argument(help="The job's number, as `overlord job list` shows it.")]
Wanted = Annotated[
    str, typer.Option("--session", help="One session, by its name; all of the job's if absent.")
]
Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Go on with what comes, until the job is at rest.")
]


def transcript(
    number: Number,
    session: Wanted = "",
    follow: Follow = False,
    full: Annotated[bool, typer.Option("--full", help="Whole outputs, edits and instructions.")] = False,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """What the Minion and its model said and did, turn by turn; `--follow` while it happens."""
    shown = _Shown(full=full, json=json)
    for look in _looks(number, session, follow=follow):
        for ran in look.sessions:
            shown.add(ran, look.kept.get(ran.id))
    if not shown.any_turn and not json:
        show_text(f"Job {number} has no turn of a model yet.")


def diff(
    number: Number,
    session: Annotated[
        str, typer.Option(help="The work as it was after this session; the newest if absent.")
    ] = "",
    stat: Annotated[bool, typer.Option("--stat", help="Only the files, and how many lines.")] = False,
    _repo: Repo = "",
) -> None:
    """What a job has changed so far, against the commit it began from; also what did not pass."""
    with state.reading() as connection:
        space = jobs.get(connection, number).space
        change = inquiries_session.change_of(connection, number, session)
    from overlord.adapters.git.command import git

    plain = ("--no-ext-diff", "--no-textconv", "--no-color", *(("--stat=100",) if stat else ()))
    try:
        output = asyncio.run(git(state.home().mirror(space), "diff", *plain, change.base, change.head, "--"))
    except GitFailed:
        raise NotFound(
            f"the commits of job {number} are not kept any more: {change.base[:12]} to {change.head[:12]}"
        ) from None
    text = output.decode(errors="replace")
    if stat:
        show_text(text.rstrip("\n"))
    else:
        say_diff(text)


def logs(
    number: Number,
    session: Annotated[str, typer.Option(help="A session's name; the job's last one if absent.")] = "",
    follow: Follow = False,
    _repo: Repo = "",
) -> None:
    """What a session's program printed; of a check, what the repository's commands printed."""
    if follow:
        asyncio.run(_follow_logs(number, session))
        return
    with state.reading() as connection:
        ran = {item.id: item for item in inquiries_session.sessions_of(connection, number, session)}
        evidence_file = inquiries_session.evidence_of(connection, number, session, "log")
    if evidence_file is None:
        raise NotFound(
            f"job {number} has no log yet; it is kept when a session ends, and --follow shows it before that"
        )
    if text := _printed(ran.get(evidence_file.session_id or ""), evidence_file):
        show_text(text)


def _printed(session: Session | None, evidence_file: EvidenceFile) -> str:
    """All that a session printed, by its evidence."""
    text = EvidenceStore(state.home().evidence).get(evidence_file.sha256).decode(errors="replace")
    return "\n".join(filter(None, [text.rstrip("\n"), *_check_outputs(session)]))


def _check_outputs(session: Session | None) -> Iterator[str]:
    """What the commands of a check printed: its own program prints nothing where all goes well."""
    if session is None or not isinstance(session.report, CheckReport):
        return
    for step in session.report.steps:
        yield f"== {step.name}: {line(' '.join(step.command)) or step.outcome} ({step.duration_s:.1f} s)"
        if step.output.strip():
            yield step.output.rstrip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionsNow:
    """A job's sessions as they are now, with the transcripts that have become evidence."""

    job: Job
    sessions: list[Session]
    kept: dict[str, EvidenceFile]
    waits: str = ""
    is_last: bool = False


def _look(number: int, session: str) -> _SessionsNow:
    with state.reading() as connection:
        ran = inquiries_session.sessions_of(connection, number, session)
        found = {
            item.id: inquiries_session.evidence_of(connection, number, item.id, "transcript") for item in ran
        }
        job, live = jobs.get(connection, number), sessions.live_of(connection, number)
        asked = decisions.waiting(connection, number)
    one_over = bool(session) and all(item.state is SessionState.ENDED for item in ran)
    return _SessionsNow(
        job=job,
        sessions=ran,
        kept={name: evidence_file for name, evidence_file in found.items() if evidence_file is not None},
        waits=asked[0].title if job.state is JobState.WAITING and asked else "",
        is_last=one_over or inquiries_session.is_at_rest(job, live),
    )


def _looks(number: int, session: str, *, follow: bool) -> Iterator[_SessionsNow]:
    """Look once, or again and again until the job is at rest. What it waits for is said once."""
    waits = ""
    while True:
        look = _look(number, session)
        yield look
        if not follow:
            return
        if look.is_last:
            console.print(Text(f"job {number}: {state_in_words(look.job.state)}", "bold"))
            return
        if look.waits and look.waits != waits:
            console.print(Text(line(f"job {number} waits for you: {look.waits}"), "bold"))
        waits = look.waits
        time.sleep(LOOK_S)


@dataclass(slots=True)
class _ShownSoFar:
    """How much of one session's transcript has been shown."""

    conversation: Conversation
    offset: int = 0
    is_whole: bool = False


@dataclass(slots=True, kw_only=True)
class _Shown:
    """What of a job's transcripts has been printed."""

    full: bool
    json: bool
    any_turn: bool = False
    _read: dict[str, _ShownSoFar] = field(default_factory=dict)

    def add(self, session: Session, evidence_file: EvidenceFile | None) -> None:
        """Print what is new of a session. A line that is still being written is left for the next look."""
        read = self._read.get(session.id) or _ShownSoFar(Conversation(full=self.full))
        if read.is_whole:
            return
        content = inquiries_session.transcript(state.home(), session.id, evidence_file, offset=read.offset)
        end = content.rfind(b"\n") + 1
        if end and not read.offset:
            self._heading(session)
        self._read[session.id] = read
        read.offset += end
        read.is_whole = evidence_file is not None
        for text in content[:end].decode("utf-8", "replace").split("\n"):
            self._one(session, read.conversation, text)

    def _heading(self, session: Session) -> None:
        if not self.json:
            console.print(Text(f"\n{session.id}: {_work_of(session)}", "bold"))

    def _one(self, session: Session, conversation: Conversation, text: str) -> None:
        exchange = exchange_of(text)
        if exchange is None:
            return
        self.any_turn = True
        if self.json:
            print(json_text({"session": session.id, **dataclasses.asdict(exchange)}), flush=True)
            return
        for drawn in conversation.lines(exchange):
            console.print(Text(visible(drawn), _style(drawn)), soft_wrap=True)


def _work_of(session: Session) -> str:
    if session.kind is SessionKind.WORK and session.agent != NATIVE:
        return f"{visible(session.agent)} works"
    return _KINDS.get(session.kind, session.kind)


_KINDS = {SessionKind.WORK: "the Minion works", SessionKind.REVIEW: "a model reviews the change"}


def _style(drawn: str) -> str:
    if drawn.startswith(("turn ", "exploration ")):
        return "bold"
    return DIFF_COLOURS.get(drawn.lstrip()[:1], "") if drawn.startswith("    ") else ""


async def _follow_logs(number: int, session: str) -> None:
    """Print what the job's last session printed, then what it and the next ones print, until the job is at rest."""
    shown: dict[str, str] = {}
    for ran in _look(number, session).sessions[:-1]:
        shown[ran.id] = _OVER
    logs_of = _Logs(number)
    while True:
        look = _look(number, session)
        for ran in look.sessions:
            before = shown.get(ran.id, "")
            if before is _OVER:
                continue
            if ran.id not in shown:
                console.print(Text(f"{ran.id}:", "bold"))
            now, is_whole = await logs_of.read(look.job, ran)
            fresh = now[len(before) :] if now.startswith(before) else now
            if fresh:
                show_text(fresh.rstrip("\n"))
            shown[ran.id] = _OVER if is_whole else now or before
        if look.is_last:
            return
        await asyncio.sleep(LOOK_S)


_OVER = "(all of it was shown)"


@dataclass(slots=True)
class _Logs:
    """Reads what sessions print: of one that ended the evidence, of a live one what its runner has."""

    number: int
    _runner: Runner | None = None

    async def read(self, job: Job, session: Session) -> tuple[str, bool]:
        """What a session has printed so far, and whether that is all there will be."""
        with state.reading() as connection:
            evidence_file = inquiries_session.evidence_of(connection, self.number, session.id, "log")
        if evidence_file is not None:
            return _printed(session, evidence_file), True
        try:
            printed = await (await self._chosen(job.space)).logs(SessionId(session.id), limit_bytes=LOG_BYTES)
        except ExternalServiceError:
            return "", False  # the engine is away; it is asked again with the next look
        return Redactor(state.settings().secrets()).redact(printed), False

    async def _chosen(self, space: str) -> Runner:
        if self._runner is None:
            from overlord.adapters.runner_choice import choose_runner

            settings = state.settings()
            chosen = rebuilt(settings, runner=settings.space(space).runner)
            self._runner = await choose_runner(chosen, falls_back=True)
        return self._runner
