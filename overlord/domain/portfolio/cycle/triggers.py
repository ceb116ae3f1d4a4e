"""What people answered about the portfolio, and what follows from each answer."""

from collections.abc import Callable, Iterator, Mapping

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.portfolio.cycle.action import (
    Action,
    Applied,
    ChangeInitiative,
    ChangeTask,
    SettleConflict,
)
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import AddressedCriterion, Task, TaskState
from overlord.domain.portfolio.view import PortfolioView


def triggers(view: PortfolioView) -> Iterator[Action]:
    """Each answer is carried out once; one about what is no more changes nothing."""
    initiatives = {item.ref: item for item in view.initiatives}
    tasks = {item.ref: item for item in view.tasks}
    for decision in view.answered:
        if decision.subject in _OF_INITIATIVE and (initiative := initiatives.get(decision.about)):
            yield from _OF_INITIATIVE[decision.subject](decision, initiative)
        elif decision.subject in _OF_TASK and (task := tasks.get(decision.about)):
            yield from _OF_TASK[decision.subject](decision, task)
        elif decision.subject is Subject.CONFLICT and decision.verb is Verb.REPLY:
            yield SettleConflict(
                notes=tuple(int(ref.removeprefix("n")) for ref in decision.about.split()),
                text=decision.answer,
                actor=decision.answered_by,
            )
        if decision.subject in MINE:
            yield Applied(decision=decision)


def _wanted(decision: Decision, initiative: Initiative) -> Iterator[Action]:
    is_wanted = decision.verb is Verb.APPROVE
    if initiative.state is InitiativeState.PROPOSED:
        state = InitiativeState.QUEUED if is_wanted else InitiativeState.CANCELLED
        reason = "a person wants it" if is_wanted else "a person does not want it"
        yield ChangeInitiative(
            initiative_id=initiative.id, state=state, reason=reason, actor=decision.answered_by
        )


def _plan_again(decision: Decision, initiative: Initiative) -> Iterator[Action]:
    again = decision.verb is Verb.RETRY
    if initiative.state is InitiativeState.PAUSED:
        state = InitiativeState.QUEUED if again else InitiativeState.CANCELLED
        reason = "a person has it planned again" if again else "a person gave it up"
        yield ChangeInitiative(
            initiative_id=initiative.id, state=state, reason=reason, actor=decision.answered_by
        )


def _again(decision: Decision, task: Task) -> Iterator[Action]:
    if decision.verb is Verb.DROP and not task.has_ended:
        yield ChangeTask(
            task_id=task.id,
            state=TaskState.CANCELLED,
            reason="a person gave it up",
            actor=decision.answered_by,
        )


def _merged(decision: Decision, task: Task) -> Iterator[Action]:
    by = decision.answered_by
    if task.has_ended:
        return
    if decision.verb is Verb.ACCEPT:
        said = {item.number for item in task.addressed if item.evidence.strip()}
        left = (number for number in range(1, len(task.acceptance_criteria) + 1) if number not in said)
        words = f"accepted by {by}"
        addressed = (*task.addressed, *(AddressedCriterion(number=item, evidence=words) for item in left))
        notes = task.completion_notes or f"Merged; {words}."
        yield ChangeTask(
            task_id=task.id,
            state=TaskState.DONE,
            reason=f"{by} says that it is done",
            actor=by,
            notes=notes,
            addressed=tuple(sorted(addressed, key=lambda item: item.number)),
        )
    elif decision.verb is Verb.ONE_MORE:
        reason = "the merged work does not do all of it"
        yield ChangeTask(task_id=task.id, state=TaskState.PENDING, reason=reason, actor=by, is_failed=True)
    else:
        yield from _again(decision, task)


_OF_INITIATIVE: Mapping[Subject, Callable[[Decision, Initiative], Iterator[Action]]] = {
    Subject.INITIATIVE: _wanted,
    Subject.PLANNING_ENDED: _plan_again,
}
_OF_TASK: Mapping[Subject, Callable[[Decision, Task], Iterator[Action]]] = {
    Subject.TASK_ENDED: _again,
    Subject.STALE_TASK: _again,
    Subject.TASK_MERGED: _merged,
}
MINE = frozenset({*_OF_INITIATIVE, *_OF_TASK, Subject.CONFLICT})
"""What a cycle carries out; other answers about the portfolio have steps of their own."""
