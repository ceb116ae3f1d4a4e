"""Every verb a person has: one function each. CLI, comments, Slack, web and MCP parse and render; this acts.

A function takes a connection inside one transaction (the daemon's, or `write_beside` it) and writes facts; the tick
does the rest. Each says who did it in the ledger: its `actor`, as `cli:name` or `slack:U123`.
"""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from minion.protocol import Issue, Scope
from overlord.command_ref import CommandRef, Hint, hint
from overlord.domain.budgets.budget import parse_amount
from overlord.domain.checks.untested import CHOICES
from overlord.domain.conversation.decision_words import answer_ref, how_to_answer
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision import Audience, Decision, DecisionState, Subject, Verb
from overlord.domain.discovery.reply import reply
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.interface import Interface
from overlord.domain.job import Job, JobState
from overlord.domain.pause import EVERYTHING, Pause, name_of
from overlord.domain.person import Person
from overlord.domain.scope.approval import patterns_in
from overlord.domain.text.plain import plain_line
from overlord.errors import Refused
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.bootstrap import discoveries
from overlord.store.spaces import pauses, spaces, work_requests
from overlord.store.spaces.work_requests import WorkRequest
from overlord.verbs import untested
from overlord.verbs.right import NotAllowed
from overlord.verbs.scope import covers, grant, grant_once, widen


def stop_job(
    connection: sqlite3.Connection, job_id: int, *, actor: str, reason: str = "", at: datetime
) -> Job:
    """End a job: its session is stopped, what it pushed and all evidence stay.

    Raises NotFound for an unknown job, Refused for one that has ended.
    """
    job = jobs.get(connection, job_id)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already: {job.state}")
    reason = reason or "stopped by a person"
    return jobs.move(
        connection, job.id, EventName.STOPPED, at=at, actor=actor, data={"reason": reason}, reason=reason
    )


def resume_job(connection: sqlite3.Connection, job_id: int, *, actor: str, issue: Issue, at: datetime) -> Job:
    """Let a job that waits for people go on from where it is, as its work label put on again does.

    It works on `issue`, as it stands now, from here. Raises NotFound for an unknown job, Refused for one that does not wait or
    goes on already.
    """
    job = jobs.get(connection, job_id)
    if job.state is not JobState.WAITING:
        raise Refused(f"job {job.id} does not wait for anybody: it is {job.state}")
    if decisions.unapplied(connection, job.id):
        raise Refused(f"job {job.id} is about to go on: somebody has just answered")
    decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
    return jobs.move(
        connection,
        job.id,
        EventName.WORK_RESUMED,
        at=at,
        actor=actor,
        issue=issue,
        edited_issue=None,
        losses=0,
        projected="",  # with that, the label is ours to take off again
    )


def retry_job(
    connection: sqlite3.Connection, job_id: int, *, actor: str, interface: Interface, at: datetime
) -> Decision:
    """Answer what a job waits for with the answer that tries again.

    Raises NotFound for an unknown job, Refused for one that waits for nothing another try could fix, NotAllowed for a machine where a
    person is asked.
    """
    job = jobs.get(connection, job_id)
    for decision in decisions.waiting(connection, job.id):
        verb = next((verb for verb in decision.verbs if verb in _TRY_AGAIN), None)
        if verb is not None and decision.session_id is None:
            return answer_decision(connection, decision.id, verb, actor=actor, interface=interface, at=at)
    raise Refused(f"job {job.id} does not wait for another try: it is {job.state}")


_TRY_AGAIN = frozenset({Verb.RETRY, Verb.ONE_MORE, Verb.RECHECK, Verb.REDELIVER})


def work_on(
    connection: sqlite3.Connection, space: str, number: int, *, actor: str, at: datetime
) -> WorkRequest:
    """Have an issue worked on although nobody put the work label on it, or let its waiting job go on.

    Written down only: the tick reads the issue and answers the request, seconds later where a daemon runs. `space` is spelled as
    in the settings. Raises Refused when a job works on it already, or its repository cannot be found.
    """
    reference = f"{space}#{number}"
    live = jobs.live_for(connection, space, number)
    if live is not None and live.state is not JobState.WAITING:
        raise Refused(f"job {live.id} works on {reference} already: it is {state_in_words(live.state)}")
    if spaces.get(connection, space).paused:
        raise Refused(why_not_found(connection, space), hint=_ways_on(connection, space))
    work_request = work_requests.add(connection, space=space, number=number, actor=actor, at=at)
    if work_request.at == at:
        data = {"issue": reference}
        _append_event(connection, EventName.WORK_REQUESTED, data, actor=actor, at=at, job=live)
    return work_request


def pause_work(
    connection: sqlite3.Connection, space: str | None, *, actor: str, reason: str = "", at: datetime
) -> Pause:
    """Begin nothing new for now in a repository, as the settings spell it, or with None in any.

    What runs goes on and is judged; labels and comments are read, and their jobs queue. It holds at once, and over restarts.
    Raises Refused for what is paused already.
    """
    known = pauses.of(connection, space or EVERYTHING)
    if known is not None:
        raise Refused(f"{known.what} is paused already, by {name_of(known.actor)}")
    reason = plain_line(reason[:1000], limit=200)
    pause = Pause(space=space or EVERYTHING, actor=actor, at=at, reason=reason)
    pauses.add(connection, pause)
    data = {name: value for name, value in (("space", pause.space), ("reason", reason)) if value}
    _append_event(connection, EventName.PAUSED, data, actor=actor, at=at)
    return pause


def resume_work(
    connection: sqlite3.Connection, space: str | None, *, actor: str, at: datetime
) -> tuple[Pause, ...]:
    """Let what a person paused go on: a repository, as the settings spell it. None ends the pause of everything, and no
    repository's own.

    Returns the pauses that still hold back some of it. Raises Refused for what is not paused, and for a repository that cannot
    be found: that one's decision says what becomes of it.
    """
    pause = pauses.of(connection, space or EVERYTHING)
    others = [other for name, other in pauses.every(connection).items() if name != (space or EVERYTHING)]
    if pause is None:
        if space is None or not spaces.get(connection, space).paused:
            raise Refused(_not_paused(space or "everything", others))
        if _asked_about(connection, space) is not None:
            raise Refused(why_not_found(connection, space), hint=_ways_on(connection, space))
        resume_space(connection, space, actor=actor, at=at)
    else:
        pauses.remove(connection, pause.space)
        for summary in jobs.summaries(connection):
            if summary.state is JobState.QUEUED and summary.reason == pause.describe():
                jobs.repair(connection, summary.id, reason="")
        data: dict[str, str] = {"space": pause.space} if pause.space else {}
        _append_event(connection, EventName.RESUMED, data, actor=actor, at=at)
    return tuple(other for other in others if space is None or other.space == EVERYTHING)


def _not_paused(what: str, others: list[Pause]) -> str:
    paused = ", ".join(other.what for other in others)
    return f"{what} is not paused{f'; what is: {paused}' if paused else ''}"


def _asked_about(connection: sqlite3.Connection, space: str) -> Decision | None:
    """The open decision about a space as a whole."""
    asked = decisions.waiting(connection)
    return next((item for item in asked if item.space == space and not item.about), None)


def why_not_found(connection: sqlite3.Connection, space: str) -> str:
    """Why a space is paused that nobody has paused, and what is to be done."""
    asked = _asked_about(connection, space)
    if asked is None:
        return f"{space} is paused because its repository cannot be found; resuming it looks for it again"
    doubled = asked.subject is Subject.SPACE_DOUBLED
    because = (
        "its repository is managed by Overlord under another name"
        if doubled
        else "its repository cannot be found"
    )
    return f"{space} is paused because {because}: the answer to decision {asked.id} says what becomes of it"


def _ways_on(connection: sqlite3.Connection, space: str) -> Hint:
    """What is to be done about a space that nobody has paused."""
    asked = _asked_about(connection, space)
    return how_to_answer(asked) if asked is not None else hint("try ", CommandRef("resume", (space,)))


def _append_event(
    connection: sqlite3.Connection,
    name: EventName,
    data: dict[str, str],
    *,
    actor: str,
    at: datetime,
    job: Job | None = None,
) -> None:
    event = LedgerEvent(name=name, at=at, actor=actor, data={**data}, job_id=job.id if job else None)
    ledger.append(connection, event)


def widen_scope(
    connection: sqlite3.Connection,
    job_id: int,
    patterns: tuple[str, ...],
    *,
    actor: str,
    interface: Interface,
    at: datetime,
) -> str:
    """Let a job write more paths, for 14 days. What it waits for and that answers, is answered with it.

    It holds at once: for the running session, the next brief and the check of the diff. Returns what the job may write now, in
    words. Raises NotFound for an unknown job, Refused for one that has ended.
    """
    job = jobs.get(connection, job_id)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already: {job.state}")
    asked = decisions.waiting(connection, job.id)
    if unknown := next((item for item in asked if Verb.LIMIT in item.verbs), None):
        text = " ".join(patterns)
        if patterns_in(text) != tuple(dict.fromkeys(patterns)):
            raise Refused("a pattern with a blank or a comma in it is no answer here: write `?` in its place")
        answer_decision(
            connection, unknown.id, Verb.LIMIT, text=text, actor=actor, interface=interface, at=at
        )
        return f"{', '.join(patterns)} and nothing else"
    live = sessions.live_of(connection, job.id)
    widen(connection, job.id, patterns, by=actor, session_id=live.id if live else None, at=at)
    data: dict[str, Json] = {"patterns": list(patterns)}
    jobs.note(connection, job.id, EventName.SCOPE_WIDENED, at=at, actor=actor, data=data)
    wider = Scope(patterns=patterns)
    for item in asked:
        if Verb.GRANT in item.verbs and all(covers(wider, pattern) for pattern in item.patterns):
            answer_decision(connection, item.id, Verb.GRANT, actor=actor, interface=interface, at=at)
    return f"{', '.join(patterns)} too, for 14 days"


def answer_decision(
    connection: sqlite3.Connection,
    decision_id: int,
    verb: Verb,
    *,
    actor: str,
    interface: Interface,
    text: str = "",
    digest: str | None = None,
    at: datetime,
    by: Person | None = None,
) -> Decision:
    """Answer a decision. `text` is free; for `add_budget` it is the amount: tokens (`500000`) or dollars (`$2`). `digest` is that
    of what the person was shown; without one, what stands now counts as shown. `by`: who is known to be an approver, where one
    has to decide it.

    Raises NotFound; Refused when it was answered before, is stale, or takes no such answer; NotAllowed for a machine where a person
    is asked.
    """
    decision = decisions.get(connection, decision_id)
    check_machine(decision, verb, interface)
    if verb is Verb.ADD_BUDGET:
        _check_amount(decision, text)
    if verb is Verb.LIMIT:
        text = _limit(decision, text)
    if verb is Verb.REPLY and not text.strip():
        example = answer_ref(decision, Verb.REPLY, "use the second one")
        raise Refused("say what to reply", hint=hint("as in ", example))
    if verb is Verb.REPLY and decision.subject is Subject.DISCOVERY:
        _check_discovery(connection, decision, text)
    shown = digest or decision.digest
    answered = decisions.answer(
        connection, decision_id, digest=shown, verb=verb, text=text, actor=actor, at=at, by=by
    )
    if answered.job_id is None:
        _decide_space(connection, answered, at=at)
    elif verb in CHOICES:
        untested.remember(connection, answered, at=at)
    elif verb is Verb.GRANT:
        grant(connection, answered, answered.job_id, at=at)
    elif verb is Verb.ONCE and answered.session_id is not None:
        grant_once(connection, answered, answered.job_id, answered.session_id, at=at)
    return answered


def check_machine(decision: Decision, verb: Verb, interface: Interface) -> None:
    """Raises NotAllowed for a machine that would answer what asks a person. Every answer comes by here, from whatever verb."""
    if interface is not Interface.MCP or decision.is_for_machines(verb):
        return
    where = (
        "an approver answers it in the chat, on the page or in a terminal"
        if decision.audience is Audience.APPROVER
        else "a person answers it in the chat, in a comment, on the page or in a terminal"
    )
    raise NotAllowed(f"{decision.ref.name} asks a person, and no machine gives it that answer: {where}")


def check_nobody_asked(asked: Iterable[Decision], interface: Interface) -> None:
    """Raises NotAllowed for a machine where one of these asks a person: what takes a question back is an answer to it too."""
    for decision in asked:
        if interface is Interface.MCP and decision.asks_a_person:
            raise NotAllowed(f"{decision.ref.name} asks a person about that; once it is answered, ask again")


def _check_discovery(connection: sqlite3.Connection, decision: Decision, text: str) -> None:
    """Raises Refused for words that do not say which question they answer."""
    discovery = discoveries.of_job(connection, decision.job_id or 0)
    if discovery is not None:
        reply(discovery, decision.options, text, by="")


def _decide_space(connection: sqlite3.Connection, decision: Decision, *, at: datetime) -> None:
    """What is answered about a space as a whole is carried out at once; what is about the portfolio, a step of its own carries out."""
    if decision.about:
        return
    actor = decision.answered_by
    if decision.verb is Verb.RETRY:
        resume_space(connection, decision.space, actor=actor, at=at)
    else:
        for job in jobs.of_space(connection, decision.space):
            is_doubled = decision.subject is Subject.SPACE_DOUBLED
            reason = (
                "its repository is worked on under another name" if is_doubled else "its repository is gone"
            )
            jobs.move(connection, job.id, EventName.DROPPED, at=at, actor=actor, reason=reason)
    decisions.mark_applied(connection, decision)


def resume_space(connection: sqlite3.Connection, name: str, *, actor: str, at: datetime) -> None:
    """Look again for a repository that could not be found."""
    spaces.pause(connection, name, paused=False)
    _append_event(connection, EventName.RESUMED, {"space": name}, actor=actor, at=at)


def _limit(decision: Decision, text: str) -> str:
    """The patterns of an answer, in one spelling. Raises Refused for what is none."""
    try:
        return " ".join(patterns_in(text))
    except ValueError as error:
        raise Refused(str(error), hint=hint("as in ", answer_ref(decision, Verb.LIMIT))) from None


def _check_amount(decision: Decision, text: str) -> None:
    """Raises Refused for what is no amount, or none of what the spent budget counts."""
    suggested = decision.options[0] if decision.options else "500000"
    try:
        amount = parse_amount(text)
    except ValueError:
        example = answer_ref(decision, Verb.ADD_BUDGET, suggested)
        raise Refused("say how much to add", hint=hint("as in ", example)) from None
    if decision.options and amount.unit is not parse_amount(suggested).unit:
        raise Refused(f"the spent budget counts {parse_amount(suggested).unit}: add as in '{suggested}'")
