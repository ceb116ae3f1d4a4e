"""What an agent's program is made from in tests, and its output as it was recorded."""

from pathlib import Path
from typing import Any

from minion.agents.agent import CodingAgent, Given, Permissions, Said, SaidKind, Server
from minion.protocol import AgentChoice

RECORDED = Path(__file__).parent / "recorded_output"
OURS = Server(
    name="overlord", url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer session-token"}
)
OTHER = Server(name="docs", command=("docs-server", "--stdio"), environment={"A": "1"}, tools=("find",))
UNRESTRICTED = Permissions(
    writable=("**",), closed=(".git/**", ".nebulus/**"), secret=("private/**",), commands=None
)
NARROW = Permissions(
    writable=("src/**", "docs"), closed=(".git/**", "src/fixed/**"), secret=(), commands=("pytest", "ruff")
)
READER = Permissions(writable=(), closed=(".git/**",), secret=(), commands=(), is_reader=True)

GARBAGE = (
    "",
    " ",
    "no JSON",
    "{",
    "null",
    "[]",
    "7",
    '"text"',
    "{}",
    "[" * 200_000,
    '{"a":' * 100_000,
    '{"type": null}',
    '{"type": {"a": 1}}',
    '{"type": ["error"]}',
    '{"type": "error", "error": [1], "message": {"a": 1}}',
    '{"type": "text", "part": "words"}',
    '{"type": "text", "part": {"text": {"a": 1}}}',
    '{"type": "tool_use", "part": {"tool": 7, "state": [1]}}',
    '{"type": "tool_use", "part": {"tool": null, "state": {"input": "x", "title": {"a": 1}}}}',
    '{"type": "step_start", "sessionID": 7}',
    '{"type": "item.started", "item": 7}',
    '{"type": "item.started", "item": {"type": "file_change", "changes": [7, {"path": 1}, null]}}',
    '{"type": "item.started", "item": {"type": "command_execution", "command": "bash -lc \'"}}',
    '{"type": "item.completed", "item": {"type": "error", "message": 7}}',
    '{"type": "item.completed", "item": {"type": "agent_message", "text": 7}}',
    '{"type": "turn.failed", "error": "words"}',
    '{"type": "thread.started", "thread_id": null}',
    '{"type": "new.event", "item": {"type": "new"}}',
    '{"type": "text", "part": {"text": "' + "x" * 1_000_000 + '"}}',
    "y" * 1_000_000,
    "\x00\x1b[31m\ud800\u202e",
)


def given(permissions: Permissions = UNRESTRICTED, **more: Any) -> Given:
    values: dict[str, Any] = {
        "choice": AgentChoice(name="agent", program="agent"),
        "role": "engineer",
        "rules": 'You are an "engineer".\nKeep \\ to it \x7f ü 😀.',
        "root": Path("/work/tree"),
        "home": Path("/work/agent"),
        "base_url": "http://127.0.0.1:1",
        "model": "small",
        "servers": (OURS,),
        "permissions": permissions,
        "turns": 40,
        "time_s": 600,
        "command_s": 120,
        "context_tokens": 100_000,
    }
    return Given(**{**values, **more})


def heard(agent: CodingAgent, name: str) -> list[tuple[SaidKind, str, bool]]:
    """What a recorded output says, line by line."""
    lines = (RECORDED / name).read_text(encoding="utf-8").splitlines()
    return [
        (said.kind, said.text, said.failed) for line in lines if line.strip() for said in agent.read(line)
    ]


def heard_of(agent: CodingAgent, lines: tuple[str, ...]) -> list[Said]:
    return [said for line in lines for said in agent.read(line)]
