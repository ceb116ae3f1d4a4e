"""What an architect could not find out is put to a person, some questions at a time, before the next phase begins."""

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.discovery.question import Discovery
from overlord.domain.discovery.reply import accept, reply
from overlord.domain.discovery.text import for_person
from overlord.domain.event import EventName
from overlord.domain.question import ask
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts.move import Move
from overlord.store import decisions
from overlord.store.bootstrap import discoveries


def asked_first(move: Move) -> bool:
    """Ask the next questions, where the phase that is over leaves some open; whether that was done."""
    if move.job.phase != init_job.DISCOVER:
        return False
    discovery = discoveries.of_job(move.connection, move.job.id)
    if discovery is None or not (batch := discovery.batch()):
        return False
    open_count = len(discovery.open)
    move = move.saying(questions=len(batch), open=open_count)
    moved = move.to(
        EventName.QUESTIONS_ASKED,
        reason=f"the architect asks {len(batch)} of {open_count} questions",
        consultation="",
    )
    body, options = for_person(batch, open_count=open_count), tuple(item.id for item in batch)
    decisions.raise_decision(
        move.connection, ask(moved, Subject.DISCOVERY, body, at=move.at, options=options)
    )
    return True


def answered(move: Move, decision: Decision) -> None:
    """Write down what a person said to a batch; what it leaves out is asked again."""
    discovery = discoveries.of_job(move.connection, move.job.id)
    if discovery is None:
        return
    before = len(discovery.open)
    found = _with(discovery, decision)
    init_job.keep_discovery(move.connection, move.parts, move.job, found)
    left = len(found.open)
    move.saying(answered=before - left, open=left).note(EventName.DISCOVERY_ANSWERED)


def _with(discovery: Discovery, decision: Decision) -> Discovery:
    by = decision.answered_by
    if decision.verb is Verb.REPLY:
        return reply(discovery, decision.options, decision.answer, by=by)
    return accept(discovery, decision.options, by=by)
