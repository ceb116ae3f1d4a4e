"""A person's answers: the proposals accepted, or words, each with the number of the question they belong to.

What cannot be told apart is refused with the form that can; nothing a person wrote is dropped or guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from overlord.command_ref import Hint, hint
from overlord.domain.discovery.bank import with_kind
from overlord.domain.discovery.question import MOST_ANSWER_CHARS, Discovery, Question, Status
from overlord.domain.text.plain import count, visible
from overlord.errors import Refused

_NUMBERED = re.compile(r"[^\S\n]{0,3}(\d{1,3})[^\S\n]{0,3}(?:[.:：．、](?!\d)|[)）])[^\S\n]*")
"""How an answer begins: `1: words`, `1. words`, `1) words`. `1.5` and `10:30` begin none."""
MOST_REPLY_CHARS = 60_000


class UnclearAnswer(Refused):
    """Words from which it cannot be told which question they answer; the message says what is wrong."""


def accept(discovery: Discovery, ids: Sequence[str], *, by: str) -> Discovery:
    """What is proposed for these questions is their answer. What a person said before stays."""
    found = (discovery.get(identifier) for identifier in dict.fromkeys(ids))
    confirmed = [
        replace(item, status=Status.CONFIRMED, answer=item.proposed, by=by)
        for item in found
        if item is not None and item.status not in (Status.CONFIRMED, Status.ANSWERED)
    ]
    return with_kind(discovery.with_changed(confirmed))


def reply(discovery: Discovery, ids: Sequence[str], text: str, *, by: str) -> Discovery:
    """A person's words as the answers of these questions, which were shown with the numbers 1, 2, …

    Questions that are left out stay open. Raises UnclearAnswer."""
    asked = _asked(discovery, ids)
    if len(text) > MOST_REPLY_CHARS:
        raise UnclearAnswer(f"that is too long: {MOST_REPLY_CHARS:,} characters are the most")
    words = visible(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
    if not words.strip():
        raise UnclearAnswer("there are no words in that answer", hint=_form(len(asked)))
    answers = {1: _without_number(words)} if len(asked) == 1 else _numbered(words, len(asked))
    changed = []
    for number, answer in answers.items():
        if not answer.strip():
            raise UnclearAnswer(
                f"the answer to question {number} is empty; leave its line out, and it is asked again",
                hint=_form(len(asked)),
            )
        if len(answer) > MOST_ANSWER_CHARS:
            raise UnclearAnswer(
                f"the answer to question {number} is too long: {MOST_ANSWER_CHARS:,} characters are the most"
            )
        changed.append(replace(asked[number - 1], status=Status.ANSWERED, answer=answer.strip(), by=by))
    return with_kind(discovery.with_changed(changed))


def _asked(discovery: Discovery, ids: Sequence[str]) -> list[Question]:
    found = [discovery.get(identifier) for identifier in dict.fromkeys(ids)]
    asked = [item for item in found if item is not None]
    if not asked or len(asked) != len(found):
        raise UnclearAnswer("these questions are not asked any more; answer those that are shown now")
    return asked


def _without_number(words: str) -> str:
    """The one answer; a `1:` before it says what is clear anyway."""
    mark = _NUMBERED.match(words)
    return words[mark.end() :] if mark and int(mark[1]) == 1 else words


def _numbered(words: str, most: int) -> dict[int, str]:
    """The answers by number. Lines without one go on with the answer above them."""
    answers: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in words.split("\n"):
        mark = _NUMBERED.match(line)
        if mark is None:
            if not answers and line.strip():
                raise UnclearAnswer(
                    f"there are {count(most, 'question')}, and no number says which one is answered first",
                    hint=_form(most),
                )
            lines.append(line)
            continue
        number = int(mark[1])
        if not 1 <= number <= most:
            raise UnclearAnswer(
                f"there is no question {number}; they have the numbers 1 to {most}", hint=_form(most)
            )
        if number in answers:
            raise UnclearAnswer(f"question {number} is answered twice", hint=_form(most))
        lines = answers.setdefault(number, [])
        lines.append(line[mark.end() :])
    return {number: "\n".join(said) for number, said in answers.items()}


def _form(most: int) -> Hint:
    if most == 1:
        return hint("answer it in words")
    return hint(
        "begin each answer on a line of its own with its number, as `1: people in the office`, and indent lists in it by four spaces"
    )
