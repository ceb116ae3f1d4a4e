"""How issues hang together at the embedded forge: sub-issues and the issues that block others, with what GitHub refuses."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from overlord.embedded.forge.account import utc_now
from overlord.embedded.forge.api.problem import Problem, missing
from overlord.embedded.forge.link import Dependency, SubIssue
from overlord.embedded.forge.record import Issue, Pull
from overlord.embedded.forge.state import ForgeState

MOST_SUB_ISSUES = 100
MOST_LEVELS = 8
MOST_BLOCKERS = 50
NOT_ADDED = "An error occurred while adding the sub-issue to the parent issue. "


class RelatedState(ForgeState):
    """A forge whose issues have sub-issues and blockers."""

    def __init__(self, root: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, now=now)
        self.has_sub_issues = True
        self.has_dependencies = True
        """False: as an Enterprise Server from before there were any, which answers 404."""

    def issue_with(self, number: int) -> Issue:
        """The issue or pull request of an id, wherever it is."""
        both = [*self.records.all(Issue), *self.records.all(Pull)]
        found = next((item for item in both if item.id == number), None)
        if found is None:
            raise missing()
        return found

    def parent(self, issue: Issue) -> Issue | None:
        link = self.records.get(SubIssue, str(issue.id))
        return self.issue_with(link.parent_id) if link else None

    def sub_issues(self, issue: Issue) -> list[Issue]:
        """The sub-issues of an issue, in the order they were added."""
        links = [link for link in self.records.all(SubIssue) if link.parent_id == issue.id]
        return [self.issue_with(link.issue_id) for link in links]

    def blockers(self, issue: Issue) -> list[Issue]:
        """The issues an issue is blocked by, closed ones too."""
        links = [link for link in self.records.all(Dependency) if link.issue_id == issue.id]
        return [self.issue_with(link.blocker_id) for link in links]

    def blocked(self, issue: Issue) -> list[Issue]:
        """The issues an issue blocks."""
        links = [link for link in self.records.all(Dependency) if link.blocker_id == issue.id]
        return [self.issue_with(link.issue_id) for link in links]

    def add_sub_issue(self, parent: Issue, child: Issue) -> Issue:
        """Make an issue a sub-issue of another one; returns the parent."""
        if problem := self._sub_issue_problem(parent, child):
            raise Problem(422, NOT_ADDED + problem)
        self.records.put(SubIssue(id=self.records.next_id(), issue_id=child.id, parent_id=parent.id))
        self._touch(child)
        return self._touch(parent)

    def add_blocker(self, issue: Issue, blocker: Issue) -> Issue:
        """Say that an issue is blocked by another one; returns the blocked one."""
        if problem := self._blocker_problem(issue, blocker):
            raise Problem(422, f"Validation failed: {problem}")
        self.records.put(Dependency(id=self.records.next_id(), issue_id=issue.id, blocker_id=blocker.id))
        self._touch(blocker)
        return self._touch(issue)

    def remove_blocker(self, issue: Issue, blocker_id: int) -> Issue:
        link = self.records.get(Dependency, f"{issue.id}/{blocker_id}")
        if link is None:
            raise missing()
        self.records.remove(link)
        return self._touch(issue)

    def relate_anew(self, issue: Issue, moved: Issue) -> None:
        """An issue has another id: what it was related to, it still is."""
        for link in [
            item for item in self.records.all(SubIssue) if issue.id in (item.issue_id, item.parent_id)
        ]:
            self.records.remove(link)
            ends = {"issue_id": link.issue_id, "parent_id": link.parent_id}
            anew = {end: moved.id if of == issue.id else of for end, of in ends.items()}
            self.records.put(SubIssue(id=link.id, **anew))
        for edge in [
            item for item in self.records.all(Dependency) if issue.id in (item.issue_id, item.blocker_id)
        ]:
            self.records.remove(edge)
            ends = {"issue_id": edge.issue_id, "blocker_id": edge.blocker_id}
            anew = {end: moved.id if of == issue.id else of for end, of in ends.items()}
            self.records.put(Dependency(id=edge.id, **anew))

    def forget_relations(self, issue: Issue) -> None:
        """An issue is gone, and with it what it was to others."""
        for link in self.records.all(SubIssue):
            if issue.id in (link.issue_id, link.parent_id):
                self.records.remove(link)
        for edge in self.records.all(Dependency):
            if issue.id in (edge.issue_id, edge.blocker_id):
                self.records.remove(edge)

    def _sub_issue_problem(self, parent: Issue, child: Issue) -> str:
        """Why an issue cannot be a sub-issue of another one; empty where it can."""
        above, known = self._above(parent), self.parent(child)
        if isinstance(parent, Pull) or isinstance(child, Pull):
            return f"{'Parent' if isinstance(parent, Pull) else 'Sub issue'} may only be an issue"
        if known is not None:
            doubled = "Issue may not contain duplicate sub-issues and " if known.id == parent.id else ""
            return f"{doubled}Sub issue may only have one parent"
        if child.id in {item.id for item in above}:
            return "Sub issue may not create a circular relationship"
        if parent.repository.split("/")[0].casefold() != child.repository.split("/")[0].casefold():
            return "Sub issue must belong to the same repository owner as the parent issue"
        if len(self.sub_issues(parent)) >= MOST_SUB_ISSUES:
            return f"Parent cannot have more than {MOST_SUB_ISSUES} sub-issues"
        if len(above) + self._height(child) > MOST_LEVELS:
            return f"Sub issue may not be nested deeper than {MOST_LEVELS} levels"
        return ""

    def _blocker_problem(self, issue: Issue, blocker: Issue) -> str:
        """Why an issue cannot be blocked by another one; empty where it can."""
        if isinstance(issue, Pull) or isinstance(blocker, Pull):
            return f"{'Source' if isinstance(issue, Pull) else 'Target'} issue may only be an issue"
        if self.records.get(Dependency, f"{issue.id}/{blocker.id}"):
            return "Target issue has already been taken"
        if self._waits_for(blocker, issue):
            return "Target issue would create a circular dependency"
        if len(self.blockers(issue)) >= MOST_BLOCKERS:
            return f"Source issue cannot have more than {MOST_BLOCKERS} dependencies"
        return ""

    def _above(self, issue: Issue) -> list[Issue]:
        """An issue, its parent, and so on."""
        found = [issue]
        while (parent := self.parent(found[-1])) is not None:
            found.append(parent)
        return found

    def _height(self, issue: Issue) -> int:
        """How many levels there are below an issue, it included."""
        return 1 + max(map(self._height, self.sub_issues(issue)), default=0)

    def _waits_for(self, issue: Issue, other: Issue) -> bool:
        """Whether an issue is another one, or is blocked by it in however many steps."""
        waiting, seen = [issue], set[int]()
        while waiting:
            found = waiting.pop()
            if found.id == other.id:
                return True
            if found.id not in seen:
                seen.add(found.id)
                waiting += self.blockers(found)
        return False
