"""A program that plays an agent: it says what that agent is documented to say, and does what a test has written down.

Copied to where a session looks for the agent, beside `agent` (its name) and `plays.json`: for each prompt a list of steps. What it was
started with is kept in `started.jsonl`. It uses nothing of the project.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Items = list[Any]
"""Lines of output, as text or as what is written as JSON."""
HERE = Path(__file__).resolve().parent


class Plain:
    """An agent without events: its words are lines, and that is all."""

    def begin(self) -> Items:
        return []

    def words(self, text: str) -> Items:
        return [text]

    def action(self, text: str) -> Items:
        return [f"> {text}"]

    def result(self, text: str, failed: bool) -> Items:
        return []


class Claude(Plain):
    """Claude Code's `stream-json`."""

    replies = 0

    def begin(self) -> Items:
        return [{"type": "system", "subtype": "init", "session_id": "c-1", "tools": []}]

    def _reply(self, block: dict[str, Any]) -> dict[str, Any]:
        self.replies += 1
        message = {"id": f"m-{os.getpid()}-{self.replies}", "role": "assistant", "content": [block]}
        return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "c-1"}

    def words(self, text: str) -> Items:
        return [self._reply({"type": "text", "text": text})]

    def action(self, text: str) -> Items:
        return [self._reply({"type": "tool_use", "name": "Bash", "input": {"command": text}})]

    def result(self, text: str, failed: bool) -> Items:
        how = {"subtype": "success", "is_error": failed, "result": text}
        return [{"type": "result", "session_id": "c-1", "num_turns": self.replies, **how}]


class Cursor(Claude):
    """Cursor's `stream-json`: as Claude's, with events of its own for calls."""

    def _reply(self, block: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": [block]}
        return {"type": "assistant", "message": message, "session_id": "c-1"}

    def action(self, text: str) -> Items:
        call = {"shellToolCall": {"args": {"command": text}}}
        return [
            {"type": "tool_call", "subtype": how, "call_id": "1", "tool_call": call, "session_id": "c-1"}
            for how in ("started", "completed")
        ]


class Codex(Plain):
    """`codex exec --json`."""

    def begin(self) -> Items:
        return [{"type": "thread.started", "thread_id": "c-1"}, {"type": "turn.started"}]

    def words(self, text: str) -> Items:
        return [{"type": "item.completed", "item": {"id": "i-1", "type": "agent_message", "text": text}}]

    def action(self, text: str) -> Items:
        item = {"id": "i-2", "type": "command_execution", "command": text, "status": "in_progress"}
        return [
            {"type": "item.started", "item": item},
            {"type": "item.completed", "item": {**item, "status": "completed", "exit_code": 0}},
        ]

    def result(self, text: str, failed: bool) -> Items:
        if failed:
            return [{"type": "turn.failed", "error": {"message": text}}]
        return [{"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}]


class OpenCode(Plain):
    """`opencode run --format json`."""

    def begin(self) -> Items:
        return []

    def _part(self, kind: str, **part: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": 1, "sessionID": "c-1", "part": {"sessionID": "c-1", **part}}

    def words(self, text: str) -> Items:
        return [
            self._part("step_start", type="step-start"),
            self._part("text", type="text", text=text),
            self._part("step_finish", type="step-finish", reason="stop", cost=0),
        ]

    def action(self, text: str) -> Items:
        state = {"status": "completed", "input": {"command": text}, "output": "", "title": text}
        return [
            self._part("step_start", type="step-start"),
            self._part("tool_use", type="tool", tool="bash", state=state),
            self._part("step_finish", type="step-finish", reason="tool-calls", cost=0),
        ]

    def result(self, text: str, failed: bool) -> Items:
        if not failed:
            return []
        return [
            {"type": "error", "sessionID": "c-1", "error": {"name": "APIError", "data": {"message": text}}}
        ]


class Gemini(Plain):
    """Gemini CLI's `stream-json`, whose words come in pieces."""

    def begin(self) -> Items:
        return [{"type": "init", "session_id": "c-1", "model": "m"}]

    def words(self, text: str) -> Items:
        middle = len(text) // 2
        pieces = [text[:middle], text[middle:]]
        return [{"type": "message", "role": "assistant", "content": piece, "delta": True} for piece in pieces]

    def action(self, text: str) -> Items:
        called = {"tool_name": "run_shell_command", "tool_id": "t-1", "parameters": {"command": text}}
        return [
            {"type": "tool_use", **called},
            {"type": "tool_result", "tool_id": "t-1", "status": "success", "output": ""},
        ]

    def result(self, text: str, failed: bool) -> Items:
        if failed:
            return [{"type": "result", "status": "error", "error": {"type": "Error", "message": text}}]
        return [{"type": "result", "status": "success", "stats": {"total_tokens": 2}}]


PLAYERS: dict[str, type[Plain]] = {
    "claude-code": Claude,
    "codex": Codex,
    "opencode": OpenCode,
    "aider": Plain,
    "cursor": Cursor,
    "gemini": Gemini,
}
"""How each agent says things. An agent that is added is one line here."""


def put(items: Items) -> None:
    for item in items:
        sys.stdout.write(f"{item if isinstance(item, str) else json.dumps(item)}\n")
    sys.stdout.flush()


def write(path: str, text: str) -> None:
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def ask_model() -> None:
    """One request to the model, as far as its status."""
    import urllib.error
    import urllib.request

    address = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    request = urllib.request.Request(address, json.dumps({"messages": []}).encode(), method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        error.read()


def daemon(path: str) -> None:
    """Start a process that leaves the group and goes on."""
    words = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = subprocess.Popen(words, start_new_session=True)
    Path(path).write_text(str(process.pid))


def flood(lines: int) -> None:
    line = "x" * 4095
    for _ in range(lines):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write("y" * (3 * 1024 * 1024) + "\n")
    sys.stdout.flush()


def wait(deaf: bool) -> None:
    """Do nothing for ever; `deaf` also to a TERM."""
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(HERE / "waits").write_text("1")
    while True:
        signal.pause()


def call_tool(name: str, arguments: dict[str, Any]) -> None:
    """Call one of the session's own tools, as OpenCode's configuration says where they are."""
    import urllib.request

    server = json.loads((Path.home() / ".config/opencode/opencode.json").read_text())["mcp"]["overlord"]
    headers = {
        **server["headers"],
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    for number, (method, params) in enumerate(
        (
            (
                "initialize",
                {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "stand-in", "version": "1"},
                },
            ),
            ("tools/call", {"name": name, "arguments": arguments}),
        )
    ):
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        request = urllib.request.Request(server["url"], body, headers, method="POST")
        with urllib.request.urlopen(request) as answer:
            told = answer.read().decode()
    with (HERE / "told.txt").open("a") as file:
        file.write(f"{told}\n")


OTHERS: dict[str, Callable[..., None]] = {
    "model": ask_model,
    "daemon": daemon,
    "flood": flood,
    "wait": wait,
    "tool": call_tool,
}


def play(agent: Plain, steps: list[list[Any]]) -> int:
    """Do what is written down; the exit code."""
    for name, *given in steps:
        if name in ("words", "action"):
            put(getattr(agent, name)(*given))
        elif name == "result":
            put(agent.result(given[0], len(given) > 1 and given[1]))
        elif name == "raw":
            put(given)
        elif name == "error":
            sys.stderr.write(f"{given[0]}\n")
            sys.stderr.flush()
        elif name == "write":
            write(*given)
        elif name == "shell":
            subprocess.run(
                given[0], shell=True, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        elif name == "exit":
            return int(given[0])
        elif name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            OTHERS[name](*given)
    return 0


def main() -> int:
    stdin = sys.stdin.read()
    files = {str(path): path.read_text(errors="replace") for path in Path.home().rglob("*") if path.is_file()}
    started = {"arguments": sys.argv[1:], "stdin": stdin, "environment": dict(os.environ), "files": files}
    record = HERE / "started.jsonl"
    number = len(record.read_text().splitlines()) if record.exists() else 0
    with record.open("a") as file:
        file.write(f"{json.dumps(started)}\n")
    plays = json.loads((HERE / "plays.json").read_text())
    agent = PLAYERS[(HERE / "agent").read_text()]()
    put(agent.begin())
    return play(agent, plays[min(number, len(plays) - 1)])


if __name__ == "__main__":
    sys.exit(main())
