"""What people do at a forge in memory: the embedded forge's own rules and records, over repositories that need no git.

What the embedded forge asks git for is answered here from memory; everything else is its own code.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from overlord.domain.identifiers import Sha
from overlord.embedded.forge.api.problem import invalid, unfit
from overlord.embedded.forge.forge import OWNER, EmbeddedForge
from overlord.embedded.forge.judgement import Remark
from overlord.embedded.forge.record import Pull, ReviewComment, Status
from overlord.embedded.forge.record import Repository as RepositoryRecord
from overlord.embedded.forge.repository import Conflict, Content
from tests.memory.repository import Objects, Repository


class MemoryPeople(EmbeddedForge):
    """The people around a forge in memory. `root` holds its records, and no repository."""

    def __init__(self, root: Path, *, now: Callable[[], datetime], objects: Objects | None = None) -> None:
        super().__init__(root, now=now)
        self.objects = objects or Objects()
        self._contents: dict[int, Repository] = {}

    def contents(self, name: str) -> Repository:
        """What is in a repository."""
        return self._contents[self.repository(name).id]

    async def create_repository(
        self,
        name: str,
        *,
        files: Mapping[str, Content] | None = None,
        source: Path | None = None,
        default_branch: str = "main",
        private: bool = True,
        message: str = "First commit",
        author: str = OWNER,
    ) -> RepositoryRecord:
        assert source is None, "a repository in memory is made of given files"
        if self.records.get(RepositoryRecord, name):
            raise unfit("Repository", "name already exists on this account")
        self.forget_name(name)
        made = self.records.put(
            RepositoryRecord(
                id=self.records.next_id(),
                name=name,
                default_branch=default_branch,
                private=private,
                created_at=self.now(),
            )
        )
        self._contents[made.id] = Repository(self.objects, default_branch)
        self.directory(name).mkdir(parents=True)  # its place, which a renaming moves
        if files:
            await self.push_files(name, default_branch, files, message, author=author)
        return made

    async def push_files(
        self,
        repository: str,
        branch: str,
        files: Mapping[str, Content | None],
        message: str,
        *,
        author: str = OWNER,
    ) -> str:
        known = self.contents(repository)
        parent = known.heads.get(branch, known.heads.get(known.default_branch))
        sha = known.commit_files(branch, files, parent=parent, message=message, author=author, at=self.now())
        await self.follow_branches(self.repository(repository).name)
        return sha

    async def merge(
        self,
        repository: str,
        number: int,
        *,
        author: str = OWNER,
        squash: bool = False,
        delete_branch: bool = False,
    ) -> str:
        await self.follow_branches(repository)
        pull, known = self.pull(repository, number), self.contents(repository)
        if not pull.open:
            raise unfit("PullRequest", "Pull Request is not mergeable: it is closed")
        if pull.draft:
            raise unfit("PullRequest", "Pull Request is still a draft")
        base = known.heads[pull.base_branch]
        tree, conflicts = self.objects.merged(base, pull.head_sha)
        if conflicts:
            raise Conflict("conflict")
        parents = (base,) if squash else (base, Sha(pull.head_sha))
        message = f"{pull.title} (#{pull.number})"
        commit = self.objects.commit(tree, parents, message=message, author=author, at=self.now())
        known.heads[pull.base_branch] = commit
        closed = self.set_open(pull, is_open=False, actor=author)
        self.records.put(
            replace(closed, merged_at=closed.closed_at, merged_by=author, merge_commit_sha=commit)
        )
        self._close_linked(pull, author)
        if delete_branch:
            del known.heads[pull.head_branch]
        await self.follow_branches(repository)
        return commit

    async def heads(self, name: str) -> dict[str, str]:
        return dict(sorted(self.contents(name).heads.items()))

    async def has_commit(self, name: str, sha: str) -> bool:
        return self.contents(name).has(sha)

    async def delete_branch(self, repository: str, branch: str) -> None:
        self.contents(repository).heads.pop(branch, None)

    async def delete_reference(self, name: str, reference: str, *, actor: str) -> None:
        branch = reference.removeprefix("heads/")
        known = self.contents(name)
        if branch not in known.heads:
            raise unfit("Reference", "Reference does not exist")
        if branch == known.default_branch:
            raise unfit("Reference", "Cannot delete the default branch")
        del known.heads[branch]
        for pull in self.pulls(name):
            if pull.open and pull.head_branch == branch and not pull.head_repository:
                self.set_open(pull, is_open=False, actor=actor)
        await self.follow_branches(name)

    async def merges(self, pull: Pull) -> bool | None:
        if not pull.open:
            return None
        return not self.objects.merged(pull.base_sha, pull.head_sha)[1]

    async def lines_now(self, pull: Pull, comments: Sequence[ReviewComment]) -> list[int | None]:
        return [self._line_now(pull, comment) for comment in comments]

    def files(self, repository: str, ref: str = "HEAD") -> dict[str, bytes]:
        known = self.contents(repository)
        branch = known.default_branch if ref == "HEAD" else ref
        tree = self.objects.commits[known.heads.get(branch, Sha(ref))].tree
        return {path: entry.data for path, entry in tree.items()}

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
        if not await self.has_commit(name, sha):
            raise unfit("Status", f"No commit found for SHA: {sha}")
        return self.records.put(
            Status(
                id=self.records.next_id(),
                repository=self.repository(name).name,
                sha=sha,
                state=state,
                context=context,
                description=description,
                target_url=target_url,
                creator=author,
                created_at=self.now(),
            )
        )

    async def _compared(self, repository: RepositoryRecord, branch: str, base: str) -> tuple[str, str]:
        heads = self.contents(repository.name).heads
        for side, named in (("head", branch), ("base", base)):
            if named not in heads:
                raise invalid("PullRequest", side)
        if heads[branch] in {commit.sha for commit in self.objects.history(heads[base])}:
            raise unfit("PullRequest", f"No commits between {base} and {branch}")
        if any(
            pull.open and (pull.head_repository, pull.head_branch, pull.base_branch) == ("", branch, base)
            for pull in self.pulls(repository.name)
        ):
            raise unfit("PullRequest", f"A pull request already exists for {repository.owner}:{branch}.")
        return heads[branch], heads[base]

    async def _commit_pulled(self, pull: Pull, files: Mapping[str, Content | None]) -> str:
        return self.contents(pull.repository).commit_files(
            f"refs/pull/{pull.number}/head",
            files,
            parent=pull.head_sha,
            message=pull.title,
            author=pull.author,
            at=self.now(),
        )

    async def _check_review(
        self, pull: Pull, author: str, state: str, body: str, comments: Sequence[Remark]
    ) -> None:
        said = body or ("remarks" if comments else "")
        await super()._check_review(pull, author, state, said, ())
        for path, line, _ in comments:
            lines = self._lines_of(pull, pull.head_sha, path)
            if not 1 <= line <= len(lines):
                raise unfit(
                    "PullRequestReviewComment", f"{'Line' if lines else 'Path'} could not be resolved"
                )

    def _line_now(self, pull: Pull, comment: ReviewComment) -> int | None:
        before, after = (
            self._lines_of(pull, commit, comment.path) for commit in (comment.commit_id, pull.head_sha)
        )
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        for block in matcher.get_matching_blocks():
            if block.a < comment.line <= block.a + block.size:
                return block.b + comment.line - block.a
        return None

    def _lines_of(self, pull: Pull, commit: str, path: str) -> list[bytes]:
        return (self.contents(pull.repository).file(commit, path) or b"").splitlines()
