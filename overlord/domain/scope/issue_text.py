"""What an issue's text says about code: passages and how much each counts, stack frames, names worth looking up.

The text is anybody's: all of it is read, and only so much of it, by patterns whose time grows with its length alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from minion.protocol import Issue
from overlord.domain.scope.occurrences import MOST_SYMBOLS, is_phrase, is_symbol

MOST_TEXT = 100_000
LONGEST_LINE = 2_000
MOST_PLAIN = 8
MOST_PHRASES = 5
MOST_OPTIONS = 5
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_QUOTE = re.compile(r"\s{0,3}> ?")
_SPAN = re.compile(r"`([^`\n]{1,300})`")
_CLAUSE = re.compile(r"(?<=[,;:.!?])\s++|(?<!\s)\s++(?:but|although|however)\s+")
_DENIED = re.compile(
    r"\b(?:(?:is|are|looks?|seems?|was|works?) (?:fine|right|ok(?:ay)?|correct|innocent|unaffected|good)|no relation|unrelated"
    r"|suspected|nothing to do|not (?:the|a) (?:problem|cause|culprit|issue)|not affected|not related|no problem|works as)\b",
    re.IGNORECASE,
)
_ABOUT_THE_LAST = re.compile(r"\s*(?:and )?(?:that|this|it|which|those|they|these|both)\b", re.IGNORECASE)
_PYTHON_FRAME = re.compile(r'\s*File "([^"]{1,1000})", line \d+(?:, in (\S{1,200}))?')
_FRAME = re.compile(
    r"(?:\s*(?:\d+:\s*)?at (?:(?:async|new) )?(?:([\w$.<>]{1,200}) )?\(?|.*?\bpanicked at |\s+)"
    r"((?:[A-Za-z]:)?[\w@./\\~+-]{1,1000}\.[A-Za-z]{1,5}):\d+\b"
)
_NAME = re.compile(r"(?<![\w$./\\-])[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(?:\(\))?", re.ASCII)
_QUOTED = re.compile(r"\"([^\"\n]{12,300})\"|“([^”\n]{12,300})”|`([^`\n]{12,300})`|'([^'\n]{12,300})'")
_ERROR = re.compile(
    r"\b(?:\w{0,60}(?:Error|Exception|Warning)(?: \[\w{1,60}\])?|[Ee]rror|panic|fatal|warning): {1,3}(\S[^\n]{11,300})"
)
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]{1,60}")
_PROSE = re.compile(r"[A-Za-z][A-Za-z ,’-]*[A-Za-z]")
_WORD = re.compile(r"[a-z0-9]+")
_PARTS = re.compile(r"\.|::|#")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[a-z]\d?[A-Z]", re.ASCII)
_COMMON_WORDS = """
GitHub JavaScript TypeScript PostgreSQL MySQL YouTube macOS iOS WebSocket README CHANGELOG GraphQL OAuth None True
False self this __init__ main null undefined AttributeError TypeError ValueError KeyError IndexError RuntimeError
ImportError NameError OSError Exception Error AssertionError UnicodeDecodeError KeyboardInterrupt
"""
_COMMON = frozenset(_COMMON_WORDS.split())


class Place(IntEnum):
    """Where something is said: the higher, the more it counts."""

    BLOCK = 1
    COMMENT = 2
    TEXT = 3
    CODE = 4
    TITLE = 5

    @property
    def description(self) -> str:
        return ("a block of code", "a comment", "the text", "the text", "the title")[self - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of the text that stands for itself: a clause, a span of code, a line of a block."""

    place: Place
    text: str
    is_span: bool = False
    """Written between backticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A line of a stack trace, the innermost first."""

    path: str
    function: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A word that looks like a name of code: the parts of `Client.send`, and whether it can be nothing else."""

    place: Place
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueText:
    """An issue, read."""

    passages: tuple[Passage, ...]
    denied: tuple[str, ...]
    """Clauses that say what is not to blame."""
    frames: tuple[Frame, ...]
    quoted: tuple[str, ...] = ()
    """What stands in quotes, or behind the name of an error."""

    @property
    def title(self) -> str:
        return " ".join(passage.text for passage in self.passages if passage.place is Place.TITLE)

    @property
    def plain(self) -> tuple[str, ...]:
        """Words of the title that may be names of code as well as ordinary words."""
        found = re.findall(r"(?<![\w-])[A-Za-z]{6,40}(?![\w-])", self.title)
        return tuple(islice(dict.fromkeys(found), MOST_PLAIN))

    @property
    def phrases(self) -> tuple[str, ...]:
        """Messages that the text quotes, without what is different each time: code may hold them as they are."""
        found: dict[str, None] = {}
        for text in self.quoted:
            piece = max((match[0] for match in _PROSE.finditer(text)), key=len, default="")
            if is_phrase(piece):
                found[piece] = None
        return tuple(islice(found, MOST_PHRASES))

    @property
    def options(self) -> tuple[str, ...]:
        """Options of a command line that are named outside of blocks."""
        listed = (
            match[0]
            for one in self.passages
            if one.place > Place.COMMENT
            for match in _OPTION.finditer(one.text)
        )
        return tuple(islice(dict.fromkeys(listed), MOST_OPTIONS))

    def names(self) -> tuple[Name, ...]:
        """Names of code, each at the place where it counts most, in order of weight and mention."""
        best: dict[tuple[str, ...], Place] = {}
        for passage in self.passages:
            for parts in _names(passage):
                best[parts] = max(passage.place, best.get(parts, passage.place))
        ordered = sorted(best.items(), key=lambda item: -item[1])
        return tuple(Name(place=place, parts=parts) for parts, place in ordered)


def read(issue: Issue) -> IssueText:
    """Take an issue's text apart."""
    passages: list[Passage] = [Passage(place=Place.TITLE, text=issue.title[:LONGEST_LINE])]
    passages += [
        Passage(place=Place.TITLE, text=span[1], is_span=True)
        for span in _SPAN.finditer(issue.title[:LONGEST_LINE])
    ]
    denied: list[str] = []
    frames: list[Frame] = []
    for text, place in ((issue.body, Place.TEXT), *((c.body, Place.COMMENT) for c in issue.comments)):
        left = MOST_TEXT - sum(len(passage.text) for passage in passages)
        _read_text(text[: max(0, left)], place, passages, denied, frames)
    return IssueText(
        passages=tuple(passages), denied=tuple(denied), frames=tuple(frames), quoted=tuple(_quoted(issue))
    )


def candidates(issue: Issue) -> tuple[str, ...]:
    """The names worth looking up in the code, those that count most first, and no more than a search takes."""
    issue_text = read(issue)
    named = (part for name in issue_text.names() for part in name.parts)
    called = (part for frame in issue_text.frames for part in _PARTS.split(frame.function))
    fitting = (
        part
        for part in (*named, *called, *issue_text.plain)
        if len(part) > 2 and is_symbol(part) and part not in _COMMON
    )
    others = (*issue_text.phrases, *issue_text.options)
    return (*islice(dict.fromkeys(fitting), MOST_SYMBOLS - len(others)), *others)


def _quoted(issue: Issue) -> Iterator[str]:
    for text in (issue.title, issue.body, *(comment.body for comment in issue.comments)):
        for line in text[:MOST_TEXT].splitlines():
            for pattern in (_ERROR, _QUOTED):
                for match in pattern.finditer(line[:LONGEST_LINE]):
                    yield next(filter(None, match.groups()))


def _read_text(
    text: str, place: Place, passages: list[Passage], denied: list[str], frames: list[Frame]
) -> None:
    in_block, found = False, list[Frame]()
    for whole in text.splitlines():
        line = _QUOTE.sub("", whole[:LONGEST_LINE], count=1)
        if _FENCE.match(line):
            in_block = not in_block
            continue
        python = _PYTHON_FRAME.match(line)
        other = None if python else _FRAME.match(line)
        if python:
            found.insert(0, Frame(path=python[1], function=python[2] or ""))
        elif other:
            found.append(Frame(path=other[2], function=other[1] or ""))
        if python or other:
            continue
        if in_block or line.startswith(("    ", "\t")):
            passages.append(Passage(place=Place.BLOCK, text=line))
        else:
            _read_line(line, place, passages, denied)
    frames += found


def _read_line(line: str, place: Place, passages: list[Passage], denied: list[str]) -> None:
    clauses = _clauses(line)
    for clause, following in zip(clauses, [*clauses[1:], ""], strict=True):
        if _DENIED.search(clause) or (_DENIED.search(following) and _ABOUT_THE_LAST.match(following)):
            denied.append(clause)
            continue
        passages.append(Passage(place=place, text=clause))
        span_place = Place.CODE if place is Place.TEXT else place
        passages += [Passage(place=span_place, text=span[1], is_span=True) for span in _SPAN.finditer(clause)]


def _clauses(line: str) -> list[str]:
    """A line's clauses; a span of code is in one of them as a whole."""
    spans = [span.span() for span in _SPAN.finditer(line)]
    clauses, start = list[str](), 0
    for gap in _CLAUSE.finditer(line):
        if not any(begin < gap.start() < end for begin, end in spans):
            clauses.append(line[start : gap.start()])
            start = gap.end()
    return [*clauses, line[start:]]


def _names(passage: Passage) -> Iterator[tuple[str, ...]]:
    """The names of code in one passage; in prose only what cannot be an ordinary word."""
    for match in _NAME.finditer(passage.text):
        word = match[0]
        bare = word.removesuffix("()")
        parts = tuple(_PARTS.split(bare))
        is_call = passage.text.startswith("(", match.end())
        is_code = passage.is_span and (is_call or len(passage.text.split()) == 1)
        if bare in _COMMON or len(bare) < 3:
            continue
        if (
            is_code
            or word != bare
            or len(parts) > 1
            or "_" in bare.strip("_")
            or bare[0] == "_"
            or _CAMEL.search(bare)
        ):
            yield parts


def words(text: str) -> tuple[str, ...]:
    """The words of a text, in lower case."""
    return tuple(_WORD.findall(text.lower()))
