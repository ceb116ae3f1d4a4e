"""What can go wrong at GitHub's end, on request: each fault happens before or after the effect, as its name says.

Plain statuses, limits and HTML happen instead of the effect; `timeout-after`, `reset-after` and `bad-json` after it.
"""

from collections.abc import Callable

from starlette.responses import HTMLResponse, Response

from overlord.embedded.fault import BROKEN, LIMIT_WAIT_S, Fault, Faults
from overlord.embedded.forge.api.problem import Problem, forbidden, invalid, missing
from overlord.embedded.forge.api.reply import MEDIA_TYPE, refusal


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
    "bad-json": lambda _: Response(b'{"id": 1, "numb', media_type=MEDIA_TYPE),
}


def faults() -> Faults:
    """None yet, of the kinds there are here."""
    return Faults([*ANSWERS, *BROKEN])


def answer(fault: Fault, reset_at: int) -> Response:
    """What a request that meets a fault gets; limits end at `reset_at`, in seconds since 1970."""
    return BROKEN[fault.kind]() if fault.kind in BROKEN else ANSWERS[fault.kind](reset_at)
