"""Commands in comments: one line of its own, `/overlord …`. What is quoted, fenced, indented or hidden commands nothing."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from minion.protocol import Scope, ScopeError
from overlord.domain.text import visible

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_QUOTE = re.compile(r" {0,3}>")
SPOKEN_TO = re.compile(r" {0,3}/overlord(?:[ \t]+(?P<words>.*))?", re.IGNORECASE)
_MOST_PATTERNS = 20


class CommentVerb(StrEnum):
    """What a comment can ask for."""

    WORK = "work"
    STOP = "stop"
    RETRY = "retry"
    SCOPE = "scope"
    EXPLAIN = "explain"


USAGE = "Commands: `/overlord work`, `stop`, `retry`, `scope +GLOB…`, `explain`."


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentCommand:
    """What one comment asks for. `patterns` are those of `scope`."""

    verb: CommentVerb
    patterns: tuple[str, ...] = ()


class CommentCommandError(ValueError):
    """A comment speaks to Overlord and is not understood; the message is for whoever wrote it, without their words."""


def command_in(body: str) -> CommentCommand | None:
    """The command of a comment; None when it has none. Raises CommentCommandError for more than one, or an unknown one."""
    found = [match["words"] or "" for line in spoken(body) if (match := SPOKEN_TO.fullmatch(line))]
    if not found:
        return None
    if len(set(found)) > 1:
        raise CommentCommandError(
            "One command in each comment, please: it is not clear which of them counts."
        )
    verb, *rest = found[0].split() or [""]
    if verb.lower() not in set(CommentVerb):
        raise CommentCommandError(f"That is no command of Overlord's. {USAGE}")
    known = CommentVerb(verb.lower())
    if known is CommentVerb.SCOPE:
        return CommentCommand(verb=known, patterns=_patterns(rest))
    if rest:
        raise CommentCommandError(f"`{known}` takes nothing after it. {USAGE}")
    return CommentCommand(verb=known)


def spoken(body: str) -> Iterator[str]:
    """The lines somebody wrote as their own words: no quotes with what trails them, no code, no HTML comments."""
    fence, is_quoted = "", False
    for line in _HIDDEN.sub("", visible(body.replace("\r", "\n"))).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        # A line right below a quote belongs to it, as Markdown has it.
        is_quoted = bool(line.strip()) and (is_quoted or _QUOTE.match(line) is not None)
        if not is_quoted:
            yield line.rstrip()


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
