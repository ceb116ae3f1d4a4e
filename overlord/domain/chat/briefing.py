"""The morning briefing: what waits for people, what ended and what was spent since the last one. Nothing new, no briefing."""

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from overlord.domain.answers import label_for
from overlord.domain.budgets.budget import Cost
from overlord.domain.decision import DecisionKind, Verb
from overlord.domain.inquiry import OpenDecision
from overlord.domain.job import Job, JobState
from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.domain.skills.draft import SkillDraft

SECTIONS = {
    DecisionKind.DECISION: "Decisions",
    DecisionKind.BLOCKER: "Blockers",
    DecisionKind.QUESTION: "Questions",
    DecisionKind.APPROVAL: "Approvals",
}
"""What waits for people, by its kind, in the order they are shown it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """Something of the portfolio in a line: a task, an escalation, a note."""

    ref: str
    """As people write it: `i3.4`, `e5`, `n12`."""
    place: str
    """`acme/calc / refresh-tokens`; empty for what counts everywhere."""
    text: str
    """A model's or a person's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What there is to say at `at`; finished, failed and spent are since `since`."""

    since: datetime
    at: datetime
    waiting: tuple[OpenDecision, ...]
    finished: tuple[Job, ...]
    """Merged."""
    failed: tuple[Job, ...]
    """Ended without that: failed, stopped, dropped, closed."""
    to_review: tuple[Job, ...]
    """Whose pull requests wait for their reviewers."""
    spent: Cost
    proposed: tuple[EnhancementProposal, ...] = ()
    """New since then, and still waiting for a person."""
    drafts: tuple[SkillDraft, ...] = ()
    """Skills that wait for a person."""
    done: tuple[Mentioned, ...] = ()
    """Tasks that were completed since then."""
    resolved: tuple[Mentioned, ...] = ()
    """What sessions asked and Overlord answered from a rule or a note since then, with what it cites."""
    noted: tuple[Mentioned, ...] = ()
    """What was learned since then and waits for somebody to accept it."""
    going_on: tuple[Mentioned, ...] = ()
    """Tasks that are worked on, and initiatives that are planned."""
    kept: str = ""
    """Of an earlier day: what was written down then, in Markdown. Nothing else is told with it."""

    def of_kind(self, kind: DecisionKind) -> tuple[OpenDecision, ...]:
        """One section of what waits."""
        return tuple(asked for asked in self.waiting if asked.decision.kind is kind)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say at all."""
        return not (self.waiting or self.drafts or self.to_review or self._has_news)

    @property
    def fingerprint(self) -> str:
        """Of what it says, without times: what stands, and then what is news if there is any."""
        return f"{self._state_hash}:{_hash(*self._news)}" if self._has_news else self._state_hash

    def has_news_since(self, before: str) -> bool:
        """Whether it says something that the briefing of this fingerprint did not. `before` is empty if there was none."""
        if self.is_empty or self.fingerprint == before:
            return False
        return self._has_news or self._state_hash != before.partition(":")[0]

    @property
    def _state_hash(self) -> str:
        waiting = [f"{asked.decision.id} {asked.decision.digest}" for asked in self.waiting]
        drafts = [f"{draft.id} {draft.digest}" for draft in self.drafts]
        return _hash(waiting, [job.id for job in self.to_review], *([drafts] if drafts else []))

    @property
    def _has_news(self) -> bool:
        ended = self.finished or self.failed or self.proposed or self._learned
        return bool(ended or self.spent.tokens or self.spent.nusd)

    @property
    def _learned(self) -> list[str]:
        return [item.ref for item in (*self.done, *self.resolved, *self.noted)]

    @property
    def _news(self) -> tuple[object, ...]:
        ended = [[job.id for job in jobs] for jobs in (self.finished, self.failed)]
        proposed = [proposal.id for proposal in self.proposed]
        learned = [self._learned] if self._learned else []
        return (*ended, proposed, self.spent.tokens, self.spent.nusd, *learned)


def _hash(*values: object) -> str:
    return sha256(json.dumps(values).encode()).hexdigest()[:16]


def suggestion(asked: OpenDecision) -> str:
    """The suggested answer, as its button says it: where that is one in words, the first that is offered."""
    decision = asked.decision
    if decision.verbs[0] is Verb.REPLY and decision.suggested:
        return decision.suggested[0]
    return label_for(decision.subject, decision.verbs[0])


def is_finished(job: Job) -> bool:
    """Whether a job that has ended reached what it was for."""
    return job.state is JobState.COMPLETED
