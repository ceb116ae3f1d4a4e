"""Answers to what somebody said in plain words: what it was read as."""

from dataclasses import replace

from overlord.domain.chat.card import PRESS, cut
from overlord.domain.view.span import Code
from overlord.domain.view.view import Button, Buttons, ButtonStyle, Note, Paragraph, Part, Quote, View

_TITLE = 140


def offer_message(words: str, means: str, title: str, value: str, confirm: str) -> View:
    """What was understood of somebody's words, and the button that does it: once more asked, where there is something to `confirm`."""
    parts: list[Part] = [
        Paragraph(("I read that as ", Code(f"/overlord {words}"), f": {means.replace('`', '')}."))
    ]
    if title:
        parts.append(Quote(cut(title, _TITLE)))
    button = Button(action=PRESS, label="Do it", value=value, style=ButtonStyle.PRIMARY, confirm=confirm)
    parts += [
        Buttons((button,)),
        Note("Nothing is done before somebody presses it who may give that command."),
    ]
    return View(summary=f"I read that as /overlord {words}", parts=tuple(parts))


def as_understood(words: str, shown: View) -> View:
    """An answer to a question in plain words, with the command that it was read as."""
    return replace(shown, parts=(*shown.parts, Note(f"I read that as /overlord {words}")))
