"""What a session of the portfolio is told beside its brief, and what its tools say to Overlord and are answered.

A part of `minion/protocol.py`, and used from there. Texts of notes, tasks and plans are data, whoever wrote them.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "COMPLETION_PATH",
    "ESCALATIONS_PATH",
    "IDLE_PATH",
    "KNOWLEDGE_PATH",
    "MOST_REFUSALS",
    "PLAN_PATH",
    "TASKS_PATH",
    "Addressed",
    "Completion",
    "CompletionVerdict",
    "EscalationKept",
    "KnownNote",
    "NewEscalation",
    "NewNote",
    "NewTask",
    "NoteKept",
    "NoteTest",
    "NotesFound",
    "PlanVerdict",
    "PlannedTask",
    "PortfolioBrief",
    "PortfolioTool",
    "ProposedPlan",
    "ResolvedText",
    "StopRequest",
    "StopVerdict",
    "Suggestion",
    "TaskKept",
    "TaskText",
]

PLAN_PATH = "/session/plan"  # POST ProposedPlan -> PlanVerdict; a lead alone
TASKS_PATH = "/session/tasks"  # POST NewTask -> TaskKept
KNOWLEDGE_PATH = "/session/knowledge"  # GET ?q=words -> NotesFound; POST NewNote -> NoteKept
ESCALATIONS_PATH = "/session/escalations"  # POST NewEscalation -> EscalationKept
COMPLETION_PATH = "/session/completion"  # POST Completion -> CompletionVerdict
IDLE_PATH = "/session/idle"  # POST StopRequest -> StopVerdict
MOST_REFUSALS = 3
"""So often a session is told that it may not stop yet; then it ends, and Overlord goes by what is there."""


class PortfolioTool(StrEnum):
    """The tools that a session of the portfolio can have beside its own."""

    PROPOSE_PLAN = "propose_plan"
    EXPLORE = "explore"
    ADD_TASK = "add_task"
    NOTE_KNOWLEDGE = "note_knowledge"
    SEARCH_KNOWLEDGE = "search_knowledge"
    ESCALATE = "escalate"
    RECORD_COMPLETION = "record_completion"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNote:
    """Something that was learned before. It may be wrong: a session says so with `contradicts`."""

    ref: str
    """`n12`."""
    kind: str
    """`convention`, `preference`, `decision` or `pattern`."""
    text: str
    space: str = ""
    """Empty where it counts in all repositories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskText:
    """A task as sessions are told of it."""

    ref: str
    """`i3.4`."""
    subject: str
    state: str
    description: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    waits: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedText:
    """An escalation that was resolved."""

    ref: str
    question: str
    resolution: str
    by: str
    """Who, as `slack:U1`, or the rule or note it was resolved from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioBrief:
    """What a session of the portfolio is told."""

    briefing: str
    """Where the initiative stands, what was resolved, what to work on now: some lines of Overlord's words."""
    initiative: str
    """`i3 "Refresh tokens"`; empty for a session that is of none and only knows notes."""
    goal: str = ""
    plan: str = ""
    """plan.md as it is now."""
    task: TaskText | None = None
    """The task of this session; None for a lead."""
    tasks: tuple[TaskText, ...] = ()
    """The initiative's others."""
    notes: tuple[KnownNote, ...] = ()
    resolved: tuple[ResolvedText, ...] = ()
    person: str = ""
    """What the operator says of themselves and of how Overlord is to be, in IDENTITY.md, USER.md and MEMORY.md."""
    discipline: str = ""
    """The page of a discipline that this session goes by: how a plan, a specification is made."""
    tools: tuple[PortfolioTool, ...] = ()

    @property
    def explores(self) -> bool:
        return PortfolioTool.EXPLORE in self.tools


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A task of a proposed plan."""

    subject: str
    acceptance_criteria: tuple[str, ...]
    description: str = ""
    priority: str = "normal"
    """`urgent`, `high`, `normal` or `low`."""
    labels: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """What it will write, as scope patterns: `src/api/**`."""
    blocked_by: tuple[int, ...] = ()
    """Places of other tasks of the same plan, counted from 1."""
    task: int = 0
    """The number of a task that is there already and that this one changes; 0 for a new one."""
    repository: str = ""
    """Another repository of the portfolio in which it is to be done; empty for the initiative's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPlan:
    """What a lead proposes. Tasks of the present plan that it leaves out and nobody has begun are cancelled."""

    text: str
    """plan.md: goal, present state, approach, what is next. Markdown."""
    tasks: tuple[PlannedTask, ...]
    still_holds: bool = False
    """Whether the present plan holds as it is: then text and tasks may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVerdict:
    """What is held against a proposed plan; nothing where it was kept."""

    valid: bool
    problems: tuple[str, ...]
    left: int
    """How often it can be proposed again in this session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """Work that a session came upon."""

    subject: str
    acceptance_criteria: tuple[str, ...]
    description: str = ""
    priority: str = "normal"
    labels: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    """Tasks as `i3.4` or `4`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKept:
    """The task that it became."""

    ref: str
    state: str
    """`pending`, or `proposed` where a person is asked first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteTest:
    """What has to hold at base for a note to count."""

    kind: str
    """`path_exists`, `path_missing`, `text_present` or `text_absent`."""
    path: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNote:
    """Something that a session learned."""

    kind: str
    text: str
    question: str = ""
    """What it answers, where it answers something that may be asked again."""
    check: NoteTest | None = None
    contradicts: str = ""
    """A note that is wrong: `n12`. The text says why."""
    nothing_learned: bool = False
    """Whether it only says that there is nothing to note; then the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteKept:
    """The note that it became."""

    ref: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesFound:
    """Notes that have the words, the best first."""

    notes: tuple[KnownNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """An answer that is offered."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEscalation:
    """What a session cannot decide. It does not wait for the answer: it goes on with what is not blocked."""

    type: str
    """`decision`, `blocker`, `question` or `approval`."""
    kind: str
    """`dependency`, `convention`, `other_space`, `scope`, `direction`, `trade_off`, `credentials` or `detail`."""
    question: str
    context: str = ""
    suggested: tuple[Suggestion, ...] = ()
    """The one that is recommended first."""
    priority: str = "normal"
    blocks: str = "task"
    """What cannot go on without an answer: `nothing`, `task` (this one), `initiative`, or another task as `i3.4`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationKept:
    """What became of it so far."""

    ref: str
    state: str
    resolution: str = ""
    """The answer, where a rule or a note has it."""
    cites: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """What was done for one acceptance criterion."""

    number: int
    """Counted from 1."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a session says of its task when that is done."""

    notes: str
    addressed: tuple[Addressed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionVerdict:
    """Whether it is taken; the reasons where it is not."""

    accepted: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """A session wants to end: what its report will say."""

    outcome: str
    """`complete` or `blocked`."""
    summary: str
    learnings: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StopVerdict:
    """Whether it may; the reasons where it may not yet."""

    allowed: bool
    reasons: tuple[str, ...] = ()
