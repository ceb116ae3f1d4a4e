"""Tokens and signed-in browsers: a secret is shown once and kept nowhere, and counts no longer than its token does."""

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from overlord.domain.access import ACCOUNT_LASTS, SESSION_LASTS, AccessRight, AccessToken, Account, digest_of
from overlord.errors import NotFound, Refused
from overlord.store import access, ledger
from overlord.store.database import Database
from overlord.store.schema.migrations import migrate
from tests.records import NOW, REPO, later

WEEK_S = SESSION_LASTS.total_seconds()


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.row_factory = sqlite3.Row
    made.execute("PRAGMA foreign_keys=ON")
    migrate(made)
    return made


def create(connection: sqlite3.Connection, name: str = "ci", **given: Any) -> tuple[AccessToken, str]:
    values: dict[str, Any] = {"right": AccessRight.ACT, "actor": "cli:alice", "at": NOW, **given}
    return access.create(connection, name, values.pop("right"), **values)


def facts(connection: sqlite3.Connection) -> list[tuple[str, str, dict[str, Any]]]:
    return [(entry.name, entry.actor, dict(entry.details)) for entry in ledger.entries(connection)]


def everything(connection: sqlite3.Connection) -> str:
    return "\n".join(connection.iterdump())


def sessions_left(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM browser_sessions").fetchone()[0])


# Tokens.


def test_a_token_is_found_by_its_secret_and_by_nothing_like_it(connection: sqlite3.Connection) -> None:
    token, secret = create(connection, spaces=(REPO,), expires_at=later(60))
    assert (len(secret), secret[:4]) == (47, "ovl_")
    assert token == AccessToken(
        id=1,
        name="ci",
        right=AccessRight.ACT,
        spaces=(REPO,),
        created_at=NOW,
        created_by="cli:alice",
        expires_at=later(60),
    )
    assert access.find(connection, secret, at=later(59)) == token
    hash_of_it = digest_of(secret)
    for sent in (
        "",
        "ovl_",
        secret[:-1],
        f"{secret}x",
        f" {secret}",
        secret.swapcase(),
        hash_of_it,
        token.name,
    ):
        assert access.find(connection, sent, at=NOW) is None, sent


@pytest.mark.parametrize(
    "sent",
    ["\x00", "\ud800", "' OR 1=1 --", "%", "ovl_" + "%" * 43, "x" * 1_000_000, "é" * 99, "[", "{", "null"],
)  # fmt: skip
def test_what_a_stranger_sends_is_no_token_and_no_session(connection: sqlite3.Connection, sent: str) -> None:
    token, _ = create(connection)
    access.begin_session(connection, token, at=NOW)
    assert access.find(connection, sent, at=NOW) is None
    assert access.find_session(connection, sent, at=NOW) is None
    assert not access.note_session_use(connection, sent, at=NOW)
    assert not access.end_session(connection, sent, at=NOW)
    assert access.note_refusal(connection, sent, actor="web:unknown", at=NOW)
    assert facts(connection)[-1][2] == {"reason": "no token has that secret"}


def test_secrets_are_kept_nowhere_and_their_hashes_in_no_fact(connection: sqlite3.Connection) -> None:
    token, secret = create(connection)
    cookie = access.begin_session(connection, token, at=NOW)
    owner = access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    access.end_session(connection, cookie, at=NOW)
    access.revoke(connection, "ci", actor="cli:alice", at=NOW)
    access.note_refusal(connection, secret, actor="web:unknown", at=NOW)
    whole, told = everything(connection), str(facts(connection))
    for kept in (secret, cookie, owner):
        assert kept not in whole and digest_of(kept) not in told
    assert secret not in repr(token) and digest_of(secret) not in repr(token)
    assert len({secret, cookie, owner}) == 3


def test_an_expired_token_is_not_found(connection: sqlite3.Connection) -> None:
    _, secret = create(connection, expires_at=later(60))
    assert access.find(connection, secret, at=later(60)) is None


@pytest.mark.parametrize("name", ["", "CI", "-x", "a" * 41, "a\n", "web:ci", "ci' --"])
def test_what_is_no_name_makes_no_token(connection: sqlite3.Connection, name: str) -> None:
    with pytest.raises(Refused, match="1 to 40 of a-z"):
        create(connection, name)
    assert (access.tokens(connection), facts(connection)) == ([], [])


def test_a_name_is_one_tokens_until_that_is_revoked(connection: sqlite3.Connection) -> None:
    _, first = create(connection, expires_at=later(60))
    with pytest.raises(Refused, match="there is a token ci already"):
        create(connection, at=later(120))  # it has expired, and was not revoked
    access.revoke(connection, "ci", actor="cli:alice", at=later(120))
    second, secret = create(connection, at=later(120), right=AccessRight.READ)
    assert access.find(connection, first, at=later(120)) is None
    assert access.find(connection, secret, at=later(120)) == second
    assert access.tokens(connection) == [second]
    assert [token.revoked_at for token in access.tokens(connection, with_revoked=True)] == [later(120), None]


def test_the_table_itself_takes_no_second_token_of_a_name_and_no_other_right(
    connection: sqlite3.Connection,
) -> None:
    create(connection)
    row = "INSERT INTO access_tokens (name, digest, right, spaces, created_at, created_by) VALUES (?, ?, ?, '[]', '', '')"
    for values in (("ci", "d", "read"), ("other", "d", "root")):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(row, values)


def test_what_was_granted_and_taken_back_is_in_the_ledger(connection: sqlite3.Connection) -> None:
    token, _ = create(connection, spaces=(REPO,), expires_at=later(60))
    access.begin_session(connection, token, at=NOW)
    assert access.revoke(connection, "ci", actor="cli:bob", at=NOW) == 1
    until = later(60).isoformat()
    assert facts(connection) == [
        ("access_granted", "cli:alice", {"token": "ci", "right": "act", "spaces": [REPO], "until": until}),
        ("signed_in", "web:ci", {"token": "ci"}),
        ("access_revoked", "cli:bob", {"token": "ci", "sessions": 1}),
    ]


def test_who_is_not_there_is_not_revoked(connection: sqlite3.Connection) -> None:
    create(connection)
    access.revoke(connection, "ci", actor="cli:alice", at=NOW)
    before = everything(connection)
    for name in ("ci", "other", ""):
        with pytest.raises(NotFound, match="there is no token of that name"):
            access.revoke(connection, name, actor="cli:alice", at=NOW)
    with pytest.raises(NotFound):
        access.get(connection, 9)
    assert everything(connection) == before


def test_a_use_is_written_once_a_minute(connection: sqlite3.Connection) -> None:
    token, secret = create(connection)
    written = [access.note_use(connection, token.id, at=later(seconds)) for seconds in (0, 1, 59, 60, 61)]
    assert written == [True, False, False, True, False]
    found = access.find(connection, secret, at=later(61))
    assert found == replace(token, last_used_at=later(60))


# Browsers.


def test_a_session_is_its_tokens_and_is_found_by_its_cookie_alone(connection: sqlite3.Connection) -> None:
    token, secret = create(connection, spaces=(REPO,))
    cookie = access.begin_session(connection, token, at=NOW)
    found = access.find_session(connection, cookie, at=later(WEEK_S - 1))
    assert found is not None
    assert (found.token, found.actor, found.expires_at) == (token, "web:ci", NOW + timedelta(days=7))
    assert access.find_session(connection, cookie, at=later(WEEK_S)) is None
    assert access.find_session(connection, secret, at=NOW) is None
    assert access.find_session(connection, digest_of(cookie), at=NOW) is None
    assert access.find(connection, cookie, at=NOW) is None


def test_the_owner_has_a_session_of_no_token(connection: sqlite3.Connection) -> None:
    cookie = access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    found = access.find_session(connection, cookie, at=NOW)
    assert found is not None
    assert (found.token, found.actor, found.right) == (None, "web:alice", AccessRight.ADMIN)
    assert facts(connection) == [("signed_in", "web:alice", {"token": None})]


def test_a_token_with_sessions_cannot_be_deleted_into_an_owners(connection: sqlite3.Connection) -> None:
    token, _ = create(connection)
    access.begin_session(connection, token, at=NOW)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("DELETE FROM access_tokens")


def test_revoking_signs_out_its_own_browsers_and_no_others(connection: sqlite3.Connection) -> None:
    token, _ = create(connection)
    other, _ = create(connection, "other")
    mine = [access.begin_session(connection, token, at=NOW) for _ in range(2)]
    theirs = access.begin_session(connection, other, at=NOW)
    owners = access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    assert access.revoke(connection, "ci", actor="cli:alice", at=NOW) == 2
    assert [access.find_session(connection, cookie, at=NOW) for cookie in mine] == [None, None]
    assert access.find_session(connection, theirs, at=NOW) and access.find_session(connection, owners, at=NOW)
    assert sessions_left(connection) == 2


def test_a_session_outlives_its_token_in_no_way(connection: sqlite3.Connection) -> None:
    token, _ = create(connection, expires_at=later(60))
    cookie = access.begin_session(connection, token, at=NOW)
    found = access.find_session(connection, cookie, at=later(59))
    assert found is not None and found.expires_at == later(60)
    # Whatever the rows say by then: by hand, in a backup that was restored.
    connection.execute("UPDATE browser_sessions SET expires_at = ?", (later(WEEK_S).isoformat(),))
    assert access.find_session(connection, cookie, at=later(60)) is None
    connection.execute("UPDATE access_tokens SET expires_at = NULL, revoked_at = ?", (NOW.isoformat(),))
    assert access.find_session(connection, cookie, at=NOW) is None


@pytest.mark.parametrize(("at", "why"), [(later(60), "has expired"), (later(1), "was revoked")])
def test_a_token_that_counts_no_more_begins_no_session(
    connection: sqlite3.Connection, at: datetime, why: str
) -> None:
    token, _ = create(connection, expires_at=later(60))
    if at < later(60):
        access.revoke(connection, "ci", actor="cli:alice", at=NOW)
    with pytest.raises(Refused, match=f"the token ci counts no more: it {why}"):
        access.begin_session(connection, token, at=at)
    assert sessions_left(connection) == 0


def test_what_is_over_is_deleted_when_a_session_begins(connection: sqlite3.Connection) -> None:
    token, _ = create(connection)
    old = later(-WEEK_S)
    for at in (old, old + timedelta(microseconds=1), later(-1)):
        access.begin_session(connection, token, at=at)
    assert sessions_left(connection) == 3
    access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    assert sessions_left(connection) == 3, "one was over, to the microsecond"


def test_signing_out_ends_one_session(connection: sqlite3.Connection) -> None:
    token, _ = create(connection)
    one, other = (access.begin_session(connection, token, at=NOW) for _ in range(2))
    assert access.end_session(connection, one, at=NOW)
    assert not access.end_session(connection, one, at=NOW)
    assert access.find_session(connection, one, at=NOW) is None
    assert access.find_session(connection, other, at=NOW)
    assert [name for name, _, _ in facts(connection)].count("signed_out") == 1
    assert not access.end_session(connection, other, at=later(WEEK_S)), "it is over"
    assert sessions_left(connection) == 0


def test_a_browsers_use_is_its_tokens_and_written_once_a_minute(connection: sqlite3.Connection) -> None:
    token, _ = create(connection)
    cookie = access.begin_session(connection, token, at=NOW)
    written = [access.note_session_use(connection, cookie, at=later(seconds)) for seconds in (0, 59, 60, 61)]
    assert written == [False, False, True, False]
    found = access.find_session(connection, cookie, at=later(61))
    assert found is not None and found.token is not None
    assert (found.seen_at, found.token.last_used_at) == (later(60), later(60))
    owners = access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    assert access.note_session_use(connection, owners, at=later(60))
    access.revoke(connection, "ci", actor="cli:alice", at=later(61))
    assert not access.note_session_use(connection, cookie, at=later(300))


# Accounts at GitHub.


def account(**changes: Any) -> Account:
    return replace(Account(login="ada", spaces=(REPO,), asked_at=NOW), **changes)


def test_an_accounts_session_is_no_owners_and_lasts_a_day(connection: sqlite3.Connection) -> None:
    cookie = access.begin_account_session(connection, account())
    found = access.find_session(connection, cookie, at=NOW)
    assert found is not None
    assert (found.account, found.token, found.is_owners) == (account(), None, False)
    assert (found.actor, found.right, found.expires_at) == (
        "github:ada",
        AccessRight.READ,
        NOW + ACCOUNT_LASTS,
    )
    assert (found.reaches(REPO.upper()), found.reaches("acme/other"), found.reaches("")) == (
        True,
        False,
        False,
    )
    assert access.find_session(connection, cookie, at=NOW + ACCOUNT_LASTS) is None
    assert access.end_session(connection, cookie, at=NOW)
    told = {"token": None, "account": "ada"}
    assert facts(connection) == [("signed_in", "github:ada", told), ("signed_out", "github:ada", told)]


def test_an_account_that_may_nothing_begins_nothing(connection: sqlite3.Connection) -> None:
    with pytest.raises(Refused, match="ada may write to no repository"):
        access.begin_account_session(connection, account(spaces=()))
    assert sessions_left(connection) == 0


def test_what_github_says_anew_is_kept_for_that_session_alone(connection: sqlite3.Connection) -> None:
    one, other = (access.begin_account_session(connection, account()) for _ in range(2))
    owners = access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    fresh = account(spaces=(REPO, "acme/other"), asked_at=later(900))
    access.note_account(connection, one, fresh)
    access.note_account(connection, other, replace(fresh, login="mallory"))
    access.note_account(connection, owners, fresh)
    found = [access.find_session(connection, cookie, at=NOW) for cookie in (one, other, owners)]
    assert [item.account for item in found if item is not None] == [fresh, account(), None]
    access.note_account(connection, one, account(spaces=(), asked_at=later(901)))
    assert access.find_session(connection, one, at=NOW) is None
    assert facts(connection)[-1][:2] == ("signed_out", "github:ada")


def test_an_owners_session_is_bound_to_the_token_it_was_begun_with(connection: sqlite3.Connection) -> None:
    cookie = access.begin_owner_session(connection, actor="web:alice", token="of the file", at=NOW)
    found = access.find_session(connection, cookie, at=NOW)
    assert found is not None and (found.is_owners, found.begun_with) == (True, digest_of("of the file"))
    assert "of the file" not in everything(connection)


def test_accounts_that_are_refused_fill_no_ledger(connection: sqlite3.Connection) -> None:
    noted = [access.note_account_refusal(connection, "mallory", at=later(seconds)) for seconds in (0, 59, 60)]
    assert noted == [True, False, True]
    assert facts(connection)[0] == (
        "sign_in_refused",
        "github:mallory",
        {"reason": "may write to no repository that Overlord works in"},
    )


# Refusals.


def test_a_refusal_says_why_and_who_only_of_a_secret_that_was_right(connection: sqlite3.Connection) -> None:
    _, ended = create(connection, "ended", expires_at=later(1))
    _, revoked = create(connection, "gone")
    access.revoke(connection, "gone", actor="cli:alice", at=NOW)
    for minute, sent in enumerate(("gone", ended, revoked), 1):
        assert access.note_refusal(connection, sent, actor="web:unknown", at=later(60 * minute))
    assert [data["reason"] for name, _, data in facts(connection) if name == "sign_in_refused"] == [
        "no token has that secret",
        "the token ended has expired",
        "the token gone was revoked",
    ]


def test_who_tries_for_ever_fills_no_ledger(connection: sqlite3.Connection) -> None:
    for tenths in range(1800):
        access.note_refusal(connection, f"guess {tenths}", actor="web:unknown", at=later(tenths / 10))
    assert len(facts(connection)) == 3


# On disk.


async def test_a_refused_grant_leaves_nothing(database: Database) -> None:
    def twice(connection: sqlite3.Connection) -> None:
        create(connection)
        create(connection)

    with pytest.raises(Refused):
        await database.write("by hand", twice)
    assert await database.read(access.tokens) == []
    assert await database.read(facts) == []
