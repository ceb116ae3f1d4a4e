"""Initiative and task: the plan, what waits for what, what was asked, what it cost, what happened, and what can be done about it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from overlord.domain.chat.markdown import parts_of
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import TaskState
from overlord.domain.view.view import View
from overlord.entrypoints.web.pages import inbox
from overlord.entrypoints.web.pages.acts import Act, Wanted, acts
from overlord.entrypoints.web.pages.inbox import Asked
from overlord.entrypoints.web.pages.task_graph import sentences, task_graph
from overlord.entrypoints.web.visitor import Visitor
from overlord.queries.look import Look
from overlord.queries.portfolio import spent_text
from overlord.queries.portfolio_initiative import (
    InitiativeStory,
    TaskStory,
    initiative_story,
    task_story,
)
from overlord.store import decisions
from overlord.store.portfolio import initiatives, tasks
from overlord.store.portfolio.board import OpenQuestion

MOST_PLAN = 60_000
"""Characters of a plan that the page shows."""
S = InitiativeState


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativePage:
    """The page of an initiative."""

    story: InitiativeStory
    cost: str
    plan: View
    graph: Markup
    sentences: tuple[str, ...]
    asked: tuple[Asked, ...]
    acts: tuple[Act, ...]
    adds: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """The page of a task."""

    story: TaskStory
    criteria: tuple[tuple[str, str], ...]
    """Each with what was said of it."""
    description: View
    notes: View
    asked: tuple[Asked, ...]
    acts: tuple[Act, ...]


def initiative_page(look: Look, named: str, visitor: Visitor) -> InitiativePage:
    """Raises NotFound."""
    story = initiative_story(look, initiatives.named(look.connection, named))
    item = story.initiative
    return InitiativePage(
        story=story,
        cost=spent_text(story.line),
        plan=_prose(story.plan),
        graph=task_graph(story.tasks),
        sentences=tuple(sentences(story.tasks)),
        asked=_asked(look, story.questions),
        acts=acts(visitor, _of_initiative(story), about=item.ref, space=item.space),
        adds=acts(
            visitor,
            [] if item.has_ended else [Wanted(verb="task-add", label="Add a task…")],
            about=item.ref,
            space=item.space,
        ),
    )


def _of_initiative(story: InitiativeStory) -> Iterable[Wanted]:
    """What can be done with one as it stands."""
    item = story.initiative
    if item.has_ended:
        return
    if item.state is S.PAUSED:
        yield Wanted(verb="initiative-resume", label="Resume", is_bare=True)
    else:
        yield Wanted(verb="initiative-pause", label="Pause", is_bare=True)
    if item.state in (S.ACTIVE, S.PAUSED, S.PLANNING):
        yield Wanted(verb="initiative-plan", label="Plan again…")
    yield _priority("initiative-set", item.priority)
    yield Wanted(verb="initiative-set", label="Change…")
    yield Wanted(verb="initiative-cancel", label="Cancel…", is_dangerous=True)


def _priority(verb: str, present: Priority) -> Wanted:
    """How urgent it is, chosen from a list."""
    return Wanted(
        verb=verb,
        label="Priority…",
        initial={"words": f"priority {present}"},
        choices={"words": tuple(f"priority {priority}" for priority in Priority)},
    )


def task_page(look: Look, named: str, visitor: Visitor) -> TaskPage:
    """Raises NotFound."""
    story = task_story(look, tasks.named(look.connection, named))
    task = story.task
    said = {item.number: item.evidence for item in task.addressed}
    criteria = tuple((text, said.get(number, "")) for number, text in enumerate(task.acceptance_criteria, 1))
    return TaskPage(
        story=story,
        criteria=criteria,
        description=_prose(task.description),
        notes=_prose(task.completion_notes),
        asked=_asked(look, story.questions),
        acts=acts(visitor, _of_task(story), about=task.ref, space=task.space),
    )


def _of_task(story: TaskStory) -> Iterable[Wanted]:
    task = story.task
    if task.has_ended:
        return
    if task.state is not TaskState.PROPOSED:
        yield Wanted(verb="task-done", label="It is done…")
    yield _priority("task-set", task.priority)
    yield Wanted(verb="task-set", label="Change…")
    yield Wanted(verb="task-cancel", label="Cancel…", is_dangerous=True)


def _prose(text: str) -> View:
    """Somebody's Markdown as parts: nothing in it acts, and no address in it is a link."""
    return View(summary="", parts=parts_of(_unwrapped(text[:MOST_PLAN])))


_FENCE = re.compile(r"(`{3,}|~{3,})")
_BEGINS = re.compile(r"\s*([-*+>|#]|\d+[.)]\s|`{3}|~{3}|$)")
"""How a line begins that goes on with no other one."""
_WRAPPED = re.compile(r"\s*([-*+]\s|\d+[.)]\s|[^-*+>|#\s`~])")
"""How a line begins that another one may go on with."""


def _unwrapped(text: str) -> str:
    """With each paragraph and each point on one line, as it is read; code as it is."""
    found, is_code = list[str](), False
    for line in text.splitlines():
        fence = _FENCE.match(line)
        goes_on = not is_code and bool(found) and _WRAPPED.match(found[-1]) and not _BEGINS.match(line)
        if goes_on:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
        is_code = is_code != bool(fence)
    return "\n".join(found)


def _asked(look: Look, questions: Iterable[OpenQuestion]) -> tuple[Asked, ...]:
    return tuple(inbox.asked(look, decisions.get(look.connection, item.decision_id)) for item in questions)
