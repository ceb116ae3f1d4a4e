"""A draft of a skill on its way: written, judged beside base, put to a person, opened as an issue, followed until it is merged.

Between a person's yes and the merge nothing decides but the judge: the change is what was approved, word for word.
"""

import asyncio
import sqlite3

from overlord.domain.chat.draft_card import issue_body
from overlord.domain.skills.draft import DraftKind, DraftState, SkillDraft
from overlord.domain.skills.draft_judge import at_base_instead, judge_draft
from overlord.domain.skills.match import at_base_of
from overlord.domain.skills.record import Origin
from overlord.domain.skills.review import review_skills
from overlord.domain.skills.verdict import SkillVerdict, verdict_of
from overlord.domain.text.plain import defused_line
from overlord.engine.issues.open_issue import opened
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.skills import draft as drafting
from overlord.engine.skills import model_review
from overlord.engine.skills.draft import NotDrafted, at_base, fail
from overlord.errors import ForgeRefused, ForgeUnavailable, Refused
from overlord.failpoints import Failpoint
from overlord.store.proposals import proposals
from overlord.store.skills import drafts, skills
from overlord.store.spaces import work_requests
from overlord.verbs.skill import work_request_for_draft

ANSWERED = "<!-- overlord:draft {} -->"
MOST_NOTE = 600
"""Characters of what is noted of a draft."""


async def step(parts: Parts, number: int) -> Progress:
    """Take a draft on that waits for nobody. Raises ForgeUnavailable, ModelUnavailable."""
    draft = await parts.database.read(lambda c: drafts.get(c, number))
    act = _STEPS.get(draft.state)
    if act is None:
        return Progress.IDLE
    try:
        await act(parts, draft)
    except NotDrafted as error:
        text = str(error)
        await parts.database.write(_FAILS[draft.state], lambda c: fail(c, draft, text, parts=parts))
    parts.notify()
    return Progress.MOVED


async def _judged(parts: Parts, draft: SkillDraft) -> None:
    files = await at_base(parts, draft.space)
    findings = await asyncio.to_thread(judge_draft, draft, files)
    if draft.kind is not DraftKind.RETIRE and verdict_of(findings) is not SkillVerdict.REJECT:
        found = await model_review.review(parts, draft.space, {draft.path: draft.text})
        findings = (*findings, *found.findings[draft.path])
    present = b"" if draft.kind is DraftKind.NEW else files.get(draft.path, b"")
    base_text, at = present.decode(errors="replace"), parts.clock.now()
    await parts.database.write(
        Failpoint.DRAFT_CHECKED,
        lambda c: drafts.check(c, draft, at=at, base_text=base_text, findings=findings),
    )


async def _opened(parts: Parts, draft: SkillDraft) -> None:
    async def order() -> None:
        at = parts.clock.now()
        await parts.database.write(Failpoint.DRAFT_ORDERED, lambda c: drafts.order(c, draft, at=at))

    try:
        number = await opened(
            parts,
            draft.space,
            title=draft.title,
            body=issue_body(draft),
            key=draft.key,
            ordered_at=draft.ordered_at,
            order=order,
        )
    except ForgeRefused as error:
        raise NotDrafted(f"its issue cannot be opened: {defused_line(str(error))}") from None
    await parts.database.write(Failpoint.DRAFT_DISPATCHED, lambda c: _dispatched(c, parts, draft, number))


def _dispatched(connection: sqlite3.Connection, parts: Parts, draft: SkillDraft, number: int) -> None:
    at = parts.clock.now()
    known = drafts.dispatch(connection, draft, issue_number=number, at=at)
    if known.proposal_id is not None:
        proposal = proposals.get(connection, known.proposal_id)
        proposals.dispatched(connection, proposal, issue_number=number, at=at)
    try:
        work_request_for_draft(connection, known, at=at)
    except Refused as error:
        fail(connection, known, f"its issue was not taken up: {error}", parts=parts)


async def _compared(parts: Parts, draft: SkillDraft) -> None:
    """A merge is a person's, and may bring in more or less than was approved: what is there by now is what counts, and is said."""
    try:
        files = await at_base(parts, draft.space)
    except NotDrafted as error:  # it is merged whatever cannot be seen of it just now
        raise ForgeUnavailable(
            f"what was merged of draft {draft.label} cannot be compared: {error}"
        ) from None
    reviews = await asyncio.to_thread(review_skills, files)
    present = files.get(draft.path)
    note, known = at_base_instead(draft, present, reviews), at_base_of(reviews)
    is_ours = present == draft.text.encode()

    def compared(connection: sqlite3.Connection) -> None:
        at = parts.clock.now()
        drafts.deploy(connection, draft, note=note[:MOST_NOTE], at=at)
        skills.note_base(connection, draft.space, known, at=at)
        if draft.kind is not DraftKind.RETIRE and present is not None:
            origin = Origin.EVOLVED if is_ours else Origin.MANUAL
            skills.set_origin(connection, draft.space, draft.name, origin)

    await parts.database.write(Failpoint.DRAFT_COMPARED, compared)


_STEPS = {
    DraftState.DRAFTING: drafting.step,
    DraftState.CHECKING: _judged,
    DraftState.APPROVED: _opened,
    DraftState.MERGED: _compared,
}
_FAILS = {
    DraftState.DRAFTING: Failpoint.DRAFT_WRITTEN,
    DraftState.CHECKING: Failpoint.DRAFT_CHECKED,
    DraftState.APPROVED: Failpoint.DRAFT_DISPATCHED,
}


def give_up(connection: sqlite3.Connection, parts: Parts, draft: SkillDraft) -> None:
    """Its issue was looked at, and is not worked on."""
    why = work_requests.get(connection, draft.wish_id or 0).answer
    fail(connection, draft, f"its issue was not taken up: {why}", parts=parts)
