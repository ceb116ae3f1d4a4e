"""Which comments command, and what: hostile and clumsy ones too."""

import pytest

from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.engine.conversation.comment_command import (
    CommentCommand,
    CommentCommandError,
    command_in,
)
from overlord.verbs.decide import Decide
from overlord.verbs.declared.answer import Answer
from overlord.verbs.declared.retry import Retry
from overlord.verbs.declared.scope import WidenScope
from overlord.verbs.declared.stop import Stop
from overlord.verbs.declared.work import Work
from overlord.verbs.registry import Command


def given(name: str, arguments: object) -> CommentCommand:
    return CommentCommand(command=Command(name=name, arguments=arguments))


STOP = given("stop", Stop(job=None))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("stop", STOP),
        ("work", given("work", Work(issue=None))),
        ("retry", given("retry", Retry(job=None))),
        ("explain", CommentCommand(command=None)),
        ("approve", given("approve", Decide(which=None))),
        (
            "reject 2",
            given(
                "reject",
                Decide(which=ApprovalRef(kind=ApprovalKind.DECISION, number=2)),
            ),
        ),
    ],
)
def test_a_line_of_its_own_commands(words: str, wanted: CommentCommand) -> None:
    assert command_in(f"/overlord {words}") == wanted


@pytest.mark.parametrize(
    "body",
    [
        "Thanks!\r\n\r\n/overlord stop\r\n\r\nIt can wait.",
        "  /Overlord \t STOP  ",
        "/overlord stop\n/overlord stop",
        "> what was said\n\n/overlord stop",
        "```\nprint()\n```\n/overlord stop",
        "/overlord\u200b stop",
    ],
)
def test_around_a_command_people_write_as_they_like(body: str) -> None:
    assert command_in(body) == STOP


@pytest.mark.parametrize(
    "body",
    [
        "",
        "I think /overlord stop would do",
        "> /overlord stop",
        "> she wrote:\n/overlord stop",
        ">> /overlord stop",
        "```\n/overlord stop\n```",
        "~~~~\n~~~\n/overlord stop\n~~~~",
        "```\n/overlord stop",
        "- ```\n  /overlord stop\n  ```",
        "1. > she wrote:\n   /overlord stop",
        "- " * 30 + "\n" + " " * 2 + "> /overlord stop",
        "    /overlord stop",
        "\t/overlord stop",
        "<!-- \n/overlord stop\n-->",
        "<!-- /overlord stop",
        "`/overlord stop`",
        "/overlords stop",
        "https://example.org/overlord stop",
    ],
)
def test_what_is_quoted_shown_or_hidden_commands_nothing(body: str) -> None:
    assert command_in(body) is None


def test_a_scope_names_patterns_each_with_a_plus() -> None:
    wanted = given("scope", WidenScope(job=None, patterns=("docs/**", "README.md")))
    assert command_in("/overlord scope +docs/** `+README.md`") == wanted


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("/overlord", "no command"),
        ("/overlord destroy everything", "no command"),
        ("/overlord stop now", "nothing after"),
        ("/overlord retry now", "nothing after"),
        ("/overlord reject 2 too risky", "nothing after the number"),
        ("/overlord explain it", "nothing after"),
        ("/overlord pause", "no command"),
        ("/overlord stop\n/overlord work", "One command"),
        ("/overlord scope", "with a plus"),
        ("/overlord scope docs", "with a plus"),
        ("/overlord scope +docs -src", "with a plus"),
        ("/overlord scope +../etc", "none that a scope can have"),
        ("/overlord scope +", "none that a scope can have"),
        ("/overlord scope " + " ".join(f"+d{number}" for number in range(21)), "at most 20"),
    ],
)
def test_what_is_not_understood_is_said_without_repeating_it(body: str, said: str) -> None:
    with pytest.raises(CommentCommandError, match=said) as caught:
        command_in(body)
    assert "destroy" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "decision", "text"),
    [
        ("/overlord answer 2 use port 8080", 2, "use port 8080"),
        ("/overlord answer #2  use\ttabs ", 2, "use\ttabs"),
        ("Hm.\r\n\r\n/overlord answer use both\r\nand say so", None, "use both\nand say so"),
        (
            "/overlord answer 2\n\n```\nPORT=8080\n/overlord stop\n```",
            2,
            "```\nPORT=8080\n/overlord stop\n```",
        ),
        ("/overlord answer yes\n\n> said before\n\nand no", None, "yes\n\n\nand no"),
        ("/overlord ANSWER yes<!-- drop it -->", None, "yes"),
        ("/overlord answer 3. use foo", None, "3. use foo"),
        ("/overlord answer decision 5 yes", None, "decision 5 yes"),
    ],
)
def test_an_answer_has_the_words_of_its_line_and_of_those_below(
    body: str, decision: int | None, text: str
) -> None:
    ref = ApprovalRef(kind=ApprovalKind.DECISION, number=decision) if decision is not None else None
    assert command_in(body) == given("answer", Answer(decision=ref, words=text))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("/overlord answer", "Say what the answer is"),
        ("/overlord answer 2", "Say what the answer is"),
        ("/overlord answer a\n/overlord answer a", "One command"),
        ("/overlord answer a\n/overlord stop", "One command"),
        (f"/overlord answer {'a' * 4001}", "too long"),
    ],
)
def test_an_answer_without_words_or_with_too_many_is_told_so(body: str, said: str) -> None:
    with pytest.raises(CommentCommandError, match=said):
        command_in(body)


def test_a_line_right_below_a_quote_is_the_quotes_however_lines_end() -> None:
    assert command_in("> said\r\n/overlord stop") is None
