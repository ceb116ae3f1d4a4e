"""Commands in comments: one line of its own, `/overlord …`. What is quoted, fenced, indented or hidden commands nothing.

`answer` and `message` take words: the rest of their line, and the lines below it with their code. A mention of Overlord's account
is words too, those of the whole comment.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from markdown_it import MarkdownIt
from markdown_it.token import Token

from minion.protocol import Scope, ScopeError
from overlord.domain.conversation.command import MOST_CHARS
from overlord.domain.text.plain import visible
from overlord.domain.text.reference import number_in

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKDOWN = MarkdownIt("commonmark").disable("inline")
_CODE = frozenset({"fence", "code_block"})
ADDRESSED = re.compile(r" {0,3}/overlord(?:[ \t]+(?P<words>.*))?", re.IGNORECASE)
_MOST_PATTERNS = 20


class CommentVerb(StrEnum):
    """What a comment can ask for."""

    WORK = "work"
    STOP = "stop"
    RETRY = "retry"
    SCOPE = "scope"
    EXPLAIN = "explain"
    ANSWER = "answer"
    MESSAGE = "message"


USAGE = "Commands: `/overlord work`, `stop`, `retry`, `answer WORDS…`, `message WORDS…`, `scope +GLOB…`, `explain`."
_WORDED = frozenset({CommentVerb.ANSWER, CommentVerb.MESSAGE})
"""What takes words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentCommand:
    """What one comment asks for. `patterns` are those of `scope`, `text` the words of `answer` and `message`."""

    verb: CommentVerb
    patterns: tuple[str, ...] = ()
    decision: int | None = None
    """Of `answer`, where it was named."""
    text: str = ""
    is_mention: bool = False
    """Whether it is no command, but words that mention Overlord's account: the answer to what is asked, else a message."""


class CommentCommandError(ValueError):
    """A comment speaks to Overlord and is not understood; the message is for whoever wrote it, without their words."""


def command_in(body: str) -> CommentCommand | None:
    """The command of a comment; None when it has none. Raises CommentCommandError for more than one, or an unknown one."""
    lines = list(own_words(body))
    found = [
        (number, match["words"] or "")
        for number, (line, may_command) in enumerate(lines)
        if may_command and (match := ADDRESSED.fullmatch(line))
    ]
    if not found:
        return None
    if len({words for _, words in found}) > 1:
        raise CommentCommandError(_ONE)
    place, words = found[0]
    verb, *rest = words.split() or [""]
    if verb.lower() not in set(CommentVerb):
        raise CommentCommandError(f"That is no command of Overlord's. {USAGE}")
    known = CommentVerb(verb.lower())
    if known is CommentVerb.SCOPE:
        return CommentCommand(verb=known, patterns=_patterns(rest))
    if known in _WORDED:
        if len(found) > 1:
            raise CommentCommandError(_ONE)
        below = "\n".join(line for line, _ in lines[place + 1 :])
        return _worded(known, f"{words.strip()[len(verb) :]}\n{below}".strip())
    if rest:
        raise CommentCommandError(f"`{known}` takes nothing after it. {USAGE}")
    return CommentCommand(verb=known)


_ONE = "One command in each comment, please: it is not clear which of them counts."


def _worded(verb: CommentVerb, words: str) -> CommentCommand:
    """A command with words of its own: for an answer, after the number of what is answered, where there is one."""
    first, rest = (*words.split(None, 1), "", "")[:2]
    number = number_in(first) if verb is CommentVerb.ANSWER else None
    text = words if number is None else rest
    if not text:
        raise CommentCommandError(
            f"Say what the {verb} is, in the same comment: `/overlord {verb} use the second one`."
        )
    if len(text) > MOST_CHARS:
        raise CommentCommandError(f"That is too long: {MOST_CHARS:,} characters are the most.")
    return CommentCommand(verb=verb, decision=number, text=text)


def is_delivered(command: CommentCommand) -> bool:
    """Whether a command's words reach a session by themselves."""
    return command.verb in _WORDED


def command_lines(body: str) -> Iterator[str]:
    """The lines of somebody's own words that may command: no code."""
    return (line for line, may_command in own_words(body) if may_command)


def own_words(body: str) -> Iterator[tuple[str, bool]]:
    """The lines somebody wrote as their own words, and whether a line may command, which code may not: no quotes with what trails
    them, no HTML comments. What is nested deeper than the parser reads is nobody's word."""
    text = _HIDDEN.sub("", visible(body.replace("\r\n", "\n").replace("\r", "\n")))
    lines = text.split("\n")
    quoted, code = set[int](), set[int]()
    for token in _MARKDOWN.parse(text):
        if token.map is not None and (
            token.type in _CODE or token.type == "blockquote_open" or _is_deep(token)
        ):
            (code if token.type in _CODE else quoted).update(range(*token.map))
    for number, line in enumerate(lines):
        if number not in quoted:
            yield line.rstrip(), number not in code


def _is_deep(token: Token) -> bool:
    """Whether the parser did not look into what is there."""
    return token.level >= _MARKDOWN.options.maxNesting - 1


def _patterns(words: list[str]) -> tuple[str, ...]:
    patterns = tuple(word[1:].strip("`") for word in (item.strip("`") for item in words) if word[:1] == "+")
    if not patterns or len(patterns) != len(words):
        raise CommentCommandError(
            "Say which files may be written too, each with a plus: `/overlord scope +docs/** +README.md`."
        )
    if len(patterns) > _MOST_PATTERNS:
        raise CommentCommandError(f"A scope takes at most {_MOST_PATTERNS} patterns at once.")
    try:
        return Scope.parse(json.dumps(patterns)).patterns
    except ScopeError:
        raise CommentCommandError("One of these patterns is none that a scope can have.") from None
