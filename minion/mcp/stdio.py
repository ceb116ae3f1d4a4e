"""An MCP server that is a command: one message a line, over its standard input and output.

It is a stranger's program: it may print what is no message, never answer, never read, ask us things, or end. Whatever it does, an
exchange ends in its time.
"""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from minion.errors import McpFailed

LONGEST_LINE = 4 * 1024 * 1024
ENDING_S = 1.0
"""How long a server may take to end once its standard input is closed."""


class StdioTransport:
    """A server's process, with everything it starts."""

    def __init__(self, command: Sequence[str], *, directory: Path, environment: Mapping[str, str]) -> None:
        """Start it. Raises McpFailed."""
        try:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise McpFailed(f"it cannot be started: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._rest = b""
        self._is_closed = False

    def exchange(self, message: Mapping[str, Any], *, timeout_s: float) -> Mapping[str, Any] | None:
        """Send one message and return its answer; None to a notification. Raises McpFailed."""
        if self._is_closed:
            raise McpFailed("it has ended")
        until = time.monotonic() + timeout_s
        self._send(message, until)
        while "id" in message:
            value = self._message(until)
            if "method" in value:
                if "id" in value:
                    self._refuse(value, until)
            elif value.get("id") == message["id"]:
                return value
        return None

    def close(self) -> None:
        """End it: by the end of its input, and by force where that is not enough."""
        if self._is_closed:
            return
        self._is_closed = True
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_S)
        # What it has started may live on in its group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()

    def _refuse(self, asked: Mapping[str, Any], until: float) -> None:
        """Answer what the server asks of us: that we are there, and nothing else."""
        if asked.get("method") == "ping":
            self._send({"jsonrpc": "2.0", "id": asked["id"], "result": {}}, until)
        else:
            error = {"code": -32601, "message": "this client answers no requests"}
            self._send({"jsonrpc": "2.0", "id": asked["id"], "error": error}, until)

    def _send(self, message: Mapping[str, Any], until: float) -> None:
        try:
            left = memoryview(json.dumps(message).encode() + b"\n")
        except RecursionError:
            raise McpFailed("the arguments are nested too deep") from None
        while left:
            self._await(self._input, select.POLLOUT, until)
            try:
                left = left[os.write(self._input, left) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._gone() from None

    def _message(self, until: float) -> Mapping[str, Any]:
        """The next line that is a message; others are passed over."""
        while True:
            line, mark, rest = self._rest.partition(b"\n")
            if not mark:
                self._read(until)
                continue
            self._rest = rest
            with suppress(ValueError, RecursionError):
                value = json.loads(line)
                if isinstance(value, dict):
                    return value

    def _read(self, until: float) -> None:
        if len(self._rest) > LONGEST_LINE:
            self.close()
            raise McpFailed(f"it printed a line of more than {LONGEST_LINE // 1024**2} MiB, and was ended")
        self._await(self._output, select.POLLIN, until)
        with suppress(BlockingIOError):
            data = os.read(self._output, 1024 * 1024)
            if not data:
                raise self._gone()
            self._rest += data

    def _await(self, descriptor: int, event: int, until: float) -> None:
        left_s = until - time.monotonic()
        poller = select.poll()
        poller.register(descriptor, event)
        if left_s <= 0 or not poller.poll(left_s * 1000):
            raise McpFailed("it did not answer in time")

    def _gone(self) -> McpFailed:
        self.close()
        return McpFailed(f"it has ended with exit code {self._process.returncode}")
