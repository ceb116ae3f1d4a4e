"""Where a Python project says what its tests need, when neither extras nor dependency groups nor requirement files do:
tox, nox, hatch's environments. Everything is read, nothing is run.
"""

import ast
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from overlord.domain.environments.paths import TEST_WORDS
from overlord.domain.environments.source import (
    Sources,
    named_for_tests,
    requirements,
    strings,
    table,
)

MOST = 60
"""So many requirements are taken from one file."""
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""All that `ast.parse` is known to raise for hostile text; MemoryError is its own stack's, not the machine's, and SystemError its
count of how deep it is."""
_FILE_OPTION = re.compile(
    r"(?:-r|--requirement)[ =]?(?:\{tox_root\}/|\{toxinidir\}/|\./)?([A-Za-z0-9][\w./-]{0,100})"
)
_OWN_EXTRAS = re.compile(r"(?:-e ?)?\.\[([A-Za-z0-9._, -]{1,200})\]")
_TEST_ENVIRONMENT = re.compile(r"testenv(?::(?:test|tests|py\d*|unit|pytest)[\w-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a file says tests need."""

    source: str
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Requirement files of the repository."""
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.packages or self.files or self.extras or self.groups)


def wanted_by_tests(sources: Sources, pyproject: dict[str, object]) -> Wanted | None:
    """The first of tox, nox and hatch that names something."""
    readers = (_tox_toml, _tox_ini, _hatch, _nox)
    found = (reader(sources, pyproject) for reader in readers)
    return next((wanted for wanted in found if wanted and not wanted.is_empty), None)


def literal_keys(sources: Sources, path: str) -> tuple[str, ...]:
    """The strings that are keys of dictionaries written out in a Python file, such as a setup.py's extras."""
    tree = _parsed(sources.text(path))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    return _constants(key for node in found for key in node.keys)


def _tox_toml(sources: Sources, pyproject: dict[str, object]) -> Wanted | None:
    if sources.has("tox.toml"):
        return _tox_tables(sources, "tox.toml", sources.toml("tox.toml"))
    settings = table(pyproject, "tool", "tox")
    return _tox_tables(sources, "pyproject.toml", settings) if "legacy_tox_ini" not in settings else None


def _tox_tables(sources: Sources, path: str, settings: dict[str, object]) -> Wanted:
    environments = table(settings, "env")
    named = [
        table(environments, name) for name in environments if _TEST_ENVIRONMENT.fullmatch(f"testenv:{name}")
    ]
    tables = [table(settings, "env_run_base"), *named]
    return _sorted(
        sources,
        path,
        lines=[line for item in tables for line in strings(item.get("deps"))],
        extras=[name for item in tables for name in strings(item.get("extras"))],
        groups=[name for item in tables for name in strings(item.get("dependency_groups"))],
    )


def _tox_ini(sources: Sources, _: dict[str, object]) -> Wanted | None:
    path = "tox.ini" if sources.has("tox.ini") else "setup.cfg"
    found = sources.ini(path)
    sections = [found[name] for name in found if _TEST_ENVIRONMENT.fullmatch(name)]

    def lines(key: str) -> list[str]:
        listed = [line.strip() for section in sections for line in section.get(key, "").splitlines()]
        # `py38: mock` is wanted under a condition: most of these are for interpreters we do not run.
        return [line for line in listed if not re.match(r"[\w!,{}-]+\s*:", line)]

    def names(key: str) -> list[str]:
        return [name for line in lines(key) for name in re.split(r"[\s,]+", line)]

    return _sorted(sources, path, lines("deps"), names("extras"), names("dependency_groups"))


def _hatch(sources: Sources, pyproject: dict[str, object]) -> Wanted | None:
    path = "hatch.toml" if sources.has("hatch.toml") else "pyproject.toml"
    settings = sources.toml(path) if path == "hatch.toml" else table(pyproject, "tool", "hatch")
    environments = table(settings, "envs")
    chosen = [
        table(environments, name) for name in environments if name in {"default", "hatch-test", *TEST_WORDS}
    ]
    keys = ("dependencies", "extra-dependencies")
    return _sorted(
        sources,
        path,
        lines=[line for item in chosen for key in keys for line in strings(item.get(key))],
        extras=[name for item in chosen for name in strings(item.get("features"))],
        groups=[name for item in chosen for name in strings(item.get("dependency-groups"))],
    )


def _nox(sources: Sources, _: dict[str, object]) -> Wanted | None:
    """The literals of `session.install(…)` in the sessions whose names say that they test."""
    tree = _parsed(sources.text("noxfile.py"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    sessions = [function for function in functions if "test" in function.name.lower()]
    calls = [node for function in sessions for node in ast.walk(function) if _is_install(node)]
    lines: list[str] = []
    for call in calls:
        words = _constants(call.args) if isinstance(call, ast.Call) else ()
        follows = dict(pairwise(words))
        lines += [f"-r{follows[item]}" if item == "-r" and item in follows else item for item in words]
    return _sorted(sources, "noxfile.py", lines)


def _is_install(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "install"


def _constants(nodes: Iterable[ast.expr | None]) -> tuple[str, ...]:
    found = (node.value for node in nodes if isinstance(node, ast.Constant))
    return tuple(value for value in found if isinstance(value, str))


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except _UNREADABLE:
        return ast.Module(body=[], type_ignores=[])


def _sorted(
    sources: Sources, path: str, lines: Iterable[str], extras: Iterable[str] = (), groups: Iterable[str] = ()
) -> Wanted:
    """Lines of whatever form, as what they mean; those that mean nothing here are left out."""
    lines = list(lines)
    files = [match[1] for line in lines if (match := _FILE_OPTION.fullmatch(line))]
    own = [name for line in lines if (match := _OWN_EXTRAS.fullmatch(line)) for name in match[1].split(",")]
    return Wanted(
        source=path,
        packages=requirements(lines)[:MOST],
        files=tuple(dict.fromkeys(sources.present(files)))[:MOST],
        extras=named_for_tests(dict.fromkeys([*map(str.strip, own), *extras])),
        groups=named_for_tests(dict.fromkeys(groups)),
    )
