"""Which program a check step runs, and how: the guarded pytest where tests are pytest's, the probe of a server, else the words as given."""

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minion.protocol import HTTP_PROBE, CheckStep, StepOutcome
from minion.tools.search import NOT_WALKED

if TYPE_CHECKING:
    from minion.setup.environment import Environment

_PYTEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_UNITTEST_FILE = re.compile(r"test.*\.py|.*tests?\.py")
_CONFIGURED = (
    ("pytest.ini", ""),
    (".pytest.ini", ""),
    ("pytest.toml", ""),
    ("pyproject.toml", "[tool.pytest"),
    ("tox.ini", "[pytest]"),
    ("setup.cfg", "[tool:pytest]"),
)
HIDDEN = "MINION_PYTHON_VARIABLES"
"""Where they are meanwhile."""
LARGEST_SOURCE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to execute, and the words a person would type for it."""

    arguments: tuple[str, ...]
    shown: tuple[str, ...]
    guarded: bool = False
    """Whether it is the guarded pytest, which tells what happens."""


def plan(
    step: CheckStep, tree: Path, results: Path, environment: "Environment | None" = None
) -> Plan | StepOutcome:
    """The command of a step, or why there is none. What the guarded pytest keeps lies in `results`."""
    words = step.command
    if not words:
        found = find_tests(tree)
        if isinstance(found, StepOutcome):
            return found
        return _pytest(step.files or found, results, environment)
    if words[0] == "pytest":
        return _pytest(words[1:], results, environment)
    if words[0] == HTTP_PROBE:
        script = str(Path(__file__).with_name("http_probe.py"))
        return Plan(arguments=(sys.executable, "-I", "-B", script, *words[1:]), shown=words)
    if words[:3] in {("python", "-m", "pytest"), ("python3", "-m", "pytest")}:
        return _pytest(words[3:], results, environment)
    return Plan(arguments=words, shown=words)


def find_tests(tree: Path) -> tuple[str, ...] | StepOutcome:
    """Arguments that make pytest run the tree's tests: none when it finds them itself, else the unittest files."""
    sources = [Path(name) for name in _sources(tree)]
    if any(_PYTEST_FILE.fullmatch(source.name) for source in sources) or _is_configured(tree):
        return ()
    named = [source for source in sources if _UNITTEST_FILE.fullmatch(source.name)]
    cases = tuple(str(source) for source in named if "TestCase" in _read_start(tree / source))
    return cases or StepOutcome.NOTHING_TO_RUN


def _pytest(words: tuple[str, ...], results: Path, environment: "Environment | None") -> Plan | StepOutcome:
    python = _python(environment)
    if python is None:
        return StepOutcome.NO_TOOLCHAIN
    # Last words win over the repository's own options: results outside the tree, and every test is run.
    ours = (
        f"--override-ini=cache_dir={results / 'cache'}",
        "--maxfail=0",
        "--continue-on-collection-errors",
    )
    script = str(Path(__file__).with_name("guarded_pytest.py"))
    return Plan(
        arguments=(*python, "-S", "-B", script, str(results), *words, *ours),
        shown=("python", "-P", "-m", "pytest", *words),
        guarded=True,
    )


def guarded_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the guarded pytest's Python starts with: none of the variables that tell Python something, which it takes back itself, and
    one seed for all hashes. Tests whose rows come from a set have the same names in every run then.
    """
    hidden = {name: value for name, value in environment.items() if name.startswith("PYTHON")}
    kept = {name: value for name, value in environment.items() if name not in hidden}
    return {**kept, "PYTHONHASHSEED": "0", HIDDEN: json.dumps(hidden)}


def _python(environment: "Environment | None") -> tuple[str, ...] | None:
    """The interpreter of the guarded pytest, the environment's own if it has one; None when it has no pytest."""
    if environment is None or environment.python is None:
        return (sys.executable, "-P") if importlib.util.find_spec("pytest") else None
    if not environment.runs_pytest:
        return None
    safe = ("-P",) if environment.python_version >= (3, 11) else ()
    return (str(environment.python), *safe)


def _sources(tree: Path) -> Iterator[str]:
    for directory, below, names in os.walk(tree):
        below[:] = sorted(name for name in below if name not in NOT_WALKED)
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.relpath(Path(directory, name), tree)


def _is_configured(tree: Path) -> bool:
    return any((tree / name).is_file() and mark in _read_start(tree / name) for name, mark in _CONFIGURED)


def _read_start(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as source:
        return source.read(LARGEST_SOURCE).decode("utf-8", "replace")
