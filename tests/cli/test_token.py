"""`overlord token …`: a secret is printed once, and is in nothing that is printed or kept afterwards."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from overlord.domain.access import AccessRight, AccessToken, digest_of
from overlord.domain.conversation.argument import CommandError
from overlord.domain.interface import Interface
from overlord.engine.chat.chat_command import chat_command, usages
from overlord.engine.conversation.comment_command import CommentCommandError, command_in
from overlord.home import Home
from overlord.queries import registry as queries
from overlord.store import access, ledger
from overlord.store.database import open_reader
from overlord.verbs import registry as verbs
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import nothing

SECRET = re.compile(r"ovl_[A-Za-z0-9_-]{43}")


def read(home: Home, act: Callable[[sqlite3.Connection], Any]) -> Any:
    with closing(open_reader(home.database)) as connection:
        return act(connection)


def tokens(home: Home) -> list[AccessToken]:
    found: list[AccessToken] = read(home, lambda c: access.tokens(c, with_revoked=True))
    return found


def test_a_token_is_made_and_its_secret_printed_once(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    said = overlord("token", "create", "ci", "--right", "act", "--space", "calc", "--days", "90")
    ends = datetime.now(UTC) + timedelta(days=90)
    text, secret = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert text == (
        f"The token ci may act in acme/calc, until {ends:%Y-%m-%d}. Keep its secret now: it is not shown again."
    )
    assert SECRET.fullmatch(secret)
    found = read(home, lambda c: access.find(c, secret, at=datetime.now(UTC)))
    assert (found.name, found.right, found.spaces) == ("ci", AccessRight.ACT, ("acme/calc",))
    assert (found.created_by, found.actor) == ("cli:alice", "web:ci")
    assert found.expires_at is not None and abs(found.expires_at - ends) < timedelta(minutes=1)
    for words in (
        ("token", "list"),
        ("token", "list", "--all"),
        ("token", "list", "--json"),
        ("ledger", "export"),
    ):
        shown = overlord(*words)
        assert shown.code == 0 and "ci" in shown.out
        assert SECRET.search(shown.out) is None and digest_of(secret) not in shown.out


def test_without_options_a_token_looks_at_everything_until_it_is_revoked(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(nothing)
    said = overlord("token", "create", "wall")
    assert said.out.startswith("The token wall may read, until it is revoked. Keep its secret now")
    [token] = tokens(home)
    assert (token.right, token.spaces, token.expires_at) == (AccessRight.READ, (), None)


def test_a_repository_said_twice_counts_once(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    assert overlord("token", "create", "ci", "--space", "acme/calc", "--space", "ACME/CALC").code == 0
    assert [token.spaces for token in tokens(home)] == [("acme/calc",)]


def test_tokens_are_listed_and_revoked(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    none = overlord("token", "list").out
    assert none == "There is no access token; overlord token create ci makes one.\n"
    overlord("token", "create", "ci", "--right", "admin")
    listed = overlord("token", "list").out
    assert re.search(r"\nci +admin +all +cli:alice +\d+ s +never +until it is revoked", listed)
    assert overlord("token", "revoke", "ci").out == "The token ci counts no more.\n"
    assert overlord("token", "list").out == none
    assert re.search(r"\nci +admin .* no: it was revoked", overlord("token", "list", "--all").out)
    [row] = json.loads(overlord("token", "list", "--all", "--json").out)
    assert set(row) == set(AccessToken.__dataclass_fields__)
    facts = read(home, lambda c: [(entry.name, entry.actor) for entry in ledger.entries(c)])
    assert facts == [("access_granted", "cli:alice"), ("access_revoked", "cli:alice")]


def test_browsers_that_are_signed_out_are_counted(overlord: Overlord, filled: Filled) -> None:
    def signed_in(connection: sqlite3.Connection) -> None:
        at = datetime.now(UTC)
        token, _ = access.create(connection, "ci", AccessRight.READ, actor="cli:alice", at=at)
        access.begin_session(connection, token, at=at)
        access.note_use(connection, token.id, at=at)

    filled(signed_in)
    assert re.search(r" s ago +until it is revoked", overlord("token", "list").out)
    assert overlord("token", "revoke", "ci").out == "The token ci counts no more, and 1 browser signed out.\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("create", "CI"), 2, "a token's name is 1 to 40 of a-z, 0-9 and dashes"),
        (("create", "--", "-x"), 2, "a token's name is 1 to 40"),
        (("create", "a" * 41), 2, "a token's name is 1 to 40"),
        (("create", "\x1b[2Jci"), 2, "a token's name is 1 to 40"),
        (("create", ""), 2, "a token's name is 1 to 40"),
        (("create", "ci", "--right", "root"), 2, "'root' is not one of"),
        (("create", "ci", "--right", ""), 2, "is not one of"),
        (("create", "ci", "--days", "0"), 2, "should be greater than or equal to 1"),
        (("create", "ci", "--days", "-1"), 2, "should be greater than or equal to 1"),
        (("create", "ci", "--days", "99999999999"), 2, "should be less than or equal to 3660"),
        (("create", "ci", "--space", "acme/sold"), 4, "no repository of that name is managed by Overlord"),
        (("create", "ci", "--space", ""), 4, "no repository of that name is managed by Overlord"),
        (("create", "ci", "--repo", "."), 2, "No such option"),
        (("create", "there"), 5, "there is a token there already; `overlord token revoke there` ends it"),
        (("revoke", "ci"), 4, "there is no token of that name; `overlord token list` shows those there are"),
        (("revoke", "x' OR '1'='1"), 2, "a token's name is 1 to 40"),
    ],
)
def test_what_cannot_be_makes_and_ends_no_token(
    overlord: Overlord, filled: Filled, home: Home, words: tuple[str, ...], code: int, told: str
) -> None:
    filled(lambda c: access.create(c, "there", AccessRight.READ, actor="cli:alice", at=datetime.now(UTC)))
    said = overlord("token", *words)
    assert (said.code, said.out) == (code, "")
    assert told in " ".join(said.err.replace("│", " ").split())
    assert "\x1b[2J" not in said.err
    assert [(token.name, token.revoked_at) for token in tokens(home)] == [("there", None)]


def test_tokens_are_made_and_revoked_while_the_settings_do_not_load(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(nothing)
    (home.root / "overlord.yaml").write_text("polls: 3\n")
    for words in (("create", "ci"), ("list",), ("revoke", "ci")):
        assert overlord("token", *words).code == 0


def test_without_a_state_there_is_no_token(overlord: Overlord) -> None:
    said = overlord("token", "create", "ci")
    assert (said.code, SECRET.search(said.out)) == (6, None)


def test_neither_the_chat_nor_a_comment_has_tokens() -> None:
    for name in ("create-token", "revoke-token"):
        assert verbs.find(name).gap(Interface.CHAT) and verbs.find(name).gap(Interface.COMMENT)
        assert not {Interface.CHAT, Interface.COMMENT} & verbs.find(name).gaps.keys(), "by the right alone"
    assert not {"create-token", "revoke-token", "tokens"} & {
        *verbs.offered(Interface.CHAT),
        *queries.offered(Interface.CHAT),
        *verbs.offered(Interface.COMMENT),
        *queries.offered(Interface.COMMENT),
    }
    for text in ("create-token ci admin", "revoke-token ci", "tokens", "token list", "token create ci"):
        with pytest.raises(CommandError, match="I do not know that one"):
            chat_command(text)
        with pytest.raises(CommentCommandError, match="That is no command of Overlord's"):
            command_in(f"/overlord {text}")
    assert not any("token" in usage.form for usage in usages())
