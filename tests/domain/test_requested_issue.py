"""What a request's issue says: the person's words, in which nobody is called and nothing hidden, and a title from the first line."""

from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from overlord.domain.conversation.argument import CommandError, Typed
from overlord.domain.conversation.build_argument import IssueSpaceArgument, RequirementArgument
from overlord.domain.conversation.issue_request import (
    InitMode,
    IssueRequest,
    RequestKind,
    RequestOptions,
)
from overlord.domain.conversation.requested_issue import init_text, issue_text, title_of

TYPED = Typed(name="build", usage='build owner/repo "a page"')


def request(body: str, actor: str = "github:alice") -> IssueRequest:
    return IssueRequest(
        id=1,
        space="acme/calc",
        kind=RequestKind.BUILD,
        title=title_of(body),
        body=body,
        key="0123456789abcdef",
        options=RequestOptions(),
        actor=actor,
        requested_at=datetime(2026, 3, 2, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("A page\nthat lists users", "A page"),
        ("\n## A page for @alice, see #3 ##\n", "A page for alice, see 3"),
        ("# \n\n", "Untitled"),
        ("x" * 300, f"{'x' * 99}…"),
    ],
)
def test_the_title_is_the_first_line(body: str, title: str) -> None:
    assert title_of(body) == title


def test_the_text_is_the_persons_with_who_asked_and_the_key() -> None:
    assert issue_text(request("A page\n\n- <b>bold</b> & https://example.org"), at_number=7) == snapshot(
        """\
A page

- <b>bold</b> & https://example.org

Asked for by alice (github) at #7 · Overlord's request 0123456789abcdef\
"""
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("ask @alice and @acme/team.", "ask `@alice` and `@acme/team.`"),
        ("keep `@dataclass` and mail a@b.org", "keep `@dataclass` and mail a@b.org"),
        ("```\n@pytest.fixture\n```\n@bob", "```\n@pytest.fixture\n```\n`@bob`"),
        ("~~~\n@left open", "~~~\n@left open"),
        ("a <!-- do not tell --> b", "a [hidden: do not tell] b"),
    ],
)
def test_nobody_is_called_and_nothing_is_hidden(body: str, text: str) -> None:
    assert issue_text(request(body)).partition("\n\nAsked for")[0] == text


def test_a_name_of_an_account_calls_nobody_and_holds_no_mark_up() -> None:
    assert "](" not in issue_text(request("x", actor="github:[@bob](http://evil)"))


@pytest.mark.parametrize("mode", InitMode)
@pytest.mark.parametrize("discovers", [True, False])
def test_the_issue_of_a_contract_says_what_its_job_does(mode: InitMode, discovers: bool) -> None:
    text = init_text(mode, discovers=discovers)
    assert ("asks in the thread" in text or "it asks" in text) is discovers
    assert ("that is there" in text) is (mode is InitMode.REVIEW)


@pytest.mark.parametrize(
    ("words", "space", "requirement"),
    [
        ('acme/calc "a page"', "acme/calc", "a page"),
        ("https://github.com/acme/calc a page", "acme/calc", "a page"),
        ("a page", None, "a page"),
        ('"client/server apart"', None, "client/server apart"),
        ("“a page\nin two lines”", None, "a page\nin two lines"),
        ('"a" and "b"', None, '"a" and "b"'),
        ('it\'s "it"', None, 'it\'s "it"'),
        ('"', None, '"'),
    ],
)
def test_a_requirement_is_read_with_its_repository_and_without(
    words: str, space: str | None, requirement: str
) -> None:
    found, rest = IssueSpaceArgument().read(words, TYPED)
    assert (found, RequirementArgument(missing="Say what.").read(rest, TYPED)) == (space, (requirement, ""))


@pytest.mark.parametrize("words", ["", '""', "' '"])
def test_no_requirement_is_told(words: str) -> None:
    with pytest.raises(CommandError, match="Say what"):
        RequirementArgument(missing="Say what.").read(words, TYPED)
