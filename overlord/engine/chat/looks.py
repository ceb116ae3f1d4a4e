"""What people can look at in the chat: each look with its arguments, how it is typed, and what it shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from overlord.domain.chat.answer import (
    Usage,
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
from overlord.domain.conversation.argument import JobArgument, Typed
from overlord.domain.conversation.look_argument import CostArgument, CostOf, ShownSpaceArgument, Span
from overlord.domain.text.reference import Target
from overlord.domain.view.view import View
from overlord.queries import overview
from overlord.store.proposals import proposals
from overlord.store.skills import drafts, skill_uses, skills
from overlord.verbs import registry
from overlord.verbs.right import Interface
from overlord.verbs.verb import Context

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJob:
    """A job."""

    job: Annotated[Target | None, JobArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCost:
    """What a cost is asked of."""

    of: Annotated[CostOf, CostArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSpace:
    """A repository; None for all of them."""

    space: Annotated[str | None, ShownSpaceArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look. It raises NotFound and Refused."""

    show: Callable[[Context, Any, str], View]
    """By the address of the forge's pages."""
    usage: str
    means: str
    arguments: type = Nothing
    ignores_words: bool = False
    """Whether words after it mean nothing."""

    def typed(self, name: str) -> Typed:
        """How it is typed."""
        return Typed(name=name, usage=self.usage)


def _status(context: Context, _arguments: Nothing, web: str) -> View:
    return status_message(overview.status(context.connection, context.settings, at=context.at), web=web)


def _queue(context: Context, _arguments: Nothing, web: str) -> View:
    return queue_message(overview.queue(context.connection, context.settings, at=context.at), web=web)


def _history(context: Context, _arguments: Nothing, web: str) -> View:
    return history_message(overview.history(context.connection, at=context.at), web=web)


def _why(context: Context, arguments: OfJob, web: str) -> View:
    number = context.job(arguments.job).id
    return why_message(overview.why(context.connection, number, at=context.at), web=web)


def _cost(context: Context, arguments: OfCost, _web: str) -> View:
    connection, settings, of = context.connection, context.settings, arguments.of
    if of.span is Span.JOB:
        number = context.job(of.job).id
        return job_cost_message(overview.job_cost(connection, settings, number, at=context.at))
    days = overview.WEEK if of.span is Span.WEEK else 1
    return cost_message(overview.cost(connection, settings, at=context.at, days=days))


def _space(context: Context, arguments: OfSpace, _web: str) -> View:
    if arguments.space is None:
        return managed_repositories_message(
            overview.managed_repositories(context.connection, context.settings)
        )
    name = context.space(arguments.space)
    return space_message(name, overview.space_values(context.settings, name))


def _decisions(context: Context, _arguments: Nothing, _web: str) -> View:
    return decisions_message(overview.waiting(context.connection), context.at)


def _proposals(context: Context, _arguments: Nothing, _web: str) -> View:
    return proposals_message(proposals.unfinished(context.connection), context.at)


def _skills(context: Context, _arguments: Nothing, _web: str) -> View:
    present = [item for item in skills.all_of(context.connection) if item.is_present]
    return skills_message([(item, skill_uses.statistics(context.connection, item)) for item in present])


def _drafts(context: Context, _arguments: Nothing, _web: str) -> View:
    return drafts_message(drafts.unfinished(context.connection), context.at)


def _brief(context: Context, _arguments: Nothing, web: str) -> View:
    return brief_message(overview.brief(context.connection, since=context.at - DAY, at=context.at), web=web)


def _help(_context: Context, _arguments: Nothing, _web: str) -> View:
    return help_message(usages())


LOOKS: Mapping[str, Look] = {
    "status": Look(show=_status, usage="status", means="what is going on"),
    "queue": Look(show=_queue, usage="queue", means="what starts next, and what it waits for"),
    "history": Look(show=_history, usage="history", means="what ended lately"),
    "why": Look(
        show=_why, arguments=OfJob, usage="why #42", means="where its job stands, and how it came there"
    ),
    "cost": Look(
        show=_cost, arguments=OfCost, usage="cost week", means="what was spent: `today`, `week`, or `#42`"
    ),
    "space": Look(
        show=_space,
        arguments=OfSpace,
        usage="space list",
        means="the repositories in my care; `space show owner/repo` what one is worked on by",
    ),
    "decisions": Look(show=_decisions, usage="decisions", means="what waits for a person"),
    "proposals": Look(
        show=_proposals, usage="proposals", means="what Overlord would improve, and waits for an answer"
    ),
    "skills": Look(
        show=_skills, usage="skills", means="the skills there are, and how work goes that loads them"
    ),
    "drafts": Look(
        show=_drafts, usage="drafts", means="skills that are drafted, and wait for a person or are under way"
    ),
    "brief": Look(show=_brief, usage="brief", means="the morning briefing, now"),
    "help": Look(show=_help, usage="help", means="this list", ignores_words=True),
}
"""In the order people are shown them, after the verbs."""


def usages() -> list[Usage]:
    """Everything that can be typed in the chat, as it is listed."""
    verbs = [Usage(form=item.usage, means=item.means) for item in registry.offered(Interface.CHAT).values()]
    return [*verbs, *(Usage(form=item.usage, means=item.means) for item in LOOKS.values())]
