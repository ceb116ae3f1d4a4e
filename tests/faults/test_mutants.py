"""The campaign is worth what it notices: each defence is taken out of a copy of the source, and the campaign must fail on it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.adapters.engine import LENT, OwnEngine
from tests.faults.mutants.agents import AGENTS
from tests.faults.mutants.contracts import CONTRACTS
from tests.faults.mutants.core import CORE
from tests.faults.mutants.disciplines import DISCIPLINES
from tests.faults.mutants.forge import FORGE
from tests.faults.mutants.gateway import GATEWAY
from tests.faults.mutants.guarded import GUARDED
from tests.faults.mutants.inbound import INBOUND
from tests.faults.mutants.init import INIT_MUTANTS
from tests.faults.mutants.judge import JUDGE
from tests.faults.mutants.mutant import Mutant
from tests.faults.mutants.runner import RUNNER
from tests.faults.mutants.session_api import SESSION_API
from tests.faults.mutants.session_git import SESSION_GIT

pytestmark = pytest.mark.timeout(1200)
ROOT = Path(__file__).parents[2]
COPIED = ("overlord", "config", "minion", "tests", "pyproject.toml")
RUN_S = 900
GIVEN = {"FAULT_DEADLINE_S": "20", "WORLD_DEADLINE_S": "90", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""No minute for each daemon that does not do without the defence what it would with it, and no plugins but those named."""
PLUGINS = ("-p", "pytest_asyncio.plugin", "-p", "pytest_timeout")
LEFT_OUT = ("PYTEST_", "PYTHONDONTWRITEBYTECODE", "FAULT_VIOLATIONS", "FAULT_SHARE", "SLOW_SHARE")
"""What the copy's programs are not told: with the second they would compile all of it each time one starts, and what they find is meant."""
CAUGHT = 1
"""What pytest ends with when tests ran and some failed."""


MUTANTS: tuple[Mutant, ...] = (
    *AGENTS,
    *CONTRACTS,
    *CORE,
    *DISCIPLINES,
    *FORGE,
    *GATEWAY,
    *GUARDED,
    *INBOUND,
    *INIT_MUTANTS,
    *JUDGE,
    *RUNNER,
    *SESSION_API,
    *SESSION_GIT,
)


def _named(mutant: Mutant) -> str:
    return re.sub(r"\W+", "-", mutant.name)


def test_every_defence_is_where_its_mutant_says_and_so_are_its_tests() -> None:
    """Seen at once, whichever share of the mutants is tried."""
    assert [each.name for each in MUTANTS if (ROOT / each.file).read_text().count(each.before) != 1] == []
    tests = [name.partition("[")[0] for each in MUTANTS for name in each.tests if not name.startswith("-")]
    assert [name for name in tests if not _is_there(*name.partition("::")[::2])] == []


def test_no_mutant_uses_a_name_that_is_gone() -> None:
    """It would fail for that, and not for the defence that it lacks."""
    found = {each.name: _undefined_names(each) for each in MUTANTS if each.file.endswith(".py")}
    assert {name: said for name, said in found.items() if said} == {}


def _undefined_names(mutant: Mutant) -> str:
    without = (ROOT / mutant.file).read_text().replace(mutant.before, mutant.after)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--select", "F821,E9"]
    checked = subprocess.run([*ruff, "-"], input=without, capture_output=True, text=True, check=False)
    return checked.stdout + checked.stderr


def _is_there(module: str, test: str) -> bool:
    file = ROOT / module
    return file.is_file() and (not test or f"def {test}(" in file.read_text())


@pytest.mark.parametrize("mutant", [each for each in MUTANTS if not each.needs_docker], ids=_named)
def test_the_campaign_notices_that_a_defence_is_gone(mutant: Mutant, tmp_path: Path) -> None:
    _must_be_noticed(mutant, tmp_path, {})


@pytest.mark.docker
@pytest.mark.parametrize("mutant", [each for each in MUTANTS if each.needs_docker], ids=_named)
def test_the_campaign_notices_that_a_defence_of_containers_is_gone(
    mutant: Mutant, tmp_path: Path, engine: OwnEngine
) -> None:
    _must_be_noticed(mutant, tmp_path, {LENT: str(engine.directory)})


def _must_be_noticed(mutant: Mutant, place: Path, given: Mapping[str, str]) -> None:
    _copy(place)
    source = place / mutant.file
    text = source.read_text()
    assert text.count(mutant.before) == 1, f"{mutant.file} has changed: name the defence anew"
    source.write_text(text.replace(mutant.before, mutant.after))
    done = _run(place, mutant.tests, {"FAULT_POINTS": mutant.points, **given})
    found = [
        line for line in done.stdout.splitlines() if line.startswith("E ") and re.search(mutant.says, line)
    ]
    assert done.returncode == CAUGHT and found, (
        f"not noticed: exit code {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
    )


def _run(place: Path, tests: Sequence[str], given: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", *PLUGINS, *tests],
        cwd=place,
        env={**inherited, **GIVEN, **given},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


def _copy(place: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, place / name
            )  # with the bytecode there is, which knows its source by time and size
        else:
            shutil.copy(ROOT / name, place / name)
    (place / ".venv").symlink_to(ROOT / ".venv")
