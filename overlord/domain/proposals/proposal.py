"""A proposal: an enhancement Overlord asks for, because something came up again. It is never approved by itself.

What was seen is in other people's and models' words; those stand as a quote (`sample`), or in a title between marks.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from overlord.domain.decision import Audience, Decision, DecisionKind, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.text.plain import count, plain_line, visible

SAMPLE_CHARS = 600
"""Of the words a proposal quotes."""
AGAIN = 2
"""So many times as much evidence as when it was decided has to be there before it is asked for again."""
_NAMED = 60
_MEDIUM, _HIGH = 3, 6
"""From so much evidence on, the impact is medium, and high."""


class ProposalType(StrEnum):
    """What would be changed."""

    NEW_SKILL = "new_skill"
    REVISED_SKILL = "revised_skill"
    TOOL_FIX = "tool_fix"
    CONFIG_CHANGE = "config_change"
    WORKFLOW_IMPROVEMENT = "workflow_improvement"


SKILL_TYPES = frozenset({ProposalType.NEW_SKILL, ProposalType.REVISED_SKILL})
"""What changes a skill."""


class ProposalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    IMPLEMENTED = "implemented"


class Level(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Trigger(StrEnum):
    """What made Overlord ask."""

    FAILURE = "failure"
    """The same finding, against the work on several issues."""
    SYSTEMIC = "systemic"
    """A finding that the review says would be made again elsewhere."""
    BLOCKER = "blocker"
    """What Minions say they cannot go on without, and nobody's answer fixed."""
    QUESTION = "question"
    """What people keep answering the same way."""
    SCOPE_REQUEST = "scope_request"
    """A request for more scope that people keep answering the same way."""
    SKILL = "skill"
    """Jobs that loaded a skill and did not go well."""


TRANSITIONS: Mapping[tuple[ProposalStatus, EventName], ProposalStatus] = {
    (ProposalStatus.PENDING, EventName.PROPOSAL_APPROVED): ProposalStatus.APPROVED,
    (ProposalStatus.PENDING, EventName.PROPOSAL_REJECTED): ProposalStatus.REJECTED,
    (ProposalStatus.APPROVED, EventName.PROPOSAL_IMPLEMENTED): ProposalStatus.IMPLEMENTED,
}
"""All that can become of one. The first two take a person."""
OPEN = frozenset({ProposalStatus.PENDING, ProposalStatus.APPROVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What came up again in a space, in the words it was first seen in."""

    space: str
    fingerprint: str
    trigger: Trigger
    label: str
    """What it is called: check and rule of a finding; else empty."""
    sample: str
    """The finding's message, the blocker's, the question's: somebody else's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was seen of a pattern so far."""

    weight: int
    """What the thresholds count: issues, reports, answers alike."""
    times: int
    jobs: tuple[int, ...]
    issues: tuple[int, ...]
    is_systemic: bool = False
    answer: str = ""
    """What people keep answering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancementProposal:
    """A row: what is proposed, what it rests on, and what became of it."""

    id: int
    space: str
    fingerprint: str
    trigger: Trigger
    type: ProposalType
    title: str
    rationale: str
    """What was seen, in Overlord's words."""
    action: str
    """What is proposed, in Overlord's words."""
    sample: str
    """What was seen, in somebody else's."""
    answer: str = ""
    """What people kept answering, in theirs."""
    impact: Level
    risk: Level
    weight: int
    times: int
    jobs: tuple[int, ...]
    issues: tuple[int, ...]
    created_at: datetime
    status: ProposalStatus = ProposalStatus.PENDING
    decided_by: str = ""
    decided_at: datetime | None = None
    reason: str = ""
    """What the person who decided said to it."""
    key: str = ""
    """What its issue is found by where a crash kept it from being noted; nobody knows it before that issue is there."""
    ordered_at: datetime | None = None
    """When its issue was first about to be opened."""
    issue_number: int | None = None
    wish_id: int | None = None
    """The request for work on that issue."""
    note: str = ""
    """Why an approved one rests: a person may have it taken up again."""

    @property
    def name(self) -> str:
        """How people write it, so that no decision's number is meant."""
        return f"p{self.id}"

    @property
    def digest(self) -> str:
        """What a person's yes is bound to. More evidence for the same thing does not change it."""
        shown = [self.id, self.space, self.type, self.title, self.action, self.sample, self.answer, self.risk]
        return sha256(json.dumps(shown).encode()).hexdigest()[:16]

    @property
    def is_drafted(self) -> bool:
        """Whether it is about a skill: a draft of that is put to a person before an issue is opened."""
        return self.type in SKILL_TYPES

    @property
    def is_approved(self) -> bool:
        return self.status is ProposalStatus.APPROVED

    @property
    def rests(self) -> bool:
        """Whether it is approved and nothing more is done for it until a person says so."""
        return self.status is ProposalStatus.APPROVED and bool(self.note)

    @property
    def related(self) -> tuple[str, ...]:
        """The issues it was seen at."""
        return tuple(f"{self.space}#{number}" for number in self.issues)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposed:
    type: ProposalType
    title: str
    """`{}` stands for the words it is about."""
    seen: str
    """`{}` stands for how much."""
    action: str
    risk: Level


_PROPOSED: Mapping[Trigger, _Proposed] = {
    Trigger.FAILURE: _Proposed(
        type=ProposalType.WORKFLOW_IMPROVEMENT,
        title="Keep {} from coming back",
        seen="The evaluation held the same thing against the work on {}.",
        action="Find out why this keeps happening, and change the repository so that it cannot go unnoticed: instructions for"
        " contributors, a check that runs earlier, or the code that invites it.",
        risk=Level.LOW,
    ),
    Trigger.SYSTEMIC: _Proposed(
        type=ProposalType.NEW_SKILL,
        title="Teach Minions to avoid {}",
        seen="The review says that this would be done again elsewhere; it was seen at {}.",
        action="Write down how it is done right, as a skill that Minions load.",
        risk=Level.LOW,
    ),
    Trigger.BLOCKER: _Proposed(
        type=ProposalType.TOOL_FIX,
        title="Give Minions what they lack: {}",
        seen="Minions could not go on, and what people answered did not fix it: {}.",
        action="Make the repository's tests and tools work with what a session has, or say in its instructions what to do"
        " without it.",
        risk=Level.MEDIUM,
    ),
    Trigger.QUESTION: _Proposed(
        type=ProposalType.WORKFLOW_IMPROVEMENT,
        title="Write down the answer to {}",
        seen="People gave the same answer {}.",
        action="Write the answer where whoever works on the repository reads it, as its instructions for contributors, so that"
        " nobody has to ask again.",
        risk=Level.LOW,
    ),
    Trigger.SCOPE_REQUEST: _Proposed(
        type=ProposalType.CONFIG_CHANGE,
        title="Settle the scope for {}",
        seen="People answered the same request for more scope the same way {}.",
        action="Say in the repository's instructions which files belong to such work; whoever runs Overlord may set"
        " `spaces.<repository>.scope` to match.",
        risk=Level.HIGH,
    ),
    Trigger.SKILL: _Proposed(
        type=ProposalType.REVISED_SKILL,
        title="Revise the skill {}",
        seen="Work that loads this skill goes worse than the repository's other work: it did not go well {}.",
        action="Revise the skill so that it helps, or retire it; the statistics of skills have the figures.",
        risk=Level.LOW,
    ),
}
_BY_CHECK: Mapping[str, tuple[ProposalType, str, Level]] = {
    "scope": (
        ProposalType.CONFIG_CHANGE,
        "Say in the repository's instructions which files belong to which work; whoever runs Overlord may set"
        " `spaces.<repository>.scope` to match.",
        Level.MEDIUM,
    ),
    "lint": (
        ProposalType.TOOL_FIX,
        "Have the linter's complaint fixed by a tool, as a formatter that runs before each commit, or say in the"
        " repository's instructions how it is avoided.",
        Level.LOW,
    ),
    "review": (
        ProposalType.NEW_SKILL,
        "Write down how it is done right, as a skill that Minions load.",
        Level.LOW,
    ),
}
"""What is proposed for a failure of some checks in place of the above."""


def propose(pattern: Pattern, evidence: Evidence, *, at: datetime) -> EnhancementProposal:
    """What to ask for, not yet stored: type, wording, impact and risk follow from what was seen."""
    trigger = Trigger.SYSTEMIC if evidence.is_systemic else pattern.trigger
    asked = _PROPOSED[trigger]
    kind, action, risk = asked.type, asked.action, asked.risk
    if trigger is Trigger.FAILURE:
        kind, action, risk = _BY_CHECK.get(pattern.label.partition("/")[0], (kind, action, risk))
    return EnhancementProposal(
        id=0,
        space=pattern.space,
        fingerprint=pattern.fingerprint,
        trigger=trigger,
        type=kind,
        title=asked.title.format(_marked(pattern)),
        rationale=rationale(trigger, evidence),
        action=action,
        sample=visible(pattern.sample)[:SAMPLE_CHARS],
        answer=visible(evidence.answer)[:SAMPLE_CHARS],
        impact=impact(trigger, evidence),
        risk=risk,
        weight=evidence.weight,
        times=evidence.times,
        jobs=evidence.jobs,
        issues=evidence.issues,
        created_at=at,
    )


def ask_about_proposal(proposal: EnhancementProposal, *, at: datetime) -> Decision:
    """What a person is asked of a stored one: whether it is to be made; of one that rests, whether it is taken up again."""
    return Decision(
        id=0,
        job_id=None,
        space=proposal.space,
        kind=DecisionKind.PROPOSAL,
        subject=Subject.RESTING_PROPOSAL if proposal.rests else Subject.PROPOSAL,
        title=proposal.title,
        body=proposal.note if proposal.rests else proposal.action,
        verbs=(Verb.APPROVE,) if proposal.rests else (Verb.APPROVE, Verb.REJECT),
        blocks="",
        created_at=at,
        audience=Audience.APPROVER,
        proposal_id=proposal.id,
        bound_to=proposal.digest,
    )


def rationale(trigger: Trigger, evidence: Evidence) -> str:
    """What was seen, and how much of it."""
    issues, times = count(len(evidence.issues), "issue"), count(evidence.times, "time")
    much = {
        Trigger.FAILURE: f"{issues} ({times} in all)",
        Trigger.SYSTEMIC: issues,
        Trigger.BLOCKER: f"{times} at {issues}",
        Trigger.QUESTION: f"{count(evidence.weight, 'time')} in a row, at {issues}",
        Trigger.SCOPE_REQUEST: f"{count(evidence.weight, 'time')} in a row, at {issues}",
        Trigger.SKILL: f"at {issues}",
    }
    return _PROPOSED[trigger].seen.format(much[trigger])


def impact(trigger: Trigger, evidence: Evidence) -> Level:
    """How much it would help: by how often it was seen; what stops work counts one step more."""
    steps = (Level.LOW, Level.MEDIUM, Level.HIGH)
    step = (evidence.weight >= _MEDIUM) + (evidence.weight >= _HIGH) + (trigger is Trigger.BLOCKER)
    return steps[min(step, 2)]


def is_due(weight: int, threshold: int | None, decided: EnhancementProposal | None) -> bool:
    """Whether there is enough to ask people: the threshold, and beyond what they decided on before, as much again."""
    if threshold is None or weight < threshold:
        return False
    return decided is None or weight >= AGAIN * decided.weight


def _marked(pattern: Pattern) -> str:
    """The words a title is about, between marks: they are somebody else's."""
    return f"“{plain_line(pattern.label or pattern.sample, limit=_NAMED).replace('“', '').replace('”', '')}”"
