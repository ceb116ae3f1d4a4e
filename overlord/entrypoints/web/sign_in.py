"""Signing in: a token, in the address that is printed or in a form, begins a session of this browser's."""

import hmac
import time
from collections import deque
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from overlord.entrypoints.web.visitor import Visitor

FAILURES_A_MINUTE = 10
"""Tokens that are none, from one address; after that everybody there waits."""
WATCHED_S = 60.0
MOST_ADDRESSES = 10_000
TOKEN = "token"


class Attempts:
    """How often somebody tried to sign in and could not, by their address."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[str, deque[float]] = {}

    def wait_s(self, address: str) -> float:
        """How long they have to wait before the next try; 0 for not at all."""
        failed = self._failed.get(address)
        if failed is None:
            return 0.0
        while failed and failed[0] <= self._now() - WATCHED_S:
            failed.popleft()
        if not failed:
            del self._failed[address]
            return 0.0
        return failed[0] + WATCHED_S - self._now() if len(failed) >= FAILURES_A_MINUTE else 0.0

    def note(self, address: str) -> None:
        """One more. Where too many addresses try, the oldest is forgotten."""
        if address not in self._failed and len(self._failed) >= MOST_ADDRESSES:
            del self._failed[next(iter(self._failed))]
        self._failed.setdefault(address, deque()).append(self._now())


def same(one: str, other: str) -> bool:
    """Whether two secrets are the same, in a time that says nothing."""
    return hmac.compare_digest(one.encode(), other.encode())


def without_token(request: Request) -> str:
    """The same address without the token in it, of this site and no other."""
    rest = request.url.remove_query_params(TOKEN)
    path = f"/{rest.path.lstrip('/')}"
    return f"{path}?{rest.query}" if rest.query else path


def signed_in(to: str, cookie: str, secret: str, *, is_secure: bool, lasts_s: int) -> Response:
    """Go on there, with a session's cookie."""
    response = RedirectResponse(to, 303)
    response.set_cookie(
        cookie, secret, max_age=lasts_s, httponly=True, samesite="lax", secure=is_secure, path="/"
    )
    return response


def is_ours(request: Request) -> bool:
    """Whether a form is sent from a page of ours: a proxy may have changed how it came, and not where to."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host", ""):
        return False
    return request.headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}


def is_theirs(visitor: Visitor, request: Request, sent: str) -> bool:
    """Whether a form was made for this visitor, on a page of ours."""
    return is_ours(request) and visitor.is_csrf(sent)
