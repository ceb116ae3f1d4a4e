"""The transport of ACP: a JSON-RPC message a line, over the pipes of the agent's program.

Everything that comes is untrusted: what is no message is passed over, and what is read of it is bounded (`running.py`).
"""

import json
import re
from collections import deque
from typing import Any

from minion.agents.running import Health, RunningProgram

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002
REFUSED = -32003
_WAIT_S = 0.5
_CUT_REQUEST = re.compile(r'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")')

Message = dict[str, Any]
"""A JSON object as it came or goes; read only in the `acp` modules."""


class WireClosed(Exception):
    """The program has ended, and all it said is read."""


class RequestRefused(Exception):
    """A request of the agent that is answered with an error."""

    def __init__(self, code: int, message: str, *, is_denied: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.is_denied = is_denied


class Wire:
    """Messages to and from one program. The ids of our own requests count up from 1."""

    def __init__(self, program: RunningProgram, health: Health) -> None:
        self.program = program
        self.health = health
        self._last_id = 0
        self._messages: deque[Message] = deque()
        self._errors: deque[str] = deque(maxlen=5)

    @property
    def last_errors(self) -> str:
        """The last lines of its standard error stream."""
        return "\n".join(self._errors)

    def request(self, method: str, params: Message) -> int:
        """Send a request; its id is what the answer has to name."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: Message) -> None:
        """Send what has no answer."""
        self._send({"method": method, "params": params})

    def answer(self, number: object, result: object) -> None:
        """Answer a request of the program's."""
        self._send({"id": number, "result": result})

    def refuse(self, number: object, code: int, message: str) -> None:
        """Answer a request of the program's with an error."""
        self._send({"id": number, "error": {"code": code, "message": message}})

    def receive(self) -> Message | None:
        """The next message; None when none came for a moment. Raises WireClosed, and Interrupted."""
        if not self._messages:
            ended = self.program.has_ended
            lines = self.program.drain() if ended else self.program.read(_WAIT_S)
            for line in lines:
                self.health.note_active()
                if line.is_error:
                    self._errors.append(line.text[:500])
                elif (message := self._read(line.text)) is not None:
                    self._messages.append(message)
            if ended and not self._messages:
                raise WireClosed
        return self._messages.popleft() if self._messages else None

    def _send(self, message: Message) -> None:
        self.program.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _read(self, line: str) -> Message | None:
        """The message of a line, if it is one. A request too long to be read is refused, so that nobody waits for its answer."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            head = line[:1000]
            if '"method"' in head and (found := _CUT_REQUEST.search(head)):
                self.refuse(json.loads(found[1]), INVALID_REQUEST, "The request is too long, or is not JSON.")
            return None
        return value if isinstance(value, dict) else None
