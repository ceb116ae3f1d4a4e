"""Poetry's and PDM's own ways of writing dependencies, and the commands that hand what they locked to uv.

Their lock files are exported and installed by uv: that needs no second resolution, checks the recorded hashes, and
works where only a plain package index answers. Without a lock, Poetry's groups are translated.
"""

import re

from overlord.domain.environments.source import (
    Sources,
    named_for_tests,
    quoted,
    requirements,
    strings,
    table,
    word,
)

POETRY = "uvx --from 'poetry>=2,<3' --with poetry-plugin-export poetry"
PDM = "PDM_CHECK_UPDATE=0 uvx --from 'pdm[locked]' pdm"
"""With the versions PDM was released with: its newest dependencies have broken it before."""
EXPORTED = '"$MINION_ENVIRONMENT/requirements.txt"'
INSTALL_EXPORTED = f"uv pip install --requirements {EXPORTED}"
INSTALL_ITSELF = "uv pip install --no-deps --editable ."


def poetry_locked(pyproject: dict[str, object], extras: tuple[str, ...]) -> tuple[str, ...]:
    """The commands for a project with `poetry.lock`."""
    groups = named_for_tests(
        dict.fromkeys([*poetry_groups(pyproject), *table(pyproject, "dependency-groups")])
    )
    options = [item for name in groups for item in ("--with", name)]
    options += [item for name in extras for item in ("--extras", name)]
    export = f"{POETRY} export --no-interaction {quoted(options)}".rstrip()
    is_package = table(pyproject, "tool", "poetry").get("package-mode") is not False
    itself = (INSTALL_ITSELF,) if is_package and table(pyproject, "build-system") else ()
    return (f"{export} --output {EXPORTED}", INSTALL_EXPORTED, *itself)


def pdm_locked(pyproject: dict[str, object], extras: tuple[str, ...]) -> tuple[str, ...]:
    """The commands for a project with `pdm.lock`."""
    tables = (table(pyproject, "dependency-groups"), table(pyproject, "tool", "pdm", "dev-dependencies"))
    groups = named_for_tests(dict.fromkeys(name for item in tables for name in item))
    options = [item for name in dict.fromkeys([*extras, *groups]) for item in ("--group", name)]
    export = f"{PDM} export --format requirements {quoted(options)}".rstrip()
    is_package = table(pyproject, "tool", "pdm").get("distribution") is not False
    itself = (INSTALL_ITSELF,) if is_package and table(pyproject, "build-system") else ()
    return (f"{export} --output {EXPORTED}", INSTALL_EXPORTED, *itself)


def unlocked_groups(sources: Sources, pyproject: dict[str, object]) -> tuple[str, ...]:
    """What Poetry's and PDM's own groups for tests ask for, where no lock file says it, as the standard writes it."""
    groups = poetry_groups(pyproject)
    asked = [
        poetry_requirement(name, value)
        for group in named_for_tests(groups)
        for name, values in groups[group].items()
        for value in (values if isinstance(values, list) else [values])
        if name != "python"
    ]
    development = table(pyproject, "tool", "pdm", "dev-dependencies")
    asked += [line for group in named_for_tests(development) for line in strings(development[group])]
    found = requirements(asked)
    if len(found) < len(set(asked)):
        sources.notes.append("some dependencies of development groups have no version and were left out")
    return found


def poetry_groups(pyproject: dict[str, object]) -> dict[str, dict[str, object]]:
    """Poetry's groups of dependencies, the old `dev-dependencies` among them as `dev`."""
    poetry = table(pyproject, "tool", "poetry")
    groups = {name: table(poetry, "group", name, "dependencies") for name in table(poetry, "group")}
    old = table(poetry, "dev-dependencies")
    return {"dev": old, **groups} if old else groups


def poetry_requirement(name: str, value: object) -> str:
    """`pytest = "^8.1"` as `pytest>=8.1,<9`; empty for what has no version (an address, a path)."""
    version = word(value) or word(table(value).get("version"))
    if not version:
        return ""
    extras = ",".join(strings(table(value).get("extras")))
    needed = f"{name}[{extras}]" if extras else name
    return f"{needed}{_translated(version)}{_marker(word(table(value).get('python')))}"


def _marker(python: str) -> str:
    """`<3.8` as ` ; python_full_version < '3.8'`, so that each Python gets what is meant for it."""
    bounds = re.findall(r"([<>=!~]+)([^,]+)", _translated(python))
    conditions = [f"python_full_version {sign} '{version}'" for sign, version in bounds]
    return f" ; {' and '.join(conditions)}" if conditions else ""


def _translated(constraints: str) -> str:
    return ",".join(_bounds(part.strip()) for part in constraints.split(",")) if constraints else ""


def _bounds(constraint: str) -> str:
    """One of Poetry's constraints as the standard writes it. Raises nothing: what is no version is refused later."""
    if constraint == "*":
        return ""
    match = re.fullmatch(r"([\^~]?)\s*(\d{1,9}(?:\.\d{1,9}){0,5})", constraint)
    if not match:
        return constraint
    sign, version = match[1], match[2]
    numbers = [int(number) for number in version.split(".")]
    if not sign:
        return f"=={version}"
    at = min(1, len(numbers) - 1)
    if sign == "^":
        at = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
    ceiling = [*numbers[:at], numbers[at] + 1]
    return f">={version},<{'.'.join(map(str, ceiling))}"
