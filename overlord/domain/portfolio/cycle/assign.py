"""What is begun now: by priority, ready tasks alone, within the limits, in fair turns, and never two that write the same paths.

What is not begun says why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from minion.protocol import Scope, ScopeError
from overlord.domain.budgets.budget import NANO
from overlord.domain.contracts.overlap import overlap
from overlord.domain.contracts.pattern_automaton import TooManyStates
from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.domain.portfolio.cycle.action import Action, AssignTask, RequestPlan, SayWaits
from overlord.domain.portfolio.cycle.monitor import NOT_MANAGED
from overlord.domain.portfolio.graph import unblocks
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.portfolio.view import PortfolioView, SpaceView
from overlord.domain.text.plain import plain_line

_NEVER = datetime.min.replace(tzinfo=UTC)
NO_TASKS = "it has no tasks: add one, or have it planned anew"
MOST_SHOWN = 3
"""Tasks that are named as those that another one waits for."""


def assign(view: PortfolioView) -> Iterator[Action]:
    """Planning and tasks to begin, and for the rest why not."""
    yield from _leads(view)
    yield from _tasks(view)


def _leads(view: PortfolioView) -> Iterator[Action]:
    planning = dict[str, int]()
    for item in view.initiatives:
        if item.state is InitiativeState.PLANNING:
            planning[item.space] = planning.get(item.space, 0) + 1
    line = [item for item in view.initiatives if _is_to_plan(item)]
    for item in sorted(line, key=lambda one: (one.priority.order, one.id)):
        space = view.spaces.get(item.space)
        waits = _lead_waits(view, item, space, planning.get(item.space, 0))
        if waits:
            yield SayWaits(initiative_id=item.id, waits=waits)
            continue
        planning[item.space] = planning.get(item.space, 0) + 1
        yield RequestPlan(initiative_id=item.id, reason=item.replan or "it has no plan")
    for item in view.initiatives:
        if item.state is InitiativeState.ACTIVE and not item.replan:
            has_tasks = item.id in view.tasks_of or item.id in view.ended
            yield SayWaits(initiative_id=item.id, waits="" if has_tasks else NO_TASKS)


def _is_to_plan(item: Initiative) -> bool:
    return item.state is InitiativeState.QUEUED or (
        item.state is InitiativeState.ACTIVE and bool(item.replan)
    )


def _lead_waits(view: PortfolioView, item: Initiative, space: SpaceView | None, planning: int) -> str:
    if space is None:
        return NOT_MANAGED
    if space.pause:
        return space.pause
    if not space.is_turn:
        return "waits for the time of the schedule"
    if spent := _spent(view, item, space):
        return spent
    if planning >= space.leads:
        return f"waits for the planning of another initiative of {item.space}"
    return ""


def _spent(view: PortfolioView, item: Initiative, space: SpaceView) -> str:
    """That the budget of an initiative is used up, in words; empty where it is not."""
    cost = view.costs.get(item.id)
    if cost is None:
        return ""
    most_nusd = item.nusd_budget if item.nusd_budget is not None else _nusd(space.usd)
    most_tokens = item.token_budget if item.token_budget is not None else space.tokens
    if most_nusd is not None and cost.nusd is not None and cost.nusd >= most_nusd:
        return f"the initiative's budget of ${most_nusd / NANO:.2f} is spent"
    if most_tokens is not None and cost.tokens >= most_tokens:
        return f"the initiative's budget of {most_tokens:,} tokens is spent"
    return ""


def _nusd(usd: float | None) -> int | None:
    return None if usd is None else round(usd * NANO)


@dataclass(slots=True)
class _Room:
    """What a space has room for, while tasks are handed out."""

    space: SpaceView
    taken: int
    """Pull requests there are, and that tasks in progress will open."""
    leases: list[tuple[str, Scope]]
    """Who holds paths, as people read it, and which."""
    served: tuple[int, datetime]
    """How many it was given in this cycle, and when it was given one before."""
    line: list[Task] = field(default_factory=list)


def _tasks(view: PortfolioView) -> Iterator[Action]:
    rooms = dict[str, _Room]()
    for task in view.tasks:
        if task.state is not TaskState.PENDING:
            continue
        waits, space = _task_waits(view, task), view.spaces.get(task.space)
        if waits or space is None:
            yield SayWaits(task_id=task.id, waits=waits or NOT_MANAGED)
            continue
        room = rooms.get(task.space)
        if room is None:
            room = rooms[task.space] = _room(view, space)
        room.line.append(task)
    weights = unblocks(view.graph, [task.id for room in rooms.values() for task in room.line])
    for room in rooms.values():
        room.line.sort(key=lambda task: _order(view, task, weights[task.id]))
    yield from _hand_out(list(rooms.values()))


def _order(view: PortfolioView, task: Task, weight: int) -> tuple[int, int, int, int]:
    """Urgent initiatives and tasks first; of those alike, what lets most others go on; then the older one."""
    initiative = view.by_id[task.initiative_id]
    return initiative.priority.order + task.priority.order, -weight, task.initiative_id, task.number


def _task_waits(view: PortfolioView, task: Task) -> str:
    """What keeps a task from being begun, whatever else there is; empty for nothing."""
    initiative, space = view.by_id[task.initiative_id], view.spaces.get(task.space)
    if initiative.state is InitiativeState.PAUSED:
        return "its initiative is paused"
    if initiative.state is not InitiativeState.ACTIVE:
        return "waits for the plan of its initiative"
    if space is None:
        return NOT_MANAGED
    if space.pause:
        return space.pause
    if rows := view.waits_for(task):
        named = [view.task_rows[row].ref if row in view.task_rows else "another task" for row in rows]
        more = f" and {len(named) - MOST_SHOWN} more" if len(named) > MOST_SHOWN else ""
        return f"waits for {', '.join(named[:MOST_SHOWN])}{more}"
    if escalation := view.blocking(task):
        return f"waits for {escalation.ref}: {plain_line(escalation.question, limit=80)}"
    if view.is_asked(task.ref, but=Subject.STALE_TASK):
        return "waits for a person's answer about it"
    return _spent(view, initiative, space)


def _room(view: PortfolioView, space: SpaceView) -> _Room:
    under_way = view.in_progress.get(space.name, [])
    leases = list[tuple[str, Scope]]()
    unbegun = 0
    for task in under_way:
        job = view.job_of(space.name, task.issue_number)
        unbegun += job is None or job.state is JobState.QUEUED
        held = (_scope(task), job.scope if job is not None else None)
        leases += [(task.ref, scope) for scope in dict.fromkeys(held) if scope is not None]
    leases += [
        (f"job {job.id}", job.scope)
        for name, job in view.open_jobs
        if name == space.name and job.scope is not None
    ]
    served = (0, view.last_served.get(space.name, _NEVER))
    return _Room(space=space, taken=space.pulls + unbegun, leases=leases, served=served)


def _scope(task: Task) -> Scope | None:
    """What a task leases; None where nothing was said, or nothing that can be read."""
    if not task.paths:
        return None
    try:
        return Scope.parse(Scope(patterns=task.paths).to_json())
    except ScopeError:
        return None


def _hand_out(rooms: Sequence[_Room]) -> Iterator[Action]:
    """One task at a time, to the space that was served the longest ago, until none has room and a task that may go."""
    left = [room for room in rooms if room.line]
    while left:
        room = min(left, key=lambda item: (item.served, item.space.name))
        task = room.line.pop(0)
        waits = _held_up(room, task)
        if waits:
            yield SayWaits(task_id=task.id, waits=waits)
        else:
            room.taken += 1
            room.served = (room.served[0] + 1, room.served[1])
            if (scope := _scope(task)) is not None:
                room.leases.append((task.ref, scope))
            yield AssignTask(task_id=task.id)
        left = [item for item in left if item.line]


def _held_up(room: _Room, task: Task) -> str:
    most = room.space.most_pulls
    if room.taken >= most:
        noun = "pull request" if most == 1 else "pull requests"
        return f"waits for one of {most} open {noun} of {room.space.name}"
    wanted = _scope(task)
    if wanted is None or not room.space.path_leases:
        return ""
    for holder, held in room.leases:
        if path := _shared(wanted, held):
            return f"waits for {holder}, which may write {path} too"
    return ""


def _shared(wanted: Scope, held: Scope) -> str:
    """A path that both may write, in words; empty where there is none. What cannot be compared counts as shared."""
    try:
        path = overlap(wanted, held)
    except TooManyStates:
        return "the same (their patterns are too intricate to be compared)"
    return plain_line(path, limit=60) if path is not None else ""
