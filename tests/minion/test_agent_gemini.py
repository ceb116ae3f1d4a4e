"""Gemini CLI: what it is started with, the policy rules that are made for it, and what it says."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from minion.agents.agent import Given, Permissions, Said, SaidKind, Server
from minion.agents.configuration.gemini_policy import policy, refusals
from minion.agents.gemini import Gemini
from minion.protocol import AgentChoice

RECORDED = Path(__file__).parent / "recorded_output" / "gemini.jsonl"
ROOT = "/work/space(1)"
MAY = Permissions(
    writable=("src/**", "**/*.toml", "docs", "a/**/b.md", "one?.txt"),
    closed=(".git/**", "src/closed.py"),
    secret=("keys/**",),
    commands=("pytest", "git"),
)


def given(**changes: Any) -> Given:
    told: dict[str, Any] = {
        "choice": AgentChoice(name="gemini", program="gemini", arguments=("--debug",)),
        "role": "developer",
        "rules": "The rules.",
        "root": Path(ROOT),
        "home": Path("/work/agent"),
        "base_url": "http://127.0.0.1:1",
        "model": "gemini-2.5-pro",
        "servers": (),
        "permissions": MAY,
        "turns": 9,
        "time_s": 600,
        "command_s": 60,
        "context_tokens": 100_000,
    }
    return Given(**{**told, **changes})


def decision(rules: str, tool: str, **call: str) -> str:
    """What Gemini CLI decides by its rules of a call's input, whose values stand between NUL characters."""
    text = "{" + ",".join(f"\0{json.dumps(key)}:{json.dumps(call[key])}\0" for key in sorted(call)) + "}"
    fitting = [
        rule
        for rule in tomllib.loads(rules)["rule"]
        if tool in rule["toolName"] and re.search(rule.get("argsPattern", ""), text)
    ]
    for rule in sorted(fitting, key=lambda rule: -rule["priority"]):
        starts = rule.get("commandPrefix")
        if starts is None or any(f"{call['command']} ".startswith(f"{start} ") for start in starts):
            return str(rule["decision"])
    return "allow"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("src/a.py", True),
        (f"{ROOT}/src/deep/a.py", True),
        ("./src/a.py", True),
        ("pyproject.toml", True),
        ("x/y/z.toml", True),
        ("docs", True),
        ("docs/a/b.md", True),
        ("a/b.md", True),
        ("a/x/y/b.md", True),
        ("one1.txt", True),
        ("src/closed.py", False),
        (f"{ROOT}/src/closed.py", False),
        ("src/../README.md", False),
        ("../src/a.py", False),
        ("/src/a.py", False),
        ("x/src/a.py", False),
        ("docsx", False),
        ("one12.txt", False),
        ("one/.txt", False),
        ("xtoml", False),
        (".git/config", False),
        ("keys/k", False),
        ("README.md", False),
    ],
)
def test_a_path_is_written_only_inside_the_scope(path: str, allowed: bool) -> None:
    for tool in ("write_file", "replace"):
        assert decision(policy(MAY, ROOT), tool, file_path=path) == ("allow" if allowed else "deny")


def test_what_a_file_holds_does_not_open_another_path() -> None:
    trick = '"file_path":"src/a.py"'
    for content in (trick, f"\0{trick}", json.dumps(trick)):
        assert decision(policy(MAY, ROOT), "write_file", file_path="README.md", content=content) == "deny"


def test_secret_files_are_not_read_and_the_web_is_closed() -> None:
    for rules in (policy(MAY, ROOT), refusals(MAY, ROOT)):
        assert decision(rules, "read_file", file_path="keys/k") == "deny"
        assert decision(rules, "read_file", file_path="src/a.py") == "allow"
        assert decision(rules, "web_fetch", prompt="http://x") == "deny"
        assert decision(rules, "google_web_search", query="x") == "deny"


@pytest.mark.parametrize(
    ("commands", "line", "decided"),
    [
        (("pytest",), "pytest -q", "allow"),
        (("pytest",), "ls", "allow"),
        (("pytest",), "curl http://x", "deny"),
        (("pytest",), "pytestx", "deny"),
        ((), "ls", "deny"),
        (None, "curl http://x", "allow"),
    ],
)
def test_commands_are_those_that_are_listed(
    commands: tuple[str, ...] | None, line: str, decided: str
) -> None:
    may = Permissions(writable=("**",), closed=(), secret=(), commands=commands)
    assert decision(policy(may, ROOT), "run_shell_command", command=line) == decided


def test_a_reader_writes_nothing() -> None:
    reader = Permissions(writable=("**",), closed=(), secret=(), commands=None, is_reader=True)
    assert decision(policy(reader, ROOT), "write_file", file_path="src/a.py") == "deny"


def test_no_pattern_has_what_gemini_refuses_as_a_regular_expression() -> None:
    may = Permissions(
        writable=("**/a/**/b*/**", "x[ab]?y", 'q"uote', "ü"), closed=("**",), secret=(), commands=None
    )
    for rule in tomllib.loads(policy(may, "/work"))["rule"]:
        assert not re.search(r"\([^)]*[*+?{].*\)[*+?{]", rule.get("argsPattern", ""))


def test_the_prompt_and_all_it_is_told() -> None:
    program = Gemini().program(given(), "-p is how a line of the task begins")
    assert program.stdin == "-p is how a line of the task begins"
    assert list(program.arguments) == [
        *("--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
        *(
            "--model",
            "gemini-2.5-pro",
            "--extensions",
            "none",
            "--allowed-mcp-server-names",
            "none",
            "--debug",
        ),
    ]
    assert program.environment["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:1"
    assert program.files[".gemini/GEMINI.md"] == "The rules."
    settings = json.loads(program.files[".gemini/settings.json"])
    assert settings == json.loads(program.tree_files[".gemini/settings.json"])
    assert settings["security"]["auth"] == {"selectedType": "gemini-api-key"}
    assert settings["model"] == {"name": "gemini-2.5-pro", "maxSessionTurns": 9}
    assert settings["hooksConfig"] == settings["skills"] == settings["telemetry"] == {"enabled": False}


def test_it_is_resumed_and_given_servers() -> None:
    servers = (
        Server(name="overlord", url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer x"}),
        Server(name="docs", command=("docs-server", "--stdio"), environment={"A": "b"}, tools=("find",)),
    )
    program = Gemini().program(given(servers=servers), "Go on.", resume="s-1")
    arguments = " ".join(program.arguments)
    assert "--allowed-mcp-server-names overlord docs --resume s-1" in arguments
    told = json.loads(program.files[".gemini/settings.json"])["mcpServers"]
    assert told["overlord"]["httpUrl"] == "http://127.0.0.1:1/mcp"
    assert told["overlord"]["headers"] == {"Authorization": "Bearer x"}
    assert told["overlord"]["includeTools"] == []
    assert (told["docs"]["command"], told["docs"]["args"], told["docs"]["env"]) == (
        "docs-server",
        ["--stdio"],
        {"A": "b"},
    )
    assert told["docs"]["includeTools"] == ["find"]


def test_what_it_said_is_understood() -> None:
    agent = Gemini()
    said = [one for line in RECORDED.read_text().splitlines() for one in agent.read(line)]
    kinds = [one.kind for one in said]
    assert kinds.count(SaidKind.TURN) == 5
    assert said[0] == Said(kind=SaidKind.SESSION, text="s-1")
    actions = [one.text for one in said if one.kind is SaidKind.ACTION]
    assert actions[:3] == [
        "write_file docs/x.md",
        "failed: Tool execution denied by policy. This session may not change that file.",
        "write_file src/good.txt",
    ]
    [words] = [one for one in said if one.kind is SaidKind.TEXT]
    assert words.is_partial
    assert words.text.startswith("All done.\nOVERLORD_EVENT ")
    done, spent = [one for one in said if one.kind is SaidKind.RESULT]
    assert (done.failed, spent.failed) == (False, True)
    assert "The budget of this session is spent." in spent.text
    assert [one.text for one in said if one.kind is SaidKind.ERROR] == [spent.text]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "null",
        "[]",
        '"x"',
        "[" * 100_000,
        "{}",
        '{"type": 7}',
        '{"type": []}',
        '{"type": "unknown"}',
        "plain words",
    ],
)
def test_what_is_no_event_says_nothing(line: str) -> None:
    assert not list(Gemini().read(line))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "tool_use", "parameters": "x"},
        {"type": "tool_use", "tool_name": {}, "parameters": {"command": ["a"]}},
        {"type": "tool_result", "status": "error", "output": {}},
        {"type": "message", "role": "assistant", "content": {"a": 1}},
        {"type": "init"},
        {"type": "error", "message": []},
        {"type": "result", "error": "x"},
        {"type": "result", "status": [], "error": {"message": {}}},
    ],
)
def test_an_event_of_another_form_breaks_nothing(event: dict[str, Any]) -> None:
    assert list(Gemini().read(json.dumps(event)))
