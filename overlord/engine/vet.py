"""Everybody's pull requests that touch skills: judged as they would be after a merge, and told so at the forge. Nothing of them
is run, and nothing here merges.

What a head came to is a row, so it is asked for once; what is said of it is looked for before it is said again.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import structlog

from overlord.domain.forge import ReviewState, TreeEntry
from overlord.domain.skill import SKILLS_DIRECTORY, is_skill_path
from overlord.domain.skill_draft import SkillDraft
from overlord.domain.skill_judge import known_to_approver
from overlord.domain.skill_review import SkillReview
from overlord.domain.text import plain_line
from overlord.domain.untrusted_yaml import MAX_BYTES
from overlord.domain.vetting import (
    DOUBTED,
    MARK,
    MOST_CHANGED,
    TOO_LARGE,
    Change,
    Outcome,
    Saying,
    VettedFile,
    Vetting,
    fingerprint,
    judge,
    outcome_of,
    readable,
    saying,
)
from overlord.engine.equip import MOST_FILES
from overlord.engine.parts import Parts
from overlord.engine.standing import Standing
from overlord.engine.trouble import Troubles
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable
from overlord.points import Point
from overlord.ports import Pull, RepositoryName, Sha
from overlord.store import drafts, jobs, ledger, messages, vettings
from overlord.store.messages import MessageKind

log = structlog.get_logger()

STATUS_CONTEXT = "overlord/skills"
MOST_A_LOOK = 20
"""New heads of a space that are looked at in one poll; the others are in the next ones."""
MOST_KEPT = 400
"""Contents of skill files at base that are remembered, by their names."""


async def pulls(parts: Parts, name: RepositoryName, troubles: Troubles) -> bool:
    """Vet the open pull requests of a space whose head or base is new; whether none is left for later."""
    wanted = parts.settings.space(name).vet_skills
    known = await parts.database.read(lambda c: vettings.of_space(c, name))
    listed = await parts.forge.open_pulls(name) if wanted else []
    if gone := known.keys() - {pull.number for pull in listed}:
        await parts.database.write(Point.VETTINGS_FORGOTTEN, lambda c: vettings.forget(c, name, gone))
    look, left = _Look(parts=parts, name=name, standing=Standing(parts, name)), MOST_A_LOOK
    for pull in listed:
        with troubles.kept():
            row = known.get(pull.number)
            if row is None or await look.is_new(pull, row):
                if not left:
                    return False
                left -= 1
                row = await _noted(parts, await look.vetted(pull, row), row)
            said = saying(row, every=wanted == "every", approved_by=await look.approver(row))
            await _tell(parts, name, row, said)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look at a space. What is at a base is asked for once."""

    parts: Parts
    name: RepositoryName
    standing: Standing
    bases: dict[str, Mapping[str, TreeEntry]] = field(default_factory=dict)

    async def is_new(self, pull: Pull, row: Vetting) -> bool:
        """Whether a pull request is another one than was judged, or stands beside other skills."""
        if (row.head_sha, row.base_branch) != (pull.head_sha, pull.base_branch):
            return True
        return bool(row.beside) and row.beside != fingerprint(await self._at_base(pull.base_branch))

    async def approver(self, row: Vetting) -> str:
        """The person who approved the very head that people were to look at, if their word counts; empty while nobody did."""
        if row.outcome is not Outcome.FLAG:
            return ""
        reviews = await self.parts.forge.reviews(self.name, row.number)
        newest = {item.author: item for item in reviews if item.state is not ReviewState.COMMENTED}
        for item in newest.values():
            is_yes = item.state is ReviewState.APPROVED and item.head_sha == row.head_sha and not item.is_bot
            if is_yes and await self.standing.counts(item.author, is_bot=False):
                return item.author
        return ""

    async def vetted(self, pull: Pull, before: Vetting | None) -> Vetting:
        """What a pull request comes to. Raises ForgeUnavailable, and ForgeMissing for what is not to be seen yet."""
        found = Vetting(
            space=self.name,
            number=pull.number,
            head_sha=pull.head_sha,
            base_branch=pull.base_branch,
            outcome=Outcome.UNTOUCHED,
        )
        if before is not None:
            found = replace(
                found,
                is_marked=before.is_marked,
                noticed=before.noticed,
                comment_id=before.comment_id,
                told=before.told,
            )
        beside = ""
        try:
            change = Change.of(await self.parts.forge.pull_files(self.name, pull.number))
            await self._check_still(pull)
            if not change:
                return found
            base = await self._at_base(pull.base_branch)
            beside = fingerprint(base)
            files = await self._judged(pull, change, base)
        except ForgeMissing:
            raise
        except ForgeRefused as error:
            trouble = f"{plain_line(str(error), limit=300)}."
            return replace(found, outcome=Outcome.UNJUDGED, trouble=trouble, is_marked=True, beside=beside)
        return replace(found, outcome=outcome_of(files), files=files, is_marked=True, beside=beside)

    async def _check_still(self, pull: Pull) -> None:
        """Raises ForgeUnavailable for one that was changed since: what was listed may be another head's, and this one would
        count as looked at when somebody pushes it again."""
        now = await self.parts.forge.pull(self.name, pull.number)
        if (now.head_sha, now.base_branch) != (pull.head_sha, pull.base_branch):
            raise ForgeUnavailable(
                f"pull request #{pull.number} of {self.name} changed while it was looked at"
            )

    async def _judged(
        self, pull: Pull, change: Change, base: Mapping[str, TreeEntry]
    ) -> tuple[VettedFile, ...]:
        head = await self.parts.forge.folder(self.name, Sha(pull.head_sha), SKILLS_DIRECTORY)
        seen = [path for path in change.left[:MOST_CHANGED] if is_skill_path(path)]
        contents = {path: await self._content(head.get(path.rpartition("/")[2])) for path in seen}
        others = [item for item in readable(base).items() if item[0] not in change.paths]
        if len(others) > MOST_FILES:
            raise ForgeRefused(f"its base has {len(others):,} skills, and {MOST_FILES} are read at most")
        beside = {path: await self._remembered(entry.sha) for path, entry in others}
        files = await asyncio.to_thread(judge, change, contents, beside)
        return await self._as_approved(pull, files, contents)

    async def _content(self, entry: TreeEntry | None) -> bytes | None:
        """What a file holds; None for what is no plain file there."""
        if entry is None or not entry.is_file:
            return None
        if entry.size is None or entry.size > MAX_BYTES:
            return TOO_LARGE
        return await self.parts.forge.blob(self.name, entry.sha)

    async def _at_base(self, branch: str) -> Mapping[str, TreeEntry]:
        if branch not in self.bases:
            self.bases[branch] = await self.parts.forge.folder(self.name, Sha(branch), SKILLS_DIRECTORY)
        return self.bases[branch]

    async def _remembered(self, sha: str) -> bytes:
        known = self.parts.skills_at_base
        if sha not in known:
            while len(known) >= MOST_KEPT:
                known.pop(next(iter(known)))
            known[sha] = await self.parts.forge.blob(self.name, sha)
        return known[sha]

    async def _as_approved(
        self, pull: Pull, files: tuple[VettedFile, ...], contents: Mapping[str, bytes | None]
    ) -> tuple[VettedFile, ...]:
        """What a person approved as a draft, word for word, is not put to people again."""

        def draft_of(connection: sqlite3.Connection) -> SkillDraft | None:
            job = jobs.live_at(connection, self.name, pull.number)
            return None if job is None else drafts.worked_on(connection, self.name, job.issue.number)

        draft = await self.parts.database.read(draft_of)
        if draft is None or contents.get(draft.path) != draft.text.encode():
            return files
        reviews = [SkillReview(file=file.path, findings=file.findings) for file in files]
        known = known_to_approver(draft, reviews)
        return tuple(
            replace(file, findings=review.findings) for file, review in zip(files, known, strict=True)
        )


async def _noted(parts: Parts, found: Vetting, before: Vetting | None) -> Vetting:
    """Write down what a head came to; people are told in the chat of what they should look at, once of each kind."""
    is_news = found.outcome in DOUBTED and found.outcome not in found.noticed
    vetting = replace(found, noticed=(*found.noticed, found.outcome)) if is_news else found
    at, speech = parts.clock.now(), parts.speech

    def note(connection: sqlite3.Connection) -> None:
        vettings.note(connection, vetting, at=at)
        if is_news and speech is not None:
            number = ledger.last_number(connection)
            messages.want(connection, MessageKind.NOTICE, number, channel=speech.channel)

    if vetting != before:
        await parts.database.write(Point.PULL_VETTED, note)
    if is_news:
        parts.ring()
    return vetting


# What is said of it


async def _tell(parts: Parts, name: RepositoryName, vetting: Vetting, said: Saying) -> None:
    """Have label, comment and status say what the row says. What the forge refuses of that keeps the rest from nothing."""
    stamp = said.stamp(vetting.head_sha)
    if stamp == vetting.told:
        return
    number, label = vetting.number, parts.settings.space(name).labels.skill_change
    with _refusable(name, number, "status"):
        await parts.forge.set_status(
            name,
            Sha(vetting.head_sha),
            state=said.state,
            context=STATUS_CONTEXT,
            description=said.description,
        )
    with _refusable(name, number, "label"):
        if said.is_labelled:
            await parts.forge.add_label(name, number, label)
        elif vetting.is_marked:
            await parts.forge.remove_label(name, number, label)
    comment = vetting.comment_id
    with _refusable(name, number, "comment"):
        if said.body:
            comment = await _comment(parts, name, vetting, said.body)
    await parts.database.write(
        Point.VETTING_TOLD, lambda c: vettings.tell(c, vetting, stamp=stamp, comment_id=comment)
    )


@contextlib.contextmanager
def _refusable(name: RepositoryName, number: int, what: str) -> Iterator[None]:
    try:
        yield
    except ForgeRefused as error:
        log.warning("vetting_not_told", space=name, pull=number, what=what, reason=str(error))


async def _comment(parts: Parts, name: RepositoryName, vetting: Vetting, body: str) -> int | None:
    """Keep one comment: edit ours if it is there, also when a crash kept us from noting its id. Anybody may write our mark,
    so it counts in what we wrote alone."""
    if vetting.comment_id is not None:
        with contextlib.suppress(ForgeMissing):
            await parts.forge.edit_comment(name, vetting.comment_id, body)
            return vetting.comment_id
    login = await parts.forge.login(name)
    present = await parts.forge.comments(name, vetting.number)
    for number, comment in present:
        if login and comment.author.casefold() == login.casefold() and MARK in comment.body:
            if comment.body != body:
                await parts.forge.edit_comment(name, number, body)
            return number
    return await parts.forge.add_comment(name, vetting.number, body) if vetting.is_about_skills else None
