"""Work that nobody asked for in so many words: goals without an initiative, stale tasks, thin knowledge, conflicts, red tests at base.

Each has a key that depends on nothing but what it was made from, so that it can exist once.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

from overlord.domain.decision import Audience, DecisionKind, Subject, Verb
from overlord.domain.portfolio.cycle.action import Action, Ask, ChangeTask, OpenInitiative
from overlord.domain.portfolio.files.goals import Goal
from overlord.domain.portfolio.initiative import OPEN, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.portfolio.view import Autonomy, PortfolioView, SpaceView
from overlord.domain.text.plain import plain_line, quoted

_DOCUMENT = (
    "Little is written down about this repository. Read it, and note with their sources: how things are done here (conventions), what was"
    " decided and why, and how its code is built (patterns). Where a README or a page of the documentation is missing or wrong, plan a"
    " task for it."
)


def generate(view: PortfolioView) -> Iterator[Action]:
    """What there is to want, for spaces in which something may be begun."""
    for name in sorted(view.spaces):
        space = view.spaces[name]
        if space.is_turn:
            yield from _initiatives(view, space)
    yield from _unasked(view)
    yield from _stale(view)
    yield from _conflicts(view)


def goal_key(space: str, goal: Goal) -> str:
    """Of an initiative for a goal of OVERVIEW.md: the same title is the same goal, however it is written."""
    return _key("overview", space, goal.key)


def _key(kind: str, *what: str) -> str:
    return f"{kind}:{sha256(chr(0).join(what).encode()).hexdigest()[:24]}"


def _initiatives(view: PortfolioView, space: SpaceView) -> Iterator[Action]:
    """As many as the space has room for: what is broken first, then goals in their order, then documentation."""
    counted = Counter(item.state for item in view.initiatives if item.space == space.name)
    room = space.open_initiatives - sum(counted[state] for state in (*OPEN, InitiativeState.PROPOSED))
    is_mending = any(
        item.space == space.name and item.source is InitiativeSource.TESTS for item in view.initiatives
    )
    wanted = [
        item
        for item in _wanted(space)
        if item.key not in view.keys and not (is_mending and item.source is InitiativeSource.TESTS)
    ]
    yield from wanted[: max(room, 0)]


def _wanted(space: SpaceView) -> Iterator[OpenInitiative]:
    is_proposed = space.autonomy is Autonomy.CAUTIOUS
    if space.red_at_base:
        yield OpenInitiative(
            space=space.name,
            title="Make the tests pass at base",
            goal=f"These tests fail at base, without any change:\n\n{space.red_at_base}",
            source=InitiativeSource.TESTS,
            key=_key("tests", space.name, space.red_at_base),
            priority=Priority.HIGH,
            is_proposed=is_proposed,
        )
    goals = [goal for goal in space.goals if not goal.is_done]
    for goal in sorted(goals, key=lambda item: item.priority.order):
        yield OpenInitiative(
            space=space.name,
            title=goal.title,
            goal=goal.text or goal.title,
            source=InitiativeSource.OVERVIEW,
            key=goal_key(space.name, goal),
            priority=goal.priority,
            is_proposed=is_proposed,
            paths=goal.paths,
        )
    if space.has_worked and space.notes < space.thin_notes and space.goals:
        yield OpenInitiative(
            space=space.name,
            title="Write down what is known of this repository",
            goal=_DOCUMENT,
            source=InitiativeSource.KNOWLEDGE,
            key=_key("knowledge", space.name),
            priority=Priority.LOW,
            is_proposed=True,
        )


_WHY = {
    InitiativeSource.TESTS: "Tests fail at base, so no change can be judged by them.",
    InitiativeSource.OVERVIEW: "OVERVIEW.md has it as a goal, and there is no initiative for it.",
    InitiativeSource.KNOWLEDGE: "Few notes count here: what is known of this repository is thin.",
}


def _unasked(view: PortfolioView) -> Iterator[Action]:
    """A person is asked about each initiative that is only proposed."""
    for item in view.initiatives:
        if item.state is InitiativeState.PROPOSED and not view.is_asked(item.ref):
            yield Ask(
                about=item.ref,
                space=item.space,
                subject=Subject.INITIATIVE,
                kind=DecisionKind.APPROVAL,
                title=f"{item.ref} {plain_line(item.title, limit=120)}: is this initiative wanted?",
                body=f"{_WHY.get(item.source, 'It was proposed.')}\n\n{quoted(item.goal, limit=3000)}",
                verbs=(Verb.APPROVE, Verb.REJECT),
                blocks=f"initiative {item.ref}",
            )


def _stale(view: PortfolioView) -> Iterator[Action]:
    """A task that could be begun and waits for long becomes more urgent by itself, or a person is asked."""
    for task in view.tasks:
        space = view.spaces.get(task.space)
        if space is None or not space.is_turn or task.state is not TaskState.PENDING:
            continue
        is_active = view.by_id[task.initiative_id].state is InitiativeState.ACTIVE
        is_held = not is_active or view.waits_for(task) or view.blocking(task)
        age = view.at - task.updated_at
        if is_held or age < timedelta(days=space.stale_days) or view.is_asked(task.ref):
            continue
        more = _more_urgent(task)
        if space.autonomy is not Autonomy.CAUTIOUS and more is not task.priority:
            reason = f"it has waited for {age.days} days"
            yield ChangeTask(task_id=task.id, state=task.state, reason=reason, priority=more)
        elif stale_about(task) not in view.raised:
            yield _ask_stale(task, age.days)


def _more_urgent(task: Task) -> Priority:
    """One step more, but never urgent by itself."""
    order = list(Priority)
    if task.priority is Priority.URGENT:
        return task.priority
    return order[max(task.priority.order - 1, Priority.HIGH.order)]


def stale_about(task: Task) -> str:
    """What was asked of it once: it is asked again only after it was changed."""
    return f"{task.ref} stale since {task.updated_at:%Y-%m-%d}"


def _ask_stale(task: Task, days: int) -> Ask:
    return Ask(
        about=task.ref,
        space=task.space,
        subject=Subject.STALE_TASK,
        kind=DecisionKind.DECISION,
        title=f"{task.ref} {plain_line(task.subject, limit=100)}: it has waited for {days} days; is it still wanted?",
        body=task.waits or "Nothing but its turn keeps it from being begun.",
        verbs=(Verb.RETRY, Verb.DROP),
        blocks="",
        options=(stale_about(task),),
    )


def _conflicts(view: PortfolioView) -> Iterator[Action]:
    for conflict in view.conflicts:
        if conflict.key not in view.raised:
            yield Ask(
                about=conflict.key,
                space=conflict.space,
                subject=Subject.CONFLICT,
                kind=DecisionKind.DECISION,
                title=conflict.title,
                body=conflict.text,
                verbs=(Verb.REPLY, Verb.KEEP),
                audience=Audience.APPROVER,
            )
