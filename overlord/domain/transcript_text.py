"""What of a transcript can be searched: what models, tools and people said, turn by turn, never the rules and the brief it began with.

Bounded, so that no session fills the database: of long outputs the beginning and the end, of a session its first turns.
"""

import json
from collections.abc import Iterable, Iterator

from overlord.domain.search import SpokenText
from overlord.domain.transcript import Exchange, exchange_of

SESSION_CHARS = 32_000
"""Of one session; what is said later is in its transcript and is not found."""
PLACE_CHARS = 4_000
"""Of one place: a snippet is made by reading all of it."""
SHORT_CHARS = 1_000
"""Turns are put together until they have so much."""
PART_CHARS = 1_500
"""Of one message, call or output."""


def spoken(content: bytes) -> tuple[SpokenText, ...]:
    """The texts of a transcript. A line that is none is left out, as its page does."""
    return tuple(_bounded(_places(_exchanges(content))))


def _exchanges(content: bytes) -> Iterator[tuple[int, Exchange]]:
    for turn, line in enumerate(content.split(b"\n"), start=1):
        if (exchange := exchange_of(line.decode("utf-8", "replace"))) is not None:
            yield turn, exchange


def _bounded(places: Iterable[SpokenText]) -> Iterator[SpokenText]:
    left = SESSION_CHARS
    for place in places:
        left -= len(place.text)
        if left < 0:
            return
        yield place


def _places(exchanges: Iterable[tuple[int, Exchange]]) -> Iterator[SpokenText]:
    """A conversation that was shortened is sent anew: what was there before is not new."""
    begun, text = 0, ""
    known = set[str]()
    for turn, exchange in exchanges:
        for part in _parts(exchange, is_first=not known):
            if part in known:
                continue
            known.add(part)
            if text and len(text) + len(part) >= PLACE_CHARS:
                yield SpokenText(turn=begun, text=text)
                text = ""
            begun = begun if text else turn
            text = f"{text}\n{part}" if text else part
        known.add("")  # the first exchange is over, whatever was said in it
        if len(text) >= SHORT_CHARS:
            yield SpokenText(turn=begun, text=text)
            text = ""
    if text:
        yield SpokenText(turn=begun, text=text)


def _parts(exchange: Exchange, *, is_first: bool) -> Iterator[str]:
    said = [
        *(() if is_first else exchange.instructions),
        *(output for _, output in exchange.outputs),
        _plain(exchange.said),
        *(" ".join((call.name, *_strings(call.arguments))) for call in exchange.calls),
        exchange.trouble,
    ]
    yield from (_cut(_clean(text)) for text in said if text.strip())


def _plain(said: str) -> str:
    """A review or a draft is asked for as JSON: what is found is the words in it."""
    if not said.startswith(("{", "[")):
        return said
    try:
        return " ".join(_strings(json.loads(said)))
    except (ValueError, RecursionError):
        return said


def _strings(value: object) -> Iterator[str]:
    """The words in a call's arguments, however they are nested."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as fields:
                waiting += reversed(fields.values())
            case list() as items:
                waiting += reversed(items)
            case _:
                pass


def _clean(text: str) -> str:
    """As a database takes it: JSON can hold half of a character, and NUL."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _cut(text: str) -> str:
    half = PART_CHARS // 2
    return text if len(text) <= PART_CHARS else f"{text[:half]} … {text[-half:]}"
