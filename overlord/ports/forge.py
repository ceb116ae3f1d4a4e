"""GitHub, or what speaks like it."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from minion.protocol import Comment
from overlord.domain.conversation.comment import Labelling, PostedComment, Reaction
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.forge import (
    ClosedAs,
    HeadChecks,
    IssueState,
    Pull,
    PulledFile,
    RelatedIssue,
    Repository,
    Review,
    ReviewComment,
    TreeEntry,
)


class Forge(Protocol):
    """GitHub, or what speaks like it. Every call raises ForgeUnavailable (worth repeating later),
    ForgeRefused (repeating the same call will not help) or ForgeMissing (no such thing)."""

    async def repository(self, name: RepositoryName) -> Repository: ...
    async def remote(self, name: RepositoryName) -> Remote:
        """A clone URL and a credential fresh enough for one git operation."""
        ...

    def renew_sign_in(self, name: RepositoryName) -> None:
        """Somebody may have granted more: the next call is made with what is granted then, not with a token from before."""

    async def activity(self, name: RepositoryName) -> str:
        """A mark of the repository's issues and pull requests as they are: another one once any was changed, labelled,
        commented on, reviewed, closed or merged. Costs one request."""

    async def issues_labelled(self, name: RepositoryName, label: str) -> Sequence[IssueState]:
        """Every open issue (no pull requests) with this label, oldest first, without comments. All pages or an exception."""

    async def issues_since(self, name: RepositoryName, since: datetime) -> Sequence[IssueState]:
        """Issues, closed ones too, that were changed at `since` or later, in that order. All pages or an exception."""

    async def issue(self, name: RepositoryName, number: int) -> IssueState: ...
    async def labelling(self, name: RepositoryName, number: int, label: str) -> Labelling | None:
        """Who put this label on last; None when nobody did."""
        ...

    async def edited_at(self, name: RepositoryName, number: int) -> datetime | None:
        """When an issue's title or text was last changed, if it ever was."""
        ...

    async def may_write(self, name: RepositoryName, login: str) -> bool:
        """Whether an account may push to the repository. Raises ForgeMissing for one the forge does not know."""
        ...

    async def comments_since(self, name: RepositoryName, since: datetime) -> Sequence[PostedComment]:
        """As `issues_since`, comments on all issues and pull requests."""
        ...

    async def react(self, name: RepositoryName, comment_id: int, reaction: Reaction) -> None: ...
    async def comments(self, name: RepositoryName, number: int) -> Sequence[tuple[int, Comment]]:
        """Comments on an issue or pull request with their ids, oldest first."""
        ...

    async def add_comment(self, name: RepositoryName, number: int, body: str) -> int:
        """Post, and return the new comment's id."""
        ...

    async def edit_comment(self, name: RepositoryName, comment_id: int, body: str) -> None: ...
    async def add_label(self, name: RepositoryName, number: int, label: str) -> None:
        """Put a label on an issue; GitHub makes a label that does not exist yet."""
        ...

    async def remove_label(self, name: RepositoryName, number: int, label: str) -> None: ...
    async def pulls_from(self, name: RepositoryName, branch: str) -> Sequence[Pull]:
        """Pull requests whose head is `branch` of this repository, open and closed, newest first."""
        ...

    async def pull(self, name: RepositoryName, number: int) -> Pull: ...
    async def open_pull(
        self, name: RepositoryName, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> Pull: ...
    async def edit_pull(self, name: RepositoryName, number: int, *, title: str, body: str) -> None: ...
    async def login(self, name: RepositoryName) -> str:
        """As whom comments are written; empty where the forge does not say."""

    async def open_pulls(self, name: RepositoryName) -> Sequence[Pull]:
        """Every open pull request, those from forks too, oldest first."""

    async def pull_files(self, name: RepositoryName, number: int) -> Sequence[PulledFile]:
        """Every path a pull request changes. Raises ForgeRefused for more than the forge lists."""

    async def folder(self, name: RepositoryName, commit: Sha, path: str) -> Mapping[str, TreeEntry]:
        """What a directory of a commit has, by name: nothing where it is none."""

    async def blob(self, name: RepositoryName, sha: str) -> bytes: ...
    async def mark_ready(self, pull: Pull) -> None:
        """Turn a draft into a pull request ready for review."""
        ...

    async def open_issue(self, name: RepositoryName, *, title: str, body: str) -> int: ...
    async def close_issue(self, name: RepositoryName, number: int, reason: ClosedAs = "completed") -> None:
        """Close an issue; also one that is closed, which keeps the reason it was closed for. As `delete_branch`, for a branch
        that is not there."""
        ...

    async def reopen_issue(self, name: RepositoryName, number: int) -> None:
        """Open a closed issue again; also one that is open."""
        ...

    async def edit_issue(
        self, name: RepositoryName, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        """Write an issue's title or text anew; what is None stays. Title at most 256 characters, text 65,536."""
        ...

    async def sub_issues(self, name: RepositoryName, number: int) -> Sequence[RelatedIssue]:
        """The issues that this one is the parent of, in their order there. Those of repositories we may not see are left
        out. This and the four below raise ForgeUnsupported where the forge has no such relations, and say so once in the log."""
        ...

    async def add_sub_issue(
        self, name: RepositoryName, parent: int, child: int, *, child_name: RepositoryName | None = None
    ) -> None:
        """Make an issue a sub-issue of another one; also one that is. `child_name`: the child's repository, of the same owner,
        where it is another. Raises ForgeRefused where the child has another parent or the parent has 100 already."""
        ...

    async def blocked_by(self, name: RepositoryName, number: int) -> Sequence[RelatedIssue]:
        """The issues that block this one, closed ones too."""
        ...

    async def add_blocked_by(
        self, name: RepositoryName, number: int, blocker_name: RepositoryName, blocker_number: int
    ) -> None:
        """Say that an issue waits for another one; also where it is said. Raises ForgeRefused for a circle."""
        ...

    async def remove_blocked_by(
        self, name: RepositoryName, number: int, blocker_name: RepositoryName, blocker_number: int
    ) -> None:
        """An issue waits for another one no more; also where it did not."""
        ...

    async def delete_branch(self, name: RepositoryName, branch: str) -> None: ...
    async def reviews(self, name: RepositoryName, number: int) -> Sequence[Review]:
        """The submitted reviews of a pull request, oldest first."""
        ...

    async def review_comments(self, name: RepositoryName, number: int) -> Sequence[ReviewComment]:
        """The comments on a pull request's diff, oldest first."""
        ...

    async def answer_review_comment(
        self, name: RepositoryName, number: int, comment_id: int, body: str
    ) -> int:
        """Write into the thread that `comment_id` began, and return the new comment's id."""
        ...

    async def checks_of(self, name: RepositoryName, sha: Sha, *, but: Collection[str]) -> HeadChecks:
        """The newest run of each check, and the newest status of each context but some, of a commit."""
        ...

    async def check_log(self, name: RepositoryName, log: int, *, limit_bytes: int) -> str:
        """The end of a failed check's log; empty where it cannot be had."""
        ...

    async def set_status(
        self, name: RepositoryName, sha: Sha, *, state: str, context: str, description: str
    ) -> None:
        """A commit status: state `pending`, `success`, `failure` or `error`; description at most 140 characters."""
        ...
