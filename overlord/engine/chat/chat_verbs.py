"""What people ask for in the chat, carried out: each verb is a command of `verbs/commands.py` or a look of `queries/overview.py`.

A command is three things here: the space it is about (whose approvers may give it), what it does, and what is said of it.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.domain.chat.answer import (
    brief_message,
    cost_message,
    decisions_message,
    help_message,
    history_message,
    job_cost_message,
    managed_repositories_message,
    proposals_message,
    queue_message,
    space_message,
    status_message,
    why_message,
)
from overlord.domain.chat.answer_draft import drafts_message
from overlord.domain.chat.answer_skill import skills_message
from overlord.domain.chat.message import ChatMessage
from overlord.domain.conversation.command import ChatCommand, ChatVerb
from overlord.domain.conversation.command import Span as CostSpan
from overlord.domain.conversation.decision_words import OPENS, answer_in, confirmation, decision_verb
from overlord.domain.decision import Decision, DecisionKind, Verb
from overlord.domain.job import Job
from overlord.domain.person import Person
from overlord.domain.text.reference import IssueRef, space_named
from overlord.engine.chat import chat_drafts, chat_proposals
from overlord.engine.runtime.parts import Parts
from overlord.errors import NotFound, Refused
from overlord.queries import overview
from overlord.store import decisions, jobs, ledger
from overlord.store.proposals import proposals
from overlord.store.skills import drafts, skill_uses, skills
from overlord.verbs import commands, message

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done, in a sentence; and the work request that still needs an answer of the forge, if there is one."""

    said: str
    wish_id: int | None = None
    message_id: int | None = None
    """What was said to a job, where its session is still to read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCommand:
    """A command in one view of the database."""

    connection: sqlite3.Connection
    parts: Parts
    command: ChatCommand
    at: datetime

    def job(self) -> Job:
        """The job that is meant; raises NotFound, Refused."""
        assert self.command.target is not None, "these verbs are not understood without one"
        return overview.job_meant(self.connection, self.command.target)

    def decision(self) -> Decision:
        """The decision that is meant; raises NotFound."""
        return decisions.get(self.connection, self.command.decision or 0)

    def space(self) -> str:
        """The repository that is named, as the settings spell it; empty for everything."""
        named = self.command.space
        return space_named(named, self.parts.settings.repositories) if named is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCommand(AskedCommand):
    """A command that changes something, with the person who gives it: their word counts for its space."""

    by: Person

    @property
    def actor(self) -> str:
        return self.by.actor


def space_of(invocation: AskedCommand) -> str:
    """Whose approvers may give this command: a space, or nothing for everything. Raises NotFound, Refused."""
    verb, connection = invocation.command.verb, invocation.connection
    if verb is ChatVerb.WORK:
        return _issue(invocation)[0]
    if verb in {ChatVerb.PAUSE, ChatVerb.RESUME}:
        return invocation.space()
    if invocation.command.proposal is not None:
        return proposals.get(connection, invocation.command.proposal).space
    if invocation.command.draft is not None:
        return drafts.get(connection, invocation.command.draft).space
    if verb is ChatVerb.RETIRE:
        return _space_of_skill(invocation)
    if invocation.command.decision is not None:
        return space_of_decision(connection, invocation.decision())
    return invocation.job().space


def space_of_decision(connection: sqlite3.Connection, decision: Decision) -> str:
    """The space a decision is about."""
    return decision.space if decision.job_id is None else jobs.get(connection, decision.job_id).space


class NotTheirs(Refused):
    """Who asks may not decide that; the attempt is written down."""


def check_eyes(
    connection: sqlite3.Connection, parts: Parts, decision: Decision, verb: Verb, actor: str
) -> None:
    """Raises NotTheirs where four eyes are asked for and somebody would allow what their own work asks."""
    is_asked = decision.kind is DecisionKind.APPROVAL or verb is Verb.GRANT
    if is_asked and decision.job_id is not None and verb in OPENS:
        _check_requester(connection, parts, decision.job_id, actor)


def _check_requester(connection: sqlite3.Connection, parts: Parts, job_id: int, actor: str) -> None:
    own = parts.settings.space(jobs.get(connection, job_id).space)
    if own.four_eyes and ledger.asked_for_by(connection, job_id) == actor:
        raise NotTheirs("You asked for this work, so somebody else is to approve it.")


def _issue(invocation: AskedCommand) -> tuple[str, int]:
    target = invocation.command.target
    assert isinstance(target, IssueRef), "work is understood with an issue alone"
    return space_named(target.space, invocation.parts.settings.repositories), target.number


def _work(invocation: GivenCommand) -> Done:
    space, number = _issue(invocation)
    command = commands.WorkOn(space=space, number=number, actor=invocation.actor)
    work_request = commands.work_on(invocation.connection, command, at=invocation.at)
    return Done(said="", wish_id=work_request.id)


def _stop(invocation: GivenCommand) -> Done:
    command = commands.StopJob(
        job_id=invocation.job().id, actor=invocation.actor, reason=invocation.command.text
    )
    job = commands.stop_job(invocation.connection, command, at=invocation.at)
    return Done(said=f"Stopped job {job.id}, {job.issue_ref}. What it made stays.")


def _retry(invocation: GivenCommand) -> Done:
    job = invocation.job()
    command = commands.RetryJob(job_id=job.id, actor=invocation.actor)
    commands.retry_job(invocation.connection, command, at=invocation.at)
    return Done(said=f"Job {job.id}, {job.issue_ref}, has another try.")


def _scope(invocation: GivenCommand) -> Done:
    job, patterns = invocation.job(), invocation.command.patterns
    _check_requester(invocation.connection, invocation.parts, job.id, invocation.actor)
    command = commands.WidenScope(job_id=job.id, patterns=patterns, actor=invocation.actor)
    outcome = commands.widen_scope(invocation.connection, command, at=invocation.at)
    return Done(said=f"Job {job.id} may write {outcome}.")


def _space_of_skill(invocation: AskedCommand) -> str:
    """The repository that is named, or the one whose base has a skill of that name. Raises Refused, NotFound."""
    if invocation.command.space is not None:
        return invocation.space()
    found = skills.spaces_with(invocation.connection, invocation.command.skill)
    if len(found) > 1:
        raise Refused(
            f"say whose, as in retire {found[0]} {invocation.command.skill}; there is {' and '.join(found)}"
        )
    if not found:
        raise NotFound("no repository has a skill of that name; /overlord skills shows those that were seen")
    return found[0]


def _retire(invocation: GivenCommand) -> Done:
    name, text = invocation.command.skill, invocation.command.text
    result = chat_drafts.retire(
        invocation.connection,
        _space_of_skill(invocation),
        name,
        by=invocation.by,
        reason=text,
        at=invocation.at,
    )
    return Done(said=result)


def _pause(invocation: GivenCommand) -> Done:
    command = commands.PauseWork(
        space=invocation.space() or None, actor=invocation.actor, reason=invocation.command.text
    )
    pause = commands.pause_work(invocation.connection, command, at=invocation.at)
    return Done(
        said=f"Paused: {pause.what}. What runs goes on; new work queues until /overlord resume {pause.what}."
    )


def _resume(invocation: GivenCommand) -> Done:
    space = invocation.space() or None
    paused = commands.resume_work(
        invocation.connection, commands.ResumeWork(space=space, actor=invocation.actor), at=invocation.at
    )
    rest = f" Still paused: {', '.join(pause.what for pause in paused)}." if paused else ""
    return Done(said=f"Going on: {space or 'everything'}.{rest}")


def _approve(invocation: GivenCommand) -> Done:
    return _decided(invocation, approves=True)


def _reject(invocation: GivenCommand) -> Done:
    return _decided(invocation, approves=False)


def _decided(invocation: GivenCommand, *, approves: bool) -> Done:
    command = invocation.command
    if command.proposal is not None:
        act = chat_proposals.approve if approves else chat_proposals.reject
        result = act(
            invocation.connection,
            command.proposal,
            by=invocation.by,
            reason=command.text,
            digest=None,
            at=invocation.at,
        )
        return Done(said=result)
    if command.draft is not None:
        act = chat_drafts.approve if approves else chat_drafts.reject
        result = act(
            invocation.connection,
            command.draft,
            by=invocation.by,
            reason=command.text,
            digest=None,
            at=invocation.at,
        )
        return Done(said=result)
    decision = invocation.decision()
    verb = decision_verb(decision, approves=approves)
    check_eyes(invocation.connection, invocation.parts, decision, verb, invocation.actor)
    answer = commands.AnswerDecision(
        decision_id=decision.id, verb=verb, text=command.text, actor=invocation.actor
    )
    return _answered(commands.answer_decision(invocation.connection, answer, at=invocation.at))


def _answer_decision(invocation: GivenCommand) -> Done:
    decision = invocation.decision()
    verb, text = answer_in(decision, invocation.command.text)
    check_eyes(invocation.connection, invocation.parts, decision, verb, invocation.actor)
    command = commands.AnswerDecision(decision_id=decision.id, verb=verb, text=text, actor=invocation.actor)
    return _answered(commands.answer_decision(invocation.connection, command, at=invocation.at))


def _send_message(invocation: GivenCommand) -> Done:
    job = invocation.job()
    command = message.SendMessage(job_id=job.id, text=invocation.command.text, actor=invocation.actor)
    sent = message.send_message(invocation.connection, command, at=invocation.at)
    advice = message.how_to_answer(invocation.connection, job.id)
    return Done(said=f"{sent.outcome()}{advice}", message_id=sent.id if sent.is_under_way else None)


def _answered(decision: Decision) -> Done:
    return Done(said=confirmation(decision))


ACTS: Mapping[ChatVerb, Callable[[GivenCommand], Done]] = {
    ChatVerb.WORK: _work,
    ChatVerb.STOP: _stop,
    ChatVerb.RETRY: _retry,
    ChatVerb.SCOPE: _scope,
    ChatVerb.PAUSE: _pause,
    ChatVerb.RESUME: _resume,
    ChatVerb.APPROVE: _approve,
    ChatVerb.REJECT: _reject,
    ChatVerb.ANSWER: _answer_decision,
    ChatVerb.RETIRE: _retire,
    ChatVerb.MESSAGE: _send_message,
}
"""What changes something: for approvers."""


def look(invocation: AskedCommand, web: str) -> ChatMessage:  # noqa: PLR0912 - a line for each
    """What a verb shows that changes nothing. Raises NotFound, Refused."""
    connection, settings, at = invocation.connection, invocation.parts.settings, invocation.at
    match invocation.command.verb:
        case ChatVerb.STATUS:
            return status_message(overview.status(connection, settings, at=at), web=web)
        case ChatVerb.QUEUE:
            return queue_message(overview.queue(connection, settings, at=at), web=web)
        case ChatVerb.HISTORY:
            return history_message(overview.history(connection, at=at), web=web)
        case ChatVerb.WHY:
            return why_message(overview.why(connection, invocation.job().id, at=at), web=web)
        case ChatVerb.COST:
            return _cost(invocation)
        case ChatVerb.SPACE if invocation.command.space is not None:
            name = invocation.space()
            return space_message(name, overview.space_values(settings, name))
        case ChatVerb.SPACE:
            return managed_repositories_message(overview.managed_repositories(connection, settings))
        case ChatVerb.DECISIONS:
            return decisions_message(overview.waiting(connection), at)
        case ChatVerb.PROPOSALS:
            return proposals_message(proposals.unfinished(connection), at)
        case ChatVerb.SKILLS:
            present = [item for item in skills.all_of(connection) if item.is_present]
            return skills_message([(item, skill_uses.statistics(connection, item)) for item in present])
        case ChatVerb.DRAFTS:
            return drafts_message(drafts.unfinished(connection), at)
        case ChatVerb.BRIEF:
            return brief_message(overview.brief(connection, since=at - DAY, at=at), web=web)
        case ChatVerb.HELP:
            return help_message()
        case verb:
            raise Refused(f"{verb} is no look at anything")


def _cost(invocation: AskedCommand) -> ChatMessage:
    settings, at = invocation.parts.settings, invocation.at
    if invocation.command.span is CostSpan.JOB:
        return job_cost_message(
            overview.job_cost(invocation.connection, settings, invocation.job().id, at=at)
        )
    days = overview.WEEK if invocation.command.span is CostSpan.WEEK else 1
    return cost_message(overview.cost(invocation.connection, settings, at=at, days=days))
