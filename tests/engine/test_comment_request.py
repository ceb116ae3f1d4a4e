"""What is said to Overlord at its pull requests: commands, requests, and what is neither."""

import pytest

from overlord.engine.conversation.comment_command import CommentCommand, CommentCommandError
from overlord.engine.conversation.comment_request import CommentRequest, names_of, request_in
from overlord.verbs.declared.retry import Retry
from overlord.verbs.declared.scope import WidenScope
from overlord.verbs.registry import Command

APP = names_of("overlord-agent[bot]")
RETRY = CommentCommand(command=Command(name="retry", arguments=Retry(job=None)))


def test_an_app_is_named_with_and_without_its_ending() -> None:
    assert {"overlord-agent", "overlord-agent[bot]"} == APP
    assert names_of("") == frozenset()


@pytest.mark.parametrize(
    "body",
    [
        "@overlord-agent please name it `total`.",
        "@overlord-agent[bot] name it total",
        "Nearly. @Overlord-Agent: say what it returns",
        "> it returns a sum\n\nNo, @overlord-agent, the difference",
        "- one thing\n    - @overlord-agent name it total",
        "@overlord-agent stop using globals",
        "@overlord-agent work on the name too",
        "@overlord-agent reject",
        "@overlord-agent approve.",
        "/overlord reject the second test",
        "/overlord approve the change to the name",
        "/overlord please name it total",
        "/overlord why is this slow",
        "@overlord-agent why does it return a sum?",
        "/overlord\n\nName it total, please",
        "/overlord name it total\n/overlord and say why",
    ],
)
def test_who_speaks_to_it_in_words_asks_for_a_change(body: str) -> None:
    assert request_in(body, APP) == CommentRequest()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Name it total",
        "> @overlord-agent name it total",
        "> said:\n@overlord-agent name it total",
        "```\n@overlord-agent name it total\n```",
        "`@overlord-agent name it` is how",
        "``a ` @overlord-agent``",
        "Look:\n\n    @overlord-agent name it\n\n    /overlord name it total",
        "<!-- @overlord-agent name it -->",
        "@overlord-agents name it",
        "@overlord-agent-2 name it",
        "@overlord-agent/team name it",
        "mail me@overlord-agent now",
        "https://example.org/@overlord-agent",
        "overlord-agent, name it",
        "> /overlord name it total",
    ],
)
def test_plain_words_quotes_code_and_other_names_say_nothing_to_it(body: str) -> None:
    assert request_in(body, APP) is None


@pytest.mark.parametrize(
    "body",
    [
        "/overlord retry",
        "@overlord-agent retry",
        "Well.\n@overlord-agent, retry.",
        "@overlord-agent[bot] RETRY",
    ],
)
def test_what_is_a_command_is_that_command(body: str) -> None:
    assert request_in(body, APP) == RETRY


@pytest.mark.parametrize(
    "body", ["/overlord cost week", "/overlord cost #42", "/overlord why #42", "/overlord why 7"]
)
def test_a_question_about_something_else_is_no_change_to_make(body: str) -> None:
    with pytest.raises(CommentCommandError, match="takes nothing after"):
        request_in(body, APP)


def test_a_scope_may_be_said_to_its_name() -> None:
    said = request_in("@overlord-agent scope +docs/**", APP)
    assert said == CommentCommand(
        command=Command(name="scope", arguments=WidenScope(job=None, patterns=("docs/**",)))
    )


@pytest.mark.parametrize(
    "body",
    [
        "@overlord-agent",
        "@overlord-agent ?!",
        "/overlord",
        "/overlord foo",
        "/overlord retry please",
        "/overlord stop\n/overlord retry",
        "/overlord ?? !!",
        "/overlord\n\nHm",
    ],
)
def test_what_is_not_understood_is_answered_with_what_is_possible(body: str) -> None:
    with pytest.raises(CommentCommandError, match="Or say in a few words what to change"):
        request_in(body, APP)


def test_nobody_is_named_where_the_account_is_not_known() -> None:
    assert request_in("@overlord-agent name it total", names_of("")) is None
    assert request_in("@ name it total", names_of("")) is None
