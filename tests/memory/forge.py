"""`ports.Forge` in memory, as the agent of `MemoryPeople`: each call reads or changes their records, and no HTTP is spoken.

What the people's forge refuses with a status of GitHub's is raised as the adapter for GitHub would raise it.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from hashlib import sha256
from typing import ParamSpec, TypeVar, cast

from minion.protocol import Comment, Issue
from overlord.adapters.github.client import MOVED
from overlord.adapters.github.operation import OPERATIONS
from overlord.domain.conversation.comment import Labelling, PostedComment, Reaction
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.forge import (
    ClosedAs,
    FailedCheck,
    HeadChecks,
    IssueState,
    Pull,
    PulledFile,
    RelatedIssue,
    Repository,
    Review,
    ReviewComment,
    ReviewState,
    StateReason,
    TreeEntry,
)
from overlord.embedded.forge import record
from overlord.embedded.forge.api.content import MOST_LISTED
from overlord.embedded.forge.api.problem import Problem, Renamed, Transferred, missing
from overlord.embedded.forge.api.shape import node_id
from overlord.embedded.forge.api.wire import RecordedRequest
from overlord.embedded.forge.forge import AGENT
from overlord.errors import (
    ForgeMissing,
    ForgeMoved,
    ForgeRefused,
    ForgeTooLarge,
    ForgeUnavailable,
    ForgeUnsupported,
)
from tests.memory.people import MemoryPeople
from tests.memory.repository import DIRECTORY, Tree, changes_between

WEB = "https://forge.test"
FAILED = {"failure", "timed_out", "startup_failure"}
NOT_WAITED_FOR = {"completed", "waiting"}
DESCRIPTION_CHARS = 140

Given = ParamSpec("Given")
Result = TypeVar("Result")
Call = Callable[Given, Coroutine[None, None, Result]]


def told(*operations: str) -> Callable[[Call[Given, Result]], Call[Given, Result]]:
    """A call for which the adapter asks these operations of GitHub's API: what the people's forge refuses becomes the port's
    exceptions, and a fault that was ordered for an operation happens."""

    def named(act: Call[Given, Result]) -> Call[Given, Result]:
        @wraps(act)
        async def asked(*arguments: Given.args, **options: Given.kwargs) -> Result:
            forge = cast(MemoryForge, arguments[0])
            fault = next(filter(None, map(forge.people.wire.faults.take, operations)), None)
            if fault is not None and not fault.is_after:
                forge.saw(operations, _STATUSES.get(fault.kind, 500))
                raise _trouble(operations[0], fault.kind)
            try:
                result = await act(*arguments, **options)
            except Transferred as moved:
                raise ForgeMoved("301 Moved Permanently", to=f"{moved.repository}#{moved.number}") from None
            except Renamed:
                raise ForgeRefused(f"{_asked_for(operations[0])}: 301 ({MOVED})") from None
            except Problem as problem:
                forge.saw(operations, problem.status)
                kind = ForgeMissing if problem.status in {404, 410} else ForgeRefused
                raise kind(f"{_asked_for(operations[0])}: {problem.status} {problem}") from None
            forge.saw(operations, 200)
            if fault is not None:
                raise _trouble(operations[0], fault.kind)
            return result

        return asked

    return named


_STATUSES = {"401": 401, "403": 403, "404": 404, "409": 409, "410": 410, "422": 422}


def _trouble(operation: str, kind: str) -> ForgeRefused | ForgeUnavailable:
    """What the adapter makes of a fault: a refusal, or nothing that was said for good."""
    if kind in {"404", "410"}:
        return ForgeMissing(f"{_asked_for(operation)}: {kind} Not Found")
    if kind in _STATUSES:
        return ForgeRefused(f"{_asked_for(operation)}: {kind} refused")
    return ForgeUnavailable(f"{_asked_for(operation)}: no usable answer ({kind})")


def _asked_for(operation: str) -> str:
    return " ".join(OPERATIONS[operation])


@dataclass(frozen=True, slots=True)
class MemoryForge:
    """One account's way in."""

    people: MemoryPeople
    agent: str = AGENT

    @told("repos/get")
    async def repository(self, name: RepositoryName) -> Repository:
        found = self.people.repository(name)
        return Repository(
            name=RepositoryName(found.name),
            default_branch=found.default_branch,
            clone_url=f"{WEB}/{name}.git",
            can_push=self.people.user(self.agent).may_write,
            id=found.id,
        )

    async def remote(self, name: RepositoryName) -> Remote:
        return Remote(url=f"{WEB}/{name}.git", authorization="Basic bWVtb3J5")

    def renew_sign_in(self, name: RepositoryName) -> None:
        """There is no sign-in that could be old."""

    # Issues and what is said about them

    @told("issues/list-for-repo")
    async def activity(self, name: RepositoryName) -> str:
        newest = sorted(self.people.threads(name), key=lambda item: item.updated_at)[-10:]
        return sha256(repr(newest).encode()).hexdigest()

    @told("issues/list-for-repo")
    async def issues_labelled(self, name: RepositoryName, label: str) -> Sequence[IssueState]:
        wanted = label.casefold()
        return [
            self._state(item)
            for item in self.people.issues(name)
            if item.open and wanted in {known.casefold() for known in item.labels}
        ]

    @told("issues/list-for-repo")
    async def issues_since(self, name: RepositoryName, since: datetime) -> Sequence[IssueState]:
        found = [item for item in self.people.issues(name) if item.updated_at >= since.replace(microsecond=0)]
        return [self._state(item) for item in sorted(found, key=lambda item: (item.updated_at, item.number))]

    @told("issues/get")
    async def issue(self, name: RepositoryName, number: int) -> IssueState:
        return self._state(self.people.issue(name, number))

    @told("issues/list-events", "graphql")
    async def labelling(self, name: RepositoryName, number: int, label: str) -> Labelling | None:
        issue, found = self.people.issue(name, number), None
        for item in self._occurrences(issue):
            if (item.label or "").casefold() != label.casefold():
                continue
            if item.event == "labeled":
                found = Labelling(actor=item.actor, is_bot=self._is_bot(item.actor), at=item.created_at)
            elif found is not None:
                found = replace(found, is_off=True)
        return found.with_changes(*self._changes(issue)) if found else None

    @told("issues/list-events", "graphql")
    async def edited_at(self, name: RepositoryName, number: int) -> datetime | None:
        return max(self._changes(self.people.issue(name, number)), default=None)

    @told("repos/get-collaborator-permission-level")
    async def may_write(self, name: RepositoryName, login: str) -> bool:
        self.people.repository(name)
        if login == "ghost":
            return False
        known = self.people.records.get(record.User, login)
        if known is None:
            raise missing()
        return self.people.role(self.people.repository(name), known) in {"write", "maintain", "admin"}

    @told("issues/list-comments-for-repo")
    async def comments_since(self, name: RepositoryName, since: datetime) -> Sequence[PostedComment]:
        full = self.people.repository(name).name
        found = [
            PostedComment(
                id=item.id,
                number=item.number,
                comment=self._comment(item),
                is_bot=self._is_bot(item.author),
                at=item.updated_at,
            )
            for item in self.people.records.all(record.Comment)
            if item.repository == full and item.updated_at >= since.replace(microsecond=0)
        ]
        return sorted(found, key=lambda item: (item.at, item.id))

    @told("reactions/create-for-issue-comment")
    async def react(self, name: RepositoryName, comment_id: int, reaction: Reaction) -> None:
        self.people.react(name, comment_id, reaction, self.agent)

    @told("issues/list-comments")
    async def comments(self, name: RepositoryName, number: int) -> Sequence[tuple[int, Comment]]:
        return [(item.id, self._comment(item)) for item in self.people.comments(name, number)]

    @told("issues/create-comment")
    async def add_comment(self, name: RepositoryName, number: int, body: str) -> int:
        return self.people.add_comment(self._here(name, number), body, self.agent).id

    @told("issues/update-comment")
    async def edit_comment(self, name: RepositoryName, comment_id: int, body: str) -> None:
        self.people.edit_comment(name, comment_id, body)

    @told("issues/add-labels")
    async def add_label(self, name: RepositoryName, number: int, label: str) -> None:
        self.people.add_labels(self._here(name, number), [label], actor=self.agent)

    @told("issues/remove-label")
    async def remove_label(self, name: RepositoryName, number: int, label: str) -> None:
        issue = self._here(name, number)
        if label.casefold() in {known.casefold() for known in issue.labels}:
            self.people.remove_label(issue, label, actor=self.agent)

    @told("issues/create")
    async def open_issue(self, name: RepositoryName, *, title: str, body: str) -> int:
        return self.people.create_issue(name, title=title, body=body, author=self.agent).number

    @told("issues/update")
    async def close_issue(self, name: RepositoryName, number: int, reason: ClosedAs = "completed") -> None:
        issue = self._here(name, number)
        if issue.open:
            self.people.set_open(issue, is_open=False, actor=self.agent, reason=reason)

    @told("issues/update")
    async def reopen_issue(self, name: RepositoryName, number: int) -> None:
        issue = self._here(name, number)
        if not issue.open:
            self.people.set_open(issue, is_open=True, actor=self.agent, reason="reopened")

    @told("issues/update")
    async def edit_issue(
        self, name: RepositoryName, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        self.people.edit_thread(self._here(name, number), title=title, body=body, actor=self.agent)

    # Issues and other issues

    @told("issues/list-sub-issues")
    async def sub_issues(self, name: RepositoryName, number: int) -> Sequence[RelatedIssue]:
        return self._related(self._parent(name, number), self.people.sub_issues)

    @told("issues/list-sub-issues", "issues/add-sub-issue")
    async def add_sub_issue(
        self, name: RepositoryName, parent: int, child: int, *, child_name: RepositoryName | None = None
    ) -> None:
        issue, other = self._parent(name, parent), self._here(child_name or name, child)
        if other not in self.people.sub_issues(issue):
            self.people.add_sub_issue(issue, other)

    @told("issues/list-dependencies-blocked-by")
    async def blocked_by(self, name: RepositoryName, number: int) -> Sequence[RelatedIssue]:
        return self._related(self._waiting(name, number), self.people.blockers)

    @told("issues/list-dependencies-blocked-by", "issues/add-blocked-by-dependency")
    async def add_blocked_by(
        self, name: RepositoryName, number: int, blocker_name: RepositoryName, blocker_number: int
    ) -> None:
        issue, blocker = self._waiting(name, number), self._here(blocker_name, blocker_number)
        if blocker not in self.people.blockers(issue):
            self.people.add_blocker(issue, blocker)

    @told("issues/list-dependencies-blocked-by", "issues/remove-dependency-blocked-by")
    async def remove_blocked_by(
        self, name: RepositoryName, number: int, blocker_name: RepositoryName, blocker_number: int
    ) -> None:
        issue = self._waiting(name, number)
        for blocker in self._related(issue, self.people.blockers):
            if blocker.is_at(blocker_name, blocker_number):
                self.people.remove_blocker(issue, blocker.id)

    # Pull requests

    @told("pulls/list")
    async def pulls_from(self, name: RepositoryName, branch: str) -> Sequence[Pull]:
        await self.people.follow_branches(self.people.repository(name).name)
        found = [
            item
            for item in self.people.pulls(name)
            if item.head_branch == branch and not item.head_repository
        ]
        return [self._pull(item) for item in reversed(found)]

    @told("pulls/get")
    async def pull(self, name: RepositoryName, number: int) -> Pull:
        await self.people.follow_branches(self.people.repository(name).name)
        found = self.people.pull(name, number)
        return replace(self._pull(found), mergeable=await self.people.merges(found))

    @told("pulls/create")
    async def open_pull(
        self, name: RepositoryName, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> Pull:
        made = await self.people.create_pull(
            name, title=title, body=body, head=branch, base=base, draft=draft, author=self.agent
        )
        return self._pull(made)

    @told("pulls/update")
    async def edit_pull(self, name: RepositoryName, number: int, *, title: str, body: str) -> None:
        self.people.edit_thread(self.people.pull(name, number), title=title, body=body, actor=self.agent)

    async def login(self, name: RepositoryName) -> str:
        return self.agent

    @told("pulls/list")
    async def open_pulls(self, name: RepositoryName) -> Sequence[Pull]:
        await self.people.follow_branches(self.people.repository(name).name)
        return [self._pull(item) for item in self.people.pulls(name) if item.open]

    @told("pulls/list-files")
    async def pull_files(self, name: RepositoryName, number: int) -> Sequence[PulledFile]:
        pull, objects = self.people.pull(name, number), self.people.objects
        base = objects.merge_base(pull.base_sha, pull.head_sha)
        before = objects.commits[base].tree if base else {}
        found = changes_between(before, objects.commits[Sha(pull.head_sha)].tree)
        if len(found) >= MOST_LISTED:
            raise ForgeTooLarge(
                f"pull request #{number} changes more files than GitHub lists ({MOST_LISTED:,})"
            )
        return [
            PulledFile(path=item.path, is_removed=item.status == "D", old_path=item.old_path)
            for item in found
        ]

    @told("git/get-tree")
    async def folder(self, name: RepositoryName, commit: Sha, path: str) -> Mapping[str, TreeEntry]:
        tree, objects = self._tree(name, commit), self.people.objects
        if path in tree or any(path.startswith(f"{other}/") for other in tree):
            return {}
        return {
            item: TreeEntry(
                mode=mode, sha=sha, size=len(objects.blobs[sha]) if sha in objects.blobs else None
            )
            if mode != DIRECTORY
            else TreeEntry(mode=mode, sha=sha)
            for item, (mode, sha) in objects.folder(tree, path).items()
        }

    @told("git/get-blob")
    async def blob(self, name: RepositoryName, sha: str) -> bytes:
        self.people.repository(name)
        if sha not in self.people.objects.blobs:
            raise missing()
        return self.people.objects.blobs[sha]

    @told("graphql")
    async def mark_ready(self, pull: Pull) -> None:
        _, _, _, owner, repository, _, number = pull.url.split("/")
        self.people.mark_ready(self.people.pull(f"{owner}/{repository}", int(number)))

    @told("git/delete-ref")
    async def delete_branch(self, name: RepositoryName, branch: str) -> None:
        if not branch.startswith("minion/"):
            raise ForgeRefused(f"Overlord deletes branches below minion/ only, not {branch!r}")
        if branch in await self.people.heads(name):
            await self.people.delete_reference(name, f"heads/{branch}", actor=self.agent)

    # What others say of a change

    @told("pulls/list-reviews")
    async def reviews(self, name: RepositoryName, number: int) -> Sequence[Review]:
        return [
            Review(
                id=item.id,
                author=item.author,
                is_bot=self._is_bot(item.author),
                state=ReviewState(item.state),
                body=item.body,
                head_sha=item.commit_id,
                at=item.submitted_at,
            )
            for item in self.people.reviews(name, number)
        ]

    @told("pulls/list-review-comments")
    async def review_comments(self, name: RepositoryName, number: int) -> Sequence[ReviewComment]:
        await self.people.follow_branches(self.people.repository(name).name)
        found = self.people.review_comments(name, number)
        lines = await self.people.lines_now(self.people.pull(name, number), found)
        return [
            ReviewComment(
                id=item.id,
                thread=item.in_reply_to_id or item.id,
                author=item.author,
                is_bot=self._is_bot(item.author),
                path=item.path,
                line=line,
                body=item.body,
                at=item.created_at,
            )
            for item, line in zip(found, lines, strict=True)
        ]

    @told("pulls/create-reply-for-review-comment")
    async def answer_review_comment(
        self, name: RepositoryName, number: int, comment_id: int, body: str
    ) -> int:
        return self.people.reply_to(name, number, comment_id, body, self.agent).id

    @told("checks/list-for-ref", "repos/get-combined-status-for-ref")
    async def checks_of(self, name: RepositoryName, sha: Sha, *, but: Collection[str]) -> HeadChecks:
        if not await self.people.has_commit(name, sha):
            raise ForgeRefused(f"422 No commit found for SHA: {sha}")
        runs = self.people.newest_check_runs(name, sha)
        statuses = [item for item in self.people.newest_statuses(name, sha) if item.context not in but]
        failed = [
            FailedCheck(
                name=run.name,
                summary="\n".join(part for part in (run.title, run.summary) if part),
                log=run.id if run.app == record.ACTIONS else None,
            )
            for run in runs
            if run.status == "completed" and run.conclusion in FAILED
        ]
        failed += [
            FailedCheck(name=item.context, summary=item.description or "")
            for item in statuses
            if item.state in {"failure", "error"}
        ]
        pending = [run for run in runs if run.status not in NOT_WAITED_FOR]
        return HeadChecks(
            is_pending=bool(pending) or any(item.state == "pending" for item in statuses),
            failed=tuple(failed),
        )

    @told("actions/download-job-logs-for-workflow-run")
    async def check_log(self, name: RepositoryName, log: int, *, limit_bytes: int) -> str:
        self.people.repository(name)
        run = self.people.records.get(record.CheckRun, str(log))
        content = run.log.encode() if run is not None and run.has_log else b""
        return content[-limit_bytes:].decode(errors="replace")

    @told("repos/create-commit-status")
    async def set_status(
        self, name: RepositoryName, sha: Sha, *, state: str, context: str, description: str
    ) -> None:
        short = description[:DESCRIPTION_CHARS]
        await self.people.create_status(
            name, sha, state=state, context=context, description=short, target_url=None, author=self.agent
        )

    def saw(self, operations: Sequence[str], status: int) -> None:
        """Note what was asked for, as the embedded forge does."""
        for operation in operations:
            method, path = OPERATIONS[operation]
            seen = RecordedRequest(
                operation=operation, method=method, path=path, status=status, login=self.agent
            )
            self.people.wire.requests.append(seen)

    # How records are read

    def _here(self, name: RepositoryName, number: int) -> record.Issue:
        """An issue that something is done to. One that was transferred takes nothing at its old address."""
        try:
            return self.people.issue(name, number)
        except Transferred:
            raise ForgeRefused("301 Moved Permanently") from None

    def _state(self, item: record.Issue) -> IssueState:
        issue = Issue(
            number=item.number, title=item.title, body=item.body, author=item.author, labels=item.labels
        )
        return IssueState(
            issue=issue,
            open=item.open,
            created_at=item.created_at,
            updated_at=item.updated_at,
            is_pull=isinstance(item, record.Pull),
            state_reason=cast(StateReason | None, item.state_reason),
        )

    def _parent(self, name: RepositoryName, number: int) -> record.Issue:
        """An issue at a forge that has sub-issues."""
        issue = self._here(name, number)
        if not self.people.has_sub_issues:
            raise ForgeUnsupported(f"{WEB} has no sub-issues; a newer GitHub Enterprise Server has them")
        return issue

    def _waiting(self, name: RepositoryName, number: int) -> record.Issue:
        """An issue at a forge that has dependencies."""
        issue = self._here(name, number)
        if not self.people.has_dependencies:
            raise ForgeUnsupported(
                f"{WEB} has no issue dependencies; a newer GitHub Enterprise Server has them"
            )
        return issue

    def _related(
        self, issue: record.Issue, others: Callable[[record.Issue], Sequence[record.Issue]]
    ) -> list[RelatedIssue]:
        return [
            RelatedIssue(
                repository=RepositoryName(item.repository),
                number=item.number,
                open=item.open,
                state_reason=cast(StateReason | None, item.state_reason),
                id=item.id,
            )
            for item in others(issue)
        ]

    def _pull(self, item: record.Pull) -> Pull:
        return Pull(
            number=item.number,
            node_id=node_id("PR", item.id),
            url=f"{WEB}/{item.repository}/pull/{item.number}",
            head_branch=item.head_branch,
            head_sha=Sha(item.head_sha),
            draft=item.draft,
            open=item.open,
            merged=item.merged,
            title=item.title,
            body=item.body,
            base_branch=item.base_branch,
        )

    def _comment(self, item: record.Comment) -> Comment:
        association = self.people.user(item.author).association
        return Comment(author=item.author, association=association, body=item.body)

    def _is_bot(self, login: str) -> bool:
        return self.people.user(login).kind == "Bot" or login.endswith("[bot]")

    def _occurrences(self, issue: record.Issue) -> Sequence[record.Occurrence]:
        return self.people.occurrences(issue)

    def _changes(self, issue: record.Issue) -> list[datetime]:
        renamed = [item.created_at for item in self._occurrences(issue) if item.event == "renamed"]
        return [*renamed, *([issue.edited_at] if issue.edited_at else [])]

    def _tree(self, name: RepositoryName, commit: str) -> Tree:
        known = self.people.contents(name)
        found = self.people.objects.commits.get(known.heads.get(commit, Sha(commit)))
        if found is None:
            raise missing()
        return found.tree
