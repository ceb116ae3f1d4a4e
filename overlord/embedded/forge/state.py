"""The rules of the embedded forge: what may be done to repositories, issues and pull requests, and what follows.

REST, GraphQL, git and the people-side verbs all act through these methods, so all of them meet the same refusals.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from overlord.embedded.forge import repository as bare
from overlord.embedded.forge.account import Accounts, utc_now
from overlord.embedded.forge.api.problem import (
    Problem,
    Renamed,
    Transferred,
    deleted,
    invalid,
    missing,
    unfit,
)
from overlord.embedded.forge.record import (
    Comment,
    Departure,
    Issue,
    Label,
    Occurrence,
    Pull,
    Reaction,
    Renaming,
    Repository,
    Status,
)
from overlord.embedded.forge.records import RecordStore

BODY_CHARS = 65_536
TITLE_CHARS = 256
DESCRIPTION_CHARS = 140
REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
STATUS_STATES = ("error", "failure", "pending", "success")
CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b", re.IGNORECASE)


T = TypeVar("T", bound=Issue)


class ForgeState(Accounts):
    """Everything a forge knows, kept under `root`."""

    def __init__(self, root: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(RecordStore(root / "forge.sqlite3"), now)
        self.root = root
        self.writing = asyncio.Lock()
        """Held while people's commits are made, one after the other."""
        self.pulls_after = 0
        """Pull requests are numbered from here on and issues below it; 0: from one sequence, as GitHub does."""

    def directory(self, name: str) -> Path:
        """The bare repository of `owner/name`."""
        return self.root / "git" / f"{name}.git"

    # Reading

    def repository(self, name: str) -> Repository:
        """Raises Renamed for the old name of one."""
        found = self.records.get(Repository, name)
        if found is None:
            renaming = self.records.get(Renaming, name)
            raise missing() if renaming is None else Renamed(renaming.repository_id)
        return found

    def repository_with(self, number: int) -> Repository:
        """The repository of an id, whatever its name is now."""
        found = next((known for known in self.repositories() if known.id == number), None)
        if found is None:
            raise missing()
        return found

    def repositories(self) -> list[Repository]:
        return list(self.records.all(Repository))

    def threads(self, name: str) -> list[Issue]:
        """Issues and pull requests of a repository, by number."""
        full = self.repository(name).name
        both = [*self.records.all(Issue), *self.records.all(Pull)]
        return sorted((item for item in both if item.repository == full), key=lambda item: item.number)

    def issue(self, name: str, number: int) -> Issue:
        """An issue, or the pull request of that number. Raises Transferred for an issue that is elsewhere now."""
        key = f"{self.repository(name).name}#{number}"
        found = self.records.get(Issue, key) or self.records.get(Pull, key)
        if found is None:
            raise self._absent(key)
        return found

    def pull(self, name: str, number: int) -> Pull:
        found = self.records.get(Pull, f"{self.repository(name).name}#{number}")
        if found is None:
            raise missing()
        return found

    def pulls(self, name: str) -> list[Pull]:
        return [item for item in self.threads(name) if isinstance(item, Pull)]

    def comments(self, name: str, number: int) -> list[Comment]:
        thread = self.issue(name, number)
        return [
            comment
            for comment in self.records.all(Comment)
            if (comment.repository, comment.number) == (thread.repository, thread.number)
        ]

    def statuses(self, name: str, sha: str) -> list[Status]:
        """Every status of a commit, oldest first."""
        full = self.repository(name).name
        return [
            status for status in self.records.all(Status) if (status.repository, status.sha) == (full, sha)
        ]

    def labels(self, name: str) -> list[Label]:
        full = self.repository(name).name
        return [label for label in self.records.all(Label) if label.repository == full]

    # Issues, labels, comments

    def create_issue(
        self, name: str, *, title: str, body: str, author: str, labels: Sequence[str] = ()
    ) -> Issue:
        _check_text("Issue", title, body)
        repository = self.repository(name)
        at = self.now()
        issue = Issue(
            id=self.records.next_id(),
            repository=repository.name,
            number=self._next_number(repository),
            title=title,
            body=body,
            author=self.user(author).login,
            created_at=at,
            updated_at=at,
        )
        self.records.put(issue)
        return self.add_labels(issue, labels, actor=author) if labels else issue

    def add_labels(self, thread: Issue, names: Iterable[str], *, actor: str) -> Issue:
        """Put labels on; one the repository does not have yet is made."""
        wanted = []
        for name in names:
            known = self.records.get(Label, f"{thread.repository}/{name}")
            label = known or self.records.put(
                Label(id=self.records.next_id(), repository=thread.repository, name=name)
            )
            wanted.append(label.name)
        for fresh in dict.fromkeys(wanted):
            if fresh not in thread.labels:
                self._occurred(thread, "labeled", actor, label=fresh)
        return self._touch(thread, labels=tuple(dict.fromkeys((*thread.labels, *wanted))))

    def remove_label(self, thread: Issue, name: str, *, actor: str) -> Issue:
        left = tuple(label for label in thread.labels if label.casefold() != name.casefold())
        if left == thread.labels:
            raise missing("Label does not exist")
        self._occurred(thread, "unlabeled", actor, label=name)
        return self._touch(thread, labels=left)

    def add_comment(self, thread: Issue, body: str, author: str) -> Comment:
        if not body.strip() or len(body) > BODY_CHARS:
            raise invalid("IssueComment", "body")
        at = self.now()
        comment = Comment(
            id=self.records.next_id(),
            repository=thread.repository,
            number=thread.number,
            author=self.user(author).login,
            body=body,
            created_at=at,
            updated_at=at,
        )
        self._touch(thread)
        return self.records.put(comment)

    def edit_comment(self, name: str, comment_id: int, body: str) -> Comment:
        comment = self.records.get(Comment, str(comment_id))
        if comment is None or comment.repository != self.repository(name).name:
            raise missing()
        if not body.strip() or len(body) > BODY_CHARS:
            raise invalid("IssueComment", "body")
        return self.records.put(replace(comment, body=body, updated_at=self.now()))

    def react(self, name: str, comment_id: int, content: str, login: str) -> tuple[Reaction, bool]:
        """A reaction to a comment, and whether it is new."""
        comment = self.records.get(Comment, str(comment_id))
        if comment is None or comment.repository != self.repository(name).name:
            raise missing()
        if content not in REACTIONS:
            raise invalid("Reaction", "content")
        known = self.records.get(Reaction, f"{comment_id}/{content}/{login}")
        fresh = Reaction(
            id=self.records.next_id(),
            comment_id=comment_id,
            content=content,
            login=login,
            created_at=self.now(),
        )
        return known or self.records.put(fresh), known is None

    def reactions(self, comment_id: int) -> list[Reaction]:
        return [reaction for reaction in self.records.all(Reaction) if reaction.comment_id == comment_id]

    def occurrences(self, thread: Issue) -> list[Occurrence]:
        """What happened to an issue or pull request, oldest first."""
        at = (thread.repository, thread.number)
        return [item for item in self.records.all(Occurrence) if (item.repository, item.number) == at]

    def set_locked(self, thread: T, *, is_locked: bool, actor: str) -> T:
        self._occurred(thread, "locked" if is_locked else "unlocked", actor)
        return self._touch(thread, locked=is_locked)

    def set_open(self, thread: T, *, is_open: bool, actor: str, reason: str | None = None) -> T:
        self._occurred(thread, "reopened" if is_open else "closed", actor)
        return self._touch(
            thread, open=is_open, closed_at=None if is_open else self.now(), state_reason=reason
        )

    # Pull requests and statuses

    async def create_pull(
        self, name: str, *, title: str, body: str, head: str, base: str, draft: bool, author: str
    ) -> Pull:
        """Open a pull request; refused as GitHub refuses it when there is nothing to pull or one is open already."""
        _check_text("PullRequest", title, body)
        repository = self.repository(name)
        branch = head.removeprefix(f"{repository.owner}:")
        head_sha, base_sha = await self._compared(repository, branch, base)
        at = self.now()
        pull = Pull(
            id=self.records.next_id(),
            repository=repository.name,
            number=self._next_number(repository, after=self.pulls_after),
            title=title,
            body=body,
            author=self.user(author).login,
            created_at=at,
            updated_at=at,
            head_branch=branch,
            head_sha=head_sha,
            base_branch=base,
            base_sha=base_sha,
            draft=draft,
        )
        return self.records.put(pull)

    def edit_thread(self, thread: T, *, title: str | None, body: str | None, actor: str) -> T:
        title, body = thread.title if title is None else title, thread.body if body is None else body
        _check_text("PullRequest" if isinstance(thread, Pull) else "Issue", title, body)
        if title != thread.title:
            self._occurred(thread, "renamed", actor, renamed=(thread.title, title))
        edited_at = self.now() if body != thread.body else thread.edited_at
        return self._touch(thread, title=title, body=body, edited_at=edited_at)

    def mark_ready(self, pull: Pull) -> Pull:
        return self._touch(pull, draft=False)

    async def create_status(
        self,
        name: str,
        sha: str,
        *,
        state: str,
        context: str,
        description: str | None,
        target_url: str | None,
        author: str,
    ) -> Status:
        repository = self.repository(name)
        if state not in STATUS_STATES:
            raise invalid("Status", "state")
        if len(description or "") > DESCRIPTION_CHARS:
            raise unfit("Status", f"description is too long (maximum is {DESCRIPTION_CHARS} characters)")
        if not await asyncio.to_thread(bare.has_commit, self.directory(repository.name), sha):
            raise unfit("Status", f"No commit found for SHA: {sha}")
        status = Status(
            id=self.records.next_id(),
            repository=repository.name,
            sha=sha,
            state=state,
            context=context,
            description=description,
            target_url=target_url,
            creator=author,
            created_at=self.now(),
        )
        return self.records.put(status)

    async def follow_branches(self, name: str) -> None:
        """Let open pull requests see where their branches are now."""
        heads = await self.heads(name)
        for pull in self.pulls(name):
            head = pull.head_sha if pull.head_repository else heads.get(pull.head_branch, pull.head_sha)
            base = heads.get(pull.base_branch, pull.base_sha)
            if pull.open and (head, base) != (pull.head_sha, pull.base_sha):
                self._touch(pull, head_sha=head, base_sha=base)

    async def heads(self, name: str) -> dict[str, str]:
        """Every branch and where it is."""
        return await asyncio.to_thread(bare.heads, self.directory(self.repository(name).name))

    async def _compared(self, repository: Repository, branch: str, base: str) -> tuple[str, str]:
        """Where head and base are, if a pull request may be opened between them."""
        heads = await self.heads(repository.name)
        if branch not in heads:
            raise invalid("PullRequest", "head")
        if base not in heads:
            raise invalid("PullRequest", "base")
        directory = self.directory(repository.name)
        if not await asyncio.to_thread(bare.commits_between, directory, heads[base], heads[branch]):
            raise unfit("PullRequest", f"No commits between {base} and {branch}")
        if any(
            pull.open and (pull.head_repository, pull.head_branch, pull.base_branch) == ("", branch, base)
            for pull in self.pulls(repository.name)
        ):
            raise unfit("PullRequest", f"A pull request already exists for {repository.owner}:{branch}.")
        return heads[branch], heads[base]

    def _next_number(self, repository: Repository, *, after: int = 0) -> int:
        left = [gone.number for gone in self.records.all(Departure) if gone.repository == repository.name]
        taken = [*left, *(thread.number for thread in self.threads(repository.name))]
        most = 0 if after else self.pulls_after
        return max([after, *(number for number in taken if not most or number <= most)]) + 1

    def _absent(self, key: str) -> Problem:
        """Why there is no issue of this key."""
        departure = self.records.get(Departure, key)
        if departure is None:
            return missing()
        return deleted() if departure.to is None else Transferred(*departure.to)

    def _occurred(self, thread: Issue, event: Any, actor: str, **details: Any) -> None:
        self.records.put(
            Occurrence(
                id=self.records.next_id(),
                repository=thread.repository,
                number=thread.number,
                event=event,
                actor=self.user(actor).login,
                created_at=self.now(),
                **details,
            )
        )

    def _touch(self, thread: T, **changes: Any) -> T:
        return self.records.put(replace(thread, updated_at=self.now(), **changes))


def _check_text(resource: str, title: str, body: str) -> None:
    if not title.strip():
        raise invalid(resource, "title", "missing_field")
    if len(title) > TITLE_CHARS:
        raise unfit(resource, f"title is too long (maximum is {TITLE_CHARS} characters)")
    if len(body) > BODY_CHARS:
        raise unfit(resource, f"body is too long (maximum is {BODY_CHARS} characters)")
