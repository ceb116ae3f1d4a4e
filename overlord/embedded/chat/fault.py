"""What can go wrong at Slack's end, on request: each fault happens before or after the effect, as its name says.

`timeout-after`, `reset-after` and `bad-json` come after it; every other one comes instead. `error:<word>` is an answer
that Slack words, with status 200.
"""

from collections.abc import Callable

from starlette.responses import HTMLResponse, JSONResponse, Response

from overlord.embedded.chat.problem import limited
from overlord.embedded.fault import BROKEN, LIMIT_WAIT_S, Fault, Faults

ERROR = "error:"


def _limited() -> Response:
    problem = limited(LIMIT_WAIT_S)
    return JSONResponse(problem.body(), 429, problem.headers())


ANSWERS: dict[str, Callable[[], Response]] = {
    "429": _limited,
    "500": lambda: JSONResponse({"ok": False, "error": "internal_error"}, 500),
    "502-html": lambda: HTMLResponse("<html><body>Server Error</body></html>", 502),
    "503": lambda: JSONResponse({"ok": False, "error": "service_unavailable"}, 503),
    "bad-json": lambda: Response(b'{"ok": true, "chan', media_type="application/json"),
}


def faults() -> Faults:
    """None yet, of the kinds there are here."""
    return Faults([*ANSWERS, *BROKEN], prefix=ERROR)


def word_of(fault: Fault) -> str:
    """What the transcript says it was."""
    return fault.kind.removeprefix(ERROR)


def answer(fault: Fault) -> Response:
    """What a call that meets a fault gets."""
    if fault.kind.startswith(ERROR):
        return JSONResponse({"ok": False, "error": word_of(fault)})
    return BROKEN[fault.kind]() if fault.kind in BROKEN else ANSWERS[fault.kind]()
