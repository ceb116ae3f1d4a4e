"""One command in three wordings; what an interface does not have is said as a terminal has it."""

import pytest

from overlord.command_ref import CommandRef
from overlord.verbs.typed_words import typed_in_chat, typed_in_comment, typed_words


@pytest.mark.parametrize(
    ("ref", "terminal", "chat", "comment"),
    [
        (
            CommandRef("answer", ("5", "your words")),
            "overlord answer 5 'your words'",
            "/overlord answer 5 your words",
            "/overlord answer 5 your words",
        ),
        (
            CommandRef("decision", ("5",)),
            "overlord decisions show 5",
            "/overlord decision 5",
            "overlord decisions show 5",
        ),
        (
            CommandRef("job diff", ("7",)),
            "overlord job diff 7",
            "overlord job diff 7",
            "overlord job diff 7",
        ),
        (
            CommandRef("jobs", ("--all",)),
            "overlord job list --all",
            "overlord job list --all",
            "overlord job list --all",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, CommandRef) else "",
)
def test_a_command_is_worded_as_it_is_typed_where_it_is_read(
    ref: CommandRef, terminal: str, chat: str, comment: str
) -> None:
    assert (typed_words(ref), typed_in_chat(ref), typed_in_comment(ref)) == (terminal, chat, comment)
