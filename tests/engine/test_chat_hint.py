"""A text that names commands, read where there is no shell: it says what is typed in the chat."""

import pytest

from overlord.domain.chat.hint import in_chat
from overlord.engine.chat.chat_command import chat_command


@pytest.mark.parametrize(
    ("shell", "chat"),
    [
        ("decisions answer 5 keep", "answer 5 keep"),
        ("decisions answer 5 reply 'use the second one'", "answer 5 reply use the second one"),
        ("decisions answer 5 add_budget '$2'", "answer 5 add_budget $2"),
        ("decisions show 5", "decisions"),
        ("decisions list", "decisions"),
        ("decisions approve 5", "approve 5"),
        ("proposals list", "proposals"),
        ("proposals approve p3", "approve p3"),
        ("skills drafts", "drafts"),
        ("skills drafts d3", "drafts"),
        ("skills retire commit-style", "retire commit-style"),
        ("skills approve d3", "approve d3"),
        ("job list --all", "history"),
        ("resume acme/calc", "resume acme/calc"),
        ("resume --all", "resume everything"),
        ("why '#42'", "why #42"),
        ("work '#42'", "work on #42"),
        ("status", "status"),
        ("cost week", "cost week"),
        ("space show acme/calc", "space show acme/calc"),
    ],
)
def test_a_command_is_named_as_the_chat_has_it_and_the_chat_understands_that(shell: str, chat: str) -> None:
    assert in_chat(f"See `overlord {shell}`, please.") == f"See `/overlord {chat}`, please."
    chat_command(chat)


@pytest.mark.parametrize(
    "words", ["doctor", "serve", "skills edit d3", "space remove acme/calc", "gc --dry-run"]
)
def test_what_only_whoever_runs_overlord_can_type_stays(words: str) -> None:
    assert in_chat(f"`overlord {words}`") == f"`overlord {words}`"


def test_nothing_else_in_a_text_is_changed() -> None:
    text = "`overlord.yaml` and overlord status; `overlord Status`; `say overlord status`"
    assert in_chat(text) == text
