"""What can go wrong at GitHub's end, on request: each fault happens before or after the effect, as its name says.

Plain statuses, limits and HTML happen instead of the effect; `timeout-after`, `reset-after` and `bad-json` after it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.embedded.forge.problem import Problem, forbidden, invalid, missing
from overlord.embedded.forge.reply import MEDIA_TYPE, refusal
from overlord.embedded.server import cut_connection, until_disconnected

EVERY_OPERATION = "*"
LIMIT_WAIT_S = 30
NO_ANSWER = 0
"""What stands for the status of a request that was left without one."""


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


def _rate_limited(reset_at: int) -> Response:
    problem = Problem(403, "API rate limit exceeded for user ID 1001.")
    return refusal(
        problem,
        {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset_at)},
    )


def _secondary_limit(_reset_at: int) -> Response:
    problem = Problem(403, "You have exceeded a secondary rate limit. Please wait a few minutes.")
    return refusal(problem, {"retry-after": str(LIMIT_WAIT_S)})


ANSWERS: dict[str, Callable[[int], Response]] = {
    "401": lambda _: refusal(Problem(401, "Bad credentials")),
    "403": lambda _: refusal(forbidden()),
    "403-rate-limit": _rate_limited,
    "secondary-limit": _secondary_limit,
    "404": lambda _: refusal(missing()),
    "409": lambda _: refusal(Problem(409, "Conflict")),
    "410": lambda _: refusal(Problem(410, "This was deleted")),
    "422": lambda _: refusal(invalid("Request", "body")),
    "429": lambda _: refusal(Problem(429, "Too many requests"), {"retry-after": str(LIMIT_WAIT_S)}),
    "500": lambda _: refusal(Problem(500, "Server Error")),
    "502-html": lambda _: HTMLResponse("<html><body><h1>Unicorn!</h1></body></html>", 502),
    "503": lambda _: refusal(Problem(503, "Service unavailable"), {"retry-after": str(LIMIT_WAIT_S)}),
    "timeout-before": lambda _: _Silence(status_code=NO_ANSWER),
    "timeout-after": lambda _: _Silence(status_code=NO_ANSWER),
    "reset": lambda _: _Cut(status_code=NO_ANSWER),
    "reset-after": lambda _: _Cut(status_code=NO_ANSWER),
    "bad-json": lambda _: Response(b'{"id": 1, "numb', media_type=MEDIA_TYPE),
}
AFTER_THE_EFFECT = frozenset({"timeout-after", "reset-after", "bad-json"})


@dataclass(slots=True, kw_only=True)
class Fault:
    """A fault that is still to happen."""

    operation: str
    kind: str
    times: int
    after: int = 0
    """How many requests pass first."""

    @property
    def is_after(self) -> bool:
        return self.kind in AFTER_THE_EFFECT

    def answer(self, reset_at: int) -> Response:
        return ANSWERS[self.kind](reset_at)


@dataclass(slots=True)
class Faults:
    """The faults that were asked for, oldest first."""

    pending: list[Fault] = field(default_factory=list)

    def add(self, operation: str, *, times: int, kind: str, after: int = 0) -> None:
        if kind not in ANSWERS:
            raise ValueError(f"unknown kind of fault {kind!r}; known: {', '.join(ANSWERS)}")
        self.pending.append(Fault(operation=operation, kind=kind, times=times, after=after))

    def take(self, operation: str) -> Fault | None:
        """The fault this request meets, if any; it is used up."""
        for fault in self.pending:
            if fault.operation not in (operation, EVERY_OPERATION):
                continue
            if fault.after == 0:
                fault.times -= 1
                self.pending = [other for other in self.pending if other.times > 0]
                return fault
            fault.after -= 1
        return None
