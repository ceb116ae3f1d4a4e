"""What somebody says to Overlord in the conversation of one of its pull requests: a command, or a request to change something.

They speak to it by naming its account, `@name`, or in a line that begins with `/overlord`. What is quoted, code or hidden names nobody.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from overlord.domain.conversation.argument import MOST_CHARS
from overlord.domain.conversation.comment_text import ADDRESSED, command_lines, own_words
from overlord.engine.conversation.comment_command import (
    CommentCommand,
    CommentCommandError,
    command_in,
    is_question,
    sentence_names,
    usage,
)
from overlord.engine.conversation.comment_command import (
    names as command_names,
)

HINT = "Or say in a few words what to change: it is worked on as a reviewer's request is."
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_INDENTED = re.compile(r" {4}|\t")
_BOT = "[bot]"


@dataclass(frozen=True, slots=True)
class CommentRequest:
    """The comment asks for a change, in its own words."""


def names_of(login: str) -> frozenset[str]:
    """How people name an account; an App's is `name[bot]` and is named `name` as well."""
    return frozenset(filter(None, (login, login.removesuffix(_BOT))))


def request_in(body: str, names: Collection[str]) -> CommentCommand | CommentRequest | None:
    """What a comment says to the account of these names; None where it does not speak to it. Raises CommentCommandError, with
    what is possible, for what is not understood."""
    lines = list(_without_code(command_lines(body)))
    typed = [match["words"] or "" for line in lines if (match := ADDRESSED.fullmatch(line))]
    if typed:
        return _typed(body, lines, typed)
    mention = _mention(names)
    if mention is None:
        return None
    text = _CODE_SPAN.sub("", "\n".join(lines))
    if not mention.search(text):
        return None
    if (command := _named_command(lines, mention)) is not None:
        return command
    if not _has_words(mention.sub(" ", text)):
        raise CommentCommandError(f"Nothing was asked. {usage()} {HINT}")
    return CommentRequest()


def words_in(body: str, names: Collection[str]) -> str:
    """What a comment says, without whom it says it to; what is too long is cut."""
    mention = _mention(names)
    lines = (_unaddressed(line, mention) if may else line for line, may in own_words(body))
    return "\n".join(lines).strip()[:MOST_CHARS]


def _unaddressed(line: str, mention: re.Pattern[str] | None) -> str:
    if typed := ADDRESSED.fullmatch(line):
        return typed["words"] or ""
    if mention is None or not mention.search(line):
        return line
    return mention.sub("", line).strip(" \t,:")


def _typed(body: str, lines: list[str], typed: list[str]) -> CommentCommand | CommentRequest:
    try:
        command = command_in(body)
        if command is not None:
            return command
    except CommentCommandError as error:
        others = " ".join(line for line in lines if not ADDRESSED.fullmatch(line))
        if not all(map(_is_sentence, typed)) and not (not any(typed) and _is_sentence(others)):
            raise CommentCommandError(f"{error} {HINT}") from None
    return CommentRequest()


def _is_sentence(text: str) -> bool:
    """Whether it says something, and is no command that was mistyped."""
    words = text.split()
    if len(words) > 1 and is_question(words[0].lower(), text.split(None, 1)[1]):
        return False
    return len(words) > 1 and words[0].lower() not in command_names() - sentence_names() and _has_words(text)


def _has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _mention(names: Collection[str]) -> re.Pattern[str] | None:
    """Longer names first: of an App's two the whole one is taken."""
    if not names:
        return None
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w`/@.-])@(?:{known})(?![\w/\[-])", re.IGNORECASE)


def _named_command(lines: Iterable[str], mention: re.Pattern[str]) -> CommentCommand | None:
    """The command in a line that begins with the account's name; words that are none are a request."""
    for line in lines:
        match = mention.match(line.strip())
        if match is None:
            continue
        text = line.strip()[match.end() :].strip(" \t,:").rstrip(".! ")
        try:
            command = command_in(f"/overlord {text}") if text else None
        except CommentCommandError:
            continue
        if command is None or command.command is None or command.command.name not in sentence_names():
            return command
    return None


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    """The same without blocks that are code because they are indented."""
    is_code, was_blank = False, True
    for line in lines:
        if line.strip():
            is_code = _INDENTED.match(line) is not None and (is_code or was_blank)
        was_blank = not line.strip()
        if not is_code:
            yield line
