"""What can go wrong at Slack's end, on request: each fault happens before or after the effect, as its name says.

`timeout-after`, `reset-after` and `bad-json` come after it; every other one comes instead. `error:<word>` is an answer
that Slack words, with status 200.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.embedded.chat.problem import limited
from overlord.embedded.server import cut_connection, until_disconnected

EVERY_METHOD = "*"
LIMIT_WAIT_S = 30
NO_ANSWER = 0
"""What stands for the status of a call that was left without one."""
ERROR = "error:"


class _Silence(Response):
    """Never answers: the client gives up."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await until_disconnected(receive)


class _Cut(Response):
    """Aborts the connection without a byte."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await cut_connection(scope, receive)


def _limited() -> Response:
    problem = limited(LIMIT_WAIT_S)
    return JSONResponse(problem.body(), 429, problem.headers())


ANSWERS: dict[str, Callable[[], Response]] = {
    "429": _limited,
    "500": lambda: JSONResponse({"ok": False, "error": "internal_error"}, 500),
    "502-html": lambda: HTMLResponse("<html><body>Server Error</body></html>", 502),
    "503": lambda: JSONResponse({"ok": False, "error": "service_unavailable"}, 503),
    "timeout-before": lambda: _Silence(status_code=NO_ANSWER),
    "timeout-after": lambda: _Silence(status_code=NO_ANSWER),
    "reset": lambda: _Cut(status_code=NO_ANSWER),
    "reset-after": lambda: _Cut(status_code=NO_ANSWER),
    "bad-json": lambda: Response(b'{"ok": true, "chan', media_type="application/json"),
}
AFTER_THE_EFFECT = frozenset({"timeout-after", "reset-after", "bad-json"})


@dataclass(slots=True, kw_only=True)
class Fault:
    """A fault that is still to happen."""

    method: str
    kind: str
    times: int
    after: int = 0
    """How many calls pass first."""

    @property
    def is_after(self) -> bool:
        return self.kind in AFTER_THE_EFFECT

    def answer(self) -> Response:
        if self.kind.startswith(ERROR):
            return JSONResponse({"ok": False, "error": self.word})
        return ANSWERS[self.kind]()

    @property
    def word(self) -> str:
        """What the transcript says it was."""
        return self.kind.removeprefix(ERROR)


@dataclass(slots=True)
class Faults:
    """The faults that were asked for, oldest first."""

    pending: list[Fault] = field(default_factory=list)

    def add(self, method: str, *, times: int, kind: str, after: int = 0) -> None:
        if kind not in ANSWERS and not (kind.startswith(ERROR) and len(kind) > len(ERROR)):
            raise ValueError(f"unknown kind of fault {kind!r}; known: {', '.join(ANSWERS)}, {ERROR}<word>")
        self.pending.append(Fault(method=method, kind=kind, times=times, after=after))

    def take(self, method: str) -> Fault | None:
        """The fault this call meets, if any; it is used up."""
        for fault in self.pending:
            if fault.method not in (method, EVERY_METHOD):
                continue
            if fault.after == 0:
                fault.times -= 1
                self.pending = [other for other in self.pending if other.times > 0]
                return fault
            fault.after -= 1
        return None
