"""What people cannot see in a text is taken out and shown in its place: `[hidden: …]`, for the model and for people.

What is left alone: what a fence or a code span shows, `<details>`, the characters that emoji and scripts need. It never
raises, takes time in proportion to the text's length, and finds nothing in a text it has been through.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from minion.protocol import Issue
from overlord.domain.text.hidden_character import spelt, unseen
from overlord.domain.text.hidden_markup import Hidden, hidden_markup

SHOWN_CHARS = 500
"""So much of one hidden text is shown."""
MOST_SHOWN = 100
"""So many hidden texts are shown; of the others there is only the mark."""
_MOST_PASSES = 8
_PLAIN = str.maketrans({"<": "‹", ">": "›", "[": "(", "]": ")", "`": "'", "\\": "/", "|": "/", "&": "+"})
_SHOWN = re.compile(r"\[hidden: ([^\[\]]*+)\]")
_LINE_END = re.compile(r"\r\n?")


@dataclass(frozen=True, slots=True)
class Revealed:
    """A text in which nothing is hidden, and what was, each in one plain line and cut. Still other people's words."""

    text: str
    hidden: tuple[str, ...] = ()


def without_hidden(text: str) -> Revealed:
    """Markdown as people read it, with what they cannot see marked in place."""
    return _until_nothing_is_hidden(text, has_markup=True)


def without_hidden_characters(text: str) -> Revealed:
    """The same for text that is no Markdown, like a title: what looks like HTML is seen there."""
    return _until_nothing_is_hidden(text, has_markup=False)


def issue_without_hidden(issue: Issue) -> Issue:
    """An issue whose title, text and comments hide nothing."""
    comments = (replace(comment, body=without_hidden(comment.body).text) for comment in issue.comments)
    return replace(
        issue,
        title=without_hidden_characters(issue.title).text,
        body=without_hidden(issue.body).text,
        comments=tuple(comments),
    )


def hidden_in(issue: Issue) -> tuple[str, ...]:
    """What is marked as hidden in an issue that `issue_without_hidden` made, for a card: other people's words."""
    texts = (issue.title, issue.body, *(comment.body for comment in issue.comments))
    return tuple(line for text in texts for line in _SHOWN.findall(text))


def _until_nothing_is_hidden(text: str, *, has_markup: bool) -> Revealed:
    """A mark in the place of what was hidden can make what stands beside it be read in another way: then once more."""
    text = _LINE_END.sub("\n", text)
    lines: list[str] = []
    passes = 0
    while passes < _MOST_PASSES and (found := _find_hidden(text, has_markup=has_markup)):
        text, notes = _marked(text, found, MOST_SHOWN - len(lines))
        lines += notes
        passes += 1
    return Revealed(text, tuple(lines))


def _find_hidden(text: str, *, has_markup: bool) -> list[Hidden]:
    return list(_with_characters(text, hidden_markup(text) if has_markup else []))


def _with_characters(text: str, markup: Iterable[Hidden]) -> Iterator[Hidden]:
    """What the markup hides, and between that the characters nobody sees."""
    ahead = iter([*markup, Hidden(len(text), len(text), "")])
    following = next(ahead)
    for found in unseen(text):
        while following.end <= found.start and following.start < len(text):
            yield following
            following = next(ahead)
        if found.end <= following.start or following.start == len(text):
            yield Hidden(found.start, found.end, found.seen_as)
    while following.start < len(text):
        yield following
        following = next(ahead)


def _marked(text: str, found: Iterable[Hidden], most: int) -> tuple[str, list[str]]:
    made: list[str] = []
    lines: list[str] = []
    at = 0
    for item in found:
        note = _one_plain_line(item.seen_as) if len(lines) < most else ""
        made += [text[at : item.start], f"[hidden: {note}]" if note else "[hidden]"]
        if text[item.end : item.end + 1] in {":", "(", "["}:
            made.append(" ")  # or it would be read as a link
        if note:
            lines.append(note)
        at = item.end
    return "".join([*made, text[at:]]), lines


def _one_plain_line(text: str) -> str:
    """Hidden text as one line of plain words that no markup can be made of."""
    line = spelt(text[: SHOWN_CHARS * 8]).translate(_PLAIN)
    line = " ".join(spelt(line).split())  # a joiner may have lost its letter
    return line if len(line) <= SHOWN_CHARS else line[:SHOWN_CHARS].rstrip() + "…"
