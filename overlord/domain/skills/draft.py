"""A draft of a skill: what would be written to one file, or that the file would go, on its way from a proposal to base.

A model writes the first text and a person may write another; what goes into a repository is what a person approved,
word for word.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from overlord.command_ref import CommandRef
from overlord.domain.decision import Audience, Decision, DecisionKind, DecisionState, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.proposals.proposal import EnhancementProposal, Trigger
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.verdict import SkillVerdict, verdict_of, why_of


class DraftKind(StrEnum):
    """What a draft does to its repository's skills."""

    NEW = "new"
    REVISE = "revise"
    RETIRE = "retire"


class DraftState(StrEnum):
    """Where a draft is on its way."""

    DRAFTING = "drafting"
    CHECKING = "checking"
    """Its text is judged beside the skills at base."""
    WAITING = "waiting"
    """For a person's word."""
    APPROVED = "approved"
    IMPLEMENTING = "implementing"
    """Its issue is open, and a Minion writes the file."""
    IN_REVIEW = "in_review"
    MERGED = "merged"
    """A person merged it; what base has by now is still to be compared with what was approved."""
    DEPLOYED = "deployed"
    REJECTED = "rejected"
    FAILED = "failed"
    """It went no further; a person may edit and approve it anew."""


_D, _E = DraftState, EventName
EVOLUTION: Mapping[tuple[DraftState, EventName], DraftState] = {
    (_D.DRAFTING, _E.DRAFT_COMPOSED): _D.CHECKING,
    (_D.CHECKING, _E.DRAFT_CHECKED): _D.WAITING,
    (_D.CHECKING, _E.DRAFT_EDITED): _D.CHECKING,
    (_D.WAITING, _E.DRAFT_EDITED): _D.CHECKING,
    (_D.WAITING, _E.DRAFT_APPROVED): _D.APPROVED,
    (_D.APPROVED, _E.DRAFT_DISPATCHED): _D.IMPLEMENTING,
    (_D.IMPLEMENTING, _E.DRAFT_DELIVERED): _D.IN_REVIEW,
    (_D.IMPLEMENTING, _E.DRAFT_MERGED): _D.MERGED,
    (_D.IN_REVIEW, _E.DRAFT_MERGED): _D.MERGED,
    (_D.MERGED, _E.DRAFT_DEPLOYED): _D.DEPLOYED,
    (_D.FAILED, _E.DRAFT_EDITED): _D.CHECKING,
    **{
        (state, _E.DRAFT_REJECTED): _D.REJECTED for state in (_D.DRAFTING, _D.CHECKING, _D.WAITING, _D.FAILED)
    },
    **{
        (state, _E.DRAFT_FAILED): _D.FAILED
        for state in (_D.DRAFTING, _D.CHECKING, _D.APPROVED, _D.IMPLEMENTING, _D.IN_REVIEW)
    },
}
"""All that can become of one. To be edited, approved or rejected takes a person."""
OPEN = frozenset(_D) - {_D.DEPLOYED, _D.REJECTED}
WORKED = frozenset({_D.IMPLEMENTING, _D.IN_REVIEW})
"""While a session may write its file."""
DECIDABLE = frozenset(state for state, event in EVOLUTION if event is _E.DRAFT_REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """A row: what would be written where, why, and what became of it."""

    id: int
    space: str
    kind: DraftKind
    requested_by: str
    requested_at: datetime
    state: DraftState = DraftState.DRAFTING
    proposal_id: int | None = None
    """What it was drafted for; None where a person asked for it by name."""
    reason: str = ""
    """Why, in the words of whoever asked."""
    name: str = ""
    """The skill's; empty for a new one that is not written yet."""
    path: str = ""
    text: str = ""
    """The whole file; empty where it would go."""
    base_text: str = ""
    """The file at base when the draft was last judged; empty for a new one."""
    findings: tuple[SkillFinding, ...] = ()
    """What is held against the text, beside the skills at base."""
    edited_by: str = ""
    refused: str = ""
    """A text that a person wrote and that is no skill: kept, so that they can go on with it."""
    trouble: str = ""
    """Why that was not taken."""
    decided_by: str = ""
    decided_at: datetime | None = None
    said: str = ""
    """What the person who decided said to it."""
    key: str = ""
    """What its issue is found by where a crash kept it from being noted; nobody knows it before that issue is there."""
    ordered_at: datetime | None = None
    issue_number: int | None = None
    wish_id: int | None = None
    note: str = ""
    """Why it failed, what its pull request waits for, or how base differs from what was approved once it is merged."""

    @property
    def label(self) -> str:
        """How people write it, so that no decision's or proposal's number is meant."""
        return f"d{self.id}"

    @property
    def digest(self) -> str:
        """What a person's yes is bound to: another one for another text, or other findings."""
        lines = [[item.rule, item.level, item.line, item.message] for item in self.findings]
        shown = [self.id, self.space, self.kind, self.path, self.text, self.base_text, lines]
        return sha256(json.dumps(shown).encode()).hexdigest()[:16]

    @property
    def verdict(self) -> SkillVerdict:
        """What the judge says of it; a rejected one cannot be approved."""
        return verdict_of(self.findings)

    @property
    def why(self) -> str:
        """The gravest thing held against it, in a sentence; empty when there is nothing."""
        return why_of(self.findings)

    @property
    def is_approvable(self) -> bool:
        """Whether a person may say yes now."""
        return self.state is DraftState.WAITING and self.verdict is not SkillVerdict.REJECT

    @property
    def is_editable(self) -> bool:
        """Whether a person may write another text."""
        is_text = self.kind is not DraftKind.RETIRE and bool(self.text or self.refused)
        return is_text and (self.state, EventName.DRAFT_EDITED) in EVOLUTION

    @property
    def is_altered(self) -> bool:
        """Whether base has something else after its merge than was approved; `note` says what."""
        return self.state is DraftState.DEPLOYED and bool(self.note)

    @property
    def way_on(self) -> str:
        """What a person does to have it done in another way, as a half sentence."""
        return "ask for it anew" if self.kind is DraftKind.RETIRE else "edit the draft and approve it anew"

    @property
    def way_on_ref(self) -> CommandRef:
        """The command for that."""
        is_gone = self.kind is DraftKind.RETIRE
        return CommandRef("retire", (self.name,)) if is_gone else CommandRef("skills edit", (self.label,))

    @property
    def title(self) -> str:
        """What it is, in a phrase; a skill's name has only letters, digits and hyphens."""
        named = f" “{self.name}”" if self.name else ""
        return f"{_VERBS[self.kind]}{named}"


_VERBS = {
    DraftKind.NEW: "Add the skill",
    DraftKind.REVISE: "Revise the skill",
    DraftKind.RETIRE: "Retire the skill",
}


def ask_about_draft(draft: SkillDraft, *, at: datetime) -> Decision:
    """What a person will be asked of a stored one once its text is written and judged; until then it can only be done without."""
    return Decision(
        id=0,
        job_id=None,
        space=draft.space,
        kind=DecisionKind.DRAFT,
        subject=Subject.SKILL_DRAFT,
        title=draft.title,
        body=draft.reason,
        verbs=(Verb.REJECT,),
        blocks="",
        created_at=at,
        audience=Audience.APPROVER,
        draft_id=draft.id,
        bound_to=draft.digest,
        state=DecisionState.DRAFT,
    )


def tidied(text: str) -> str:
    """A text as it is written to a file: line feeds, one of them at its end."""
    return f"{text.removeprefix(chr(0xFEFF)).replace(chr(13) + chr(10), chr(10)).strip(chr(10))}\n"


def wanted_of(proposal: EnhancementProposal) -> tuple[DraftKind, str]:
    """What an approved proposal does to which skill; a new one has no name yet."""
    if proposal.trigger is Trigger.SKILL:
        return DraftKind.REVISE, proposal.sample
    return DraftKind.NEW, ""
