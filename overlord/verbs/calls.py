"""What other agents have done through disciplines: call one, cancel a call, add to a session's history."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.disciplines.arguments import ArgumentError, checked
from overlord.domain.disciplines.call import Call, CallId
from overlord.domain.disciplines.catalog import KINDS, DisciplineName
from overlord.domain.disciplines.history import HistoryEntry, check_phase
from overlord.domain.identifiers import NO_COMMIT, RepositoryName, Sha
from overlord.domain.text.plain import plain_line
from overlord.errors import Refused
from overlord.settings.disciplines import model_for
from overlord.settings.load import Settings
from overlord.store.disciplines import calls, history


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The files that a call is about."""

    space: RepositoryName
    base_branch: str
    """What the work would be merged into, by name."""
    directory: str = ""
    """The directory of the repository that `project_root` means; empty for its root."""
    branch: str = ""
    """Over HTTP, the branch that was named; empty for the default one."""
    base_sha: Sha = NO_COMMIT
    """A commit over the caller's own files; none where the repository's branch is the base."""


def request_call(
    connection: sqlite3.Connection,
    discipline: DisciplineName,
    arguments: Mapping[str, object],
    ground: Ground,
    *,
    settings: Settings,
    actor: str,
    at: datetime,
) -> Call:
    """Keep a call; the engine works on it. Raises Refused for arguments that are not the discipline's, for a model that nobody knows, and
    where too many calls are open."""
    try:
        given = checked(KINDS[discipline], arguments)
    except ArgumentError as error:
        raise Refused(str(error)) from None
    model = str(given.get("model") or "") or model_for(settings.discipline_models, discipline)
    if model and model not in settings.models:
        raise Refused(
            f"models.yaml has no model {plain_line(model, limit=60)!r}; it has {', '.join(settings.models)}"
        )
    call = Call(
        id=CallId(0),
        discipline=discipline,
        space=ground.space,
        session_key=str(given.get("session_id") or ""),
        actor=actor,
        arguments=given,
        model=model,
        directory=ground.directory,
        branch=ground.branch,
        is_checkout=ground.base_sha != NO_COMMIT,
        base_sha=ground.base_sha,
        stage="waits for a session",
        created_at=at,
    )
    title = f"{discipline}: {plain_line(_about(call), limit=120)}"
    return calls.request(connection, call, base_branch=ground.base_branch, title=title)


def _about(call: Call) -> str:
    """What a call is about, for people."""
    wanted = ("spec", "requirements", "error", "test_path", "session_id")
    return next((text for name in wanted if (text := call.text(name).strip())), ", ".join(call.files))


def cancel_call(connection: sqlite3.Connection, ref: str, *, actor: str, at: datetime) -> Call:
    """End a call without a result; one that has ended stays as it is. Raises NotFound."""
    return calls.cancel(connection, calls.named(connection, ref), actor=actor, at=at)


def append_history(
    connection: sqlite3.Connection,
    space: str,
    session_key: str,
    *,
    phase: str,
    skill: str,
    final_status: str,
    file_path: str,
    message: str,
    actor: str,
    at: datetime,
) -> HistoryEntry:
    """Add what a caller says to a session's history; it counts as said, and never as verified. Raises Refused for a phase there is none
    of, and where the session is full."""
    try:
        known = check_phase(phase)
    except ValueError as error:
        raise Refused(str(error)) from None
    entry = HistoryEntry(
        id=0,
        space=space,
        session_key=session_key,
        skill=skill,
        phase=known,
        final_status=final_status,
        file_path=file_path,
        message=message,
        actor=actor,
        at=at,
    )
    return history.append(connection, entry)
