"""The embedded forge as its owner holds it: what people do at GitHub, what they see there, and what goes wrong.

`EmbeddedForge(root)` keeps everything under `root`; opened there again it has everything it had.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from starlette.types import Receive, Scope, Send

from overlord.embedded.forge import lfs
from overlord.embedded.forge import repository as bare
from overlord.embedded.forge.account import utc_now
from overlord.embedded.forge.api.problem import unfit
from overlord.embedded.forge.api.wire import KNOWN_OPERATIONS, RecordedRequest, Wire
from overlord.embedded.forge.judgement import Remark
from overlord.embedded.forge.record import ACTIONS, Issue, Pull, Repository
from overlord.embedded.forge.ruling import RuledState
from overlord.embedded.forge.state import CLOSING
from overlord.embedded.server import serve

OWNER = "alice"
AGENT = "overlord-agent"


class EmbeddedForge(RuledState):
    """A GitHub-shaped server and the people around it. It is an ASGI application; `serve` puts it on a port.

    Two accounts are there from the start: `alice`, who owns everything, and the agent whose token is `token`.
    """

    def __init__(self, root: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, now=now)
        self.wire = Wire(self)
        self.add_user(OWNER, association="OWNER")
        self.token = self.add_user(AGENT, association="COLLABORATOR").token
        """What Overlord signs in with."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.wire(scope, receive, send)

    def serve(self, *, host: str = "127.0.0.1", port: int = 0) -> AbstractAsyncContextManager[str]:
        """Serve the API (at `/`) and git (at `/{owner}/{name}.git`) for as long as the block lasts; gives the URL."""
        return serve(self, host=host, port=port)

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request so far, oldest first."""
        return self.wire.requests

    def fail(self, operation: str, *, times: int = 1, kind: str = "500", after: int = 0) -> None:
        """Let `times` requests of an operation go wrong, after so many more; kinds are those of `fault.ANSWERS`.

        Operations have GitHub's ids (`pulls/create`, …, `graphql`), or are `git/refs`, `git/upload-pack`,
        `git/receive-pack` and `lfs`, or `*` for any.
        """
        if operation not in KNOWN_OPERATIONS:
            raise ValueError(f"unknown operation {operation!r}; known: {', '.join(sorted(KNOWN_OPERATIONS))}")
        self.wire.faults.add(operation, times=times, kind=kind, after=after)

    # What people do

    async def create_repository(
        self,
        name: str,
        *,
        files: Mapping[str, bare.Content] | None = None,
        source: Path | None = None,
        default_branch: str = "main",
        private: bool = True,
        message: str = "First commit",
        author: str = OWNER,
    ) -> Repository:
        """Make `owner/name` with one commit of these files, or of a directory's; of a git repository, its branches.

        With neither, it is empty.
        """
        if self.records.get(Repository, name):
            raise unfit("Repository", "name already exists on this account")
        self.forget_name(name)
        directory = self.directory(name)
        await asyncio.to_thread(bare.create, directory, default_branch)
        if source is not None and await asyncio.to_thread(bare.is_repository, source):
            default_branch = await asyncio.to_thread(bare.import_branches, directory, source)
        elif source is not None:
            files = await asyncio.to_thread(bare.read_tree, source)
        repository = self.records.put(
            Repository(
                id=self.records.next_id(),
                name=name,
                default_branch=default_branch,
                private=private,
                created_at=self.now(),
            )
        )
        if files:
            await self.push_files(name, default_branch, files, message, author=author)
        return repository

    async def move_default(self, repository: str, branch: str, sha: str) -> None:
        """Put a branch at a commit that is there already, and make it the default branch."""
        known = self.repository(repository)
        directory = self.directory(known.name)
        async with self.writing:
            await asyncio.to_thread(bare.set_branch, directory, branch, sha)
            await asyncio.to_thread(bare.name_default, directory, branch)
            self.records.put(replace(known, default_branch=branch))
        await self.follow_branches(known.name)

    async def open_issue(
        self, repository: str, title: str, body: str = "", *, labels: Sequence[str] = (), author: str = OWNER
    ) -> int:
        """Write an issue; returns its number."""
        return self.create_issue(repository, title=title, body=body, author=author, labels=labels).number

    async def comment(self, repository: str, number: int, body: str, *, author: str = OWNER) -> int:
        """Comment on an issue or pull request; returns the comment's id."""
        return self.add_comment(self.issue(repository, number), body, author).id

    async def delete_comment(self, repository: str, number: int, comment_id: int) -> None:
        [comment] = [item for item in self.comments(repository, number) if item.id == comment_id]
        self.records.remove(comment)
        self.describe_comment(comment, "deleted")

    async def label(self, repository: str, number: int, *labels: str, author: str = OWNER) -> None:
        self.add_labels(self.issue(repository, number), labels, actor=author)

    async def unlabel(self, repository: str, number: int, *labels: str, author: str = OWNER) -> None:
        for label in labels:
            self.remove_label(self.issue(repository, number), label, actor=author)

    async def close_issue(
        self, repository: str, number: int, *, reason: str = "completed", author: str = OWNER
    ) -> None:
        """Close an issue, `completed` or `not_planned`."""
        self.set_open(self.issue(repository, number), is_open=False, actor=author, reason=reason)

    async def reopen_issue(self, repository: str, number: int, *, author: str = OWNER) -> None:
        self.set_open(self.issue(repository, number), is_open=True, actor=author, reason="reopened")

    async def transfer_issue(
        self, repository: str, number: int, to_repository: str, *, author: str = OWNER
    ) -> int:
        """Move an issue to another repository of its owner; returns its number there."""
        await asyncio.sleep(0)  # what was done to it before is told first, as long as it can be shown
        return self.move_issue(self.issue(repository, number), to_repository, actor=author).number

    async def delete_issue(self, repository: str, number: int, *, author: str = OWNER) -> None:
        """Delete an issue, with its comments."""
        await asyncio.sleep(0)  # as above
        self.remove_issue(self.issue(repository, number), actor=author)

    async def rename_repository(self, repository: str, to: str) -> None:
        """Give a repository another name, or another owner."""
        self.rename(repository, to)

    async def lock_issue(self, repository: str, number: int, *, author: str = OWNER) -> None:
        """Let only people with write access comment."""
        self.set_locked(self.issue(repository, number), is_locked=True, actor=author)

    async def edit_issue(
        self,
        repository: str,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        author: str = OWNER,
    ) -> None:
        self.edit_thread(self.issue(repository, number), title=title, body=body, actor=author)

    async def close_pull(self, repository: str, number: int, *, author: str = OWNER) -> None:
        """Close a pull request without merging it."""
        self.set_open(self.pull(repository, number), is_open=False, actor=author)

    async def review(
        self,
        repository: str,
        number: int,
        *,
        author: str = OWNER,
        state: str,
        body: str = "",
        comments: Sequence[Remark] = (),
    ) -> int:
        """Review a pull request as it is: `approved`, `changes_requested` or `commented`; returns the review's id.

        Each comment is a path, a line of the file at the head and a text."""
        review = await self.submit_review(
            repository, number, author=author, state=state, body=body, comments=comments
        )
        return review.id

    async def dismiss_review(self, repository: str, review_id: int) -> None:
        """A review counts no more."""
        self.dismiss(repository, review_id)

    async def review_reply(
        self, repository: str, number: int, thread: int, body: str, *, author: str = OWNER
    ) -> int:
        """Write into the thread a comment on the diff began; returns the new comment's id."""
        return self.reply_to(repository, number, thread, body, author).id

    async def check_run(
        self,
        repository: str,
        sha: str,
        check: str,
        *,
        status: str = "completed",
        conclusion: str | None = "failure",
        title: str = "",
        summary: str = "",
        log: str = "",
        app: str = ACTIONS,
    ) -> int:
        """Say how a check of a commit stands: the run that goes on, or a new one; returns its id, which is its job's.

        While it is not `completed`, it has no conclusion."""
        run = await self.put_check_run(
            repository,
            sha,
            check,
            status=status,
            conclusion=conclusion,
            title=title,
            summary=summary,
            log=log,
            app=app,
        )
        return run.id

    async def merge(
        self,
        repository: str,
        number: int,
        *,
        author: str = OWNER,
        squash: bool = False,
        delete_branch: bool = False,
    ) -> str:
        """Merge a pull request, close the issues its text says it closes; returns the commit on the base branch."""
        await self.follow_branches(repository)
        async with self.writing:
            pull = self.pull(repository, number)
            if not pull.open:
                raise unfit("PullRequest", "Pull Request is not mergeable: it is closed")
            if pull.draft:
                raise unfit("PullRequest", "Pull Request is still a draft")
            directory = self.directory(pull.repository)
            commit = await asyncio.to_thread(
                bare.merge,
                directory,
                pull.base_branch,
                pull.head_sha,
                squash=squash,
                message=f"{pull.title} (#{pull.number})",
                author=bare.Author(name=author, at=self.now()),
            )
            closed = self.set_open(pull, is_open=False, actor=author)
            self.records.put(
                replace(closed, merged_at=closed.closed_at, merged_by=author, merge_commit_sha=commit)
            )
        self._close_linked(pull, author)
        if delete_branch:
            await asyncio.to_thread(bare.delete_branch, directory, pull.head_branch)
        await self.follow_branches(repository)
        return commit

    async def push_files(
        self,
        repository: str,
        branch: str,
        files: Mapping[str, bare.Content | None],
        message: str,
        *,
        author: str = OWNER,
    ) -> str:
        """Commit these files (None removes one) on a branch, made from the default branch if new; returns the commit."""
        known = self.repository(repository)
        async with self.writing:
            heads = await self.heads(known.name)
            await asyncio.to_thread(
                bare.commit_files,
                self.directory(known.name),
                branch,
                files,
                parent=heads.get(branch, heads.get(known.default_branch)),
                message=message,
                author=bare.Author(name=author, at=self.now()),
            )
        await self.follow_branches(known.name)
        return (await self.heads(known.name))[branch]

    def keep_large(self, repository: str, content: bytes) -> str:
        """Give content to Git LFS; returns the pointer that belongs in a commit in its place."""
        return lfs.put(self.directory(self.repository(repository).name), content)

    async def fork_pull(
        self,
        repository: str,
        title: str,
        files: Mapping[str, bare.Content | None],
        *,
        author: str,
        body: str = "",
    ) -> int:
        """Open a pull request from a fork of its author's, with one commit of these files (None removes one) on the default
        branch; returns its number."""
        known, at = self.repository(repository), self.now()
        number, login = self._next_number(known), self.user(author).login
        base = (await self.heads(known.name))[known.default_branch]
        pull = Pull(
            id=self.records.next_id(),
            repository=known.name,
            number=number,
            title=title,
            body=body,
            author=login,
            created_at=at,
            updated_at=at,
            head_branch="change",
            head_sha=base,
            base_branch=known.default_branch,
            base_sha=base,
            head_repository=f"{login}/{known.name.partition('/')[2]}",
        )
        pull = self.records.put(replace(pull, head_sha=await self._commit_pulled(pull, files)))
        self._deliver(pull, "opened", login)
        return number

    async def push_to_pull(
        self, repository: str, number: int, files: Mapping[str, bare.Content | None]
    ) -> str:
        """One more commit onto a pull request from a fork; returns the commit."""
        pull = self.pull(repository, number)
        pushed = self._touch(pull, head_sha=await self._commit_pulled(pull, files))
        self._deliver(pushed, "synchronize", pull.author, before=pull.head_sha, after=pushed.head_sha)
        return pushed.head_sha

    async def retarget_pull(self, repository: str, number: int, base: str) -> None:
        """Let a pull request be for another branch."""
        at = (await self.heads(repository))[base]
        self._touch(self.pull(repository, number), base_branch=base, base_sha=at)

    async def _commit_pulled(self, pull: Pull, files: Mapping[str, bare.Content | None]) -> str:
        """A commit where GitHub keeps the head of a pull request, whichever repository it is from."""
        reference, directory = f"refs/pull/{pull.number}/head", self.directory(pull.repository)
        async with self.writing:
            await asyncio.to_thread(
                bare.commit_files,
                directory,
                reference,
                files,
                parent=pull.head_sha,
                message=pull.title,
                author=bare.Author(name=pull.author, at=self.now()),
            )
        return (await asyncio.to_thread(bare.git, directory, "rev-parse", reference)).decode().strip()

    async def delete_branch(self, repository: str, branch: str) -> None:
        await asyncio.to_thread(bare.delete_branch, self.directory(self.repository(repository).name), branch)

    # What people see

    def files(self, repository: str, ref: str = "HEAD") -> dict[str, bytes]:
        """Every file at a branch or commit."""
        return bare.files_at(self.directory(self.repository(repository).name), ref)

    def issues(self, repository: str) -> list[Issue]:
        """Issues that are no pull requests, by number."""
        return [thread for thread in self.threads(repository) if not isinstance(thread, Pull)]

    def transcript(self) -> str:
        """Every request, one a line."""
        return "\n".join(f"{seen.status or '---'} {seen.method} {seen.path}" for seen in self.requests)

    def close(self) -> None:
        self.close_hooks()
        self.records.close()

    def _close_linked(self, pull: Pull, author: str) -> None:
        if pull.base_branch != self.repository(pull.repository).default_branch:
            return
        numbers = {int(number) for number in CLOSING.findall(pull.body)}
        for thread in self.issues(pull.repository):
            if thread.number in numbers and thread.open:
                self.set_open(thread, is_open=False, actor=author, reason="completed")
