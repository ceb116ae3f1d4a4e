"""`overlord message`: a person says something to a job's Minion, and sees that it was read."""

import sqlite3
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from overlord.domain.conversation.steering import SteeringMessage
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Meant, Repo
from overlord.entrypoints.terminal.show import line, person, show_text
from overlord.failpoints import Failpoint
from overlord.queries import overview
from overlord.store import jobs
from overlord.store.conversation import steering
from overlord.verbs import message as commands_message

WAIT_S = 60.0
_LOOKS_EVERY_S = 0.2


def message(
    job: Meant,
    words: Annotated[list[str], typer.Argument(help="What it is to read.")],
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait until it is read.")] = WAIT_S,
    _repo: Repo = "",
) -> None:
    """Say something to a job's Minion: it reads it before its next turn; where none is at work, the next one's brief has it."""
    target = state.target(job)

    def send(connection: sqlite3.Connection) -> tuple[SteeringMessage, str]:
        number = overview.job_meant(connection, target).id
        command = commands_message.SendMessage(job_id=number, text=" ".join(words), actor=person())
        sent = commands_message.send_message(connection, command, at=datetime.now(UTC))
        return sent, commands_message.how_to_answer(connection, number)

    sent, advice = state.write(Failpoint.STEERING_SENT, send)
    show_text(line(f"{sent.outcome()}{advice}"))
    if not sent.is_under_way or not wait:
        return
    answer = _awaited(sent, wait) if state.is_heard() else ""
    show_text(line(answer or f"It has not read it yet; `overlord why {sent.job_id}` tells when it has."))


def _awaited(sent: SteeringMessage, wait_s: float) -> str:
    """What became of a message; empty when that takes too long."""
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        with state.reading() as connection:
            now, is_open = steering.get(connection, sent.id), jobs.get(connection, sent.job_id).is_open
        if not now.is_under_way or not is_open:
            return now.outcome(is_open=is_open)
        time.sleep(_LOOKS_EVERY_S)
    return ""
