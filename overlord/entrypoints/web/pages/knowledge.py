"""Knowledge: what was learned, with where it comes from; drafts that wait for a yes or no, notes that were contradicted, and rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from overlord.domain.inquiry import HistoryLine
from overlord.domain.knowledge.note import Note, NoteKind, NoteState
from overlord.domain.knowledge.rule import Rule
from overlord.entrypoints.web.pages.acts import Act, Wanted, acts
from overlord.entrypoints.web.visitor import UNSEEN, NotSeen, Visitor
from overlord.queries.look import Look
from overlord.queries.portfolio import FileTrouble, troubles
from overlord.queries.portfolio_initiative import told
from overlord.store.knowledge import listed, notes, rules

A_PAGE = 50
ALL = "all"
GLOBAL = "everywhere"
"""The value of the filter for notes that count in all repositories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What is looked for; empty for everything that counts."""

    words: str = ""
    space: str = ""
    kind: str = ""
    state: str = ""
    before: int = 0
    """Only notes with a smaller number: where the page before ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNote:
    """A note, with what can be done about it."""

    note: Note
    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRule:
    """A rule, likewise."""

    rule: Rule
    counts: bool
    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The page."""

    filter: Filter
    drafts: tuple[ShownNote, ...]
    notes: tuple[ShownNote, ...]
    rules: tuple[ShownRule, ...]
    has_rules: bool
    """Whether rules stand on this page: on the first, where nothing is looked for."""
    older: str
    """The address of the next page; empty where there is none."""
    spaces: tuple[str, ...]
    kinds: tuple[str, ...]
    states: tuple[str, ...]
    troubles: tuple[FileTrouble, ...]
    adds: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePage:
    """One note, with its history."""

    shown: ShownNote
    told: tuple[HistoryLine, ...]


def knowledge(look: Look, wanted: Filter, visitor: Visitor) -> Knowledge:
    """Of the repositories that whoever looks may see, and what counts everywhere."""
    names = tuple(name for name in look.settings.repositories if look.sees(name))
    state = NoteState(wanted.state) if wanted.state in set(NoteState) else None
    kind = NoteKind(wanted.kind) if wanted.kind in set(NoteKind) else None
    spaces = _spaces(wanted.space, names, is_limited=bool(look.spaces))
    asked = listed.Wanted(
        words=wanted.words[:500],
        spaces=spaces,
        kind=kind,
        state=state or NoteState.ACTIVE,
        before=wanted.before,
    )
    found = listed.found(look.connection, asked, limit=A_PAGE + 1)
    is_first = not wanted.before and not wanted.words.strip() and state is None and kind is None
    drafts = listed.Wanted(spaces=spaces, state=NoteState.DRAFT)
    waiting = listed.found(look.connection, drafts, limit=A_PAGE) if is_first else []
    more = len(found) > A_PAGE and not wanted.words.strip()
    return Knowledge(
        filter=wanted,
        drafts=tuple(_shown(visitor, note) for note in waiting),
        notes=tuple(_shown(visitor, note) for note in found[:A_PAGE]),
        rules=tuple(_rules(look, visitor, spaces)) if is_first else (),
        has_rules=is_first,
        older=_older(wanted, found[A_PAGE - 1].id) if more else "",
        spaces=names,
        kinds=tuple(NoteKind),
        states=tuple(NoteState),
        troubles=tuple(file for file in troubles(look) if "knowledge/" in file.path),
        adds=acts(visitor, _WRITES, about="", space=names[0] if len(names) == 1 else ""),
    )


_WRITES = (
    Wanted(verb="knowledge-add", label="Write a note…"),
    Wanted(verb="rule-add", label="Make a rule…"),
)


def _spaces(chosen: str, names: Iterable[str], *, is_limited: bool) -> tuple[str, ...] | None:
    """The repositories whose notes are shown; an empty name for those that count everywhere, None for all."""
    if chosen == GLOBAL:
        return ("",)
    if named := next((name for name in names if name.casefold() == chosen.casefold()), ""):
        return (named,)
    return ("", *names) if is_limited else None


def note_page(look: Look, ref: str, visitor: Visitor) -> NotePage:
    """Raises NotFound."""
    digits = ref.removeprefix("n")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 9):
        raise NotSeen(UNSEEN)
    note = notes.get(look.connection, int(digits))
    if not look.sees(note.space):
        raise NotSeen(UNSEEN)
    return NotePage(shown=_shown(visitor, note), told=told(look, [note.ref]))


def _shown(visitor: Visitor, note: Note) -> ShownNote:
    return ShownNote(note=note, acts=acts(visitor, _of_note(note), about=note.ref, space=note.space))


def _of_note(note: Note) -> Iterator[Wanted]:
    if note.state is NoteState.DRAFT:
        yield Wanted(verb="knowledge-accept", label="Accept", is_bare=True)
        yield Wanted(verb="knowledge-withdraw", label="Reject", is_bare=True, is_dangerous=True)
    if note.state in (NoteState.DRAFT, NoteState.ACTIVE):
        yield Wanted(verb="knowledge-edit", label="Edit…", initial={"*": note.text})
    if note.state is NoteState.ACTIVE:
        if note.space:
            yield Wanted(verb="knowledge-promote", label="Have it count everywhere", is_bare=True)
        yield Wanted(verb="knowledge-withdraw", label="Withdraw…", is_dangerous=True)


def _rules(look: Look, visitor: Visitor, spaces: tuple[str, ...] | None) -> Iterator[ShownRule]:
    for rule in rules.every(look.connection):
        if spaces is not None and rule.space not in spaces:
            continue
        counts = rule.counts(look.at)
        wanted = (
            [Wanted(verb="rule-revoke", label="Revoke", is_bare=True, is_dangerous=True)] if counts else []
        )
        yield ShownRule(
            rule=rule, counts=counts, acts=acts(visitor, wanted, about=rule.ref, space=rule.space)
        )


def _older(wanted: Filter, last: int) -> str:
    fields = {"space": wanted.space, "kind": wanted.kind, "state": wanted.state, "before": last}
    return f"/knowledge?{urlencode({name: value for name, value in fields.items() if value})}"
