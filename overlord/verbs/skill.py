"""The verbs of `verbs/commands.py` that are about drafts of skills. Each takes a `Person`: no text and no program can edit, approve or
reject one, nor ask for a skill to go."""

import sqlite3
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.person import Person
from overlord.domain.skills.draft import DraftKind, DraftState, SkillDraft, tidied
from overlord.domain.skills.drafting import Unwritten, read_text, skill_path
from overlord.domain.skills.verdict import SkillVerdict
from overlord.domain.text.plain import plain_line
from overlord.domain.text.redaction import MARK
from overlord.domain.text.secret_detection import redacted
from overlord.errors import Refused
from overlord.store.proposals import proposals
from overlord.store.skills import drafts, skills
from overlord.verbs.commands import work_on

MOST_REASON = 500
"""Characters of why a draft was approved or rejected."""
MOST_KEPT = 64_000
"""Of a text that is not taken."""


def edit_draft(
    connection: sqlite3.Connection,
    number: int,
    text: str,
    *,
    by: Person,
    digest: str | None = None,
    at: datetime,
) -> SkillDraft:
    """Put another text in a draft's place. `digest` is that of the draft the person began with; without one, what stands now counts
    as that. What is no skill, or was written over another text than the draft has by now, changes nothing but is kept, with
    `trouble` that says why. Raises NotFound; Refused for a draft that takes no other text, or a text with a secret in it."""
    draft = drafts.get(connection, number)
    check_editable(connection, draft)
    if text.count(MARK) > (draft.refused or draft.text).count(MARK):
        raise Refused("that text held what looks like a secret; take it out, none of it was kept")
    text = tidied(text)
    if redacted(text) != text:
        raise Refused("that text holds what looks like a secret; take it out, it was not kept")
    if digest not in {None, draft.digest}:
        trouble = "the draft was changed by somebody else meanwhile; compare, and send it again"
        return drafts.keep_refused(connection, draft, text=text[:MOST_KEPT], trouble=trouble)
    found = read_text(text, draft)
    if isinstance(found, Unwritten):
        return drafts.keep_refused(connection, draft, text=text[:MOST_KEPT], trouble=found.reason)
    path = skill_path(found.name) if draft.kind is DraftKind.NEW else draft.path
    edited = drafts.edit(connection, draft, by=by, at=at, name=found.name, path=path, text=found.text)
    _stir(connection, edited, at=at)
    return edited


def check_editable(connection: sqlite3.Connection, draft: SkillDraft) -> None:
    """Raises Refused for a draft that takes no other text now."""
    check_newest(connection, draft)
    if not draft.is_editable:
        raise Refused(f"draft {draft.label} is {draft.state.replace('_', ' ')} and takes no other text")


def check_newest(connection: sqlite3.Connection, draft: SkillDraft) -> None:
    """Raises Refused where another draft was made in this one's place."""
    if draft.proposal_id is None:
        return
    newest = drafts.of_proposal(connection, draft.proposal_id)
    if newest is not None and newest.id != draft.id:
        raise Refused(f"draft {newest.label} has taken the place of {draft.label}")


def _stir(connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime) -> None:
    """Its proposal does not rest any more."""
    if draft.proposal_id is not None:
        proposal = proposals.get(connection, draft.proposal_id)
        if proposal.rests:
            proposals.take_up_again(connection, proposal, at=at)


def approve_draft(
    connection: sqlite3.Connection,
    number: int,
    *,
    by: Person,
    reason: str = "",
    digest: str | None = None,
    at: datetime,
) -> SkillDraft:
    """Have a draft made: a Minion writes its one file, word for word, and a pull request waits for its reviewers. `digest` is that
    of what the person was shown; it may be left out where there is but one text they can have seen: the first, or their own.
    Raises NotFound; Refused when it does not wait for a person, is rejected by the judge, is another than was shown, or was
    edited by somebody else and nobody says which text is meant."""
    draft = drafts.get(connection, number)
    check_newest(connection, draft)
    if digest is None and draft.edited_by not in {"", by.actor}:
        raise Refused(
            f"draft {draft.label} was edited by {draft.edited_by}, and you may have seen another text",
            hint=hint(
                "press Approve on its card, or type what ", CommandRef("draft", (draft.label,)), " ends with"
            ),
        )
    if draft.state is DraftState.WAITING and draft.verdict is SkillVerdict.REJECT:
        raise Refused(f"draft {draft.label} is rejected by the judge: {draft.why}; edit it first")
    text = plain_line(reason[:1000], limit=MOST_REASON)
    return drafts.approve(connection, draft, by=by, answer=text, at=at, digest=digest)


def reject_draft(
    connection: sqlite3.Connection,
    number: int,
    *,
    by: Person,
    reason: str = "",
    digest: str | None = None,
    at: datetime,
) -> SkillDraft:
    """Do without it: its proposal rests then. Raises NotFound; Refused when it is on its way or over, or is another than was
    shown."""
    draft = drafts.get(connection, number)
    text = plain_line(reason[:1000], limit=MOST_REASON)
    rejected = drafts.reject(connection, draft, by=by, answer=text, at=at, digest=digest)
    rest_proposal(connection, rejected, f"its draft {draft.label} was rejected", at=at)
    return rejected


def rest_proposal(connection: sqlite3.Connection, draft: SkillDraft, note: str, *, at: datetime) -> None:
    """Nothing more is done for what a draft was made for until a person says so."""
    if draft.proposal_id is None:
        return
    newest, proposal = (
        drafts.of_proposal(connection, draft.proposal_id),
        proposals.get(connection, draft.proposal_id),
    )
    if newest is not None and newest.id == draft.id and proposal.is_approved:
        proposals.rest(connection, proposal, note[:300], at=at)


def retire_skill(
    connection: sqlite3.Connection, space: str, name: str, *, by: Person, reason: str = "", at: datetime
) -> SkillDraft:
    """Have a skill's file deleted, as a draft that is then approved like any other. One that failed for the same skill is done with
    then. Raises Refused for a skill that the registry does not have, or that is being changed already."""
    known = skills.find(connection, space, name)
    if known is None or not known.is_present:
        raise Refused(
            f"{space} has no skill of that name",
            hint=hint(CommandRef("skills"), " shows those that were seen"),
        )
    under_way = drafts.open_of(connection, space, name)
    if under_way is not None:
        raise Refused(f"draft {under_way.label} is about that skill already")
    for failed in drafts.failed_of(connection, space, name):
        if failed.kind is DraftKind.RETIRE:  # this one takes its place
            drafts.reject(connection, failed, by=by, answer="asked for anew", at=at)
    why = plain_line(reason[:1000], limit=MOST_REASON)
    return drafts.request(connection, space=space, kind=DraftKind.RETIRE, by=by, at=at, name=name, reason=why)


def work_request_for_draft(connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime) -> None:
    """Ask for work on an approved draft's issue, as the person who approved it. Raises Refused as `work_on` does."""
    assert draft.issue_number is not None, "an issue is opened first"
    asked = work_on(connection, draft.space, draft.issue_number, actor=draft.decided_by, at=at)
    drafts.wished(connection, draft, asked.id)
