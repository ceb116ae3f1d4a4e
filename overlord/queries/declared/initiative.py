"""One initiative: its goal and plan, its tasks and what waits for what, what was asked, what it cost, and what happened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import Line, facts, words
from overlord.domain.conversation.argument import InitiativeArgument
from overlord.domain.text.reference import InitiativeRef
from overlord.domain.view.span import Bold, Issue
from overlord.domain.view.view import Action, Actions, Heading, Paragraph, Part, Quote, View
from overlord.queries.declared.portfolio import progress_text
from overlord.queries.look import Look
from overlord.queries.portfolio import spent_text
from overlord.queries.portfolio_initiative import InitiativeStory, initiative_story
from overlord.queries.portfolio_view import ask_list, escalation_list, jobs_table, story_list, tasks_table
from overlord.queries.query import Cell, Query

_GOAL, _PLAN = 600, 1_200


@dataclass(frozen=True, slots=True, kw_only=True)
class OfInitiative:
    """An initiative."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]


def _read(look: Look, arguments: OfInitiative) -> InitiativeStory:
    return initiative_story(look, look.initiative(arguments.initiative))


def _view(_look: Look, found: InitiativeStory) -> View:
    item, line = found.initiative, found.line
    text = f"Initiative {item.ref}: {words(item.title)}"
    issue: Line = (Issue(item.space, item.issue_number),) if item.issue_number is not None else ()
    parts: list[Part] = [
        Heading(text),
        Paragraph((Bold(item.state.capitalize()), f" in {words(item.space)}, priority {item.priority}")),
        facts(
            ("tasks done", progress_text(line)),
            ("waits", words(line.waits)),
            ("to plan again", words(item.replan)),
            ("cost", spent_text(line)),
            ("issue", issue),
            ("name of its folder", item.slug),
        ),
        *ask_list(found.questions),
        Heading("Goal"),
        Quote(words(item.goal, _GOAL)),
    ]
    if found.plan:
        parts += [
            Heading("Plan, as proposed" if found.is_plan_proposed else "Plan"),
            Quote(found.plan[:_PLAN]),
        ]
    if found.tasks:
        parts += [Heading(f"Tasks ({len(found.tasks)})"), tasks_table(found.tasks)]
    parts += escalation_list(found.escalations)
    if found.jobs:
        parts += [Heading("Cost by job"), jobs_table(found.jobs)]
    parts += story_list(found.told)
    if found.tasks:
        parts.append(Actions((Action("See a task, whole", CommandRef("task", (found.tasks[0].ref,))),)))
    return View(summary=text, parts=tuple(parts))


def _csv(found: InitiativeStory) -> Iterator[Sequence[Cell]]:
    yield (
        *("task", "repository", "what", "state", "priority", "ready", "waits", "after", "before"),
        *("issue", "job", "pull request"),
    )
    for line in found.tasks:
        yield (
            *(line.ref, line.space, line.subject, line.state, line.priority, str(line.is_ready).lower()),
            *(line.waits, " ".join(line.waits_for), " ".join(line.blocks)),
            *(line.issue_number, line.job_id, line.pull_number),
        )


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    arguments=OfInitiative,
    usage="initiative i3",
    means="one initiative: plan, tasks, escalations, cost and story",
    position=41,
    has_runs=False,
)
