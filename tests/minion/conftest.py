"""A session's program run for real, against a session API of the test's own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minion.git import Git
from minion.interrupt import Interrupts
from minion.native.model import ToolCall
from minion.session import Session
from minion.session_api import SessionApi as WireDoor
from minion.shell import command_environment, search_path
from minion.tools.registry import perform
from minion.workspace.scope import Territory
from minion.workspace.workspace import Workspace
from tests.minion.session_api import SessionApi, make_brief, make_repository, opened

ROOT = Path(__file__).parents[2]


@dataclass
class Program:
    """`python -m minion` as a process."""

    process: subprocess.Popen[str]

    def wait(self) -> int:
        self.said, _ = self.process.communicate(timeout=180)
        return self.process.returncode

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)


def environment(session_api: SessionApi, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "MINION_ID": "m-1",
        "MINION_SCOPE": session_api.brief.scope.to_json(),
        "OVERLORD_URL": session_api.url,
        "MINION_WORK": str(session_api.root / "work"),
        "MINION_PATIENCE_S": "30",
        **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
        **more,
    }


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session over a clone of a small repository on disk, for calling tools; its session API leads nowhere."""
    return make_session(tmp_path, {"calc.py": "def add(a, b):\n    return a - b\n"})


def make_session(home: Path, files: Mapping[str, str | bytes], **brief: Any) -> Session:
    repository, base = make_repository(home / "far", files)
    told = make_brief(base, base, **brief)
    session_api = WireDoor(home / "nowhere", patience_s=0)
    git = Git(search_path(os.environ["PATH"]))
    workspace = Workspace(home, str(repository), told, git, patience_s=0)
    workspace.begin()
    workspace.wait()
    return Session(
        brief=told,
        session_api=session_api,
        territory=Territory(
            workspace.root,
            told.scope,
            contract_files=workspace.contract_files,
            can_ask=told.discipline is None,
        ),
        workspace=workspace,
        command_environment=command_environment({"PATH": os.environ["PATH"]}, home),
        interrupts=Interrupts(),
    )


@pytest.fixture
def use(session: Session) -> Callable[..., str]:
    """Call a tool as a model would; a ToolError comes through."""

    def call_tool(name: str, **arguments: Any) -> str:
        result = perform(session, ToolCall(id="1", name=name, arguments=arguments))
        assert isinstance(result, str)
        return result

    return call_tool


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory whose socket's path is short enough for a unix socket."""
    with tempfile.TemporaryDirectory(prefix="m-", dir="/tmp", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def make_door(short_path: Path) -> Iterator[Callable[..., SessionApi]]:
    with ExitStack() as stack:
        yield lambda files, **more: stack.enter_context(opened(short_path, files, **more))


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    """Start a session's program; it is killed with the test if it still runs."""
    started: list[Program] = []

    def begin(session_api: SessionApi, *options: str, **more: str) -> Program:
        process = subprocess.Popen(
            [sys.executable, *options, "-m", "minion"],
            env=environment(session_api, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
        )
        started.append(Program(process))
        return started[-1]

    yield begin
    for program in started:
        if program.process.poll() is None:
            program.process.kill()
        program.process.communicate()


@pytest.fixture
def run(start: Callable[..., Program]) -> Callable[..., int]:
    """Run a session's program to its end."""

    def to_the_end(session_api: SessionApi, *options: str, **more: Any) -> int:
        program = start(session_api, *options, **more)
        code = program.wait()
        print(program.said)
        return code

    return to_the_end
