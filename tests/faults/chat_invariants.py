"""What "never lost, never twice, never unseen" means in the chat: one look at its messages beside the rows they show.

For whoever has a database to read, a chat, and what people did there that was acknowledged.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

from overlord.domain.chat.card import FILL, PRESS, RETRY, STOP
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision import DecisionState
from overlord.domain.job import JobState
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.delivery import COMMANDS, PRESSES, Delivered
from overlord.embedded.chat.record import Message as Shown
from overlord.engine.chat.message_projection import UNTOLD
from overlord.store import decisions, jobs, ledger
from overlord.store.chat import buttons, messages
from overlord.store.chat.messages import Message, MessageKind
from overlord.store.chat.requests import Request, RequestState
from overlord.store.rows import select


def of_chat(
    connection: sqlite3.Connection,
    chat: EmbeddedChat,
    *,
    heard: Sequence[Delivered] = (),
    canaries: Sequence[str] = (),
) -> Iterator[str]:
    """Everything in the chat that is not as it must be once all is settled. `heard`: what was acknowledged to people."""
    rows = select(connection, Message, "SELECT * FROM messages")
    yield from _standing(chat, rows)
    yield from _wanted(connection)
    for row in rows:
        shown = chat.workspace.standing.get(row.ts or "")
        if shown is not None and row.kind is MessageKind.JOB:
            yield from _job(connection, chat, row, shown)
        elif shown is not None and row.kind is MessageKind.DECISION:
            yield from _decision(connection, row, shown)
    yield from _requests(connection, heard)
    told = _readable(chat, heard)
    yield from (f"the chat shows {canary[:4]}…" for canary in filter(None, canaries) if canary in told)


def key_of(message: Shown) -> str:
    """What a message of ours is about; empty for anybody else's."""
    payload = (message.metadata or {}).get("event_payload", {})
    return str(payload.get("key", "")).partition(" ")[2]


def _standing(chat: EmbeddedChat, rows: Sequence[Message]) -> Iterator[str]:
    """What stands there has a row that knows where, and one alone; what a row says stands, does."""
    ours = {message.ts: key_of(message) for message in chat.workspace.standing.values()}
    counted = Counter(filter(None, ours.values()))
    yield from (f"{count} messages about {key}" for key, count in counted.items() if count > 1)
    places: dict[str, str] = {row.ts: row.key for row in rows if row.ts is not None}
    for ts, key in ours.items():
        if key and not key.startswith("request ") and places.get(ts) != key:
            yield f"a message about {key} stands at {ts}, and no row says so"
    for ts, key in places.items():
        if ours.get(ts) != key:
            yield f"the row of {key} says it stands at {ts}, and there is {ours.get(ts, 'nothing')!r}"
    for row in rows:
        if row.ts is None and not row.is_final:
            yield f"{row.key} was never posted"


def _wanted(connection: sqlite3.Connection) -> Iterator[str]:
    for what, numbers in messages.unwanted_yet(connection):
        yield from (f"{what} {number} is open and nobody was told" for number in numbers)


def _job(connection: sqlite3.Connection, chat: EmbeddedChat, row: Message, shown: Shown) -> Iterator[str]:
    """A job's message says where it is, offers what can still be done, and its thread tells each thing once."""
    job = jobs.get(connection, row.ref)
    said = shown.plain.splitlines()[1]
    if not said.endswith(f"  {state_in_words(job.state).capitalize()}"):
        yield f"job {job.id} is {job.state}, and its message says {said!r}"
    live = {known.verb for word in _values(shown) if (known := buttons.find(connection, word)) is not None}
    wrong = live & (
        {STOP, RETRY} if not job.is_open else {RETRY} if job.state is not JobState.WAITING else set()
    )
    yield from (f"job {job.id} is {job.state}, and there is a button to {verb} it" for verb in wrong)
    happened = [entry for entry in ledger.entries(connection, job_id=job.id) if entry.name not in UNTOLD]
    told = [
        line
        for message in chat.workspace.replies(shown.ts)
        if key_of(message).startswith(MessageKind.STORY)
        for line in message.plain.splitlines()
    ]
    if len(told) != len(happened):
        yield f"job {job.id} has {len(happened)} things to tell, and its thread has {len(told)} lines"


def _decision(connection: sqlite3.Connection, row: Message, shown: Shown) -> Iterator[str]:
    decision = decisions.get(connection, row.ref)
    live = [word.action_id for word in shown.buttons if word.action_id.partition(":")[0] in (PRESS, FILL)]
    if decision.state is not DecisionState.OPEN and live:
        yield f"decision {decision.id} is {decision.state}, and its card has buttons {live}"
    if decision.state is DecisionState.OPEN and not live:
        yield f"decision {decision.id} is open, and its card has no buttons"


def _values(shown: Shown) -> list[str]:
    return [button.value for button in shown.buttons if button.value]


def _requests(connection: sqlite3.Connection, heard: Sequence[Delivered]) -> Iterator[str]:
    """What was acknowledged is written down, under one name, and was carried out and answered."""
    known = {request.key: request for request in select(connection, Request, "SELECT * FROM requests")}
    for key in filter(None, map(_key, heard)):
        if key not in known:
            yield f"{key} was acknowledged and is not written down"
    for key, request in known.items():
        if request.state is not RequestState.ANSWERED:
            yield f"{key} is {request.state}, and nobody was answered"


def _key(delivered: Delivered) -> str:
    """What a request is known by; empty for a press that only opens a form, and for talk."""
    told = delivered.payload
    if delivered.kind == COMMANDS:
        return f"command {told['trigger_id']}"
    if delivered.kind == PRESSES and told["type"] == "view_submission":
        return f"form {told['view']['id']}"
    if delivered.kind == PRESSES:
        counts = told["actions"][0]["action_id"].partition(":")[0] == PRESS
        return f"press {told['trigger_id']}" if counts else ""
    event = told["event"]
    if event["type"] == "app_mention":
        return f"mention {event['channel']} {event['ts']}"
    return f"reply {event['channel']} {event['ts']}" if event.get("thread_ts") else ""


def _readable(chat: EmbeddedChat, heard: Sequence[Delivered]) -> str:
    """Everything that somebody could read."""
    said = [delivered.responses for delivered in heard]
    views = [*chat.interactions.views.values(), *chat.interactions.homes.values()]
    return f"{chat.workspace.standing} {chat.workspace.whispers} {views} {said}"
