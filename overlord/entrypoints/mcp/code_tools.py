"""The tools in which no model works: the history of a session."""

import sqlite3
from datetime import UTC, datetime

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.arguments import ArgumentError, relative_path
from overlord.domain.disciplines.catalog import PROJECT_ROOT, Argument, Phase
from overlord.domain.disciplines.history import HistoryEntry, format_history
from overlord.domain.event import Json
from overlord.domain.text.plain import visible
from overlord.entrypoints.mcp.schemas import flag, text, whole
from overlord.entrypoints.mcp.tool import Answer, Asked, Tool
from overlord.failpoints import Failpoint
from overlord.store.disciplines import history
from overlord.verbs.calls import append_history
from overlord.verbs.right import NotAllowed

_APPENDED = ("phase", "skill", "final_status", "file_path", "message")
_NEEDED = ("phase", "skill", "final_status")
MOST_WORD_CHARS = 100
MOST_MESSAGE_CHARS = 20_000
_ENTRY = whole(
    {
        "entry": text("What a retrospective cites it by: `e12`."),
        "phase": text(f"One of {', '.join(Phase)}."),
        "skill": text("What it is a phase of, as `tdd`."),
        "final_status": text("What it came to: `pass`, `fail`, `error`, or the caller's own word."),
        "file_path": text("The file it was about."),
        "message": text("What was said of it."),
        "verified": flag("Whether code found that it holds; never so of what a caller wrote."),
        "by": text("Who called, or who wrote it."),
        "at": text("When, in UTC."),
        "call": text("The call it is of; empty for what a caller wrote."),
    }
)


def code_tools() -> tuple[Tool, ...]:
    """All of them."""
    return (
        Tool(
            name="session_log",
            title="History of a session",
            meaning=(
                "Read what the phases of a session came to, oldest first. With phase, skill and final_status, first add an entry of your"
                " own: it counts as said, never as verified."
            ),
            arguments=(
                Argument(
                    name="session_id",
                    meaning="The session: your own name for what belongs together.",
                    is_required=True,
                ),
                Argument(
                    name="project_root",
                    meaning=f"{PROJECT_ROOT.meaning} Left out: that of the session's last call.",
                ),
                Argument(name="phase", meaning=f"To add an entry: one of {', '.join(Phase)}."),
                Argument(name="skill", meaning="To add an entry: what it is a phase of, as `tdd`."),
                Argument(name="final_status", meaning="To add an entry: what it came to, as `pass`."),
                Argument(
                    name="file_path", meaning="Of the entry: the file it is about, relative to project_root."
                ),
                Argument(name="message", meaning="Of the entry: what is to be remembered of it."),
            ),
            output=whole(
                {
                    "session_id": text("The session."),
                    "space": text("The repository."),
                    "entries": {"type": "array", "items": dict(_ENTRY)},
                    "history": text("The same as Markdown, as it is told to workers."),
                }
            ),
            act=_session_log,
        ),
    )


async def _session_log(asked: Asked) -> Answer:
    backend, session, root = asked.backend, asked.text("session_id"), asked.text("project_root")
    adds = any(name in asked.arguments for name in _APPENDED)
    words = _entry_words(asked) if adds else {}
    if adds and not backend.right.covers(AccessRight.ACT):
        raise NotAllowed("this token may look, and nothing else; adding an entry takes one that may act")
    space = await backend.space_of(root, session)

    def append(connection: sqlite3.Connection) -> HistoryEntry:
        return append_history(connection, space, session, **words, actor=backend.actor, at=datetime.now(UTC))

    if adds:
        await backend.write(Failpoint.HISTORY_APPENDED, append)
    entries = await backend.read(lambda c: history.read(c, space, session))
    return Answer(
        data={
            "session_id": session,
            "space": space,
            "entries": [_told(entry) for entry in entries],
            "history": format_history(entries, with_refs=True),
        }
    )


def _entry_words(asked: Asked) -> dict[str, str]:
    """What an entry says. Raises ArgumentError for one that lacks something."""
    words = {name: asked.text(name) for name in _APPENDED}
    if missing := [name for name in _NEEDED if not words[name].strip()]:
        raise ArgumentError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} required to add an entry"
        )
    for name in _NEEDED:
        if len(words[name]) > MOST_WORD_CHARS or not words[name].isprintable():
            raise ArgumentError(f"{name} is one line of at most {MOST_WORD_CHARS} characters")
    if words["file_path"]:
        words["file_path"] = relative_path("file_path", words["file_path"])
    if len(words["message"]) > MOST_MESSAGE_CHARS:
        raise ArgumentError(f"message has at most {MOST_MESSAGE_CHARS:,} characters")
    words["message"] = visible("\n".join(words["message"].splitlines()))
    return words


def _told(entry: HistoryEntry) -> dict[str, Json]:
    return {
        "entry": entry.ref,
        "phase": entry.phase,
        "skill": entry.skill,
        "final_status": entry.final_status,
        "file_path": entry.file_path,
        "message": entry.message,
        "verified": entry.verified,
        "by": entry.actor,
        "at": entry.at.isoformat(),
        "call": f"c{entry.call_id}" if entry.call_id is not None else "",
    }
