"""Signing in: a token, in the address that is printed or in a form, begins a session of this browser's."""

import hmac
import ipaddress
import time
from collections import deque
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from overlord.entrypoints.web.visitor import Visitor
from overlord.settings.chat import LOOPBACK

FAILURES_A_MINUTE = 10
"""Tokens that are none, from one address; after that everybody there waits."""
WATCHED_S = 60.0
MOST_ADDRESSES = 10_000
MOST_ADDRESS_CHARS = 64
MOST_PATH_CHARS = 2000
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


def address_of(request: Request, *, is_behind_proxy: bool) -> str:
    """From where somebody asks. A proxy on this machine or in its network says it in its own words, the last of that header."""
    address = request.client.host if request.client is not None else ""
    said = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return said[:MOST_ADDRESS_CHARS] if is_behind_proxy and said and _is_near(address) else address


def _is_near(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_private
    except ValueError:
        return False


def is_secure(request: Request, url: str) -> bool:
    """Whether a browser came over TLS: by the page's own address (`url`) that says it, else what a proxy says counts."""
    if is_at(request, url):
        return url.startswith("https:")
    return "https" in {request.url.scheme, request.headers.get("x-forwarded-proto")}


def is_at(request: Request, url: str) -> bool:
    """Whether a browser asks by that address."""
    return bool(url) and request.headers.get("host", "").lower() == url.partition("://")[2]


def path_here(text: str) -> str:
    """An address on this page, of whatever stands in a form or an address: never another site's."""
    below = text[:MOST_PATH_CHARS].lstrip("/\\")
    return f"/{below}"


def signed_in(to: str, cookie: str, secret: str, *, is_secure: bool, lasts_s: int) -> Response:
    """Go on there, with a session's cookie."""
    response = RedirectResponse(to, 303)
    response.set_cookie(
        cookie, secret, max_age=lasts_s, httponly=True, samesite="lax", secure=is_secure, path="/"
    )
    return response


def is_ours(request: Request, url: str = "") -> bool:
    """Whether a form is sent from a page of ours. By the page's own address (`url`) that is told exactly; without one, a proxy may have
    changed how it came, and not where to."""
    origin = request.headers.get("origin")
    if origin is not None and (not url or origin != url):
        host = request.headers.get("host", "")
        if is_at(request, url) or origin.partition("://")[2] != host:
            return False
    return request.headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}


def is_theirs(visitor: Visitor, request: Request, sent: str, url: str = "") -> bool:
    """Whether a form was made for this visitor, on a page of ours."""
    return is_ours(request, url) and visitor.is_csrf(sent)


def is_this_machine(request: Request) -> bool:
    """Whether it is asked by a name of this machine: a page elsewhere that has its own name lead here is not us."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0].strip("[]") if host.rpartition(":")[2].isdigit() else host.strip("[]")
    if name in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
