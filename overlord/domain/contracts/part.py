"""What every part of a contract is made of: values that are checked when it is read, and never changed."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Part(BaseModel):
    """A piece of a contract. A key it does not have is refused. The strings beneath its fields are what editors show (`schema.py`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def as_tuple(value: Any) -> Any:
    """A list as the tuple it becomes."""
    return tuple(value) if isinstance(value, list) else value


NAME = r"^[a-z][a-z0-9_-]{0,39}$"
Name = Annotated[str, Field(pattern=NAME)]
"""Of a role, a phase or a gate."""
ToolName = Annotated[
    str, Field(pattern=r"^([a-z][a-z0-9_-]{0,39}|mcp__[a-z][a-z0-9-]{0,39}(__[A-Za-z0-9_.-]{1,128})?)$")
]
"""Of a session's tool, or of an MCP server's: `mcp__SERVER__TOOL`, and `mcp__SERVER` for all of it."""
Pattern = Annotated[str, Field(min_length=1, max_length=500)]
"""Of paths, read as in a .gitignore from the repository's root."""
Patterns = Annotated[tuple[Pattern, ...], Field(max_length=200), BeforeValidator(as_tuple)]
Words = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=500)], ...], Field(max_length=100)]
