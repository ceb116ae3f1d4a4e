"""Everybody's pull requests that touch skills: judged as they would be after a merge, and told so at the forge. Nothing of them
is run, and nothing here merges.

What a head came to is a row, so it is asked for once; what is said of it is looked for before it is said again.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import Pull, ReviewState, TreeEntry
from overlord.domain.skills.draft import SkillDraft
from overlord.domain.skills.draft_judge import known_to_approver
from overlord.domain.skills.file import SKILLS_DIRECTORY, is_beside_skill, is_skill_path
from overlord.domain.skills.pull_review import (
    DOUBTED,
    MARK,
    MOST_CHANGED,
    TOO_LARGE,
    Change,
    Outcome,
    PublishedReview,
    ReviewedFile,
    SkillPullReview,
    agreed,
    fingerprint,
    judge,
    outcome_of,
    published_review,
    readable,
    shortened,
)
from overlord.domain.skills.review import SkillReview
from overlord.domain.skills.verdict import SkillVerdict
from overlord.domain.text.plain import plain_line
from overlord.domain.text.untrusted_yaml import MAX_BYTES
from overlord.engine.issues.writers import Writers
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import PollErrors
from overlord.engine.skills import model_review
from overlord.engine.skills.select_skills import MOST_FILES
from overlord.errors import ForgeMissing, ForgeRefused, ForgeTooLarge, ForgeUnavailable
from overlord.failpoints import Failpoint
from overlord.store import jobs, ledger
from overlord.store.chat import messages
from overlord.store.chat.messages import MessageKind
from overlord.store.skills import drafts, skill_pulls

log = structlog.get_logger()

STATUS_CONTEXT = "overlord/skills"
MOST_A_LOOK = 20
"""New heads of a space that are looked at in one poll; the others are in the next ones."""
AGAIN = "again"
"""In the place of the skills at base: the forge said no, which may pass, so the same head is looked at again."""
MOST_REQUESTS = 1_000
"""What the review asks of the forge for one space within an hour, whoever pushes how often: a fifth of what GitHub allows."""
HOUR_S = 3600.0
MOST_READ = 256 * 1024
"""Bytes of skills in one pull request."""
MOST_KEPT = 200
"""Contents of skill files at base that are remembered, by their names."""


async def pulls(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> bool:
    """Vet the open pull requests of a space whose head or base is new; whether none is left for later."""
    wanted = parts.settings.space(name).vet_skills
    known = await parts.database.read(lambda c: skill_pulls.of_space(c, name))
    listed = await parts.forge.open_pulls(name) if wanted else []
    if gone := known.keys() - {pull.number for pull in listed}:
        await parts.database.write(Failpoint.VETTINGS_FORGOTTEN, lambda c: skill_pulls.forget(c, name, gone))
    look, left, is_all = _SpaceLook(parts=parts, name=name, writers=Writers(parts, name)), MOST_A_LOOK, True
    refused = {number for number, row in known.items() if row.beside == AGAIN}
    data: dict[int, tuple[SkillPullReview, PublishedReview]] = {}
    for pull in sorted(listed, key=lambda pull: pull.number in refused):
        with poll_errors.kept():
            row = known.get(pull.number)
            if row is None or await look.is_new(pull, row):
                if not left or look.has_asked_enough():
                    is_all &= pull.number in refused
                    continue
                left -= 1
                row = await _noted(parts, await look.vetted(pull, row), row)
            data[pull.number] = row, published_review(row, every=wanted == "every")
            if by := await look.approver(row):
                data[pull.number] = row, published_review(row, every=wanted == "every", approved_by=by)
    for row, words in agreed(data.values()):
        with poll_errors.kept():
            await _publish(parts, name, row, words)
    return is_all


@dataclass(frozen=True, slots=True, kw_only=True)
class _SpaceLook:
    """One look at a space. What is at a base is asked for once."""

    parts: Parts
    name: RepositoryName
    writers: Writers
    bases: dict[str, Mapping[str, TreeEntry]] = field(default_factory=dict)

    def has_asked_enough(self) -> bool:
        """Whether the hour's requests are used up; a new hour begins with none."""
        now, known = self.parts.clock.monotonic(), self.parts.skill_review_asked
        since, asked = known.get(self.name, (now, 0))
        known[self.name] = (since, asked) if now - since < HOUR_S else (now, 0)
        return known[self.name][1] >= MOST_REQUESTS

    def _count(self, requests: int) -> None:
        since, asked = self.parts.skill_review_asked[self.name]
        self.parts.skill_review_asked[self.name] = since, asked + requests

    async def is_new(self, pull: Pull, row: SkillPullReview) -> bool:
        """Whether a pull request is another one than was judged, or stands beside other skills."""
        if (row.head_sha, row.base_branch) != (pull.head_sha, pull.base_branch):
            return True
        if row.beside == AGAIN:
            return True
        return bool(row.beside) and row.beside != fingerprint(await self._at_base(pull.base_branch))

    async def approver(self, row: SkillPullReview) -> str:
        """The person who approved the very head that people were to look at, if their word counts; empty while nobody did."""
        if row.outcome is not Outcome.FLAG:
            return ""
        reviews = await self.parts.forge.reviews(self.name, row.number)
        newest = {item.author: item for item in reviews if item.state is not ReviewState.COMMENTED}
        for item in newest.values():
            is_yes = item.state is ReviewState.APPROVED and item.head_sha == row.head_sha and not item.is_bot
            if is_yes and await self.writers.counts(item.author, is_bot=False):
                return item.author
        return ""

    async def vetted(self, pull: Pull, before: SkillPullReview | None) -> SkillPullReview:
        """What a pull request comes to. Raises ForgeUnavailable, and ForgeMissing for what is not to be seen yet."""
        found = SkillPullReview(
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
        conflicts = ""
        try:
            self._count(2)
            listed = await self.parts.forge.pull_files(self.name, pull.number)
            self._count(len(listed) // 100)
            change = Change.of(listed)
            await self._check_still(pull)
            if not change:
                return found
            base = await self._at_base(pull.base_branch)
            conflicts = fingerprint(base)
            files, is_partial = await self._judged(pull, change, base)
            conflicts = AGAIN if is_partial else conflicts
        except ForgeMissing:
            raise
        except ForgeRefused as error:
            trouble = f"{plain_line(str(error), limit=300)}."
            conflicts = conflicts if isinstance(error, ForgeTooLarge) else AGAIN
            return replace(found, outcome=Outcome.UNJUDGED, trouble=trouble, is_marked=True, beside=conflicts)
        kept = tuple(map(shortened, files))
        return replace(found, outcome=outcome_of(files), files=kept, is_marked=True, beside=conflicts)

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
    ) -> tuple[tuple[ReviewedFile, ...], bool]:
        """Its files, and whether a model gave no reply about one of them, so that they are looked at again."""
        self._count(2)
        seen = [path for path in change.left[:MOST_CHANGED] if is_skill_path(path) or is_beside_skill(path)]
        entries = await self._entries(pull.head_sha, seen)
        if sum((entry.size or 0) for entry in entries.values() if entry is not None) > MOST_READ:
            raise ForgeTooLarge(
                f"its skills are more than {MOST_READ // 1024} kB, and no more are read at once"
            )
        self._count(len(entries))
        contents = {path: await self._content(entry) for path, entry in entries.items()}
        others = [item for item in readable(base).items() if item[0] not in change.paths]
        if len(others) > MOST_FILES:
            raise ForgeTooLarge(f"its base has {len(others):,} skills, and {MOST_FILES} are read at most")
        others_text = {path: await self._remembered(entry.sha) for path, entry in others}
        files = await asyncio.to_thread(judge, change, contents, others_text)
        files, is_partial = await self._read_by_model(files, contents)
        return await self._as_approved(pull, files, contents), is_partial

    async def _read_by_model(
        self, files: tuple[ReviewedFile, ...], contents: Mapping[str, bytes | None]
    ) -> tuple[tuple[ReviewedFile, ...], bool]:
        """With what a model holds against those that the rules let through."""
        texts = {
            file.path: content.decode()
            for file in files
            if file.verdict is not SkillVerdict.REJECT and (content := contents.get(file.path)) is not None
        }
        found = await model_review.review(self.parts, self.name, texts)
        more = found.findings
        return tuple(
            replace(file, findings=(*file.findings, *more.get(file.path, ()))) for file in files
        ), found.is_partial

    async def _entries(self, head: Sha, paths: Sequence[str]) -> dict[str, TreeEntry | None]:
        """What stands at these paths of a commit; each directory is asked for once."""
        directories = dict.fromkeys(path.rpartition("/")[0] for path in paths)
        self._count(len(directories))
        listed = {name: await self.parts.forge.folder(self.name, head, name) for name in directories}
        return {path: listed[path.rpartition("/")[0]].get(path.rpartition("/")[2]) for path in paths}

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
        self, pull: Pull, files: tuple[ReviewedFile, ...], contents: Mapping[str, bytes | None]
    ) -> tuple[ReviewedFile, ...]:
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


async def _noted(parts: Parts, found: SkillPullReview, before: SkillPullReview | None) -> SkillPullReview:
    """Write down what a head came to; people are told in the chat of what they should look at, once of each kind."""
    is_news = found.outcome in DOUBTED and found.outcome not in found.noticed
    pull_review = replace(found, noticed=(*found.noticed, found.outcome)) if is_news else found
    at, chat_output = parts.clock.now(), parts.chat_output

    def note(connection: sqlite3.Connection) -> None:
        skill_pulls.note(connection, pull_review, at=at)
        if is_news and chat_output is not None:
            number = ledger.last_number(connection)
            messages.want(connection, MessageKind.NOTICE, number, channel=chat_output.channel)

    if pull_review != before:
        await parts.database.write(Failpoint.PULL_REVIEWED, note)
    if is_news:
        parts.notify()
    return pull_review


# What is said of it


async def _publish(
    parts: Parts, name: RepositoryName, pull_review: SkillPullReview, published: PublishedReview
) -> None:
    """Have label, comment and status say what the row says. What the forge refuses of that keeps nothing of the rest back; raises
    ForgeRefused for the status, which a merge may hang on."""
    stamp = published.stamp(pull_review.head_sha)
    if stamp == pull_review.told or not published.state:
        return
    number, label, refused = pull_review.number, parts.settings.space(name).labels.skill_change, None
    with _refusable(name, number, "label"):
        if published.is_labelled:
            await parts.forge.add_label(name, number, label)
        elif pull_review.is_marked:
            await parts.forge.remove_label(name, number, label)
    comment = pull_review.comment_id
    with _refusable(name, number, "comment"):
        if published.body:
            comment = await _comment(parts, name, pull_review, published.body)
    try:
        head, words = pull_review.head_sha, published.description
        await parts.forge.set_status(
            name, head, state=published.state, context=STATUS_CONTEXT, description=words
        )
    except ForgeRefused as error:
        stamp, refused = "", error  # what stands there may say the opposite: it is tried again, and told
    await parts.database.write(
        Failpoint.SKILL_REVIEW_SENT,
        lambda c: skill_pulls.note_published(c, pull_review, stamp=stamp, comment_id=comment),
    )
    if refused is not None:
        raise refused


@contextlib.contextmanager
def _refusable(name: RepositoryName, number: int, what: str) -> Iterator[None]:
    try:
        yield
    except ForgeRefused as error:
        log.warning("vetting_not_told", space=name, pull=number, what=what, reason=str(error))


async def _comment(parts: Parts, name: RepositoryName, pull_review: SkillPullReview, body: str) -> int | None:
    """Keep one comment: edit ours if it is there, also when a crash kept us from noting its id. Anybody may write our mark,
    so it counts in what we wrote alone."""
    if pull_review.comment_id is not None:
        with contextlib.suppress(ForgeMissing):
            await parts.forge.edit_comment(name, pull_review.comment_id, body)
            return pull_review.comment_id
    login = await parts.forge.login(name)
    if not login:  # there would be no finding it again; label and status say it
        return None
    present = await parts.forge.comments(name, pull_review.number)
    for number, comment in present:
        if comment.author.casefold() == login.casefold() and MARK in comment.body:
            if comment.body != body:
                await parts.forge.edit_comment(name, number, body)
            return number
    return (
        await parts.forge.add_comment(name, pull_review.number, body) if pull_review.is_about_skills else None
    )
