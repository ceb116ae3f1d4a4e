"""The first text of a skill: one call to a model without tools, on the books of what it was seen at, for a person to read.

What the model answers is hostile until it was read as a skill and judged; a bad answer is asked for once again.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import Mapping
from functools import partial

from minion.protocol import Scope, ScopeError, ScopeMode
from overlord.config_files import packaged
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.domain.session import Account, Session
from overlord.domain.skills.draft import DraftKind, SkillDraft
from overlord.domain.skills.drafting import Unwritten, Written, request_for, skill_path, written_in
from overlord.domain.skills.file import SkillFileError, is_skill_path, parse_skill
from overlord.domain.text.plain import defused_line
from overlord.domain.text.untrusted_yaml import MAX_BYTES
from overlord.engine.issues import claim
from overlord.engine.runtime.parts import Parts
from overlord.engine.skills import model_account as account
from overlord.engine.skills.select_skills import MOST_FILES
from overlord.errors import ForgeRefused, ModelRefused
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions
from overlord.store.evidence import record
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from overlord.verbs.skill import rest_proposal

TRIES = 2
"""An answer that is no skill is asked for once more."""


class NotDrafted(Exception):
    """A draft goes no further; the message is the sentence a person is told."""


async def at_base(parts: Parts, space: str) -> Mapping[str, bytes]:
    """The skill files of a repository as its base branch is now, by path. Raises NotDrafted for what nobody can see."""
    name = RepositoryName(space)
    if name not in parts.settings.repositories:
        raise NotDrafted(f"{space} is not managed by Overlord any more")
    try:
        branch = await claim.base_branch(parts, name)
        await parts.git.refresh_mirror(name, await parts.forge.remote(name), branches=[branch])
    except ForgeRefused as error:
        raise NotDrafted(f"the repository cannot be read: {defused_line(str(error))}") from None
    head = await parts.git.branch_head(name, branch)
    if head is None:
        raise NotDrafted(f"{space} has no branch {branch} with commits")
    paths = sorted(path for path in await parts.git.listing(name, head) if is_skill_path(path))
    return await parts.git.read_files(name, head, paths[:MOST_FILES], limit_bytes=MAX_BYTES + 1)


async def step(parts: Parts, draft: SkillDraft) -> None:
    """Write the first text down. Raises NotDrafted, ModelUnavailable, ForgeUnavailable."""
    files = await at_base(parts, draft.space)
    names = await asyncio.to_thread(_names, files)
    path = ""
    if draft.kind is not DraftKind.NEW:
        path = next((path for path, name in names.items() if name == draft.name), "")
        if not path:
            raise NotDrafted(f"there is no skill of the name {draft.name} at base")
        _check_writable(path)
    if draft.kind is DraftKind.RETIRE:
        note = partial(_written, parts=parts, draft=draft, found=Written(name=draft.name, text=""), path=path)
        await parts.database.write(Failpoint.DRAFT_WRITTEN, note)
        return
    present = files.get(path, b"").decode(errors="replace")
    proposal, job = await parts.database.read(lambda c: _evidence(c, draft))
    session = await account.of_draft(parts, job, draft.id)
    asked = request_for(
        draft,
        proposal,
        present=present,
        skills=sorted(names.values()),
        prompt=packaged("prompts/draft.md"),
        fence=f"data-{secrets.token_hex(8)}",
    )
    found = await _ask_model(parts, draft, session.account(job.space), asked)
    note = partial(
        _written,
        parts=parts,
        draft=draft,
        found=found,
        path=path or (skill_path(found.name) if isinstance(found, Written) else ""),
        session=session,
    )
    await parts.database.write(Failpoint.DRAFT_WRITTEN, note)


def _names(files: Mapping[str, bytes]) -> dict[str, str]:
    """The names of the skills there are, by path."""
    found = {}
    for path, content in files.items():
        try:
            found[path] = parse_skill(content, path).name
        except SkillFileError:
            continue
    return found


def _check_writable(path: str) -> None:
    try:
        Scope.parse(Scope(mode=ScopeMode.SKILL, patterns=(path,)).to_json())
    except ScopeError:
        raise NotDrafted("its file has a name that no session can be given; a person changes it") from None


def _evidence(connection: sqlite3.Connection, draft: SkillDraft) -> tuple[EnhancementProposal, Job]:
    """What it was asked for, and the job whose books its model call is on."""
    proposal = proposals.get(connection, draft.proposal_id or 0)
    return proposal, jobs.get(connection, proposal.jobs[-1])


async def _ask_model(
    parts: Parts, draft: SkillDraft, account: Account, messages: list[dict[str, str]]
) -> Written | Unwritten:
    found: Written | Unwritten = Unwritten(reason="it was not asked for")
    for _ in range(TRIES):
        try:
            text = await parts.assistant.answer(account, messages)
        except ModelRefused as error:
            return Unwritten(reason=defused_line(str(error)))
        found = await asyncio.to_thread(written_in, parts.current.redactor.redact(text), draft)
        if isinstance(found, Written):
            return found
        messages = [*messages, {"role": "assistant", "content": text or "(nothing)"}, found.correction()]
    return found


def _written(
    connection: sqlite3.Connection,
    *,
    parts: Parts,
    draft: SkillDraft,
    found: Written | Unwritten,
    path: str,
    session: Session | None = None,
) -> None:
    at = parts.clock.now()
    if session is not None:
        if (kept := account.transcript(parts, session)) is not None:
            record(connection, *kept)
        sessions.mark(connection, session.id, cleared=False)
    if isinstance(found, Unwritten):
        fail(connection, draft, f"no skill came of it: {found.reason}", parts=parts)
    else:
        drafts.write(connection, draft, at=at, name=found.name, path=path, text=found.text)


def fail(connection: sqlite3.Connection, draft: SkillDraft, note: str, *, parts: Parts) -> None:
    """It goes no further, and what it was made for rests: a person is told by both cards."""
    at, reason = parts.clock.now(), note[:600]
    drafts.fail(connection, draft, reason, at=at)
    rest_proposal(connection, draft, f"its draft {draft.label} went no further: {reason}", at=at)
