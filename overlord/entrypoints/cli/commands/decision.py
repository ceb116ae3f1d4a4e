"""`overlord decisions …`: what waits for a person, and the answer."""

from typing import Annotated

import typer

from overlord.domain.answers import label_of
from overlord.domain.conversation.decision_words import answer_command
from overlord.domain.decision import ApprovalKind
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import (
    age,
    as_json,
    card,
    console,
    line,
    show_command,
    show_text,
    table,
)
from overlord.store import decisions

app = typer.Typer(cls=LazyGroup, help="Decisions: what waits for a person.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(help="The decision's number.")]


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


@app.command("list")
def _list() -> Loaded:
    """Every decision that waits."""
    return list_decisions


@app.command("show")
def _show() -> Loaded:
    """One decision with what it rests on."""
    return show


@app.command("answer")
def _answer() -> Loaded:
    """Answer a decision, with one of its answers or in words of your own. The first answer counts, from wherever it comes."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("answer")


@app.command("approve")
def _approve() -> Loaded:
    """Say yes: the one answer of the decision that allows what it asks for, or has it tried again."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("approve", only=ApprovalKind.DECISION, help=_approve.__doc__)


@app.command("reject")
def _reject() -> Loaded:
    """Say no: the one answer of the decision that refuses what it asks for, or drops the job."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("reject", only=ApprovalKind.DECISION, help=_reject.__doc__)
