"""Cursor's CLI: what it is started with, what its configuration says, and what the stand-in of its protocol says and does."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minion.agents.agent import Given, Permissions, Said, SaidKind, Server
from minion.agents.cursor import Cursor
from minion.protocol import AgentChoice

STUB = Path(__file__).with_name("cursor_stub.py")
MAY = Permissions(
    writable=("src/**",), closed=(".git/**", ".nebulus/**"), secret=("keys/**",), commands=("pytest", "git")
)


def given(home: Path, **changes: Any) -> Given:
    told: dict[str, Any] = {
        "choice": AgentChoice(name="cursor", program="cursor"),
        "role": "UI Developer",
        "rules": "The rules.",
        "root": home / "workspace",
        "home": home / "agent",
        "base_url": "http://127.0.0.1:1",
        "model": "m",
        "servers": (
            Server(name="overlord", url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer x"}),
        ),
        "permissions": MAY,
        "turns": 9,
        "time_s": 600,
        "command_s": 60,
        "context_tokens": 100_000,
    }
    return Given(**{**told, **changes})


def play(told: Given, script: list[dict[str, Any]], *, resume: str = "") -> list[Said]:
    """What the stand-in says when it is started as Cursor would be."""
    program = Cursor().program(told, "Do it.", resume=resume)
    for below, files in ((told.home, program.files), (told.root, program.tree_files)):
        for name, text in files.items():
            (below / name).parent.mkdir(parents=True, exist_ok=True)
            (below / name).write_text(text)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(told.home),
        "CURSOR_STUB_SCRIPT": json.dumps(script),
        **program.environment,
    }
    done = subprocess.run(
        [sys.executable, str(STUB), *program.arguments],
        cwd=told.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    agent = Cursor()
    return [said for line in done.stdout.splitlines() for said in agent.read(line)]


def test_it_writes_and_says_so(tmp_path: Path) -> None:
    said = play(
        given(tmp_path),
        [{"say": "I write."}, {"write": ["src/a.py", "a\n"]}, {"run": "git --version"}, {"say": "Done."}],
    )
    assert (tmp_path / "workspace/src/a.py").read_text() == "a\n"
    assert [one.kind for one in said] == [
        *(SaidKind.SESSION, SaidKind.TURN, SaidKind.TEXT, SaidKind.ACTION, SaidKind.ACTION),
        *(SaidKind.TURN, SaidKind.TEXT, SaidKind.RESULT),
    ]
    assert [one.text for one in said if one.kind is SaidKind.ACTION] == [
        "write src/a.py",
        "shell git --version",
    ]
    assert said[-1] == Said(kind=SaidKind.RESULT, text="I write.Done.", failed=False)


def test_it_goes_on_in_the_same_conversation(tmp_path: Path) -> None:
    [first, *_] = play(given(tmp_path), [])
    [again, *_] = play(given(tmp_path), [], resume=first.text)
    assert first.text
    assert again == first


@pytest.mark.parametrize("path", [".git/config", "src/../.nebulus/contract.yaml", "keys/k"])
def test_what_is_closed_is_not_written(tmp_path: Path, path: str) -> None:
    play(given(tmp_path), [{"write": [path, "x"]}])
    assert not (tmp_path / "workspace" / path).exists()


def test_a_reader_writes_nothing_and_without_a_shell_nothing_is_run(tmp_path: Path) -> None:
    reader = Permissions(writable=("**",), closed=(), secret=(), commands=(), is_reader=True)
    play(given(tmp_path, permissions=reader), [{"write": ["a", "x"]}, {"run": "touch b"}])
    assert not (tmp_path / "workspace/a").exists()
    assert not (tmp_path / "workspace/b").exists()


def test_its_rules_and_configuration(tmp_path: Path) -> None:
    program = Cursor().program(
        given(tmp_path, choice=AgentChoice(program="cursor", model="sonnet")), "--force it"
    )
    assert list(program.arguments) == [
        *("-p", "--output-format", "stream-json", "--trust", "--approve-mcps", "--force"),
        *("--model", "sonnet", " --force it"),
    ]
    assert program.environment["CURSOR_CONFIG_DIR"] == str(tmp_path / "agent/.cursor")
    role = program.tree_files[".cursor/rules/20-role-ui-developer.mdc"]
    assert role.startswith("---\n")
    assert role.endswith("\nalwaysApply: true\n---\n\nThe rules.")
    assert 'OVERLORD_EVENT {"type":"QUESTION"' in program.tree_files[".cursor/rules/00-overlord-protocol.mdc"]
    permissions = json.loads(program.files[".cursor/cli-config.json"])["permissions"]
    assert permissions["allow"] == [
        "Read(**)",
        "Write(src/**)",
        "Shell(pytest)",
        "Shell(git)",
        "Mcp(overlord:*)",
    ]
    assert permissions["deny"] == [
        *("Write(.git/**)", "Write(.nebulus/**)", "Write(keys/**)", "Read(keys/**)", "WebFetch(*)"),
    ]
    servers = json.loads(program.files[".cursor/mcp.json"])["mcpServers"]
    assert servers == {
        "overlord": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer x"}}
    }


def test_a_server_that_is_a_command(tmp_path: Path) -> None:
    docs = Server(name="docs", command=("docs-server", "--stdio"), environment={"A": "b"})
    program = Cursor().program(given(tmp_path, servers=(docs,)), "Do it.")
    servers = json.loads(program.files[".cursor/mcp.json"])["mcpServers"]
    assert servers == {"docs": {"command": "docs-server", "args": ["--stdio"], "env": {"A": "b"}}}


def test_a_prompt_too_long_for_an_argument_is_a_rule(tmp_path: Path) -> None:
    program = Cursor().program(given(tmp_path), "ä" * 60_000)
    assert program.arguments[-1] == "Your task is in .cursor/rules/30-task.mdc: read it first."
    assert program.tree_files[".cursor/rules/30-task.mdc"].endswith("ä" * 60_000)


@pytest.mark.parametrize("role", ["", "../../x", "…"])
def test_a_role_of_any_name_has_a_file_of_its_own_place(tmp_path: Path, role: str) -> None:
    for name in Cursor().program(given(tmp_path, role=role), "Do it.").tree_files:
        assert name.startswith(".cursor/rules/")
        assert ".." not in name


@pytest.mark.parametrize(
    "line",
    ["", "{", "null", "[]", "[" * 100_000, "{}", '{"type": []}', '{"type": "thinking"}', "plain words"],
)
def test_what_is_no_event_says_nothing(line: str) -> None:
    assert not list(Cursor().read(line))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [1, {"text": {}}]}},
        {"type": "tool_call", "subtype": "started", "tool_call": []},
        {"type": "tool_call", "subtype": "started", "tool_call": {"x": {"args": 1}}},
        {"type": "system", "subtype": "init"},
        {"type": "result", "result": {}},
    ],
)
def test_an_event_of_another_form_breaks_nothing(event: dict[str, Any]) -> None:
    assert list(Cursor().read(json.dumps(event)))


def test_a_result_that_is_none_failed() -> None:
    [error, result] = Cursor().read(
        '{"type": "result", "subtype": "error", "is_error": true, "result": "no credit"}'
    )
    assert (error.kind, error.text) == (SaidKind.ERROR, "no credit")
    assert result.failed
