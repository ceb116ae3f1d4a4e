"""What the embedded forge remembers of issues and other issues. Both are named by their ids, which renamings leave alone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SubIssue:
    """That an issue is a sub-issue of another one."""

    id: int
    issue_id: int
    parent_id: int

    @property
    def key(self) -> str:
        return str(self.issue_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """That an issue is blocked by another one."""

    id: int
    issue_id: int
    blocker_id: int

    @property
    def key(self) -> str:
        return f"{self.issue_id}/{self.blocker_id}"
