"""Real setup sessions, and what the sessions after them do in the environment they made."""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minion import shell
from minion.checks.results import Results
from minion.checks.toolchain import guarded_environment, plan
from minion.protocol import CheckStep, Event, Limits, SessionKind, SetupPlan, StepOutcome, StepResult
from minion.setup.environment import Environment
from minion.shell import command_environment
from tests.minion.conftest import environment
from tests.minion.session_api import opened

VENV = "python3 -m venv --without-pip $MINION_ENVIRONMENT/venv"
# The build back ends are those of the Python that runs the tests, so that no index is asked.
_PIP = (
    f"PYTHONPATH={shlex.quote(sysconfig.get_path('purelib'))} $MINION_ENVIRONMENT/venv/bin/python -m pip install"
    " --quiet --no-build-isolation --no-deps --no-index"
)


# A build back end that leaves in site-packages what a real one does, without asking an index for it.
_BACKEND = """\
import pathlib, zipfile
FILES = {files!r}
def build_editable(directory, config_settings=None, metadata_directory=None):
    wheel = "{name}-1.0-py3-none-any.whl"
    files = {{**FILES, "{name}-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n",
        "{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "{name}-1.0.dist-info/entry_points.txt": "{entry_points}", "{name}-1.0.dist-info/RECORD": ""}}
    with zipfile.ZipFile(pathlib.Path(directory, wheel), "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text.replace("@", str(pathlib.Path.cwd())))
    return wheel
build_wheel = build_editable
"""


def project(name: str, files: Mapping[str, str], *, entry_points: str = "") -> dict[str, str]:
    """A project in a folder of its name, whose install puts `files` into site-packages; `@` is where it lies."""
    backend = _BACKEND.format(name=name, files=dict(files), entry_points=entry_points)
    asked = "[build-system]\nrequires=[]\nbuild-backend='backend'\nbackend-path=['.']\n"
    return {f"{name}/backend.py": backend, f"{name}/pyproject.toml": asked}


def installed(*words: str) -> str:
    return f"{_PIP} {shlex.join(words)}"


@dataclass(frozen=True, kw_only=True)
class Done:
    """A setup session that ended."""

    code: int
    said: str
    steps: list[StepResult]
    events: list[Event]
    directory: Path

    @property
    def environment(self) -> Environment:
        assert [step.exit_code for step in self.steps] == [0] * len(self.steps), self.steps
        made = Environment.of({"MINION_ENVIRONMENT": str(self.directory)})
        assert made is not None
        return made

    @property
    def finish(self) -> StepResult:
        assert self.steps[-1].name == "finish", self.steps
        return self.steps[-1]


def set_up(
    directory: Path,
    files: Mapping[str, str | bytes],
    *commands: str,
    variables: Mapping[str, str] | None = None,
    path: tuple[str, ...] = (),
    secrets: Mapping[str, str] | None = None,
    time_s: int = 60,
    **more: str,
) -> Done:
    """Run a setup session for a repository with these files; the environment is made in `directory`."""
    asked = SetupPlan(commands=commands, variables=tuple((variables or {}).items()), path=path)
    limits = Limits(time_s=time_s)
    with (
        tempfile.TemporaryDirectory(prefix="m-", dir="/tmp") as root,
        opened(Path(root), files, kind=SessionKind.SETUP, setup=asked, limits=limits) as session_api,
    ):
        session_api.answers.append(lambda handler: handler.answer(200, json.dumps(secrets or {}).encode()))
        done = subprocess.run(
            [sys.executable, "-m", "minion"],
            env=environment(session_api, MINION_ENVIRONMENT=str(directory), **more),
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
        steps = list(session_api.check_report.steps) if session_api.reports else []
        return Done(
            code=done.returncode,
            said=done.stderr,
            steps=steps,
            events=session_api.events,
            directory=directory,
        )


@dataclass(frozen=True, kw_only=True)
class Place:
    """A fresh tree, and the environment commands in it run in."""

    root: Path
    made: Environment

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    def variables(self) -> dict[str, str]:
        given = {"PATH": os.environ["PATH"], "MINION_ENVIRONMENT": str(self.made.directory)}
        return command_environment(given, self.root, tree=self.tree)

    def run(self, *words: str, stdin: int = subprocess.DEVNULL, guarded: bool = False) -> shell.Finished:
        variables = self.variables()
        return shell.run(
            words,
            directory=self.tree,
            environment=guarded_environment(variables) if guarded else variables,
            timeout_s=180,
            keep_bytes=100_000,
            stdin=stdin,
        )

    def check(self, *words: str, **more: Any) -> "Checked":
        """Run the tests as a check session does."""
        with closing(Results(self.root / "results")) as results:
            step = CheckStep(name="tests", command=words, **more)
            todo = plan(step, self.tree, results.directory, self.made)
            assert not isinstance(todo, StepOutcome)
            done = self.run(*todo.arguments, stdin=results.far.fileno(), guarded=True)
            assert done.exit_code is not None
            told = results.outcome(done.exit_code, 2_000_000)
        return Checked(
            exit_code=done.exit_code,
            output=done.output + told.doubt,
            cases=None if told.junit is None else _cases(told.junit),
        )


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the guarded pytest did; `cases` only if what it told is believed."""

    exit_code: int | None
    output: str
    cases: dict[str, bool] | None


def place(root: Path, made: Environment, files: Mapping[str, str]) -> Place:
    """A tree with these files, and what the environment lays over it."""
    here = Place(root=root, made=made)
    here.tree.mkdir(parents=True)
    for name, content in files.items():
        (here.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (here.tree / name).write_text(content)
    made.lay_over(here.tree)
    return here


def _cases(junit: str) -> dict[str, bool]:
    return {str(case.get("name")): not list(case) for case in ET.fromstring(junit).iter("testcase")}
