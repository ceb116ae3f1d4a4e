"""What a job begins with: a label that counts, the issue's text as it stood then, and the branch it is for."""

import asyncio
from dataclasses import replace

from minion.protocol import Issue
from overlord.domain.conversation.comment import Labelling
from overlord.domain.identifiers import RepositoryName
from overlord.domain.repositories.forge import IssueState
from overlord.domain.text.hidden_text import issue_without_hidden
from overlord.engine.issues.writers import OURS, Writers
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import is_locked
from overlord.errors import ForgeRefused
from overlord.failpoints import Failpoint
from overlord.ports.forge import Forge
from overlord.store.spaces import refused_labels
from overlord.store.spaces.refused_labels import Refusal

REFUSED = "<!-- overlord:refused {} -->"


async def base_branch(parts: Parts, name: RepositoryName) -> str:
    """The branch a space's work is for."""
    return parts.settings.space(name).base_branch or (await parts.forge.repository(name)).default_branch


async def snapshot(parts: Parts, name: RepositoryName, issue: Issue) -> Issue:
    """An issue with its comments, as they stand now; what people cannot see in them is marked."""
    return await as_taken_up(parts.forge, name, issue)


async def as_taken_up(forge: Forge, name: RepositoryName, issue: Issue) -> Issue:
    """The same from a forge alone. What Overlord wrote there itself is nobody's word."""
    found = await forge.comments(name, issue.number)
    comments = tuple(comment for _, comment in found if OURS not in comment.body)
    updated = replace(issue, comments=comments)
    return await asyncio.to_thread(issue_without_hidden, updated)  # there may be megabytes of them


async def may_begin(parts: Parts, name: RepositoryName, state: IssueState) -> bool:
    """Whether the work label on an issue counts: put on by somebody who may write, and the text is still what they saw.

    One that does not is told at the issue, once.
    """
    number = state.issue.number
    known = await parts.database.read(lambda c: refused_labels.of(c, name, number))
    if known is not None and known.seen_at == state.updated_at and not known.is_owed:
        return False
    labelling = await parts.forge.labelling(name, number, parts.settings.space(name).labels.work)
    reason = await _why_not(parts, name, labelling)
    if not reason:
        return True
    labelled_at = labelling.at if labelling else state.updated_at
    previous = (
        known if known is not None and (known.labelled_at, known.reason) == (labelled_at, reason) else None
    )
    refusal = Refusal(
        space=name,
        issue_number=number,
        labelled_at=labelled_at,
        seen_at=state.updated_at,
        reason=reason,
        is_owed=previous is None or previous.is_owed,
    )
    await _note_refusal(parts, refusal)
    if refusal.is_owed:
        await _comment_refusal(parts, name, refusal)
        await _note_refusal(parts, replace(refusal, is_owed=False))
    return False


async def _why_not(parts: Parts, name: RepositoryName, labelling: Labelling | None) -> str:
    label = parts.settings.space(name).labels.work
    if labelling is None:
        return f"Nobody is known to have put `{label}` on this issue."
    who = f"`{labelling.actor.replace('`', '')}`"
    if not await Writers(parts, name).counts(labelling.actor, is_bot=labelling.is_bot):
        if labelling.is_bot:
            return f"`{label}` was put on by the bot {who}, which is not among those whose labels count here."
        return f"`{label}` was put on by {who}, who may not write to this repository."
    if labelling.is_edited:
        return f"The issue was edited after {who} put `{label}` on it."
    return ""


async def _note_refusal(parts: Parts, refusal: Refusal) -> None:
    await parts.database.write(Failpoint.LABEL_REFUSED, lambda c: refused_labels.put(c, refusal))


async def _comment_refusal(parts: Parts, name: RepositoryName, refusal: Refusal) -> None:
    """Say it at the issue, unless that was done before a crash; in a locked conversation nobody can be told."""
    mark = REFUSED.format(refusal.labelled_at.isoformat())
    present = await parts.forge.comments(name, refusal.issue_number)
    if not any(mark in comment.body for _, comment in present):
        advice = "Somebody with write access can put the label on (again), and the work begins with the text as it stands then."
        body = f"**Overlord has not begun.** {refusal.reason}\n\n{advice}\n\n{mark}"
        try:
            await parts.forge.add_comment(name, refusal.issue_number, body)
        except ForgeRefused as error:
            if not is_locked(error):
                raise
