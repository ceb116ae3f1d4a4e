"""Asking the person at the terminal: a decision as a short menu, and the answer bound to what was shown."""

import asyncio
import os
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass, replace

from overlord.domain.answers import label_of
from overlord.domain.conversation.decision_words import answer_in
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.scope.approval import EXAMPLE
from overlord.entrypoints.terminal.show import card, console, line, show_text
from overlord.errors import Refused

STDIN = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the menu. `asks` is what is typed next, if anything is."""

    label: str
    verb: Verb
    text: str = ""
    asks: str = ""
    edits: bool = False
    """Whether what is shown is edited in place of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What was chosen."""

    verb: Verb
    text: str = ""
    edits: bool = False


def can_ask() -> bool:
    """Whether somebody is at a terminal to see the question and type the answer."""
    return sys.stdin.isatty() and console.is_terminal


def menu(decision: Decision, *, may_edit: bool = False) -> Sequence[Entry]:
    """What a decision offers: for a question its options first, then words of one's own. `may_edit`: it is about a text that can be
    edited."""
    entries = []
    for verb in decision.verbs:
        if verb is Verb.REPLY:
            entries += [
                Entry(label=f"“{line(option)}”", verb=verb, text=option) for option in decision.options
            ]
            entries.append(Entry(label="Reply in your own words", verb=verb, asks="reply: "))
        elif verb is Verb.ADD_BUDGET:
            suggested = decision.options[0] if decision.options else "500000"
            entries.append(Entry(label=label_of(verb), verb=verb, asks=f"how much, as in {suggested}: "))
        elif verb is Verb.LIMIT:
            entries += [
                Entry(label=f"{label_of(verb)}: {line(text)}", verb=verb, text=text)
                for text in decision.suggested
            ]
            entries.append(Entry(label=f"{label_of(verb)} …", verb=verb, asks=f"which, as in {EXAMPLE}: "))
        elif verb is Verb.REJECT and decision.subject is Subject.GATE:
            entries.append(Entry(label=label_of(verb), verb=verb, asks="what has to change: "))
        elif verb is Verb.GRANT:
            paths = line(", ".join(decision.patterns))
            entries.append(Entry(label=f"{label_of(verb)}: {paths}", verb=verb))
        else:
            entries.append(Entry(label=label_of(verb), verb=verb))
    if may_edit:
        entries = [_about_contract(entry) for entry in entries]
        entries.insert(1, Entry(label="Edit it in your editor", verb=entries[0].verb, edits=True))
    return entries


def _about_contract(entry: Entry) -> Entry:
    """What an answer is called where it is about a contract that was proposed."""
    words = {Verb.APPROVE: "Confirm it", Verb.REJECT: "Ask the architect for changes"}
    return replace(entry, label=words.get(entry.verb, entry.label))


async def ask(decision: Decision, *, may_edit: bool = False) -> Answered | None:
    """Show it and read the answer; None when the person leaves it for later."""
    entries = menu(decision, may_edit=may_edit)
    flush_typed()
    show_text(f"\n{line(decision.title)}\n")
    card(decision.body)
    show_text("")
    if decision.patterns and decision.subject is Subject.SCOPE_REQUEST:
        show_text(line("paths: " + ", ".join(decision.patterns)))
    for number, entry in enumerate(entries, start=1):
        show_text(f"  {number}  {entry.label}")
    show_text(f"  {len(entries) + 1}  Leave it for later")
    worded = ", or answer in words" if Verb.REPLY in decision.verbs else ""
    while True:
        typed = await read_line(f"choose 1-{len(entries) + 1}{worded}: ")
        if typed is None or typed == str(len(entries) + 1):
            return None
        if typed and not typed.isdecimal() and worded:
            try:
                verb, text = answer_in(decision, typed)
            except Refused:
                show_text("That can be read in two ways: choose a number, or begin your words with `reply`.")
                continue
            return Answered(verb=verb, text=text)
        if not typed.isdecimal() or not 0 < int(typed) <= len(entries):
            continue
        entry = entries[int(typed) - 1]
        answer = await read_line(entry.asks) if entry.asks else entry.text
        if answer or not entry.asks:
            return Answered(verb=entry.verb, text=answer or "", edits=entry.edits)


def flush_typed() -> None:
    """What was typed before the question was shown is no answer to it."""
    termios.tcflush(STDIN, termios.TCIFLUSH)


async def read_line(prompt: str) -> str | None:
    """One line from the terminal without a thread, so that nothing has to be waited for; None at its end."""
    console.file.write(prompt)
    console.file.flush()
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    typed = b""
    loop.add_reader(STDIN, readable.set)
    try:
        while not typed.endswith(b"\n"):
            await readable.wait()
            readable.clear()
            piece = os.read(STDIN, 4096)
            if not piece:
                return None
            typed += piece
    finally:
        loop.remove_reader(STDIN)
    return typed.decode(errors="replace").strip()
