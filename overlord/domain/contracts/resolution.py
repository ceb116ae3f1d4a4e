"""What an architect answers who is asked how a role is to go on, and what a role answers at a gate: read strictly."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from overlord.domain.contracts.part import as_tuple
from overlord.domain.text.problem import first_problem


class Choice(StrEnum):
    """The ways on."""

    GUIDANCE = "guidance"
    """The role tries again, with these words."""
    REASSIGN = "reassign"
    """The role tries again, with assignments that are defined anew."""
    EXPAND_SCOPE = "expand_scope"
    """The role needs to write more; a person decides that."""
    BLOCK = "block"
    """Some assignments are not worked on, and the rest goes on."""
    GIVE_UP = "give_up"
    """Nobody here can go on; a person is asked."""
    APPROVE = "approve"
    """At a gate: the work goes on."""
    REJECT = "reject"
    """At a gate: the work goes back, with these words."""


RESOLUTIONS = (Choice.GUIDANCE, Choice.REASSIGN, Choice.EXPAND_SCOPE, Choice.BLOCK, Choice.GIVE_UP)
AT_GATE = (Choice.APPROVE, Choice.REJECT)


class AnswerError(ValueError):
    """An answer that is none; the message says why."""


class Resolution(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    choice: Choice
    text: Annotated[str, Field(max_length=20_000)] = ""
    patterns: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=500)], ...],
        Field(max_length=20),
        BeforeValidator(as_tuple),
    ] = ()
    assignments: Annotated[
        dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=4_000)]],
        Field(max_length=50),
    ] = Field(default={})
    """Assignments by name: their new text, or for blocked ones why they are blocked."""

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> "Resolution":
        if self.choice is Choice.EXPAND_SCOPE and not self.patterns:
            raise ValueError("expand_scope names the paths in `patterns`")
        if self.choice in (Choice.REASSIGN, Choice.BLOCK) and not self.assignments:
            raise ValueError(f"{self.choice} names them in `assignments`")
        if self.choice in (Choice.GUIDANCE, Choice.REJECT) and not self.text.strip():
            raise ValueError(f"{self.choice} says in `text` what is to be done")
        return self


def read_resolution(answer: str, choices: tuple[str, ...]) -> Resolution:
    """The answer of a consultation, as one of these choices. Raises AnswerError."""
    if not answer:
        raise AnswerError("it ended without an answer")
    try:
        found = Resolution.model_validate_json(answer)
    except ValidationError as error:
        raise AnswerError(f"its answer cannot be read: {first_problem(error)}") from None
    if found.choice not in choices:
        raise AnswerError(f"its answer {found.choice} is none of {', '.join(choices)}")
    return found
