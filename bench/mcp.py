"""How long an agent waits for the MCP server itself: `python -m bench.mcp`.

*Ready* is a program's start to its answer to `initialize` on standard input and output, over an empty home; beside it, what the same
interpreter takes for the protocol's library alone, which every server made with it pays. *tools/list* is asked again and again, of the
same program.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.table import Figure, publish

ROOT = Path(__file__).parents[1]
ROUNDS, ASKED = 7, 100
READY_S, LIST_MS = 0.5, 30.0
LIBRARY = "import mcp.server.lowlevel.server, mcp.server.stdio"
OURS = "import overlord.entrypoints.cli.main, overlord.entrypoints.mcp.backend, overlord.store.database"
BEGIN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Program:
    """The server over a database of tests, spoken to line by line."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-m", "tests.mcp.stored_backend", str(home)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, message: dict[str, Any]) -> bytes:
        """What is answered."""
        self.say(message)
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def say(self, message: dict[str, Any]) -> None:
        """A line of it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Close its input, and wait for it."""
        self._process.communicate()


def ready_s(home: Path) -> float:
    """One start."""
    began = time.perf_counter()
    program = Program(home)
    program.ask(BEGIN)
    took = time.perf_counter() - began
    program.end()
    return took


def imported_s(code: str) -> float:
    """One start of Python that imports something and ends."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    return time.perf_counter() - began


def list_ms(home: Path) -> float:
    """The median of many, after the first."""
    program = Program(home)
    program.ask(BEGIN)
    program.say(BEGUN)
    took = []
    for number in range(1, ASKED + 1):
        began = time.perf_counter()
        program.ask({"jsonrpc": "2.0", "id": number, "method": "tools/list"})
        took.append((time.perf_counter() - began) * 1000)
    program.end()
    return statistics.median(took[1:])


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="bench-mcp-") as directory:
        home = Path(directory)
        ready = statistics.median(ready_s(home) for _ in range(ROUNDS))
        library = statistics.median(imported_s(LIBRARY) for _ in range(ROUNDS))
        ours = statistics.median(imported_s(OURS) for _ in range(ROUNDS))
        listed = list_ms(home)
    publish(
        [
            Figure(
                part="MCP",
                name="stdio server ready",
                unit="s",
                measured=ready,
                goal=READY_S,
                yardstick="the library's import alone",
                beside=library,
            ),
            Figure(part="MCP", name="of that, Overlord's own import", unit="s", measured=ours),
            Figure(part="MCP", name="tools/list, warm", unit="ms", measured=listed, goal=LIST_MS),
        ]
    )


if __name__ == "__main__":
    main()
