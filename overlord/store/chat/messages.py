"""Messages in the chat: what is to stand there, what was last shown, and what may have been posted without our knowing.

A row is written before anything is posted. One that was ordered and has no place yet may stand in the chat all the same:
it is looked for before it is posted again.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.domain.identifiers import ChannelId, MessageTs
from overlord.store.rows import insert, select, update


class MessageKind(StrEnum):
    """What a message is about; `Message.ref` is the number of that."""

    JOB = "job"
    STORY = "story"
    """A part of a job's story, in the thread of its message; `Message.part` is the last event it tells."""
    DECISION = "decision"
    PROPOSAL = "proposal"
    DRAFT = "draft"
    BRIEFING = "briefing"
    OFFER = "offer"
    """What was understood of somebody's words, with a button; `Message.ref` is their request, `Message.told` whether it was pressed."""
    NOTICE = "notice"
    """One event of no job's; `Message.ref` is its number in the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A row."""

    id: int
    kind: MessageKind
    ref: int
    part: int
    channel: ChannelId
    thread: MessageTs | None = None
    ts: MessageTs | None = None
    """Where it stands; None while it is not known to."""
    ordered_at: datetime | None = None
    """When it was first about to be posted."""
    stamp: str = ""
    """What its subject was like when it was last shown: another one means another look."""
    shown: str = ""
    """The fingerprint of what stands there."""
    told: int = 0
    """Of a job's message: the last event its thread has told."""
    is_final: bool = False

    @property
    def key(self) -> str:
        """What it is found by where it was posted and not noted, within one Overlord's messages."""
        return f"{self.kind} {self.ref} {self.part}"


def get(connection: sqlite3.Connection, message_id: int) -> Message:
    [found] = select(connection, Message, "SELECT * FROM messages WHERE id = ?", message_id)
    return found


def of(connection: sqlite3.Connection, kind: MessageKind, ref: int) -> Message | None:
    """The newest message about something."""
    query = "SELECT * FROM messages WHERE kind = ? AND ref = ? ORDER BY part DESC LIMIT 1"
    return next(iter(select(connection, Message, query, kind, ref)), None)


def at(connection: sqlite3.Connection, channel: str, ts: str) -> Message | None:
    """The message that stands at a place."""
    query = "SELECT * FROM messages WHERE channel = ? AND ts = ?"
    return next(iter(select(connection, Message, query, channel, ts)), None)


def want(
    connection: sqlite3.Connection,
    kind: MessageKind,
    ref: int,
    *,
    channel: ChannelId,
    part: int = 0,
    thread: MessageTs | None = None,
) -> Message:
    """Have a message about something, to be posted when the chat takes it; the same one however often it is asked for."""
    query = "SELECT * FROM messages WHERE kind = ? AND ref = ? AND part = ?"
    if known := select(connection, Message, query, kind, ref, part):
        return known[0]
    columns = {"kind": kind, "ref": ref, "part": part, "channel": channel, "thread": thread}
    return get(connection, insert(connection, "messages", columns))


def move(connection: sqlite3.Connection, channel: str) -> None:
    """Have what is not over said in this channel from now on: it was said in another one, which may be gone."""
    there = "NOT is_final AND channel != ?"
    connection.execute(f"UPDATE messages SET is_final = 1 WHERE kind = 'story' AND {there}", (channel,))  # noqa: S608
    clean = "thread = NULL, ts = NULL, ordered_at = NULL, stamp = '', shown = ''"
    query = f"UPDATE messages SET channel = ?, {clean} WHERE {there}"  # noqa: S608
    connection.execute(query, (channel, channel))


def is_elsewhere(connection: sqlite3.Connection, channel: str) -> bool:
    """Whether something that is not over was said in another channel."""
    query = "SELECT 1 FROM messages WHERE NOT is_final AND channel != ? LIMIT 1"
    return connection.execute(query, (channel,)).fetchone() is not None


def unwanted_yet(connection: sqlite3.Connection) -> tuple[tuple[MessageKind, list[int]], ...]:
    """Open jobs, open decisions about work, proposals that wait for a person and drafts, which have no message."""
    jobs = """SELECT id FROM jobs WHERE is_open AND issue_number >= 0 AND NOT EXISTS
              (SELECT 1 FROM messages WHERE kind = 'job' AND ref = jobs.id) ORDER BY id"""
    asked = """SELECT id FROM decisions WHERE state = 'open' AND proposal_id IS NULL AND draft_id IS NULL AND NOT EXISTS
               (SELECT 1 FROM messages WHERE kind = 'decision' AND ref = decisions.id) ORDER BY id"""
    proposed = """SELECT id FROM proposals WHERE status = 'pending' AND NOT EXISTS
                  (SELECT 1 FROM messages WHERE kind = 'proposal' AND ref = proposals.id) ORDER BY id"""
    drafted = """SELECT id FROM drafts WHERE state NOT IN ('drafting', 'checking', 'deployed', 'rejected') AND NOT EXISTS
                 (SELECT 1 FROM messages WHERE kind = 'draft' AND ref = drafts.id) ORDER BY id"""
    return (
        (MessageKind.JOB, _ids(connection, jobs)),
        (MessageKind.DECISION, _ids(connection, asked)),
        (MessageKind.PROPOSAL, _ids(connection, proposed)),
        (MessageKind.DRAFT, _ids(connection, drafted)),
    )


def _ids(connection: sqlite3.Connection, query: str) -> list[int]:
    return [row[0] for row in connection.execute(query)]


_DECISIONS = """SELECT messages.*, decisions.state AS now FROM messages JOIN decisions ON decisions.id = ref
                WHERE messages.kind = 'decision' AND NOT is_final AND stamp != decisions.state ORDER BY messages.id"""
_PROPOSAL_NOW = """proposals.status || ' ' || weight || ' ' || times || ' ' || coalesce(issue_number, '') || ' ' || note"""
_PROPOSALS = f"""SELECT messages.*, {_PROPOSAL_NOW} AS now FROM messages JOIN proposals ON proposals.id = ref
                 WHERE messages.kind = 'proposal' AND NOT is_final AND stamp != now ORDER BY messages.id"""  # noqa: S608
_DRAFT_NOW = """drafts.state || ' ' || coalesce(drafts.issue_number, '') || ' ' || drafts.note || ' ' || drafts.trouble ||
    ' ' || length(drafts.text) || ' ' || (SELECT count(*) FROM ledger WHERE name = 'draft_edited'
    AND json_extract(data, '$.draft') = drafts.id)"""
_DRAFTS = f"""SELECT messages.*, {_DRAFT_NOW} AS now FROM messages JOIN drafts ON drafts.id = ref
              WHERE messages.kind = 'draft' AND NOT is_final AND stamp != now ORDER BY messages.id"""  # noqa: S608
_JOB_NOW = """jobs.state || ' ' || jobs.reason || ' ' ||
    coalesce((SELECT max(seq) FROM ledger WHERE job_id = jobs.id), 0) || ' ' ||
    CASE WHEN EXISTS (SELECT 1 FROM model_outages) AND jobs.state IN ('running', 'evaluating') THEN
    coalesce((SELECT kind || ' ' || detail || ' ' FROM model_outages WHERE model =
              (SELECT model FROM exchanges WHERE job_id = jobs.id ORDER BY id DESC LIMIT 1)), '') ELSE '' END ||
    coalesce((SELECT sessions.id || ' ' || turn || ' ' || last_action FROM sessions
              WHERE job_id = jobs.id AND sessions.state != 'ended' ORDER BY sessions.rowid DESC LIMIT 1), '')"""
"""What a job's message shows changes when this does."""
_JOBS = f"""SELECT messages.*, {_JOB_NOW} AS now FROM messages JOIN jobs ON jobs.id = ref
            WHERE messages.kind = 'job' AND NOT is_final AND stamp != now
            ORDER BY messages.ts IS NOT NULL, jobs.updated_at, messages.id"""  # noqa: S608
_STORIES = """SELECT messages.* FROM messages WHERE kind = 'job' AND NOT is_final AND ts IS NOT NULL
              AND told < (SELECT max(seq) FROM ledger WHERE job_id = ref) ORDER BY told, id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """A message whose subject has changed since it was shown, and what that is like now."""

    message: Message
    now: str


def decisions_behind(connection: sqlite3.Connection) -> list[Behind]:
    """Cards that are to be posted, or to say what became of their decision; the oldest first."""
    return _behind(connection, _DECISIONS)


def proposals_behind(connection: sqlite3.Connection) -> list[Behind]:
    """Proposals' cards that are to be posted, or show something old; the oldest first."""
    return _behind(connection, _PROPOSALS)


def drafts_behind(connection: sqlite3.Connection) -> list[Behind]:
    """Drafts' cards that are to be posted, or show something old; the oldest first."""
    return _behind(connection, _DRAFTS)


def jobs_behind(connection: sqlite3.Connection) -> list[Behind]:
    """Jobs' messages that are to be posted, and then those that show something old."""
    return _behind(connection, _JOBS)


def job_now(connection: sqlite3.Connection, job_id: int) -> str:
    """The stamp of a message that shows a job as it is."""
    query = f"SELECT {_JOB_NOW} FROM jobs WHERE id = ?"  # noqa: S608
    return str(connection.execute(query, (job_id,)).fetchone()[0])


def _behind(connection: sqlite3.Connection, query: str) -> list[Behind]:
    found = select(connection, Message, query)
    nows = [row["now"] for row in connection.execute(query)]
    return [Behind(message=message, now=now) for message, now in zip(found, nows, strict=True)]


def threads_behind(connection: sqlite3.Connection) -> list[Message]:
    """Jobs' messages whose thread does not tell all that has happened; the one that was left alone longest first."""
    return select(connection, Message, _STORIES)


def unposted(connection: sqlite3.Connection, kind: MessageKind) -> list[Message]:
    """Messages of a kind that are not known to stand anywhere, oldest first."""
    query = "SELECT * FROM messages WHERE kind = ? AND ts IS NULL AND NOT is_final ORDER BY id"
    return select(connection, Message, query, kind)


def order(connection: sqlite3.Connection, message: Message, *, at: datetime) -> None:
    """It is about to be posted."""
    if message.ordered_at is None:
        update(connection, "messages", message.id, {"ordered_at": at})


def note(connection: sqlite3.Connection, message: Message, **changes: object) -> None:
    """Remember where it stands and what it shows."""
    update(connection, "messages", message.id, changes)


def forget_place(connection: sqlite3.Connection, message: Message) -> None:
    """It was deleted in the chat: it is posted anew, and its thread begins anew too."""
    changes = {"ts": None, "ordered_at": None, "stamp": "", "shown": ""}
    update(connection, "messages", message.id, changes)


def is_stirring(connection: sqlite3.Connection, job_id: int) -> bool:
    """Whether a job has a session that has not ended, or was not cleared away."""
    query = "SELECT 1 FROM sessions WHERE job_id = ? AND (state != 'ended' OR NOT cleared)"
    return connection.execute(query, (job_id,)).fetchone() is not None


def drop(connection: sqlite3.Connection, messages: Iterable[Message]) -> None:
    """Nobody needs these any more."""
    for message in messages:
        update(connection, "messages", message.id, {"is_final": True})
