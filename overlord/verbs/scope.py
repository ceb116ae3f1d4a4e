"""What a grant of scope writes, whichever verb gives it: the grant's row, and the scope of the session that runs now."""

import sqlite3
from datetime import datetime

from minion.protocol import Scope
from overlord.domain.decision import SCOPE_GRANT_LIFETIME, Decision, Subject
from overlord.domain.scope.check import effective_scope, exact_pattern
from overlord.store import sessions
from overlord.store.budgets import grants
from overlord.store.budgets.grants import GrantKind


def grant(connection: sqlite3.Connection, decision: Decision, job_id: int, *, at: datetime) -> None:
    """A grant holds at once: for the running session, for the next brief, and for the check of the diff."""
    # Those name files of a change, and are no patterns that somebody wrote.
    names_files = decision.subject in (Subject.SCOPE, Subject.ESCALATION)
    patterns = tuple(map(exact_pattern, decision.patterns)) if names_files else decision.patterns
    widen(connection, job_id, patterns, by=decision.answered_by, session_id=decision.session_id, at=at)


def grant_once(
    connection: sqlite3.Connection, decision: Decision, job_id: int, session_id: str, *, at: datetime
) -> None:
    """For the session that asked: what it leaves there passes the check of the diff, and no later session may change it."""
    grants.add(
        connection,
        job_id,
        GrantKind.SCOPE_ONCE,
        decision.patterns,
        by=decision.answered_by,
        at=at,
        session_id=session_id,
    )
    _widen_session(connection, session_id, decision.patterns)


def widen(
    connection: sqlite3.Connection,
    job_id: int,
    patterns: tuple[str, ...],
    *,
    by: str,
    session_id: str | None,
    at: datetime,
) -> None:
    expires_at = at + SCOPE_GRANT_LIFETIME
    grants.add(connection, job_id, GrantKind.SCOPE, patterns, by=by, at=at, expires_at=expires_at)
    if session_id is not None:
        _widen_session(connection, session_id, patterns)


def _widen_session(connection: sqlite3.Connection, session_id: str, patterns: tuple[str, ...]) -> None:
    scope = Scope.parse(sessions.get(connection, session_id).scope)
    widened = effective_scope(scope, None, patterns)
    sessions.mark(connection, session_id, scope=widened.to_json())


def covers(wider: Scope, asked: str) -> bool:
    """Whether what is granted has all that one pattern asks for, as far as that can be said of two patterns."""
    return asked in wider.patterns or (not set(asked) & set("*?[") and wider.allows(asked))
