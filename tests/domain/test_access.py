"""Access: rights hold all before them, names are plain, a token counts until it ends, and nobody's text breaks a hash."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.access import (
    SESSION_LASTS,
    AccessRight,
    AccessToken,
    Account,
    BrowserSession,
    digest_of,
    is_login,
    is_token_name,
)
from overlord.verbs.right import OF_TOKEN, Right
from tests.records import NOW, later

R = AccessRight
TOKEN = AccessToken(id=1, name="ci", right=R.ACT, spaces=(), created_at=NOW, created_by="cli:alice")
SESSION = BrowserSession(
    token=TOKEN, actor="web:ci", created_at=NOW, expires_at=NOW + SESSION_LASTS, seen_at=NOW
)
OWNER = replace(SESSION, token=None, actor="web:alice")


@pytest.mark.parametrize(
    ("held", "covered"), [(R.READ, {R.READ}), (R.ACT, {R.READ, R.ACT}), (R.ADMIN, set(R))]
)
def test_a_right_covers_those_before_it(held: AccessRight, covered: set[AccessRight]) -> None:
    assert {needed for needed in R if held.covers(needed)} == covered


def test_a_tokens_right_is_a_right_of_verbs() -> None:
    assert OF_TOKEN == {R.READ: Right.ANYONE, R.ACT: Right.APPROVER, R.ADMIN: Right.OPERATOR}


@pytest.mark.parametrize("name", ["a", "7", "ci", "build-2", "a" * 40, "a-"])
def test_names_are_small_letters_digits_and_dashes(name: str) -> None:
    assert is_token_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "a" * 41, "-", "--help", "CI", "a b", "a\n", "\na", "a:b", "a/b", "a.b", "é", "٣", "ⅷ", "a\x00", "a\u202eb"],
)  # fmt: skip
def test_anything_else_is_no_name(name: str) -> None:
    assert not is_token_name(name)


@given(st.text(st.characters(), max_size=300))
def test_of_any_text_there_is_a_hash(text: str) -> None:
    assert len(digest_of(text)) == 64


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "\udfff" * 200, "x" * 10_000_000])
def test_what_a_stranger_sends_is_no_error(text: str) -> None:
    assert len(digest_of(text)) == 64


def test_what_is_longer_than_a_secret_is_another_text() -> None:
    secret = "ovl_" + "a" * 43
    others = [secret[:-1], f"{secret}a", f"{secret} ", f" {secret}", f"{secret}\x00", secret + "a" * 1000]
    assert len({digest_of(text) for text in (secret, *others)}) == 1 + len(others)


def test_a_token_counts_until_it_expires_or_is_revoked() -> None:
    ending = replace(TOKEN, expires_at=later(60))
    assert (TOKEN.why_not(later(10**9)), ending.why_not(later(59))) == ("", "")
    assert ending.why_not(later(60)) == "has expired"
    assert replace(ending, revoked_at=NOW).why_not(later(60)) == "was revoked"


def test_a_token_for_some_repositories_is_for_no_other_and_not_for_everything() -> None:
    own = replace(TOKEN, spaces=("acme/calc",))
    assert [own.reaches(space) for space in ("acme/calc", "Acme/Calc")] == [True, True]
    assert [own.reaches(space) for space in ("acme/calc2", "evil/calc", "calc", "", "acme/calc\n")] == [
        False
    ] * 5
    assert all(TOKEN.reaches(space) for space in ("acme/calc", ""))


def test_who_a_session_is_and_what_it_may() -> None:
    assert (TOKEN.actor, SESSION.right, OWNER.right) == ("web:ci", R.ACT, R.ADMIN)
    own = replace(SESSION, token=replace(TOKEN, spaces=("acme/calc",)))
    assert (own.reaches("acme/calc"), own.reaches("acme/web"), own.reaches("")) == (True, False, False)
    assert (OWNER.reaches("acme/web"), OWNER.reaches("")) == (True, True)


def test_a_use_is_due_once_a_minute() -> None:
    used = replace(TOKEN, last_used_at=NOW)
    assert TOKEN.is_use_due(NOW)
    assert [used.is_use_due(later(seconds)) for seconds in (0, 59, 60)] == [False, False, True]
    assert [SESSION.is_use_due(later(seconds)) for seconds in (59, 60)] == [False, True]


@pytest.mark.parametrize("login", ["ada", "Ada-Lovelace", "octo_corp", "7", "a-", "a" * 100])
def test_logins_are_githubs(login: str) -> None:
    assert is_login(login)


@pytest.mark.parametrize(
    "login", ["", "-a", "_a", "a b", "a/b", "a\n", "bot[bot]", "é", "٣", "a:b", "a" * 101, "<b>"]
)
def test_anything_else_is_no_login(login: str) -> None:
    assert not is_login(login)


def test_what_github_said_is_old_after_a_quarter_of_an_hour_and_counts_for_an_hour() -> None:
    account = Account(login="ada", spaces=("acme/calc",), asked_at=NOW)
    assert [account.is_due(later(seconds)) for seconds in (0, 899, 900)] == [False, False, True]
    assert [account.is_too_old(later(seconds)) for seconds in (900, 3599, 3600)] == [False, False, True]


def test_a_session_of_an_account_reaches_its_repositories_and_is_nobody_elses() -> None:
    found = replace(
        OWNER, actor="github:ada", account=Account(login="ada", spaces=("acme/calc",), asked_at=NOW)
    )
    assert (found.is_owners, OWNER.is_owners, SESSION.is_owners) == (False, True, False)
    assert (found.right, found.reaches("ACME/calc"), found.reaches("")) == (R.READ, True, False)
