"""`.nebulus/environment.yaml`: what a repository says of its environment itself, read at base.

No session can write it, so it may do what detection may not: choose an image, run any command in the setup. What the
file does not understand it refuses, in a sentence that names the key.
"""

import re
import shlex
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from overlord.domain.environments.hint import IMAGE
from overlord.domain.text.problem import first_problem
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, read_yaml

ENVIRONMENT_PATH = ".nebulus/environment.yaml"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_OURS = ("MINION_", "OVERLORD_")
_OUR_NAMES = frozenset({"HOME", "PATH", "XDG_CACHE_HOME"})


class EnvironmentFileError(ValueError):
    """The file does not parse. It is never taken for an absent one: nothing is set up by guesswork."""


def _variable(name: str) -> str:
    if name.startswith(_OURS) or name in _OUR_NAMES:
        raise ValueError(f"{name} is set by Overlord{' (see `path`)' if name == 'PATH' else ''}")
    return name


def _inside(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or not path.parts or _CONTROL.search(value) or ":" in value:
        raise ValueError(f"{value!r} must be a relative path that stays inside")
    return str(path)


def _printable(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("control characters are not allowed")
    return value


def _image(value: str) -> str:
    if not IMAGE.fullmatch(value):
        raise ValueError(f"{value!r} is no image name")
    return value


def _as_tuple(value: Any) -> Any:
    """One line where a list is meant, and a list as the tuple it becomes."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Image = Annotated[str, Field(max_length=255), AfterValidator(_image)]
Package = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]{1,100}$")]
Line = Annotated[str, Field(min_length=1, max_length=8000), AfterValidator(_printable)]
Inside = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_inside)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"), AfterValidator(_variable)]
Value = Annotated[str, Field(max_length=4000), AfterValidator(_printable)]
CacheName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]


class EnvironmentFile(BaseModel):
    """How the environment of a repository's sessions is made; what it leaves out is detected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, title=ENVIRONMENT_PATH)

    image: Image = Field(
        default="",
        description="The image to start from, instead of Overlord's own; Debian-based. `detected`: the one a"
        " devcontainer or Dockerfile of the repository names.",
    )
    packages: Annotated[tuple[Package, ...], Field(max_length=200), BeforeValidator(_as_tuple)] = Field(
        default=(), description="Debian packages to install; added to those detected."
    )
    setup: Annotated[tuple[Line, ...], Field(max_length=100), BeforeValidator(_as_tuple)] = Field(
        default=(),
        description="Shell commands, run in order in a copy of the base commit, with network; the first that fails ends"
        " the setup. They replace the commands detected (a Python virtual environment is still made) unless `detect` is"
        " true. `$MINION_ENVIRONMENT` is the directory that sessions find again.",
    )
    variables: Annotated[dict[Variable, Value], Field(max_length=100)] = Field(
        default={},
        description="Environment variables of the setup and of every session; `{environment}` stands for the environment's directory.",
    )
    path: Annotated[tuple[Inside, ...], Field(max_length=20), BeforeValidator(_as_tuple)] = Field(
        default=(), description="Directories inside the environment that are put first on PATH."
    )
    inputs: Annotated[tuple[Inside, ...], Field(max_length=200), BeforeValidator(_as_tuple)] = Field(
        default=(),
        description="Further files whose change means another environment, such as scripts that `setup` runs.",
    )
    caches: Annotated[dict[Variable, CacheName], Field(max_length=20)] = Field(
        default={},
        description="Variables that name a cache directory to the commands of `setup`, and what the directory is called."
        " It is kept from one setup to the next, and not given to sessions.",
    )
    detect: bool | None = Field(
        default=None,
        description="false: nothing is detected, this file is all. true: the commands of `setup` run after those detected.",
    )

    @model_validator(mode="after")
    def _check_not_empty(self) -> "EnvironmentFile":
        if self.caches and not self.setup:
            raise ValueError("caches: they are for the commands of `setup`, and there is none")
        return self

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands of `setup`, each told where its caches are."""
        exports = [
            f'mkdir -p "$XDG_CACHE_HOME"/{shlex.quote(name)}; export {variable}="$XDG_CACHE_HOME"/{shlex.quote(name)}'
            for variable, name in sorted(self.caches.items())
        ]
        return tuple("\n".join([*exports, line]) for line in self.setup)


def parse_environment(content: bytes | None) -> EnvironmentFile | None:
    """The file as it is at base; None when there is none. Raises EnvironmentFileError with a sentence that names the key."""
    if content is None:
        return None
    try:
        loaded = read_yaml(content, ENVIRONMENT_PATH)
        return EnvironmentFile.model_validate({} if loaded is None else loaded)
    except ValidationError as error:
        raise EnvironmentFileError(f"{ENVIRONMENT_PATH}: {first_problem(error)}") from None
    except UntrustedYamlError as error:
        raise EnvironmentFileError(str(error)) from None


def environment_schema() -> dict[str, Any]:
    """What is published for editors as `config/environment.schema.json`."""
    schema = EnvironmentFile.model_json_schema()
    for name in ("packages", "setup", "path", "inputs"):
        listed = schema["properties"][name]
        many = {key: listed.pop(key) for key in ("type", "items", "maxItems")}
        listed["anyOf"] = [many, many["items"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
