"""`.nebulus/skills/*.yaml`: instructions a Minion can load when an issue's words, labels or files call for them.

A folder with a `SKILL.md`, as other agents have them (`folder.py`), is a skill too.

What the file does not understand it refuses, in a sentence that names the key. What is in it is text for a model and
nothing else: no key of it runs, opens or grants anything.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from minion.protocol import SkillText
from overlord.domain.text.problem import first_problem
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, compose_yaml, value_of

SKILLS_DIRECTORY = ".nebulus/skills"
FOLDERS = (SKILLS_DIRECTORY, ".claude/skills")
"""Where folders with a `SKILL.md` are read from."""
FOLDER_FILE = "SKILL.md"
MOST_TEXT = 20_000
"""Instructions and examples together: what one tool's output shows a model without a cut."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NAME = r"^[a-z0-9]+(?:-[a-z0-9]+)*$"
_IDENTIFIER = r"(?:0|[1-9]\d{0,9}|\d{0,20}[a-zA-Z-][0-9a-zA-Z-]{0,20})"
_VERSION = (
    r"^(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){2}"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER}){{0,9}})?(?:\+[0-9a-zA-Z-]{{1,40}}(?:\.[0-9a-zA-Z-]{{1,40}}){{0,9}})?$"
)
"""As on semver.org, but for how long its parts may be."""
_TOOL = r"^[a-z][a-z0-9_]{0,39}$"


class SkillFileError(ValueError):
    """The file is no skill; the message is a sentence that names the file, and the key where there is one."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def is_skill_path(path: str) -> bool:
    """Whether a path is where skills are read from: a YAML file, or the `SKILL.md` of a folder."""
    place = PurePosixPath(path)
    return (str(place.parent) == SKILLS_DIRECTORY and place.suffix == ".yaml") or is_folder_skill(path)


def is_folder_skill(path: str) -> bool:
    """Whether a path is the `SKILL.md` of a skill that is a folder."""
    place = PurePosixPath(path)
    return place.name == FOLDER_FILE and str(place.parent.parent) in FOLDERS


def has_folder_form(path: str) -> bool:
    """Whether a file is read as a `SKILL.md`, wherever it lies."""
    return PurePosixPath(path).name == FOLDER_FILE


def is_beside_skill(path: str) -> bool:
    """Whether a path is of a skill that is a folder, and not its `SKILL.md`: a script, a template, a text it speaks of."""
    place = PurePosixPath(path)
    return not is_folder_skill(path) and any(str(parent) in FOLDERS for parent in place.parents[1:])


def touches_skills(path: str) -> bool:
    """Whether a change to a path is a change to what is, or looks like, a skill, in any spelling of case."""
    folded = path.casefold()
    return any(folded == folder or folded.startswith(f"{folder}/") for folder in FOLDERS)


def _in_one_line(value: str) -> str:
    if "\n" in value or _CONTROL.search(value) or value != value.strip():
        raise ValueError("must be one line, without blanks around it")
    return value


def _printable(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("control characters are not allowed")
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _pattern(value: str) -> str:
    if value.startswith(("!", "#", "/")) or ".." in value.split("/") or "\\" in value:
        raise ValueError(f"{value!r} must be a glob of paths inside the repository, as src/**/*.py")
    from pathspec import GitIgnoreSpec  # commands that read no skill do without

    try:
        GitIgnoreSpec.from_lines([f"/{value}"])
    except (ValueError, re.error):
        raise ValueError(f"{value!r} cannot be read as a glob") from None
    return value


def _once(values: Any) -> Any:
    if not isinstance(values, list):
        return values
    folded = [value.casefold() if isinstance(value, str) else value for value in values]
    if len({str(value) for value in folded}) != len(folded):
        raise ValueError("something in it is there twice")
    return tuple(values)


def _as_tuple(values: Any) -> Any:
    return tuple(values) if isinstance(values, list) else values


Words = Annotated[str, Field(min_length=2, max_length=80), AfterValidator(_in_one_line)]
Glob = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(_in_one_line), AfterValidator(_pattern)
]
Text = Annotated[str, Field(min_length=1, max_length=MOST_TEXT), AfterValidator(_printable)]


class Triggers(BaseModel):
    """When a skill is offered: any one of them is enough."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    keywords: Annotated[tuple[Words, ...], Field(max_length=40), BeforeValidator(_once)] = Field(
        default=(),
        description="Words or phrases of an issue's title or text, as whole words and in any case.",
    )
    labels: Annotated[tuple[Words, ...], Field(max_length=20), BeforeValidator(_once)] = Field(
        default=(), description="Labels of the issue, in any case."
    )
    file_patterns: Annotated[tuple[Glob, ...], Field(max_length=40), BeforeValidator(_once)] = Field(
        default=(),
        description="Globs, as in .gitignore and from the root, of files the issue names or a revision is about.",
    )

    @property
    def key(self) -> tuple[frozenset[str], ...]:
        """What tells these triggers from others: the same whatever their order and case."""
        folded = (frozenset(map(str.casefold, values)) for values in (self.keywords, self.labels))
        return (*folded, frozenset(self.file_patterns))


def _says_when(triggers: Triggers) -> Triggers:
    if not any(triggers.key):
        raise ValueError("say at least one keyword, label or file pattern, or the skill is never offered")
    return triggers


class Skill(BaseModel):
    """One skill."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, title=f"{SKILLS_DIRECTORY}/*.yaml")

    name: Annotated[str, Field(pattern=_NAME, max_length=64)] = Field(
        description="How it is loaded; no other skill of the repository has it. Lower case, digits and hyphens."
    )
    description: Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_in_one_line)] = Field(
        description="One line that tells an agent when to load it; all it sees of the skill until then."
    )
    version: Annotated[str, Field(pattern=_VERSION, max_length=100)] = Field(
        description="Semantic version, quoted: '1.0.0'. Another text is another version."
    )
    tags: Annotated[tuple[Words, ...], Field(max_length=20), BeforeValidator(_once)] = Field(
        default=(), description="For people who look for it."
    )
    triggers: Annotated[Triggers, AfterValidator(_says_when)] = Field(description="When it is offered.")
    instructions: Text = Field(description="What an agent is given when it loads the skill. Markdown.")
    examples: Annotated[tuple[Text, ...], Field(max_length=20), BeforeValidator(_as_tuple)] = Field(
        default=(), description="Given after the instructions."
    )
    tools: Annotated[
        tuple[Annotated[str, Field(pattern=_TOOL)], ...], Field(max_length=20), BeforeValidator(_once)
    ] = Field(default=(), description="The Minion's tools it speaks of. It grants none.")
    author: Annotated[str, Field(max_length=100), AfterValidator(_in_one_line)] = Field(
        default="", description="Whom to ask about it."
    )

    @property
    def is_general(self) -> bool:
        """Whether it says nothing of when it is offered, so that it is offered to whoever has room for it."""
        return not any(self.triggers.key)

    @model_validator(mode="after")
    def _fits(self) -> "Skill":
        if len(self.text) > MOST_TEXT:
            raise ValueError(f"instructions and examples together have at most {MOST_TEXT:,} characters")
        return self

    @property
    def text(self) -> str:
        """What `use_skill` answers."""
        parts = [self.instructions.strip()]
        parts += [f"Example {number}:\n{example.strip()}" for number, example in enumerate(self.examples, 1)]
        return "\n\n".join(parts)

    @property
    def text_offered(self) -> SkillText:
        """As a brief carries it."""
        return SkillText(name=self.name, description=self.description, instructions=self.text)


def parse_skill(content: bytes, path: str) -> Skill:
    """Read a file of either format. Raises SkillFileError."""
    if has_folder_form(path):
        from overlord.domain.skills.folder import parse_folder_skill  # it reads what is declared here

        return parse_folder_skill(content, path)
    try:
        node = compose_yaml(content, path)
        if not isinstance(node, yaml.MappingNode):
            raise SkillFileError(
                f"{path}: a skill is a mapping of name, description, version, triggers and instructions"
            )
        return Skill.model_validate(value_of(node, path))
    except ValidationError as error:
        place = error.errors(include_url=False, include_context=False)[0]["loc"]
        raise SkillFileError(f"{path}: {_problem(error)}", _line_of(node, place)) from None
    except UntrustedYamlError as error:
        raise SkillFileError(str(error)) from None


def skill_schema() -> dict[str, Any]:
    """What is published for editors as `config/skill.schema.json`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Skill.model_json_schema()}


_MEANT = {
    "name": "name: must be lower-case words joined by hyphens, as fix-flaky-tests",
    "version": "version: must be a semantic version in quotes, as '1.0.0'",
}


def _problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False)[0]
    key = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "string_type" and key != "version":
        return f"{'.'.join(map(str, problem['loc']))}: must be text; put it in quotes"
    return _MEANT[key] if key in _MEANT and problem["type"] != "missing" else first_problem(error)


def _line_of(node: yaml.Node | None, place: Iterable[int | str]) -> int | None:
    """The line of the deepest key or item on the way to what is wrong."""
    line = None
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found: Mapping[str, tuple[yaml.Node, yaml.Node]] = {
                key.value: (key, value) for key, value in node.value
            }
            if part not in found:
                break
            key, node = found[str(part)]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line
