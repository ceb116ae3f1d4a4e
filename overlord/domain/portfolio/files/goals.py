"""The goals of a repository, as people write them in OVERVIEW.md: the items of its section `## Goals`.

The file is untrusted: what people do not see in it is no goal, and is told; how much of it is read has bounds.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from hashlib import sha256
from html.parser import HTMLParser
from textwrap import dedent

from markdown_it import MarkdownIt

from minion.protocol import Scope, ScopeMode
from overlord.domain.portfolio.initiative import MOST_GOAL_CHARS, MOST_TITLE_CHARS
from overlord.domain.portfolio.priority import Priority
from overlord.domain.text.hidden_text import without_hidden

MOST_CHARS = 256 * 1024
"""Of the whole file."""
MOST_GOALS = 100
MOST_TROUBLES = 10
_MARKDOWN = MarkdownIt("commonmark").disable("inline")
_HIDDEN = re.compile(r"\[hidden(?:: [^\[\]]*+)?\]")
_TITLE = re.compile(r"goals:?", re.IGNORECASE)
_HEADING = re.compile(
    r"^ {0,3}(?:##[ \t]+goals:?[ \t]*#*[ \t]*$|goals:?[ \t]*\n {0,3}-+[ \t]*$)", re.IGNORECASE | re.MULTILINE
)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_BOX = re.compile(r"\[(?P<mark>[ xX])\](?:[ \t]+|$)")
_STRUCK = re.compile(r"~~(?P<text>.+)~~")
_MARK = re.compile(r"\[(?P<name>priority|paths):(?P<value>[^\[\]]*+)\]", re.IGNORECASE)
_UNKNOWN = re.compile(r"\[(?P<name>[a-z]+):[^\[\]]*+\]", re.IGNORECASE)
"""What looks like a mark."""
_TAG = re.compile(r"</?[A-Za-z]|<!|<\?")
_TICKS = re.compile(r"`+")
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One goal. Its words are a person's: untrusted."""

    title: str
    text: str = ""
    """What stands indented below the title."""
    priority: Priority = Priority.NORMAL
    paths: tuple[str, ...] = ()
    is_done: bool = False
    """Struck out, or its box is ticked."""

    @property
    def key(self) -> str:
        """The same for the same title, however its letters and blanks are written."""
        return sha256(" ".join(self.title.casefold().split()).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What an OVERVIEW.md says."""

    goals: tuple[Goal, ...] = ()
    troubles: tuple[str, ...] = ()
    """What in it cannot be read, and what to do, each in a sentence."""


@lru_cache(maxsize=256)
def read_overview(text: str) -> Overview:
    """The goals of a file, and what is wrong with it. It never raises, and its time is in proportion to the text's length."""
    if len(text) > MOST_CHARS:
        size = f"it has {len(text) // 1024} thousand characters, and at most {MOST_CHARS // 1024} thousand are read"
        return Overview(troubles=(f"{size}: keep goals here, and move the rest to another file",))
    revealed = without_hidden(text)
    troubles = [
        f"it has words that nobody sees, which are not read: {words}" for words in revealed.hidden[:3]
    ]
    lines = _HIDDEN.sub("", revealed.text).split("\n")
    goals: dict[str, Goal] = {}
    for number, item in enumerate(_items(lines, troubles)):
        if number == MOST_GOALS:
            troubles.append(f"it has more than {MOST_GOALS} goals: the first {MOST_GOALS} are read")
            break
        goal = _goal(item, troubles)
        if goal is not None and goals.setdefault(goal.key, goal) is not goal:
            troubles.append(f"the goal “{goal.title[:80]}” is there twice: the first counts")
    if not goals and not troubles and revealed.text.strip() and not _HEADING.search(revealed.text):
        troubles.append("it has no section “## Goals”, so there is nothing in it to work on")
    if len(troubles) > MOST_TROUBLES:
        troubles[MOST_TROUBLES:] = [f"and {len(troubles) - MOST_TROUBLES} more of the kind"]
    return Overview(goals=tuple(goals.values()), troubles=tuple(troubles))


def _items(lines: Sequence[str], troubles: list[str]) -> Iterator[Sequence[str]]:
    """The lines of each top-level item of the section."""
    tokens = _MARKDOWN.parse("\n".join(lines))
    is_in, open_tags = False, list[str]()
    is_told = False
    for place, token in enumerate(tokens):
        if token.type == "html_block":
            _follow(token.content, open_tags)
        elif token.type == "heading_open" and token.level == 0 and token.tag in {"h1", "h2"}:
            if is_in:
                return
            is_in = token.tag == "h2" and bool(_TITLE.fullmatch(tokens[place + 1].content.strip()))
        elif is_in and token.type == "list_item_open" and token.level == 1 and token.map:
            if not open_tags:
                yield lines[token.map[0] : token.map[1]]
            elif not is_told:
                is_told = True
                troubles.append(
                    f"goals inside <{open_tags[-1][:20]}> are not read: write them without HTML around them"
                )


class _Tags(HTMLParser):
    """Which elements are open."""

    def __init__(self, open_tags: list[str]) -> None:
        super().__init__()
        self.open_tags = open_tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """One more, unless it holds nothing."""
        if tag not in _VOID and len(self.open_tags) < MOST_GOALS:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """It is closed, with all in it."""
        if tag in self.open_tags:
            while self.open_tags.pop() != tag:
                pass


def _follow(html: str, open_tags: list[str]) -> None:
    parser = _Tags(open_tags)
    parser.feed(html)
    parser.close()


def _goal(lines: Sequence[str], troubles: list[str]) -> Goal | None:
    """One item; None for one that is empty or cannot be read."""
    found = _ITEM.match(lines[0])
    first = lines[0][found.end() :].strip() if found else lines[0].strip()
    text = dedent("\n".join(lines[1:])).strip()
    box = _BOX.match(first)
    words, marks = _without_marks(first[box.end() :] if box else first)
    struck = _STRUCK.fullmatch(words)
    title = struck["text"].strip() if struck else words
    if not title:
        return None
    named = f"the goal “{title[:80]}”"
    if any(_TAG.search(_without_code(line)) for line in (first, *text.split("\n"))):
        troubles.append(
            f"{named} is not read: it has HTML in it; write it as plain text, or put code into backticks"
        )
        return None
    troubles += (
        f"{named} has [{name}: …], which is read as its words: write [{near}: …]"
        for name in (found["name"] for found in _UNKNOWN.finditer(title))
        for near in get_close_matches(name.lower(), ("priority", "paths"), n=1, cutoff=0.7)
    )
    try:
        paths = _paths(marks.get("paths", ""))
    except ValueError:
        troubles.append(
            f"{named} is not read: its paths have to be patterns as in [paths: src/api/**, docs/**]"
        )
        return None
    if len(title) > MOST_TITLE_CHARS or len(text) > MOST_GOAL_CHARS:
        troubles.append(
            f"{named} is cut: a title has at most {MOST_TITLE_CHARS} characters, and {MOST_GOAL_CHARS} below it"
        )
    return Goal(
        title=title[:MOST_TITLE_CHARS],
        text=text[:MOST_GOAL_CHARS],
        priority=_priority(marks.get("priority", ""), named, troubles),
        paths=paths,
        is_done=bool(struck) or bool(box and box["mark"] != " "),
    )


def _without_code(line: str) -> str:
    """A line without what stands between two rows of as many backticks."""
    rows = [(found.start(), found.end()) for found in _TICKS.finditer(line)]
    following, later = dict[int, int](), dict[int, int]()
    for place in range(len(rows) - 1, -1, -1):
        width = rows[place][1] - rows[place][0]
        if width in later:
            following[place] = later[width]
        later[width] = place
    kept, end, place = list[str](), 0, 0
    while place < len(rows):
        if (closing := following.get(place)) is not None:
            kept.append(line[end : rows[place][0]])
            end, place = rows[closing][1], closing
        place += 1
    return "".join([*kept, line[end:]])


def _without_marks(text: str) -> tuple[str, dict[str, str]]:
    marks = {found["name"].lower(): found["value"].strip() for found in _MARK.finditer(text)}
    return " ".join(_MARK.sub(" ", text).split()), marks


def _paths(text: str) -> tuple[str, ...]:
    patterns = tuple(part.strip() for part in text.split(",") if part.strip())
    if patterns:
        Scope.parse(Scope(mode=ScopeMode.DIRECTORY, patterns=patterns).to_json())
    return patterns


def _priority(text: str, named: str, troubles: list[str]) -> Priority:
    if not text:
        return Priority.NORMAL
    try:
        return Priority(text.lower())
    except ValueError:
        troubles.append(
            f"{named} counts as normal: “{text[:20]}” is no priority; there are {', '.join(Priority)}"
        )
        return Priority.NORMAL
