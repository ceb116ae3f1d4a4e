"""Which of a candidate's changes ask for another environment, and so for a person before anything is installed.

A dependency file is one by its name, wherever detection looks for it, or because the repository says so; a compiled
source belongs to the environment too, but brings nothing of a stranger's. What cannot be compared counts as different.
"""

import re
from collections.abc import Callable, Sequence

from overlord.domain.environments.paths import is_compiled_source, is_manifest
from overlord.domain.environments.recipe import Recipe
from overlord.domain.environments.source import read_ini, read_json, read_toml, table
from overlord.domain.scope.check import Change

_DESCRIPTION = frozenset(
    {
        "authors",
        "classifiers",
        "description",
        "documentation",
        "homepage",
        "keywords",
        "license",
        "license-files",
        "maintainers",
        "readme",
        "repository",
        "urls",
        "version",
    }
)
"""What a project says of itself and no installation acts on."""
_INSTALLERS = (
    "flit",
    "hatch",
    "maturin",
    "meson-python",
    "pdm",
    "poetry",
    "scikit-build",
    "setuptools",
    "setuptools_scm",
    "tox",
    "uv",
)
_OTHER_TOOLS = frozenset(
    {"coverage", "flake8", "isort", "mypy", "pycodestyle", "pydocstyle", "pylint", "pytest", "tool"}
)
"""Sections of setup.cfg and tox.ini that no installation reads; `tool:pytest` is one."""
_NODE_KEYS = ("engines", "packageManager", "workspaces", "overrides", "resolutions", "pnpm", "gypfile", "bin")
_NODE_SCRIPTS = ("preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish")
"""What `npm install` runs of the project's own."""


def changed_inputs(recipe: Recipe, changes: Sequence[Change]) -> tuple[str, ...]:
    """The dependency files these changes touch: those of the recipe at base, and new ones that detection would read."""
    paths = {path for change in changes for path in change.paths}
    inputs = set(recipe.inputs)
    return tuple(
        sorted(
            path for path in paths if is_manifest(path) or (path in inputs and not is_compiled_source(path))
        )
    )


def dependencies_differ(path: str, old: bytes | None, new: bytes | None) -> bool:
    """Whether a dependency file says another thing of dependencies, or of how they are installed. None is no file."""
    if old == new:
        return False
    if old is None or new is None:
        return True
    reader = _READERS.get(path.rsplit("/", 1)[-1])
    try:
        return reader is None or reader(old) != reader(new)
    except ValueError:
        return True


def _of_pyproject(content: bytes) -> object:
    document = read_toml(content)
    project = {key: value for key, value in table(document, "project").items() if key not in _DESCRIPTION}
    tools = {name: table(document, "tool", name) for name in _INSTALLERS}
    tools["poetry"] = {key: value for key, value in tools["poetry"].items() if key not in _DESCRIPTION}
    return project, tools, document.get("build-system"), document.get("dependency-groups")


def _of_package_json(content: bytes) -> object:
    document = read_json(content)
    scripts = table(document, "scripts")
    return (
        {key: value for key, value in document.items() if "ependencies" in key or key in _NODE_KEYS},
        {key: scripts.get(key) for key in _NODE_SCRIPTS},
    )


def _of_ini(content: bytes) -> object:
    return {
        key: value for key, value in read_ini(content).items() if re.split("[:-]", key)[0] not in _OTHER_TOOLS
    }


_READERS: dict[str, Callable[[bytes], object]] = {
    "pyproject.toml": _of_pyproject,
    "package.json": _of_package_json,
    "setup.cfg": _of_ini,
    "tox.ini": _of_ini,
}
