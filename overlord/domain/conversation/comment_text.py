"""What of a comment is its author's own words, and which of its lines may command. What is quoted, fenced, indented or hidden commands
nothing."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from overlord.domain.text.plain import visible

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKDOWN = MarkdownIt("commonmark").disable("inline")
_CODE = frozenset({"fence", "code_block"})
ADDRESSED = re.compile(r" {0,3}/overlord(?:[ \t]+(?P<words>.*))?", re.IGNORECASE)
"""A line that speaks to Overlord."""


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
