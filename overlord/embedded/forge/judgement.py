"""What others say of a change at the embedded forge: reviews, comments on the diff, check runs. And what is done at its end."""

import asyncio
import difflib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from overlord.embedded.forge import repository as bare
from overlord.embedded.forge.account import utc_now
from overlord.embedded.forge.api.problem import Problem, invalid, missing, unfit
from overlord.embedded.forge.record import ACTIONS, CheckRun, Pull, Review, ReviewComment, Status
from overlord.embedded.forge.relation import RelatedState
from overlord.embedded.forge.state import BODY_CHARS

REVIEW_STATES = ("APPROVED", "CHANGES_REQUESTED", "COMMENTED")
CHECK_STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = (
    *("success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"),
    *("stale", "startup_failure"),
)
NO_REFERENCE = "Reference does not exist"

Remark = tuple[str, int, str]
"""Path, line and text of a comment on a diff."""


class JudgedState(RelatedState):
    """A forge whose pull requests are reviewed and checked."""

    def __init__(self, root: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, now=now)
        self._merges: dict[tuple[str, str, str], bool | None] = {}

    # Reviews

    def reviews(self, name: str, number: int) -> list[Review]:
        """The reviews of a pull request, oldest first."""
        pull = self.pull(name, number)
        return [item for item in self.records.all(Review) if _is_about(item, pull)]

    def review_comments(self, name: str, number: int) -> list[ReviewComment]:
        """The comments on a pull request's diff, oldest first."""
        pull = self.pull(name, number)
        return [item for item in self.records.all(ReviewComment) if _is_about(item, pull)]

    async def submit_review(
        self, name: str, number: int, *, author: str, state: str, body: str, comments: Sequence[Remark]
    ) -> Review:
        """Review a pull request as it is, with comments on lines of its files."""
        await self.follow_branches(name)
        pull = self.pull(name, number)
        await self._check_review(pull, author, state.upper(), body, comments)
        review = self._put_review(pull, author, state.upper(), body)
        for path, line, text in comments:
            self._put_remark(pull, review.id, author, text, path=path, line=line, commit_id=pull.head_sha)
        return review

    def dismiss(self, name: str, review_id: int) -> Review:
        """A review counts no more."""
        found = self.records.get(Review, str(review_id))
        if found is None or found.repository != self.repository(name).name:
            raise missing()
        return self.records.put(replace(found, state="DISMISSED"))

    def reply_to(self, name: str, number: int, thread: int, body: str, author: str) -> ReviewComment:
        """Write into the thread a comment began, as a review of its own; refused for what is a reply itself."""
        pull = self.pull(name, number)
        first = self.records.get(ReviewComment, str(thread))
        if first is None or not _is_about(first, pull):
            raise missing()
        if first.in_reply_to_id is not None:
            raise invalid("PullRequestReviewComment", "in_reply_to")
        _check_remark(body)
        review = self._put_review(pull, author, "COMMENTED", "")
        at = {"path": first.path, "line": first.line, "commit_id": first.commit_id}
        return self._put_remark(pull, review.id, author, body, **at, in_reply_to_id=first.id)

    async def lines_now(self, pull: Pull, comments: Sequence[ReviewComment]) -> list[int | None]:
        """Where each comment's line is in the head's file; None for one that was changed or is gone."""
        return await asyncio.to_thread(self._lines_now, pull, comments)

    # Check runs

    async def put_check_run(
        self,
        name: str,
        sha: str,
        check: str,
        *,
        status: str,
        conclusion: str | None,
        title: str,
        summary: str,
        log: str,
        app: str = ACTIONS,
    ) -> CheckRun:
        """A check's newest run on a commit: the one that has not completed yet, or another."""
        full = self.repository(name).name
        is_over = status == "completed"
        if status not in CHECK_STATUSES:
            raise invalid("CheckRun", "status")
        if is_over and conclusion not in CONCLUSIONS:
            raise invalid("CheckRun", "conclusion")
        if not await self.has_commit(full, sha):
            raise unfit("CheckRun", f"No commit found for SHA: {sha}")
        known = [run for run in self.check_runs(full, sha) if (run.name, run.app) == (check, app)]
        open_run = known[-1] if known and known[-1].status != "completed" else None
        run = CheckRun(
            id=open_run.id if open_run else self.records.next_id(),
            repository=full,
            sha=sha,
            name=check,
            app=app,
            status=status,
            conclusion=conclusion if is_over else None,
            title=title,
            summary=summary,
            log=log,
            log_key=open_run.log_key if open_run else secrets.token_hex(16),
            started_at=open_run.started_at if open_run else self.now(),
            completed_at=self.now() if is_over else None,
        )
        return self.records.put(run)

    def check_runs(self, name: str, sha: str) -> list[CheckRun]:
        """Every run of every check of a commit, oldest first."""
        full = self.repository(name).name
        return [run for run in self.records.all(CheckRun) if (run.repository, run.sha) == (full, sha)]

    def newest_check_runs(self, name: str, sha: str) -> list[CheckRun]:
        """The newest run of each check, the newest first."""
        newest = {(run.app, run.name): run for run in self.check_runs(name, sha)}
        return sorted(newest.values(), key=lambda run: run.id, reverse=True)

    def newest_statuses(self, name: str, sha: str) -> list[Status]:
        """The newest status of each context."""
        return list({status.context: status for status in self.statuses(name, sha)}.values())

    async def has_commit(self, name: str, sha: str) -> bool:
        return await asyncio.to_thread(bare.has_commit, self.directory(name), sha)

    # Merging, and the end of a branch

    async def merges(self, pull: Pull) -> bool | None:
        """Whether an open pull request merges without conflict; None for one that is closed."""
        if not pull.open:
            return None
        asked = (pull.repository, pull.base_sha, pull.head_sha)
        if asked not in self._merges:
            directory = self.directory(pull.repository)
            self._merges[asked] = await asyncio.to_thread(bare.merges, directory, *asked[1:])
        return self._merges[asked]

    async def delete_reference(self, name: str, reference: str, *, actor: str) -> None:
        """Delete a branch (`heads/…`); pull requests from it are closed, as at GitHub."""
        repository = self.repository(name)
        kind, _, branch = reference.partition("/")
        if kind != "heads" or branch not in await self.heads(repository.name):
            raise Problem(422, NO_REFERENCE)
        if branch == repository.default_branch:
            raise Problem(422, "Cannot delete the default branch")
        await asyncio.to_thread(bare.delete_branch, self.directory(repository.name), branch)
        for pull in self.pulls(repository.name):
            if pull.open and pull.head_branch == branch and not pull.head_repository:
                self.set_open(pull, is_open=False, actor=actor)
        await self.follow_branches(repository.name)

    # How it is kept

    def _put_review(self, pull: Pull, author: str, state: Any, body: str) -> Review:
        self._touch(pull)
        return self.records.put(
            Review(
                id=self.records.next_id(),
                repository=pull.repository,
                number=pull.number,
                author=self.user(author).login,
                state=state,
                body=body,
                commit_id=pull.head_sha,
                submitted_at=self.now(),
            )
        )

    def _put_remark(self, pull: Pull, review_id: int, author: str, body: str, **at: Any) -> ReviewComment:
        return self.records.put(
            ReviewComment(
                id=self.records.next_id(),
                repository=pull.repository,
                number=pull.number,
                review_id=review_id,
                author=self.user(author).login,
                body=body,
                created_at=self.now(),
                **at,
            )
        )

    async def _check_review(
        self, pull: Pull, author: str, state: str, body: str, comments: Sequence[Remark]
    ) -> None:
        if state not in REVIEW_STATES:
            raise invalid("PullRequestReview", "event")
        if state != "COMMENTED" and self.user(author).login == pull.author:
            act = "approve" if state == "APPROVED" else "request changes on"
            raise unfit("PullRequestReview", f"Can not {act} your own pull request")
        if (state != "APPROVED" and not body.strip() and not comments) or len(body) > BODY_CHARS:
            raise invalid("PullRequestReview", "body")
        for path, line, text in comments:
            _check_remark(text)
            lines = await asyncio.to_thread(
                bare.lines_of, self.directory(pull.repository), pull.head_sha, path
            )
            if lines is None or not 1 <= line <= len(lines):
                field = "Path" if lines is None else "Line"
                raise unfit("PullRequestReviewComment", f"{field} could not be resolved")

    def _lines_now(self, pull: Pull, comments: Sequence[ReviewComment]) -> list[int | None]:
        directory = self.directory(pull.repository)
        found: list[int | None] = []
        for comment in comments:
            if comment.commit_id == pull.head_sha:
                found.append(comment.line)
                continue
            before = bare.lines_of(directory, comment.commit_id, comment.path) or []
            after = bare.lines_of(directory, pull.head_sha, comment.path) or []
            found.append(_moved(before, after, comment.line))
        return found


def _moved(before: Sequence[bytes], after: Sequence[bytes], line: int) -> int | None:
    """Where a line of a file is in a later version of it."""
    for block in difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        if block.a < line <= block.a + block.size:
            return block.b + line - block.a
    return None


def _is_about(item: Review | ReviewComment, pull: Pull) -> bool:
    return (item.repository, item.number) == (pull.repository, pull.number)


def _check_remark(body: str) -> None:
    if not body.strip() or len(body) > BODY_CHARS:
        raise invalid("PullRequestReviewComment", "body")
