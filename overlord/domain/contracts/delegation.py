"""What a plan's `delegation.yaml` gives to whom: the job's assignments, each to one role, and the order in which the roles work.

A session wrote it, so it is read as others' YAML is: bounded, without aliases or tags, and refused in a sentence.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from minion.protocol import Assignment
from overlord.domain.contracts.part import Name, Part, as_tuple
from overlord.domain.text.problem import first_problem
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, read_yaml

MOST_ASSIGNMENTS = 100
AssignmentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,78}$")]
_Roles = Annotated[tuple[Name, ...], Field(max_length=MOST_ASSIGNMENTS), BeforeValidator(as_tuple)]


class DelegatedAssignment(Part):
    """A piece of the job, and the role that works on it."""

    name: AssignmentName
    role: Name
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


def _as_list(value: Any) -> Any:
    """Assignments under their names as a list of them, in the order they are written in."""
    if not isinstance(value, dict):
        return as_tuple(value)
    # What is no mapping is left for the schema to refuse, with its name.
    return tuple(
        {**content, "name": name} if isinstance(content, dict) and "name" not in content else content
        for name, content in value.items()
    )


class Delegation(Part):
    """Who works on what, and in which order."""

    assignments: Annotated[
        tuple[DelegatedAssignment, ...],
        Field(min_length=1, max_length=MOST_ASSIGNMENTS),
        BeforeValidator(_as_list),
    ]
    order: _Roles = ()
    """The roles as they work. Those that a file does not name come after, in the order of their first assignment."""
    without: _Roles = ()
    """Roles that have nothing to do in this job."""

    @classmethod
    def parse(cls, content: bytes, path: str) -> Self:
        """Read a plan's file. Raises ValueError with a sentence that names it and what is wrong."""
        document = read_yaml(content, path)
        if not isinstance(document, dict):
            raise UntrustedYamlError(
                f"{path} says no assignments; write `assignments: {{api: {{role: …, text: …}}}}`"
            )
        try:
            read = cls.model_validate(document)
        except ValidationError as error:
            raise ValueError(f"{path}: {first_problem(error)}") from None
        working = dict.fromkeys((*read.order, *(item.role for item in read.assignments)))
        return read.model_copy(update={"order": tuple(working)})

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = Counter(item.name.casefold() for item in self.assignments)
        if twice := [name for name, times in names.items() if times > 1]:
            raise ValueError(f"the assignment {twice[0]!r} is there twice; give each a name of its own")
        working = dict.fromkeys(item.role for item in self.assignments)
        for role in self.without:
            if role in working or role in self.order:
                raise ValueError(
                    f"{role} has assignments or a place in the order, and is among those without"
                )
        if len(set(self.order)) < len(self.order):
            raise ValueError("order names a role twice")
        if idle := [role for role in self.order if role not in working]:
            raise ValueError(f"order names {idle[0]}, which has no assignment")
        return self

    def of(self, role: str) -> tuple[Assignment, ...]:
        """What a role works on."""
        return tuple(
            Assignment(name=item.name, text=item.text) for item in self.assignments if item.role == role
        )

    def problems(self, assignees: Sequence[str]) -> tuple[str, ...]:
        """What it gives to roles that come no more, and which of those that come it forgets, in sentences."""
        known = ", ".join(assignees) or "none"
        strange = [role for role in (*self.order, *self.without) if role not in assignees]
        forgotten = [role for role in assignees if role not in self.order and role not in self.without]
        return (
            *(f"{role} is no role that works after the plan (those are: {known})." for role in strange),
            *(f"{role} has no assignment: give it one, or write `without: [{role}]`." for role in forgotten),
        )
