"""Answers in a chat to what people typed: what can be typed, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from overlord.domain.chat.card import Place, cut
from overlord.domain.conversation.argument import CommandError
from overlord.domain.view.span import Code
from overlord.domain.view.view import Bullets, Heading, Note, Paragraph, Part, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How a command is typed, and what it does."""

    form: str
    means: str


def help_message(usages: Sequence[Usage]) -> View:
    """Every command, and how it is typed."""
    items = [(Code(f"/overlord {usage.form}"), f"  {usage.means.replace('`', '')}") for usage in usages]
    note = "Where a #42 stands, owner/repo#42, the issue's address and a job's number do too. A mention takes the same words."
    return _composed("What I understand", Bullets(tuple(items)), Note(note))


def misread_message(error: CommandError) -> View:
    """What to type instead."""
    ways = Bullets(tuple((Code(f"/overlord {example}"),) for example in error.examples))
    return _composed(str(error), ways, has_heading=False)


def refused_message(why: str) -> View:
    """What cannot be done, and why: an error's sentence."""
    text = cut(why, 1000).rstrip(".")
    return _composed(f"{text[:1].upper()}{text[1:]}.", has_heading=False)


def done_message(text: str) -> View:
    """What was done, in a sentence."""
    return _composed(text, has_heading=False)


def opened_message(text: str, space: str, number: int, place: Place) -> View:
    """What became of an issue that was asked for, in a sentence that begins with its name: that leads to it."""
    name = f"{space}#{number}"
    return View(summary=text, parts=(Paragraph((place.issue_at(space, number), text.removeprefix(name))),))


def _composed(text: str, *parts: Part, has_heading: bool = True) -> View:
    first: Part = Heading(text) if has_heading else Paragraph((text,))
    return View(summary=text, parts=(first, *(part for part in parts if part != Bullets(()))))
