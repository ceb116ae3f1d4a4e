"""What is special about a job that writes a skill: one approved text, which no session, reviewer or grant changes.

The engine's steps ask here and nowhere else: `of(parts, job)` is None for every other job.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from minion.protocol import Scope, ScopeMode
from overlord.config_files import packaged
from overlord.domain.conversation.follow_up import RequestedChange
from overlord.domain.evaluation import CheckResult
from overlord.domain.event import EventName
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.repositories.forge import Pull
from overlord.domain.review.rubric import Rubric, load_rubric
from overlord.domain.scope.check import Change
from overlord.domain.scope.reason import Reason
from overlord.domain.skills.draft import DraftKind, DraftState, SkillDraft
from overlord.domain.skills.draft_judge import check_skill, is_moved_on, known_to_approver
from overlord.domain.skills.review import SkillReview
from overlord.engine.runtime.parts import Parts
from overlord.store.skills import drafts

ANSWERED = "<!-- overlord:draft {} -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillJob:
    """A job whose issue is an approved draft's."""

    draft: SkillDraft

    @property
    def scope(self) -> Scope:
        """What its sessions may write: the one file, made from what was approved and from nothing else. No grant widens it."""
        return Scope.parse(Scope(mode=ScopeMode.SKILL, patterns=(self.draft.path,)).to_json())

    @property
    def scope_reason(self) -> Reason:
        """Why they may."""
        return Reason(pattern=self.draft.path, why=f"draft {self.draft.label}, as a person approved it")

    @property
    def rubric(self) -> Rubric:
        """What the review looks for in a skill, whose text a person has approved already."""
        return _rubric()

    async def check(
        self, parts: Parts, job: Job, head: Sha, changes: Sequence[Change], reviews: Sequence[SkillReview]
    ) -> CheckResult:
        """The check `skill` of its change."""
        name, path = job.space, self.draft.path
        return check_skill(
            self.draft,
            changes,
            base=await parts.git.read_file(name, job.base, path),
            head=await parts.git.read_file(name, head, path),
            reviews=reviews,
        )

    def with_approved_noted(self, reviews: Sequence[SkillReview]) -> tuple[SkillReview, ...]:
        """The reviews of its skills, in which what the person who approved was shown is only noted."""
        return known_to_approver(self.draft, reviews)

    async def is_outdated(self, parts: Parts, job: Job) -> bool:
        """Whether the file at base is another one by now than the draft was approved over. Raises ForgeUnavailable."""
        name, path = job.space, self.draft.path
        await parts.git.refresh_mirror(name, await parts.forge.remote(name), branches=[job.base_branch])
        head = await parts.git.branch_head(name, job.base_branch)
        return head is not None and is_moved_on(self.draft, await parts.git.read_file(name, head, path))

    async def answer_review(
        self, parts: Parts, job: Job, pull: Pull, asked: Sequence[RequestedChange]
    ) -> None:
        """Tell reviewers who ask for changes how they get them: no session may change what was approved."""
        keys = sha256("\n".join(sorted(item.key for item in asked)).encode()).hexdigest()[:16]
        mark, name, draft = ANSWERED.format(keys), job.space, self.draft
        present = await parts.forge.comments(name, pull.number)
        if any(mark in comment.body for _, comment in present):
            return
        what = "that this skill goes" if draft.kind is DraftKind.RETIRE else "this text, word for word"
        body = (
            f"A person approved {what}, as draft {draft.label}, and no session may change that. To have it otherwise: close this pull"
            f" request, then {draft.way_on}."
        )
        await parts.forge.add_comment(name, pull.number, f"{body}\n\n{mark}")


async def of(parts: Parts, job: Job) -> SkillJob | None:
    """What is special about this job; None where it writes no skill."""
    return await parts.database.read(lambda c: read(c, job))


def read(connection: sqlite3.Connection, job: Job) -> SkillJob | None:
    """The same, in one view of the database."""
    draft = drafts.worked_on(connection, job.space, job.issue.number)
    return SkillJob(draft=draft) if draft is not None else None


@cache
def _rubric() -> Rubric:
    return load_rubric(packaged("rubric_skill.yaml"), "the built-in rubric of skills")


def follow(connection: sqlite3.Connection, parts: Parts, event: EventName, job: Job) -> None:
    """The job of a draft's issue has delivered, or has ended."""
    draft, at = drafts.worked_on(connection, job.space, job.issue.number), parts.clock.now()
    if draft is None:
        return
    if event is EventName.DELIVERED:
        if draft.state is DraftState.IMPLEMENTING:
            drafts.deliver(connection, draft, at=at)
    elif event is EventName.MERGED:
        drafts.merge(connection, draft, at=at)
    else:
        note = f"job {job.id} ended without a merge ({event.replace('_', ' ')})"
        drafts.fail(connection, draft, note, at=at)
