"""One job's story: what happened, what was checked, what it cost."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import happened, words
from overlord.domain.conversation.argument import JobArgument
from overlord.domain.conversation.pull_card import Story, evidence_parts, state_of, where_work_is
from overlord.domain.event_description import describe_event
from overlord.domain.interface import Interface
from overlord.domain.knowledge.note import Note as LearnedNote
from overlord.domain.text.plain import count
from overlord.domain.text.reference import Target
from overlord.domain.view.span import Bold, Command
from overlord.domain.view.view import Bullets, Heading, Note, Paragraph, Part, View
from overlord.queries.job_story import story_of
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.settings.load import contract_for
from overlord.store import evidence, ledger
from overlord.store.evidence import EvidenceFile
from overlord.store.knowledge import notes
from overlord.store.ledger import Entry

_REASON = 500
_NOTE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJob:
    """A job."""

    job: Annotated[Target | None, JobArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStory:
    """All that is known of a job."""

    story: Story
    ledger: tuple[Entry, ...]
    evidence: tuple[EvidenceFile, ...]
    notes: tuple[LearnedNote, ...] = ()
    """That came of it: of its sessions, of its escalations, and of looking back on it."""


def _read(look: Look, arguments: OfJob) -> JobStory:
    job = look.newest_job(arguments.job)
    return JobStory(
        story=story_of(look.connection, job, contract_for(look.settings, job.space)),
        ledger=tuple(ledger.entries(look.connection, job_id=job.id)),
        evidence=tuple(evidence.exhibits(look.connection, job.id)),
        notes=tuple(notes.of_job(look.connection, job.id)),
    )


def _view(look: Look, found: JobStory) -> View:
    job = found.story.job
    text = f"Job {job.id}: {job.issue_ref}, {words(job.issue.title)}"
    stands = Bold(state_of(job).capitalize())
    parts: list[Part] = [
        Heading(text),
        Paragraph((stands, f": {words(job.reason, _REASON)}") if job.reason else (stands,)),
    ]
    told = tuple(
        happened(datetime.fromisoformat(entry.at), sentence)
        for entry in found.ledger
        if (sentence := describe_event(entry.name, json.loads(entry.data), is_local=look.is_local))
    )
    parts += [Heading("What happened"), Bullets(told)]
    if place := where_work_is(job):
        parts.append(Paragraph((f"{place}; ", Command(CommandRef("job diff", (str(job.id),))), " shows it.")))
    parts += evidence_parts(found.story)
    if found.notes:
        learned = tuple(
            (Command(CommandRef("note", (note.ref,))), f" ({note.state}): {words(note.text, _NOTE)}")
            for note in found.notes
        )
        parts += [Heading("What it taught"), Bullets(learned)]
    parts.append(Note(f"{count(len(found.evidence), 'evidence file')}, in `evidence` of OVERLORD_HOME"))
    return View(summary=text, parts=tuple(parts))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfJob,
    usage="job #42",
    means="its whole story: what happened, what was checked, what it cost",
    position=5,
    terminal="job show",
    gaps={
        Interface.COMMENT: "`explain` shows its evidence there; the rest is for those who can see the state"
    },
)
