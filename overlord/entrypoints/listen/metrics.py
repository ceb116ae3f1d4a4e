"""`GET /metrics`: what a Prometheus scrapes. State and sums come from the database, durations from the meters of this process.

It names repositories and says what was spent, so it is for who has the token; where none is set, for who reaches the listener
itself by a name of its own machine: what a proxy passes on comes from anybody, and a page in a browser can have its own name
lead here. However often it is asked, the database is read once in a while.
"""

import asyncio
import hmac
import ipaddress
import re
import sqlite3
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import override

from overlord.app import Overlord
from overlord.entrypoints.listen.families import counted, gauges, timed
from overlord.errors import StoreError
from overlord.store import counts

KNOWN_FOR_S = 1.0
"""How long one reading is told again without another."""
ANSWER_S = 5.0
PASSED_ON = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""What proxies add to a request."""
HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")


def refusal(request: Request, token: bytes, *, listened: str) -> Response | None:
    """What somebody is answered who is not to be told which repositories there are; None for who may be."""
    if token:
        shown = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(shown, b"Bearer " + token):
            return JSONResponse({"error": "send the metrics token as a bearer token"}, 401)
    elif any(name in request.headers for name in PASSED_ON):
        return JSONResponse({"error": "through a proxy this needs listen.metrics_token"}, 403)
    elif not is_own_host(request.headers.getlist("host"), listened):
        return JSONResponse({"error": "by this name of the host it needs listen.metrics_token"}, 403)
    return None


class Metrics:
    """The numbers of one Overlord."""

    def __init__(self, running: Overlord, token: str, *, listened: str) -> None:
        """`listened`: the host of the settings' address."""
        self._running = running
        self._token = token.encode()
        self._listened = listened
        self._reading = asyncio.Lock()
        self._known: tuple[float, bytes] | None = None
        self._redactor = running.parts.current.redactor

    async def answer(self, request: Request) -> Response:
        """200 with the text exposition; 401 without the token; where there is none, 403 for what a proxy passed on, and for
        another `Host` than this machine's."""
        if (refused := refusal(request, self._token, listened=self._listened)) is not None:
            return refused
        try:
            async with asyncio.timeout(ANSWER_S):
                return Response(await self._text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
        except (StoreError, sqlite3.DatabaseError, OSError):  # TimeoutError is one
            return JSONResponse({"error": "the database is another daemon's, or cannot be used"}, 503)

    async def _text(self) -> bytes:
        now = self._running.parts.clock.monotonic()
        async with self._reading:
            if self._known is None or now - self._known[0] >= KNOWN_FOR_S:
                self._known = now, await self._read()
        return self._known[1]

    async def _read(self) -> bytes:
        parts = self._running.parts
        found = await parts.database.read(counts.take)
        families = [
            *gauges(found, parts.settings, at=parts.clock.now(), free_bytes=parts.home.room().bytes),
            *counted(found),
            *timed(parts.meters, found),
            _build(parts.runner.name),
        ]
        registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=registry)
        registry.register(_ReadyFamilies(families))
        return self._redactor.redact(generate_latest(registry).decode()).encode()


def is_own_host(hosts: Sequence[str], listened: str) -> bool:
    """Whether a request's `Host` headers are one, and that names this machine's loopback, or what the listener was told to
    listen on. A browser says there the name that a page was loaded from, whatever address it has by now."""
    found = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if found is None:
        return False
    name = found["name"].strip("[]").casefold()
    if name in ("localhost", listened.casefold()):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _ReadyFamilies(Collector):
    """Families that are there already, as a registry wants them."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    @override
    def collect(self) -> Iterable[Metric]:
        return self._families


def _build(runner: str) -> Metric:
    found = Metric("overlord_build_info", "Which Overlord this is; always 1.", "gauge")
    found.add_sample("overlord_build_info", {"version": version("overlord"), "runner": runner}, 1)
    return found
