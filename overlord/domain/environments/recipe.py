"""What a repository needs before its tests can run, found out without running anything of it.

`wanted` says which files to read at base, `recipe` makes of them a plan for a setup session. Every byte is a
stranger's: nothing raises but a broken `.nebulus/environment.yaml`, which a person must fix; what cannot be read is
said and left out. Two recipes with one key may share what their setup makes.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

from minion.protocol import SetupPlan
from overlord.domain.checks.file import CheckCommand
from overlord.domain.checks.testruns.report import REPORT_PATH
from overlord.domain.environments.file import (
    ENVIRONMENT_PATH,
    EnvironmentFile,
    EnvironmentFileError,
    parse_environment,
)
from overlord.domain.environments.hint import DETECTED, HINT_PATHS, hints, named_images
from overlord.domain.environments.native import cargo_part, go_part
from overlord.domain.environments.node import node_part
from overlord.domain.environments.python import python_part
from overlord.domain.environments.source import Part, Sources, quoted, shown
from overlord.domain.text.plain import count

_T = TypeVar("_T")
KEY_CHARS = 20
_KEY_VERSION = 1
"""Part of every key: raise it when setups of the same plan leave something else."""
_READ = (
    ENVIRONMENT_PATH,
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "hatch.toml",
    "tox.toml",
    "tox.ini",
    "noxfile.py",
    "package.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    "Cargo.toml",
    *HINT_PATHS,
)
_NESTED = ("pyproject.toml", "setup.py", "requirements.txt", "package.json", "go.mod", "Cargo.toml")
_MOST_NESTED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the environment of a repository is made, at one commit."""

    image: str = ""
    """The image to start from; empty for Overlord's own."""
    packages: tuple[str, ...] = ()
    """Debian's."""
    plan: SetupPlan = field(default_factory=SetupPlan)
    inputs: tuple[str, ...] = ()
    """Paths at base whose change means another environment: manifests, lock files, sources that are compiled."""
    tests: CheckCommand | None = None
    """What judges a project that is not Python's, when `.nebulus/checks.yaml` says nothing."""
    lint: CheckCommand | None = None
    what: tuple[str, ...] = ()
    """Sentences for people: what was found, and in which file."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to set up: sessions run in the bare image."""
        return not (self.image or self.packages or self.plan.commands)


def wanted(names: Collection[str]) -> tuple[str, ...]:
    """Of all paths at base, those whose content `recipe` reads."""
    present = frozenset(names)
    return tuple(path for path in _READ if path in present)


def recipe(files: Mapping[str, bytes], names: Collection[str]) -> Recipe:
    """The recipe of a commit: its `.nebulus/environment.yaml` and what is detected. Raises EnvironmentFileError.

    `names` are all paths at base, `files` the contents of those that `wanted` named.
    """
    if ENVIRONMENT_PATH in names and ENVIRONMENT_PATH not in files:
        raise EnvironmentFileError(f"{ENVIRONMENT_PATH} is not a file that can be read")
    file = parse_environment(files.get(ENVIRONMENT_PATH))
    if file is None:
        return detect(files, names)
    found = _detected(files, names) if file.detect is not False else Part()
    if file.image != DETECTED:
        return _combined(file, found)
    named = named_images(Sources(names=frozenset(names), files=files))
    if not named:
        raise EnvironmentFileError(
            f"{ENVIRONMENT_PATH}: image: {DETECTED}, and neither a devcontainer nor a Dockerfile names one"
        )
    path, image = named[0]
    combined = _combined(file.model_copy(update={"image": image}), found)
    return replace(combined, inputs=tuple(sorted({*combined.inputs, path})))


def detect(files: Mapping[str, bytes], names: Collection[str]) -> Recipe:
    """What the manifests alone say; `.nebulus/environment.yaml` is not looked at. Raises nothing."""
    found = _detected(files, names)
    return _recipe(found, (*found.prepare, *found.install))


def environment_key(recipe: Recipe, blobs: Mapping[str, str], ground: str) -> str:
    """The name of what this recipe makes: the same for the same recipe, inputs and ground, in whatever order.

    `blobs` has the object id of each path at base, `ground` says which image everything stands on.
    """
    plan = recipe.plan
    content = {
        "version": _KEY_VERSION,
        "ground": ground,
        "image": recipe.image,
        "packages": sorted(set(recipe.packages)),
        "commands": plan.commands,
        "variables": sorted(plan.variables),
        "path": plan.path,
        "inputs": sorted((path, blobs[path]) for path in set(recipe.inputs) if path in blobs),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:KEY_CHARS]


def _detected(files: Mapping[str, bytes], names: Collection[str]) -> Part:
    """All languages' parts as one. Python's tests are found by the checker itself, so others' are not taken beside it."""
    sources = Sources(names=frozenset(names), files=files)
    python = python_part(sources)
    others = (node_part(sources, beside_python=python is not None), go_part(sources), cargo_part(sources))
    parts = [part for part in (python, *others) if part]
    lines = [sentence for part in parts for sentence in part.what]
    tested = [part for part in others if part and part.tests]
    if not parts:
        lines.append("no manifest of a known kind at the root: sessions run in the bare image")
    return Part(
        packages=_all(part.packages for part in parts),
        prepare=_all(part.prepare for part in parts),
        install=_all(part.install for part in parts),
        variables=_all(part.variables for part in parts),
        path=_all(part.path for part in parts),
        inputs=tuple(sorted(set(_all(part.inputs for part in parts)))),
        tests=() if python else _after_one_another(part.tests for part in parts),
        reported=tested[0].reported if not python and len(tested) == 1 else (),
        lint=() if python else _after_one_another(part.lint for part in parts),
        what=_all([lines, _nested(sources), hints(sources), sources.notes]),
    )


def _recipe(found: Part, commands: tuple[str, ...], image: str = "") -> Recipe:
    return Recipe(
        image=image,
        packages=found.packages,
        plan=SetupPlan(commands=commands, variables=found.variables, path=found.path),
        inputs=found.inputs,
        tests=_tests(found),
        lint=CheckCommand(command=found.lint) if found.lint else None,
        what=found.what,
    )


def _tests(found: Part) -> CheckCommand | None:
    if found.reported:
        return CheckCommand(command=found.reported, junit=REPORT_PATH)
    return CheckCommand(command=found.tests) if found.tests else None


def _combined(file: EnvironmentFile, found: Part) -> Recipe:
    """What the file says comes first; without commands of its own, or with `detect: true`, the detected ones stay."""
    replaces = bool(file.setup) and file.detect is None
    install = () if replaces else found.install
    lines = [f"{ENVIRONMENT_PATH}: {shown(sentence)}" for sentence in _overrides(file, replaces=replaces)]
    joined = replace(
        found,
        packages=_all([found.packages, file.packages]),
        variables=tuple(sorted({**dict(found.variables), **file.variables}.items())),
        path=_all([file.path, found.path]),
        inputs=tuple(sorted({*found.inputs, *file.inputs, ENVIRONMENT_PATH})),
        what=(*lines, *found.what),
    )
    return _recipe(joined, (*found.prepare, *install, *file.commands), file.image)


def _overrides(file: EnvironmentFile, *, replaces: bool) -> Iterable[str]:
    if file.image:
        yield f"image {file.image}"
    if file.packages:
        yield f"packages {', '.join(file.packages)}"
    if file.setup:
        yield f"setup in {count(len(file.setup), 'command')}{', instead of what is detected' if replaces else ''}"
    if file.detect is False:
        yield "nothing is detected"


def _nested(sources: Sources) -> tuple[str, ...]:
    """A word on projects below the root, which are not set up by themselves."""
    if sources.has(*_NESTED):
        return ()
    below = sorted(
        name for name in sources.names if name.count("/") in (1, 2) and name.rsplit("/", 1)[1] in _NESTED
    )
    if not below:
        return ()
    listed = ", ".join(below[:_MOST_NESTED])
    return (shown(f"below the root, for `setup` in {ENVIRONMENT_PATH}: {listed}"),)


def _after_one_another(commands: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """One command that runs all of these, as far as they succeed."""
    each = [words for words in commands if words]
    return ("sh", "-c", " && ".join(map(quoted, each))) if len(each) > 1 else _all(each)


def _all(groups: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(groups)))
