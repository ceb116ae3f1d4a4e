"""Resources: what there is to read of jobs and of calls of disciplines, each at an address, of the repositories the caller may see."""

import json
import re
import sqlite3
from collections.abc import Mapping
from typing import Any

from overlord.domain.disciplines.call import Call
from overlord.domain.event_description import describe_event
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import plain_line
from overlord.domain.text.reference import JobRef
from overlord.domain.view.markdown import markdown
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.caller import cut, look_of, spaces_of, visitor_of, word
from overlord.entrypoints.mcp.listing import ResourceListing, ResourceText
from overlord.entrypoints.web.visitor import UNSEEN
from overlord.errors import GitFailed, NotFound, StoreError
from overlord.home import Home
from overlord.queries import registry, session
from overlord.queries.look import Look
from overlord.queries.registry import Question
from overlord.store import job_history, jobs, ledger
from overlord.store.disciplines import calls
from overlord.store.evidence import EvidenceStore
from overlord.store.ledger import Entry

MOST_LISTED = 20
"""Of jobs, and of calls, the newest."""
MOST_EVENTS = 500
MOST_DIFF_BYTES = 200_000
MOST_ARGUMENT_CHARS = 2000
MARKDOWN, DIFF, JSON = "text/markdown", "text/x-diff", "application/json"
_ADDRESS = re.compile(
    r"overlord://(?:jobs/(?P<job>[0-9]{1,9})(?P<part>/diff|/ledger)?|calls/c?(?P<call>[0-9]{1,9}))"
)
_KINDS = (
    "overlord://jobs/7, overlord://jobs/7/diff, overlord://jobs/7/ledger and overlord://calls/c7, each with a number of"
    " yours"
)


def templates() -> tuple[ResourceListing, ...]:
    """The addresses that there are."""
    return (
        ResourceListing(
            uri="overlord://jobs/{id}",
            name="job",
            title="A job's story",
            description="What happened in a job, what was checked, and what it cost.",
            mime_type=MARKDOWN,
        ),
        ResourceListing(
            uri="overlord://jobs/{id}/diff",
            name="job_diff",
            title="A job's diff",
            description="What a job has changed against the commit it began from.",
            mime_type=DIFF,
        ),
        ResourceListing(
            uri="overlord://jobs/{id}/ledger",
            name="job_ledger",
            title="A job's ledger",
            description="Every fact of a job, in order, with the hashes that chain them.",
            mime_type=JSON,
        ),
        ResourceListing(
            uri="overlord://calls/{id}",
            name="call",
            title="A call of a discipline",
            description="What was asked for, what became of it, what code found of it, and its patch.",
            mime_type=JSON,
        ),
    )


async def listed(backend: Backend) -> tuple[ResourceListing, ...]:
    """The newest jobs and calls that the caller may see."""

    def read(connection: sqlite3.Connection) -> tuple[ResourceListing, ...]:
        spaces = spaces_of(backend)
        numbers = job_history.numbers(connection, spaces=spaces, state=None, before=0, limit=MOST_LISTED)
        found = (calls.latest(connection, space, limit=MOST_LISTED) for space in spaces or ("",))
        newest = sorted((call for some in found for call in some), key=lambda call: call.id, reverse=True)
        worked_on = (job for job in jobs.of_ids(connection, numbers) if job.call_number is None)
        return (*map(_of_job, worked_on), *map(_of_call, newest[:MOST_LISTED]))

    return await backend.read(read)


def _of_job(job: Job) -> ResourceListing:
    title = plain_line(f"{job.issue_ref}: {job.issue.title}", limit=120)
    return ResourceListing(
        uri=f"overlord://jobs/{job.id}",
        name=f"job {job.id}",
        title=title,
        description=f"The story of job {job.id}, which is {job.state}.",
        mime_type=MARKDOWN,
    )


def _of_call(call: Call) -> ResourceListing:
    return ResourceListing(
        uri=f"overlord://calls/{call.ref}",
        name=f"call {call.ref}",
        title=f"{call.discipline} in {call.space}",
        description=f"Call {call.ref}, which is {call.state}.",
        mime_type=JSON,
    )


async def called(backend: Backend, uri: str) -> ResourceText:
    """What stands at an address. Raises NotFound; of what is not theirs a caller hears what is said of what is not there."""
    named = _ADDRESS.fullmatch(uri)
    if named is None:
        raise NotFound(f"there is no such resource; there are {_KINDS}")
    try:
        if named["call"]:
            return await _call(backend, uri, int(named["call"]))
        number = int(named["job"])
        match named["part"]:
            case "/diff":
                return await _diff(backend, uri, number)
            case "/ledger":
                return await _ledger(backend, uri, number)
        return await _story(backend, uri, number)
    except NotFound as error:
        raise error if backend.reaches("") else NotFound(UNSEEN) from None


def _seen(backend: Backend, connection: sqlite3.Connection, number: int) -> Job:
    """Raises NotFound also for a job that the caller may not see."""
    job = jobs.get(connection, number)
    visitor_of(backend).check_sees([job.space])
    return job


async def _story(backend: Backend, uri: str, number: int) -> ResourceText:
    def read(connection: sqlite3.Connection) -> str:
        job, look = _seen(backend, connection, number), look_of(backend, connection)
        arguments = registry.find("job").arguments(job=JobRef(number=job.id))
        return _shown(look, Question(name="job", arguments=arguments))

    return ResourceText(uri=uri, mime_type=MARKDOWN, text=await backend.read(read))


def _shown(look: Look, question: Question) -> str:
    return cut(markdown(question.view(look), word))


async def _diff(backend: Backend, uri: str, number: int) -> ResourceText:
    def read(connection: sqlite3.Connection) -> tuple[str, session.Change]:
        return _seen(backend, connection, number).space, session.change_of(connection, number)

    space, change = await backend.read(read)
    from overlord.adapters.git.mirrors import GitMirrors  # takes long to load

    settings = backend.settings
    git = GitMirrors(Home(settings.home), extent=settings.extent)
    try:
        text = await git.diff(RepositoryName(space), change.base, change.head, limit_bytes=MOST_DIFF_BYTES)
    except GitFailed:
        raise NotFound("the commits are not kept any more") from None
    return ResourceText(uri=uri, mime_type=DIFF, text=text)


async def _ledger(backend: Backend, uri: str, number: int) -> ResourceText:
    def read(connection: sqlite3.Connection) -> list[Entry]:
        _seen(backend, connection, number)
        found = ledger.with_spaces(connection, after=0, limit=MOST_EVENTS + 1, job_id=number)
        return [entry for entry, _ in found]

    found = await backend.read(read)
    told: dict[str, Any] = {"job": number, "events": [_event(entry) for entry in found[:MOST_EVENTS]]}
    if len(found) > MOST_EVENTS:
        told["left_out"] = f"There are more: these are the first {MOST_EVENTS}."
    return ResourceText(uri=uri, mime_type=JSON, text=json_text(told, indent=1))


def _event(entry: Entry) -> Mapping[str, Any]:
    data = json.loads(entry.data)
    return {
        "seq": entry.seq,
        "at": entry.at,
        "name": entry.name,
        "actor": entry.actor,
        "data": data,
        "sentence": describe_event(entry.name, data) or "",
        "previous": entry.previous,
        "hash": entry.hash,
    }


async def _call(backend: Backend, uri: str, number: int) -> ResourceText:
    def read(connection: sqlite3.Connection) -> Call:
        call = calls.get(connection, number)
        visitor_of(backend).check_sees([call.space])
        return call

    call = await backend.read(read)
    told = {
        "call": call.ref,
        "discipline": call.discipline,
        "space": call.space,
        "session_id": call.session_key,
        "actor": call.actor,
        "state": call.state,
        "stage": call.stage,
        "arguments": {name: _argument(value) for name, value in call.arguments.items()},
        "model": call.model,
        "job": call.job_id,
        "result": call.result,
        "ledger_head": call.ledger_head,
        "created_at": call.created_at,
        "ended_at": call.ended_at,
        "patch": _patch(Home(backend.settings.home), call),
    }
    return ResourceText(uri=uri, mime_type=JSON, text=json_text(told, indent=1))


def _argument(value: object) -> object:
    return cut(value, MOST_ARGUMENT_CHARS) if isinstance(value, str) else value


def _patch(home: Home, call: Call) -> str:
    """The change, as `git apply` takes it where it is whole."""
    if not call.patch:
        return ""
    try:
        content = EvidenceStore(home.evidence).get(call.patch)
    except StoreError:
        return "[the patch is not kept any more]"
    return cut(content.decode(errors="replace"), MOST_DIFF_BYTES)
