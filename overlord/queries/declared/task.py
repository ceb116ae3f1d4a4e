"""One task: what has to be so once it is done and what was said of each, what it waits for, its jobs, and what happened."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import Line, facts, words
from overlord.domain.conversation.argument import TaskArgument
from overlord.domain.portfolio.task import Task
from overlord.domain.text.reference import TaskRef
from overlord.domain.view.span import Bold, Code, Command, Issue, Pull
from overlord.domain.view.view import Bullets, Heading, Paragraph, Part, Quote, View
from overlord.queries.look import Look
from overlord.queries.portfolio_initiative import TaskStory, task_story
from overlord.queries.portfolio_view import (
    ask_list,
    escalation_list,
    jobs_table,
    state_of,
    story_list,
    waits_text,
)
from overlord.queries.query import Query

_WORDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTask:
    """A task."""

    task: Annotated[TaskRef, TaskArgument()]


def _read(look: Look, arguments: OfTask) -> TaskStory:
    return task_story(look, look.task(arguments.task))


def _view(_look: Look, found: TaskStory) -> View:
    task, line = found.task, found.line
    text = f"Task {task.ref}: {words(task.subject)}"
    owner: Line = (Command(CommandRef("initiative", (f"i{task.initiative_id}",))),)
    issue: Line = (Issue(task.space, task.issue_number),) if task.issue_number is not None else ()
    pull: Line = (Pull(task.space, line.pull_number),) if line.pull_number is not None else ()
    parts: list[Part] = [
        Heading(text),
        Paragraph((Bold(state_of(line).capitalize()), f" in {words(task.space)}, priority {task.priority}")),
        facts(
            ("initiative", (*owner, f" {words(found.initiative)}" if found.initiative else "")),
            ("waits", waits_text(line)),
            ("after", ", ".join(line.waits_for)),
            ("before", ", ".join(line.blocks)),
            ("issue", issue),
            ("pull request", pull),
            ("labels", words(", ".join(task.labels))),
            ("expected to write", (Code(" ".join(task.paths)),) if task.paths else ()),
            ("written by", words(task.created_by)),
        ),
        *ask_list(found.questions),
    ]
    if task.description:
        parts.append(Quote(words(task.description, _WORDS)))
    if task.acceptance_criteria:
        parts += [Heading("Done when"), Bullets(tuple(_criteria(task)))]
    if task.completion_notes:
        parts += [Heading("Completion notes"), Quote(words(task.completion_notes, _WORDS))]
    parts += escalation_list(found.escalations)
    if found.jobs:
        parts += [Heading("Jobs"), jobs_table(found.jobs)]
    parts += story_list(found.told)
    return View(summary=text, parts=tuple(parts))


def _criteria(task: Task) -> Iterator[Line]:
    """Each with what was said of it."""
    said = {item.number: item.evidence for item in task.addressed}
    for number, criterion in enumerate(task.acceptance_criteria, start=1):
        shown = f" - {words(said[number], _WORDS)}" if said.get(number) else ""
        yield (f"{words(criterion, _WORDS)}{shown}",)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfTask,
    usage="task i3.4",
    means="one task: criteria with what was said of each, links, jobs and story",
    position=42,
    has_runs=False,
)
