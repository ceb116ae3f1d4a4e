"""`POST /webhooks/github`: an event that carries the secret's signature makes a poll due, and nothing of it is believed.

The delivery's id is not part of what is signed, so whoever has one signed body can send it again under another id. All that
gets them is a poll, and polls for hints are few (`engine/runtime/hint.py`). For the same reason a bounded memory of ids, gone with
the daemon, is enough: it spares polls for redeliveries, and no fact hangs on it.
"""

import hmac
import json
import re
from collections.abc import Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MAX_BYTES = 1 << 20
"""GitHub sends up to 25 MB; what is longer than this has the next poll to be seen by."""
REMEMBERED = 4096

SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
DELIVERY = re.compile(r"[0-9A-Za-z-]{1,64}")
EVENT = re.compile(r"[a-z_]{1,64}")
UNSIGNED = "this is not signed with the webhook's secret"
"""Whatever is wrong with a signature or a header, a stranger is told the same."""


class Webhook:
    """`notify` is called with the repository of each new event, as the settings of then (`repositories`) spell it."""

    def __init__(
        self,
        secret: str,
        repositories: Callable[[], Sequence[str]],
        notify: Callable[[str], None],
        *,
        remembered: int = REMEMBERED,
    ) -> None:
        self._secret = secret.encode()
        self._repositories = repositories
        self._take_in = notify
        self._deliveries: dict[str, None] = {}
        self._remembered = remembered

    async def answer(self, request: Request) -> Response:
        """200 for a ping, 202 for anything else that is signed as it should be; raises HTTPException for the rest."""
        if not self._secret:
            raise HTTPException(404)
        body = await _body(request)
        event, delivery = self._signed(request, body)
        if _media_type(request) != "application/json":
            raise HTTPException(415, "send application/json")
        payload = _parsed(body)
        if event == "ping":
            return JSONResponse({"status": "pong"})
        return JSONResponse({"status": self._take(delivery, payload)}, 202)

    def _take(self, delivery: str, payload: dict[str, object]) -> str:
        if delivery in self._deliveries:
            return "known already"
        self._deliveries[delivery] = None
        if len(self._deliveries) > self._remembered:
            del self._deliveries[next(iter(self._deliveries))]
        text = _repository(payload).casefold()
        space = next((name for name in self._repositories() if name.casefold() == text), None)
        if space is None:
            return "not a repository in this Overlord's care"
        self._take_in(space)
        return "accepted"

    def _signed(self, request: Request, body: bytes) -> tuple[str, str]:
        """The event's name and the delivery's id, of a request whose body the secret signed."""
        signature = _only(request, "x-hub-signature-256", SIGNATURE)
        event = _only(request, "x-github-event", EVENT)
        delivery = _only(request, "x-github-delivery", DELIVERY)
        expected = b"sha256=" + hmac.digest(self._secret, body, "sha256").hex().encode()
        if not hmac.compare_digest(signature.encode(), expected):
            raise HTTPException(401, UNSIGNED)
        return event, delivery


def _only(request: Request, name: str, form: re.Pattern[str]) -> str:
    """A header that is there once and looks as GitHub's do."""
    values = request.headers.getlist(name)
    if len(values) != 1 or not form.fullmatch(values[0]):
        raise HTTPException(401, UNSIGNED)
    return values[0]


async def _body(request: Request) -> bytes:
    if int(request.headers.get("content-length", "0")) > MAX_BYTES:
        raise HTTPException(413, f"at most {MAX_BYTES} bytes")
    body = bytearray()
    async for chunk in request.stream():
        if len(body) + len(chunk) > MAX_BYTES:
            raise HTTPException(413, f"at most {MAX_BYTES} bytes")
        body += chunk
    return bytes(body)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _parsed(body: bytes) -> dict[str, object]:
    try:
        payload = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(payload, dict):
        raise HTTPException(400, "the body is not a JSON object")
    return payload


def _repository(payload: dict[str, object]) -> str:
    """The name of the repository an event is about; empty for one that is about none."""
    repository = payload.get("repository")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) else ""
