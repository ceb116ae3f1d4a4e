"""Where the points are reached at which another agent calls a discipline, whatever is cut off: each call has one result, one fact and
one entry in its session's history, and what it changed is what it is without a kill.

Whoever calls and is cut off looks whether the call was taken, and asks for it only where it was not.
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from overlord.domain.disciplines.call import Call, CallState
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.settings.load import Settings
from overlord.store import ledger, sessions
from overlord.store.database import open_reader
from overlord.store.disciplines import calls, history
from overlord.store.evidence import EvidenceStore
from overlord.store.knowledge import notes
from overlord.verbs.calls import Ground, append_history, cancel_call, request_call
from tests.called import ACTOR
from tests.faults.campaign import Campaign
from tests.faults.invariants import must_hold
from tests.faults.story import Story
from tests.world import REPO

CALC = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
TEST = "tests/test_text.py"
ASKED: Sequence[tuple[DisciplineName, Mapping[str, Any]]] = (
    (DisciplineName.TDD_RED, {"spec": "Texts of digits are added as numbers."}),
    (DisciplineName.TDD_GREEN, {"test_path": TEST}),
    (DisciplineName.REVIEW, {"files": ["calc.py"]}),
    (DisciplineName.RETROSPECTIVE, {}),
    (DisciplineName.TRAINER, {}),
)
CHANGES = {
    DisciplineName.TDD_RED: [
        *("+from calc import add", "+", "+", "+def test_text():", "+    assert add('1', '2') == 3"),
    ],
    DisciplineName.TDD_GREEN: ["-    return a + b", "+    return int(a) + int(b)"],
}
"""The lines of each change."""
SAID = "They add by hand."


async def _called(told: Campaign) -> None:
    """One session of somebody's: red, green, a review, words of their own, a retrospective, a trainer, and a call that is cancelled."""
    await told.settle()
    key = f"sess-{len({call.session_key for call in _read(told, calls.latest)}) + 1}"
    for name, arguments in ASKED:
        if name is DisciplineName.RETROSPECTIVE:
            await told.writes(Failpoint.HISTORY_APPENDED, partial(_say, key=key))
        told.play()
        await told.writes(
            Failpoint.CALL_REQUESTED, partial(_request, key=key, name=name, arguments=arguments)
        )
    told.play()
    wanted = partial(_request, key=key, name=DisciplineName.DEBUG, arguments={"error": "It holds."})
    await told.writes(Failpoint.CALL_REQUESTED, wanted, holds=True)
    await told.writes(Failpoint.CALL_CANCELLED, partial(_cancel, key=key))
    must_hold([*_wrong(told, key)], told.log())


def _read(told: Campaign, act: Any, *arguments: Any, **named: Any) -> Any:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return act(connection, *arguments, **named)


def _request(
    connection: sqlite3.Connection,
    settings: Settings,
    now: datetime,
    *,
    key: str,
    name: DisciplineName,
    arguments: Mapping[str, Any],
) -> None:
    if any(call.discipline is name for call in calls.of_session(connection, REPO, key)):
        return
    request_call(
        connection,
        name,
        {"project_root": REPO, "session_id": key, **arguments},
        Ground(space=RepositoryName(REPO), base_branch="main"),
        settings=settings,
        actor=ACTOR,
        at=now,
    )


def _say(connection: sqlite3.Connection, _: Settings, now: datetime, *, key: str) -> None:
    if all(entry.message != SAID for entry in history.read(connection, REPO, key)):
        words = {"phase": "debug", "skill": "debug", "final_status": "pass", "file_path": "", "message": SAID}
        append_history(connection, REPO, key, **words, actor=ACTOR, at=now)


def _cancel(connection: sqlite3.Connection, _: Settings, now: datetime, *, key: str) -> None:
    cancel_call(connection, calls.of_session(connection, REPO, key)[-1].ref, actor=ACTOR, at=now)


def _wrong(told: Campaign, key: str) -> Iterator[str]:
    """What is not as it must be once all of a session's calls are over."""
    made: list[Call] = _read(told, calls.of_session, REPO, key)
    names = [call.discipline for call in made]
    if names != [*(name for name, _ in ASKED), DisciplineName.DEBUG]:
        yield f"{key} has the calls {names}"
    entries = Counter(entry.call_id for entry in _read(told, history.read, REPO, key))
    if entries != Counter([*(call.id for call in made[:-1]), None]):
        yield f"the history of {key} has {dict(entries)}"
    for call in made:
        yield from (f"{call.ref} ({call.discipline}): {wrong}" for wrong in _wrong_call(told, call))
    yield from (f"{live.id} still runs" for live in _read(told, sessions.live))
    path = Home(told.place.home).brain / "training-data" / "sft" / f"{key}.jsonl"
    if (lines := len(path.read_text().splitlines()) if path.exists() else 0) != 1:
        yield f"the training data of {key} has {lines} lines"
    [looked_back] = [call for call in made if call.discipline is DisciplineName.RETROSPECTIVE]
    if (drafts := len(_read(told, notes.of_job, looked_back.job_id))) != 1:
        yield f"{key} was looked back on with {drafts} notes"


def _wrong_call(told: Campaign, call: Call) -> Iterator[str]:
    facts = Counter(entry.name for entry in _read(told, _facts, call))
    if call.discipline is DisciplineName.DEBUG:
        if (call.state, call.result) != (CallState.CANCELLED, None) or facts[EventName.CALL_ENDED]:
            yield f"is {call.state} with {call.result}"
        if facts[EventName.CALL_CANCELLED] != 1:
            yield f"was cancelled {facts[EventName.CALL_CANCELLED]} times"
        return
    if call.state is not CallState.ENDED or facts[EventName.CALL_ENDED] != 1:
        yield f"is {call.state}, and ended {facts[EventName.CALL_ENDED]} times"
    if call.result is None or not call.result.verified:
        yield f"is not verified: {call.result}"
    if facts[EventName.TRAINING_WRITTEN] != (call.discipline is DisciplineName.TRAINER):
        yield f"wrote training data {facts[EventName.TRAINING_WRITTEN]} times"
    patch = EvidenceStore(Home(told.place.home).evidence).get(call.patch).decode() if call.patch else ""
    changed = [
        line
        for line in patch.splitlines()
        if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
    ]
    if changed != CHANGES.get(call.discipline, []):
        yield f"its change is {changed}"


def _facts(connection: sqlite3.Connection, call: Call) -> list[ledger.Entry]:
    return list(ledger.entries(connection, job_id=call.job_id))


CALLED = Story(name="called", tell=_called, files=CALC)
P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (
        *(P.CALL_REQUESTED, P.CALL_PREPARED, P.CALL_STARTED, P.CALL_COLLECTED, P.CALL_VERIFIED),
        *(P.CALL_ENDED, P.CALL_CANCELLED, P.HISTORY_APPENDED, P.KEEP_TRAINING_DATA),
    ),
    CALLED,
)
