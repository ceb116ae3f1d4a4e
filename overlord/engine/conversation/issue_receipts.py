"""Whoever asked for an issue in a comment is told there, once, what became of it: its number and its job, or why there is none."""

import structlog

from overlord.domain.identifiers import RepositoryName
from overlord.domain.text.plain import defused_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeRefused
from overlord.failpoints import Failpoint
from overlord.store.bootstrap import issue_requests
from overlord.store.conversation import processed_comments
from overlord.verbs.outcome import of_issue

log = structlog.get_logger()

MARK = "<!-- overlord:issue-request {} -->"


async def acknowledge(parts: Parts, number: int) -> Progress:
    """Reply where it was asked for; a reply that a crash kept from being noted is found again. What the forge refuses is left: the
    ledger tells it."""
    asked = await parts.database.read(lambda c: issue_requests.get(c, number))
    if asked.is_told or asked.comment_id is None:
        return Progress.IDLE
    comment, name, mark = asked.comment_id, RepositoryName(asked.space), MARK.format(number)
    place = await parts.database.read(lambda c: processed_comments.place_of(c, name, comment))
    try:
        present = await parts.forge.comments(name, place)
        if not any(mark in comment.body for _, comment in present):
            text = (await parts.database.read(lambda c: of_issue(c, number))).text
            opened = f"#{asked.issue_number}" if asked.issue_number is not None else ""
            said = defused_line(text.removeprefix(f"{name}{opened}")) if opened else defused_line(text)
            await parts.forge.add_comment(name, place, f"{opened} {said}\n\n{mark}".strip())
    except ForgeRefused as error:
        log.warning("not_acknowledged", space=name, comment=comment, reason=str(error))
    await parts.database.write(
        Failpoint.ISSUE_REQUEST_SETTLED, lambda c: issue_requests.mark_acknowledged(c, number)
    )
    return Progress.IDLE
