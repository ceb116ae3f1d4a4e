"""Issues that leave the embedded forge's repositories, to another one of their owner or for good, and repositories that leave
their names. The old addresses say so."""

from dataclasses import replace
from typing import cast

from overlord.embedded.forge.api.problem import unfit
from overlord.embedded.forge.judgement import JudgedState
from overlord.embedded.forge.record import KINDS, Departure, Issue, Label, Pull, Renaming, Repository


class DepartingState(JudgedState):
    """A forge whose issues are transferred and deleted, and whose repositories are renamed."""

    def move_issue(self, issue: Issue, name: str, *, actor: str) -> Issue:
        """Transfer an issue with all that was said and done; it keeps the labels that are known there too.

        At its new address it is another issue, with an id and a number of its own.
        """
        left, reached = self.repository(issue.repository), self.repository(name)
        _check_move(issue, left, reached)
        known = [self.records.get(Label, f"{reached.name}/{label}") for label in issue.labels]
        moved = replace(
            issue,
            id=self.records.next_id(),
            repository=reached.name,
            number=self._next_number(reached),
            updated_at=self.now(),
            labels=tuple(label.name for label in known if label),
        )
        for comment in self.comments(issue.repository, issue.number):
            self.records.put(replace(comment, repository=moved.repository, number=moved.number))
        for occurrence in self.occurrences(issue):
            self.records.put(replace(occurrence, repository=moved.repository, number=moved.number))
        self.records.put(moved)
        self.relate_anew(issue, moved)
        self._depart(issue, (moved.repository, moved.number))
        self._occurred(moved, "transferred", actor)
        return moved

    def remove_issue(self, issue: Issue, *, actor: str) -> None:
        """Delete an issue and all that was said and done."""
        if isinstance(issue, Pull):
            raise unfit("Issue", f"{self.user(actor).login} can't delete a pull request")
        for comment in self.comments(issue.repository, issue.number):
            for reaction in self.reactions(comment.id):
                self.records.remove(reaction)
            self.records.remove(comment)
        for occurrence in self.occurrences(issue):
            self.records.remove(occurrence)
        self.forget_relations(issue)
        self._depart(issue, None)

    def rename(self, name: str, to: str) -> Repository:
        """Give a repository another name, or another owner; everything of it goes along."""
        left = self.repository(name)
        if self.records.get(Repository, to):
            raise unfit("Repository", "name already exists on this account")
        self.forget_name(to)
        there = self.directory(to)
        there.parent.mkdir(parents=True, exist_ok=True)
        self.directory(left.name).rename(there)
        for kind in KINDS:
            for record in self.records.all(kind):
                if getattr(record, "repository", None) == left.name:
                    self.records.remove(record)
                    self.records.put(replace(cast(Label, record), repository=to))
        self.records.remove(left)
        self.records.put(Renaming(id=self.records.next_id(), name=left.name, repository_id=left.id))
        return self.records.put(replace(left, name=to))

    def forget_name(self, name: str) -> None:
        """A repository of this name is made: it leads nowhere else any more."""
        if renaming := self.records.get(Renaming, name):
            self.records.remove(renaming)

    def _depart(self, issue: Issue, to: tuple[str, int] | None) -> None:
        departure = Departure(
            id=self.records.next_id(), repository=issue.repository, number=issue.number, to=to
        )
        self.records.put(departure)
        self.records.remove(issue)


def _check_move(issue: Issue, left: Repository, reached: Repository) -> None:
    """Refuse what GitHub does not transfer, or not there."""
    if isinstance(issue, Pull):
        raise unfit("Issue", "Pull requests can't be transferred")
    if left.key == reached.key or left.owner.casefold() != reached.owner.casefold():
        raise unfit("Issue", "Issues are transferred between repositories of the same owner")
    if left.private and not reached.private:
        raise unfit("Issue", "Issues of a private repository can't be transferred to a public one")
