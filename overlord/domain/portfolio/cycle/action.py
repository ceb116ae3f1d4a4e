"""What a cycle wants done. Each is one small change of rows, carried out by `engine/portfolio/act.py`."""

from dataclasses import dataclass

from overlord.domain.decision import Audience, Decision, DecisionKind, Subject, Verb
from overlord.domain.portfolio.initiative import InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import AddressedCriterion, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInitiative:
    """Something is wanted that there is no initiative for. With `is_proposed` a person is asked whether it is."""

    space: str
    title: str
    goal: str
    source: InitiativeSource
    key: str
    priority: Priority
    is_proposed: bool
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInitiative:
    """An initiative goes on, or ends."""

    initiative_id: int
    state: InitiativeState
    reason: str
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """A lead is to plan an initiative."""

    initiative_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replan:
    """Something that an initiative's plan rests on was changed. Without a reason only its goal is taken over: it has no plan yet."""

    initiative_id: int
    reason: str = ""
    goal: str = ""
    """What is wanted now; empty where that is as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignTask:
    """A task is to become an issue and a job."""

    task_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTask:
    """A task goes on, or ends."""

    task_id: int
    state: TaskState
    reason: str
    actor: str = ""
    is_failed: bool = False
    """Whether its job ended without a merge."""
    priority: Priority | None = None
    notes: str = ""
    """Completion notes, where the session wrote none."""
    addressed: tuple[AddressedCriterion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteJob:
    """A job works on the issue of a task, or plans an initiative."""

    job_id: int
    task_id: int | None = None
    initiative_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SayWaits:
    """Why a task or an initiative is not begun, in a few words; nothing where it is not held up."""

    waits: str
    task_id: int | None = None
    initiative_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person is asked about something of the portfolio."""

    about: str
    space: str
    subject: Subject
    kind: DecisionKind
    title: str
    body: str
    verbs: tuple[Verb, ...]
    blocks: str = ""
    options: tuple[str, ...] = ()
    audience: Audience = Audience.WRITER


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleConflict:
    """A person said what counts instead of two notes that contradict each other."""

    notes: tuple[int, ...]
    text: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The answer of a decision was carried out by the actions before this one."""

    decision: Decision


Action = (
    OpenInitiative
    | ChangeInitiative
    | RequestPlan
    | Replan
    | AssignTask
    | ChangeTask
    | NoteJob
    | SayWaits
    | Ask
    | SettleConflict
    | Applied
)
