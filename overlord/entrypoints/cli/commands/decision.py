"""`overlord decisions …`: what waits for a person, and the answer."""

import sqlite3
from datetime import UTC, datetime
from typing import Annotated

import typer

from overlord.domain.conversation.decision_words import answer_command, answer_in, confirmation, decision_verb
from overlord.domain.decision import Decision, Verb, label_of
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json, Why
from overlord.entrypoints.terminal.show import (
    age,
    as_json,
    card,
    console,
    line,
    person,
    show_command,
    show_text,
    table,
)
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.verbs import commands

app = typer.Typer(help="Decisions: what waits for a person.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(help="The decision's number.")]


@app.command("list")
def list_decisions(json: Json = False, _repo: Repo = "") -> None:
    """Every decision that waits."""
    with state.reading() as connection:
        waiting = decisions.waiting(connection)
    if json:
        as_json(waiting)
    elif not waiting:
        console.print("Nothing waits for a person.")
    else:
        rows = [
            (str(item.id), item.kind, item.title, " | ".join(item.verbs), age(item.created_at))
            for item in waiting
        ]
        table(("id", "kind", "what", "answers", "age"), rows)


@app.command()
def show(number: Number, json: Json = False, _repo: Repo = "") -> None:
    """One decision with what it rests on."""
    with state.reading() as connection:
        decision = decisions.get(connection, number)
    if json:
        as_json({"decision": decision, "digest": decision.digest})
        return
    show_text(f"{decision.kind} {decision.id}, {decision.state}: {line(decision.title)}\n")
    card(decision.body)
    show_text("")
    if decision.patterns:
        show_text(line("paths: " + ", ".join(decision.patterns)))
    if decision.answered_by:
        show_text(line(f"{decision.answered_by} answered: {decision.answer}"))
    for verb in decision.verbs if not decision.answered_by else ():
        show_command(answer_command(decision, verb), comment=label_of(verb))
    show_text(f"it blocks {decision.blocks} · shown as {decision.digest}")


@app.command()
def answer(
    number: Number,
    words: Annotated[
        list[str],
        typer.Argument(
            help="One of the answers that `show` offers, and its text; else words of your own, which the next session reads."
        ),
    ],
    digest: Annotated[str, typer.Option(help="The digest you were shown; refuses if it has changed.")] = "",
    _repo: Repo = "",
) -> None:
    """Answer a decision, with one of its answers or in words of your own. The first answer counts, from wherever it comes.

    The text of add_budget is 500000 (tokens) or '$2'.
    """

    def give(connection: sqlite3.Connection) -> Decision:
        decision = decisions.get(connection, number)
        verb, text = _meant(decision, words)
        command = commands.AnswerDecision(
            decision_id=number, verb=verb, actor=person(), text=text, digest=digest or None
        )
        return commands.answer_decision(connection, command, at=datetime.now(UTC))

    show_text(line(confirmation(state.write(Failpoint.DECISION_ANSWERED, give))))


def _meant(decision: Decision, words: list[str]) -> tuple[Verb, str]:
    """An answer by its name, with one quoted text or none, is that answer; of anything else the words say it."""
    first, *rest = words
    if first in set(Verb) and (not rest or (len(rest) == 1 and " " in rest[0].strip())):
        return Verb(first), "".join(rest)
    return answer_in(decision, " ".join(words))


@app.command()
def approve(number: Number, reason: Why = "", _repo: Repo = "") -> None:
    """Say yes: the one answer of the decision that allows what it asks for, or has it tried again."""
    _decide(number, reason, approves=True)


@app.command()
def reject(number: Number, reason: Why = "", _repo: Repo = "") -> None:
    """Say no: the one answer of the decision that refuses what it asks for, or drops the job."""
    _decide(number, reason, approves=False)


def _decide(number: int, reason: str, *, approves: bool) -> None:
    def decide(connection: sqlite3.Connection) -> Decision:
        verb = decision_verb(decisions.get(connection, number), approves=approves)
        command = commands.AnswerDecision(decision_id=number, verb=verb, actor=person(), text=reason)
        return commands.answer_decision(connection, command, at=datetime.now(UTC))

    decision = state.write(Failpoint.DECISION_ANSWERED, decide)
    verb = f" ({label_of(decision.verb)})" if decision.verb and reason else ""
    show_text(f"Decision {decision.id}: {line(decision.answer)}{verb}.")
