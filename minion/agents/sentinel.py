"""Sentinel lines: `OVERLORD_EVENT {…}` in an agent's words, by which any agent can say how its work stands.

They are read strictly and within bounds. A line that is none says nothing, and why is told in the session's log.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MARK = "OVERLORD_EVENT"
LONGEST_LINE = 64 * 1024
LONGEST_TEXT = 20_000
MOST_ITEMS = 100
LONGEST_ITEM = 4_000
QUESTION_KINDS = ("question", "decision", "scope")


class SentinelKind(StrEnum):
    """What a sentinel line says."""

    PHASE_COMPLETE = "PHASE_COMPLETE"
    NEEDS_ESCALATION = "NEEDS_ESCALATION"
    EXCEPTION = "EXCEPTION"
    QUESTION = "QUESTION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentinel:
    """One of them, as it was understood. Fields that its kind does not have are empty."""

    kind: SentinelKind
    text: str
    """The summary, the reason or the question."""
    more: str = ""
    """The context of an escalation, the impact of an exception."""
    outcome: str = ""
    event: str = ""
    replies: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    question_kind: str = "question"


class NoSentinel(ValueError):
    """A line that begins like one and is none; the message says why."""


_TEXTS: dict[SentinelKind, tuple[str, str]] = {
    SentinelKind.PHASE_COMPLETE: ("summary", ""),
    SentinelKind.NEEDS_ESCALATION: ("reason", "context"),
    SentinelKind.EXCEPTION: ("reason", "impact"),
    SentinelKind.QUESTION: ("question", ""),
}
_LISTS = ("replies", "learnings", "follow_ups", "options", "patterns")


def is_sentinel(line: str) -> bool:
    """Whether a line begins like one."""
    return line.lstrip(" `*>").startswith(MARK)


def read_sentinel(line: str) -> Sentinel:
    """What a line says. Raises NoSentinel."""
    text = line.strip(" `*>\t\r").removeprefix(MARK).lstrip(" :")
    if len(text) > LONGEST_LINE:
        raise NoSentinel(f"it is longer than {LONGEST_LINE:,} characters")
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        raise NoSentinel("what follows is not JSON in one line") from None
    if text[end:].strip(" `*."):
        raise NoSentinel("something follows its JSON")
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise NoSentinel('it is no object with a "type"')
    if value["type"] not in set(SentinelKind):
        raise NoSentinel(f"its type {value['type'][:60]!r} is none of the known: {', '.join(SentinelKind)}")
    return _understood(SentinelKind(value["type"]), value)


def sentinels(text: str) -> Iterator[Sentinel]:
    """Those of a text, in order; what is none is passed over."""
    for line in text.splitlines():
        if is_sentinel(line):
            try:
                yield read_sentinel(line)
            except NoSentinel:
                continue


def without_sentinels(text: str) -> str:
    """A text without its sentinel lines."""
    return "\n".join(line for line in text.splitlines() if not is_sentinel(line)).strip()


def _understood(kind: SentinelKind, value: dict[str, Any]) -> Sentinel:
    name, more = _TEXTS[kind]
    text = _text(value, name)
    if not text:
        raise NoSentinel(f"its {name!r} is missing or empty")
    question_kind = _text(value, "kind") or "question"
    if question_kind not in QUESTION_KINDS:
        raise NoSentinel(f"its kind is none of {', '.join(QUESTION_KINDS)}")
    lists = {key: _texts(key, value.get(key, [])) for key in _LISTS}
    return Sentinel(
        kind=kind,
        text=text,
        more=_text(value, more) if more else "",
        outcome=_text(value, "outcome"),
        event=_text(value, "event"),
        question_kind=question_kind,
        **lists,
    )


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name, "")
    if text is None:
        return ""
    if not isinstance(text, str):
        raise NoSentinel(f"its {name!r} is no text")
    return _encodable(text.strip()[:LONGEST_TEXT])


def _texts(name: str, value: object) -> tuple[str, ...]:
    items: Iterable[object] = [value] if isinstance(value, str) else value if isinstance(value, list) else ()
    if value is not None and not isinstance(value, list | str):
        raise NoSentinel(f"its {name!r} is no list of texts")
    found = tuple(items)[:MOST_ITEMS]
    if not all(isinstance(item, str) for item in found):
        raise NoSentinel(f"its {name!r} is no list of texts")
    return tuple(_encodable(str(item)[:LONGEST_ITEM]) for item in found if str(item).strip())


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
