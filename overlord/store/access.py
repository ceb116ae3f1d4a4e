"""Access tokens and browsers that are signed in: who may come over HTTP. Of a secret, only its hash is here, and no fact has either.

A secret is looked for by its hash, which costs the same whoever sends what, and tells nobody how near a guess was.
"""

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from overlord.command_ref import CommandRef, hint
from overlord.domain.access import (
    ACCOUNT_LASTS,
    SESSION_LASTS,
    TOKEN_PREFIX,
    AccessRight,
    AccessToken,
    Account,
    BrowserSession,
    digest_of,
    is_token_name,
)
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.errors import NotFound, Refused
from overlord.store import ledger
from overlord.store.rows import insert, select, update

REFUSAL_NOTED_EVERY = timedelta(minutes=1)
"""How often a refused sign-in is written down at most: the ledger only grows, and whoever is refused may try for ever."""
_LOOKED_BACK = 1000
"""Facts among which the last refusal is looked for: as many cost nothing, and more are hardly written in that time."""


def create(
    connection: sqlite3.Connection,
    name: str,
    right: AccessRight,
    *,
    spaces: Sequence[str] = (),
    expires_at: datetime | None = None,
    actor: str,
    at: datetime,
) -> tuple[AccessToken, str]:
    """Make a token; returns it with its secret, which nobody can read again. `spaces` are repositories as the settings spell them,
    none for all. Raises Refused for a name that is none, or is a token's that was not revoked."""
    if not is_token_name(name):
        raise Refused("a token's name is 1 to 40 of a-z, 0-9 and dashes, and begins with no dash")
    if _living(connection, name) is not None:
        ends = hint(CommandRef("revoke-token", (name,)), " ends it")
        raise Refused(f"there is a token {name} already", hint=ends)
    secret = f"{TOKEN_PREFIX}{secrets.token_urlsafe(32)}"
    columns = {
        "name": name,
        "digest": digest_of(secret),
        "right": right,
        "spaces": tuple(spaces),
        "created_at": at,
        "created_by": actor,
        "expires_at": expires_at,
    }
    token = get(connection, insert(connection, "access_tokens", columns))
    until = expires_at.isoformat() if expires_at is not None else None
    data: dict[str, Json] = {"token": name, "right": right, "spaces": list(spaces), "until": until}
    _append_fact(connection, EventName.ACCESS_GRANTED, actor=actor, at=at, data=data)
    return token, secret


def get(connection: sqlite3.Connection, token_id: int) -> AccessToken:
    """A token by its number. Raises NotFound."""
    found = select(connection, AccessToken, "SELECT * FROM access_tokens WHERE id = ?", token_id)
    if not found:
        raise NotFound(f"there is no token with the number {token_id}")
    return found[0]


def tokens(connection: sqlite3.Connection, *, with_revoked: bool = False) -> list[AccessToken]:
    """All of them, oldest first: those that expired too, which keep their names until they are revoked."""
    where = "" if with_revoked else "WHERE revoked_at IS NULL"
    return select(connection, AccessToken, f"SELECT * FROM access_tokens {where} ORDER BY id")  # noqa: S608 - a constant


def find(connection: sqlite3.Connection, secret: str, *, at: datetime) -> AccessToken | None:
    """The token of a secret, which may be anything that a stranger sends; None for what is no token's, or counts no more."""
    token = _with_secret(connection, secret)
    return token if token is not None and not token.why_not(at) else None


def note_use(connection: sqlite3.Connection, token_id: int, *, at: datetime) -> bool:
    """A token was used. Returns whether that was written down: once a minute at most. Raises NotFound."""
    is_due = get(connection, token_id).is_use_due(at)
    if is_due:
        update(connection, "access_tokens", token_id, {"last_used_at": at})
    return is_due


def revoke(connection: sqlite3.Connection, name: str, *, actor: str, at: datetime) -> int:
    """A token counts no more, and its browsers are signed out. Returns how many those were. Raises NotFound."""
    token = _living(connection, name)
    if token is None:
        shows = hint(CommandRef("tokens"), " shows those there are")
        raise NotFound("there is no token of that name", hint=shows)
    update(connection, "access_tokens", token.id, {"revoked_at": at})
    ended = connection.execute("DELETE FROM browser_sessions WHERE token_id = ?", (token.id,)).rowcount
    data: dict[str, Json] = {"token": name, "sessions": ended}
    _append_fact(connection, EventName.ACCESS_REVOKED, actor=actor, at=at, data=data)
    return ended


def begin_session(connection: sqlite3.Connection, token: AccessToken, *, at: datetime) -> str:
    """Sign a browser in with a token; returns the secret for its cookie. Raises NotFound, and Refused for a token that counts no
    more, whatever it did when it was found."""
    now = get(connection, token.id)
    if why := now.why_not(at):
        raise Refused(f"the token {now.name} counts no more: it {why}")
    return _begin(connection, now, actor=now.actor, lasts=SESSION_LASTS, at=at)


def begin_owner_session(connection: sqlite3.Connection, *, actor: str, token: str, at: datetime) -> str:
    """Sign the owner of the home in, for whoever has shown that they can write there: `token` is what they showed, and the session
    is bound to it. Returns the secret for the cookie."""
    more = {"begun_with": digest_of(token)}
    return _begin(connection, None, actor=actor, lasts=SESSION_LASTS, at=at, more=more)


def begin_account_session(connection: sqlite3.Connection, account: Account) -> str:
    """Sign a browser in with an account of which GitHub was just asked; returns the secret for its cookie. Raises Refused for one that
    may write nowhere."""
    if not account.spaces:
        raise Refused(f"{account.login} may write to no repository that Overlord works in")
    more = {"account": account.login, "spaces": account.spaces, "asked_at": account.asked_at}
    return _begin(connection, None, actor=account.actor, lasts=ACCOUNT_LASTS, at=account.asked_at, more=more)


def note_account(connection: sqlite3.Connection, secret: str, account: Account) -> None:
    """What GitHub says by now of a signed-in browser's account; one that may write nowhere is signed out."""
    if not account.spaces:
        end_session(connection, secret, at=account.asked_at)
        return
    statement = "UPDATE browser_sessions SET spaces = ?, asked_at = ? WHERE digest = ? AND account = ?"
    values = json.dumps(account.spaces), account.asked_at.isoformat(), digest_of(secret), account.login
    connection.execute(statement, values)


def _begin(
    connection: sqlite3.Connection,
    token: AccessToken | None,
    *,
    actor: str,
    lasts: timedelta,
    at: datetime,
    more: Mapping[str, object] = MappingProxyType({}),
) -> str:
    connection.execute("DELETE FROM browser_sessions WHERE expires_at <= ?", (at.isoformat(),))
    ends = at + lasts
    if token is not None and token.expires_at is not None:
        ends = min(ends, token.expires_at)
    secret = secrets.token_urlsafe(32)
    columns = {
        "digest": digest_of(secret),
        "token_id": token.id if token is not None else None,
        "actor": actor,
        "created_at": at,
        "expires_at": ends,
        "seen_at": at,
        **more,
    }
    insert(connection, "browser_sessions", columns)
    _append_fact(connection, EventName.SIGNED_IN, actor=actor, at=at, data=_whose(token, more.get("account")))
    return secret


def find_session(connection: sqlite3.Connection, secret: str, *, at: datetime) -> BrowserSession | None:
    """The signed-in browser of a cookie's secret, which may be anything that a stranger sends; None for what is none's, is over,
    or was begun with a token that counts no more. Whether the owner's token still counts, the caller looks."""
    query = "SELECT * FROM browser_sessions WHERE digest = ?"
    row = connection.execute(query, (digest_of(secret),)).fetchone()
    if row is None:
        return None
    found = BrowserSession(
        token=get(connection, row["token_id"]) if row["token_id"] is not None else None,
        account=_account(row),
        begun_with=row["begun_with"],
        actor=row["actor"],
        **{name: datetime.fromisoformat(row[name]) for name in ("created_at", "expires_at", "seen_at")},
    )
    is_over = found.expires_at <= at or (found.token is not None and found.token.why_not(at))
    return None if is_over else found


def _account(row: sqlite3.Row) -> Account | None:
    if row["account"] is None:
        return None
    asked_at = datetime.fromisoformat(row["asked_at"])
    return Account(login=row["account"], spaces=tuple(json.loads(row["spaces"])), asked_at=asked_at)


def note_session_use(connection: sqlite3.Connection, secret: str, *, at: datetime) -> bool:
    """A signed-in browser asked for something: a use of its token too. Returns whether that was written down: once a minute at
    most, and never of a session that is over."""
    session = find_session(connection, secret, at=at)
    if session is None or not session.is_use_due(at):
        return False
    statement = "UPDATE browser_sessions SET seen_at = ? WHERE digest = ?"
    connection.execute(statement, (at.isoformat(), digest_of(secret)))
    if session.token is not None:
        note_use(connection, session.token.id, at=at)
    return True


def end_session(connection: sqlite3.Connection, secret: str, *, at: datetime) -> bool:
    """Sign a browser out. Returns whether it was signed in."""
    session = find_session(connection, secret, at=at)
    connection.execute("DELETE FROM browser_sessions WHERE digest = ?", (digest_of(secret),))
    if session is not None:
        login = session.account.login if session.account is not None else None
        data = _whose(session.token, login)
        _append_fact(connection, EventName.SIGNED_OUT, actor=session.actor, at=at, data=data)
    return session is not None


def note_refusal(connection: sqlite3.Connection, secret: str, *, actor: str, at: datetime) -> bool:
    """Somebody was refused who came with this instead of a token's secret. Returns whether that was written down: once a minute at
    most, and nothing of what they sent. `actor` is what is known of them, as `web:unknown`."""
    token = _with_secret(connection, secret)
    why = token.why_not(at) if token is not None else ""
    reason = f"the token {token.name} {why}" if token is not None and why else "no token has that secret"
    return _note_refusal(connection, reason, actor=actor, at=at)


def note_account_refusal(connection: sqlite3.Connection, login: str, *, at: datetime) -> bool:
    """An account at GitHub was refused that may write nowhere. Returns whether that was written down, as of other refusals."""
    reason = "may write to no repository that Overlord works in"
    return _note_refusal(connection, reason, actor=f"github:{login}", at=at)


def _note_refusal(connection: sqlite3.Connection, reason: str, *, actor: str, at: datetime) -> bool:
    last = connection.execute(
        """SELECT at FROM (SELECT seq, at, name FROM ledger ORDER BY seq DESC LIMIT ?)
           WHERE name = ? ORDER BY seq DESC LIMIT 1""",
        (_LOOKED_BACK, EventName.SIGN_IN_REFUSED),
    ).fetchone()
    if last is not None and at < datetime.fromisoformat(last["at"]) + REFUSAL_NOTED_EVERY:
        return False
    _append_fact(connection, EventName.SIGN_IN_REFUSED, actor=actor, at=at, data={"reason": reason})
    return True


def _with_secret(connection: sqlite3.Connection, secret: str) -> AccessToken | None:
    query = "SELECT * FROM access_tokens WHERE digest = ?"
    return next(iter(select(connection, AccessToken, query, digest_of(secret))), None)


def _living(connection: sqlite3.Connection, name: str) -> AccessToken | None:
    query = "SELECT * FROM access_tokens WHERE name = ? AND revoked_at IS NULL"
    return next(iter(select(connection, AccessToken, query, name)), None)


def _whose(token: AccessToken | None, login: object = None) -> dict[str, Json]:
    if login is not None:
        return {"token": None, "account": str(login)}
    return {"token": token.name if token is not None else None}


def _append_fact(
    connection: sqlite3.Connection, name: EventName, *, actor: str, at: datetime, data: dict[str, Json]
) -> None:
    ledger.append(connection, LedgerEvent(name=name, at=at, actor=actor, data=data))
