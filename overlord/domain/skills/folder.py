"""A skill that is a folder: `SKILL.md` with a head in YAML and its instructions in Markdown, as several agents read them.

Of the head `name` and `description` count, and `metadata.version`; `license`, `allowed-tools` and what else is there is not ours, and
grants nothing. It says nothing of when it is offered: it is offered after the skills that fit, to whoever has room for it.
"""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from overlord.domain.skills.file import MOST_TEXT, Skill, SkillFileError, Triggers
from overlord.domain.text.problem import first_problem
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, compose_yaml, value_of

NO_VERSION = "0.0.0"
MOST_DESCRIPTION = 300
"""What a session is told of it; a longer description is cut."""
_HEAD = re.compile(r"---[ \t]*\n(?P<head>.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)


class FolderSkill(Skill):
    """A skill that says nothing of when it is offered."""

    triggers: Triggers = Triggers()


class _Head(BaseModel):
    """What is read of the head."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)]
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("description")
    @classmethod
    def _in_a_line(cls, value: str) -> str:
        """A folded text is one line for whoever reads a list."""
        line = " ".join(value.split())
        return line if len(line) <= MOST_DESCRIPTION else f"{line[: MOST_DESCRIPTION - 1]}…"


def parts_of(content: bytes, path: str) -> tuple[bytes, str, int]:
    """The head as YAML whose lines have the numbers they have in the file, the body, and the number of the body's first line.

    Raises SkillFileError where there is no head.
    """
    text = content.decode(errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    found = _HEAD.match(text)
    if found is None:
        raise SkillFileError(
            f"{path}: SKILL.md begins with a head between two lines of ---, with name and description", 1
        )
    return f"\n{found['head']}".encode(), text[found.end() :], text.count("\n", 0, found.end()) + 1


def parse_folder_skill(content: bytes, path: str) -> Skill:
    """Read a `SKILL.md`. Raises SkillFileError."""
    head, body, _ = parts_of(content, path)
    folder = PurePosixPath(path).parent
    try:
        node = compose_yaml(head, path)
        if not isinstance(node, yaml.MappingNode):
            raise SkillFileError(f"{path}: the head of SKILL.md is a mapping with name and description", 1)
        read = _Head.model_validate(value_of(node, path))
        if read.name != folder.name:
            raise SkillFileError(f"{path}: name: must be that of its folder, {folder.name}", 2)
        version = read.metadata.get("version", NO_VERSION)
        return FolderSkill(
            name=read.name,
            description=read.description,
            version=version if isinstance(version, str) else str(version),
            instructions=_instructions(body, folder),
        )
    except ValidationError as error:
        raise SkillFileError(f"{path}: {first_problem(error)}") from None
    except UntrustedYamlError as error:
        raise SkillFileError(str(error), error.line) from None


def _instructions(body: str, folder: PurePosixPath) -> str:
    """The body, and where the files are that it speaks of."""
    text = body.strip()
    if not text:
        return ""  # refused, with the words for a skill without instructions
    where = f"The files this skill speaks of are below {folder}."
    return text if len(text) + len(where) + 2 > MOST_TEXT else f"{text}\n\n{where}"


def node_of(content: bytes, path: str) -> yaml.Node:
    """The file as one document, for rules that read what values come to: its head, and its body as one literal text.

    Raises SkillFileError or UntrustedYamlError.
    """
    head, body, first = parts_of(content, path)
    mark = yaml.Mark(path, 0, max(first - 2, 0), 0, None, 0)
    text = yaml.ScalarNode("tag:yaml.org,2002:str", body, mark, mark, style="|")
    found = compose_yaml(head, path)
    return yaml.SequenceNode("tag:yaml.org,2002:seq", [*([found] if found is not None else []), text])
