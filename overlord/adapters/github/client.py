"""GitHub's API: one request, with a timeout, an ETag and every failure translated once, here.

Nothing that leaves this file as an exception carries a token: foreign exceptions are not chained, because the
requests they hold do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from gidgethub import GitHubException, HTTPException, RateLimitExceeded
from gidgethub.abc import GitHubAPI

from overlord.adapters.github.etag import CachedAnswer, EtagStore
from overlord.adapters.github.transport import Answer, GitHubTransport, Unanswered
from overlord.errors import ExternalServiceError, ForgeMissing, ForgeRefused, ForgeUnavailable
from overlord.metrics import Meters

GITHUB_API_URL = "https://api.github.com"
REQUESTER = "overlord"
TIMEOUT_S = 30.0
AT_ONCE = 8
"""Requests on their way at a time: GitHub asks clients to make few at once."""
SECONDARY_LIMIT_WAIT_S = 60.0
"""What GitHub asks for when it names no time itself."""
QUOTED_CHARS = 300


class ForgeUnauthorized(ForgeRefused):
    """The token was refused. Nothing was done with it."""


class ForgeForbidden(ForgeRefused):
    """The sign-in may not do this."""


class ForgeElsewhere(ForgeRefused):
    """What was asked for is at another address for now, and the forge says where."""

    def __init__(self, message: str, address: str) -> None:
        super().__init__(message)
        self.address = address


class ForgeRelocated(ForgeRefused):
    """What was asked for has another address for good. `address`: where, if the forge says."""

    def __init__(self, message: str, address: str) -> None:
        super().__init__(message)
        self.address = address


SIGN_IN = "sign-in was refused; check GITHUB_TOKEN, or the GitHub App's id and private key, and this machine's clock"
NOT_ACCESSIBLE = "Resource not accessible by"
MOVED = "it has moved; if the repository was renamed or transferred, name it anew in OVERLORD_REPOS"
REFUSALS: Mapping[int, tuple[type[ForgeRefused], str]] = {
    401: (ForgeUnauthorized, SIGN_IN),
    403: (ForgeForbidden, ""),
    404: (ForgeMissing, ""),
    410: (ForgeMissing, ""),
    451: (ForgeMissing, ""),
    307: (ForgeRefused, MOVED),
}
"""What a status means beyond a plain refusal, and what to do about it."""
REDIRECTS = {301: ForgeRelocated, 302: ForgeElsewhere, 308: ForgeRelocated}
"""They are not followed here: whoever asked knows whether the other address is to be asked, and by whom."""


RESOURCES = frozenset({"core", "graphql", "search"})
"""What GitHub calls the limits we meet."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """What a request is signed with: an access token, or an app's own short-lived JWT."""

    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)


class GitHubClient(GitHubAPI):
    """One external service: github.com, a GitHub Enterprise Server (`https://host/api/v3`), or what speaks like them."""

    def __init__(
        self,
        base_url: str = GITHUB_API_URL,
        *,
        timeout_s: float = TIMEOUT_S,
        etags: EtagStore | None = None,
        now: Callable[[], datetime] = utc_now,
        meters: Meters | None = None,
    ) -> None:
        super().__init__(REQUESTER, base_url=base_url.rstrip("/"))
        self.timeout_s = timeout_s
        self._etags = etags or EtagStore()
        self._now = now
        self._meters = meters or Meters()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._transport = GitHubTransport(base_url)

    @property
    def web_url(self) -> str:
        """Where git and people go: the address without what makes it the API's."""
        url = httpx.URL(self.base_url)
        path = url.path.rstrip("/").removesuffix("/api/v3")
        return str(url.copy_with(host=url.host.removeprefix("api."), path=path or "/")).rstrip("/")

    @property
    def graphql_url(self) -> str:
        return f"{self.base_url.removesuffix('/v3')}/graphql"

    def path_of(self, address: str) -> str | None:
        """What comes after the API's address; None when it is another's."""
        return address.removeprefix(self.base_url) if address.startswith(f"{self.base_url}/") else None

    async def ask(
        self, method: str, template: str, sign_in: SignIn, variables: Mapping[str, Any], data: Any = b""
    ) -> tuple[Any, str | None]:
        """One request; returns the decoded answer and the address of the next page, if there is one."""
        what = _described(method, template, variables)
        try:
            answer, following, _ = await self._make_request(
                method,
                template,
                variables,
                data,
                "application/vnd.github+json",
                jwt=sign_in.jwt,
                oauth_token=sign_in.token,
                extra_headers={"x-github-api-version": "2022-11-28"},
            )
        except (GitHubException, Unanswered) as error:
            raise self._translated(error, what) from None
        except TimeoutError:
            host = httpx.URL(self.base_url).host
            raise ForgeUnavailable(f"{what}: no answer within {self.timeout_s:g} s from {host}") from None
        except (ValueError, LookupError, TypeError):
            raise ForgeUnavailable(f"{what}: the answer makes no sense") from None
        return answer, following

    async def close(self) -> None:
        await self._transport.close()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self.path_of(url) is None and _origin(url) != _origin(self.base_url):
            raise ValueError("an address on another host would be sent our token")
        kept = self._etags.get(url) if method == "GET" else None
        condition = {"if-none-match": kept.etag} if kept else {}
        async with self._turns:  # whoever waits for theirs has no time limit: those before them have
            answer = await self._counted(self._transport.request(method, url, {**headers, **condition}, body))
        if kept and answer.status == 304:
            return 200, {**kept.headers, **_limits(answer.headers)}, kept.body
        if method == "GET" and answer.status == 200 and "etag" in answer.headers:
            self._etags.put(
                url, CachedAnswer(etag=answer.headers["etag"], headers=dict(answer.headers), body=answer.body)
            )
        return answer.status, answer.headers, answer.body

    async def _counted(self, request: Awaitable[Answer]) -> Answer:
        """An answer in time, with what it says of limits put down."""
        began_at, outcome = asyncio.get_running_loop().time(), "unanswered"
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await request
            outcome = _outcome(answer)
        finally:
            self._meters.forge_requests.add(outcome)
            self._meters.forge_request_s.observe(asyncio.get_running_loop().time() - began_at)
        if (left := answer.headers.get("x-ratelimit-remaining", "")).isdecimal():
            resource = answer.headers.get("x-ratelimit-resource", "core")
            self._meters.forge_requests_left.set(resource if resource in RESOURCES else "other", to=int(left))
        return answer

    def _translated(self, error: Exception, what: str) -> ExternalServiceError:
        """A foreign exception as ours: whose fault, and when to come back."""
        if not isinstance(error, HTTPException):
            why = str(error) if isinstance(error, Unanswered) else type(error).__name__
            return ForgeUnavailable(f"{what}: {why}")
        status = int(error.status_code)
        text = f"{what}: {status} {quoted(str(error))}"
        wait_s = self._wait_asked(error, status)
        if wait_s is not None:
            return ForgeUnavailable(f"{text}; asked to wait {wait_s:.0f} s", retry_after_s=wait_s)
        if status >= 500 or status == 408:
            return ForgeUnavailable(text)
        if status in REDIRECTS:
            return REDIRECTS[status](f"{text} ({MOVED})", self._joined(error.headers.get("location", "")))
        kind, advice = REFUSALS.get(status, (ForgeRefused, ""))
        advice = advice or _permission_advice(error)
        return kind(f"{text} ({advice})" if advice else text)

    def _joined(self, location: str) -> str:
        """Where a `Location` leads to; nowhere if it is no address."""
        try:
            return str(httpx.URL(self.base_url).join(location)) if location else ""
        except (httpx.InvalidURL, ValueError):
            return ""

    def _wait_asked(self, error: HTTPException, status: int) -> float | None:
        """How long GitHub wants to be left alone, or None when this is no such request."""
        if "retry-after" in error.headers and (status in (403, 429) or status >= 500):
            asked = error.headers["retry-after"]
            return float(asked) if asked.isdecimal() else SECONDARY_LIMIT_WAIT_S
        if isinstance(error, RateLimitExceeded):
            reset_at: datetime = error.rate_limit.reset_datetime
            return max((reset_at - self._now()).total_seconds(), 1.0)
        if status == 429 or (status == 403 and "rate limit" in str(error).lower()):
            return SECONDARY_LIMIT_WAIT_S
        return None


def _outcome(answer: Answer) -> str:
    """A word for how the forge took a request."""
    status = answer.status
    is_limit = "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    if status == 304:
        return "unchanged"
    if status < 400:
        return "ok"
    if status == 429 or (status == 403 and is_limit):
        return "limited"
    return "refused" if status < 500 else "failed"


def _permission_advice(error: HTTPException) -> str:
    """What GitHub would have wanted to see, of a refusal for want of a permission."""
    wanted = error.headers.get("x-accepted-github-permissions", "")
    if NOT_ACCESSIBLE not in str(error) or not wanted:
        return ""
    return f"the sign-in lacks a permission, one of: {quoted(wanted)}; `overlord doctor` looks at all of them"


def _described(method: str, template: str, variables: Mapping[str, Any]) -> str:
    """A request in a few words, without its query."""
    path, _, _ = template.partition("{?" if template.startswith("/") else "?")
    return f"{method} {path.format_map(variables) if path.startswith('/') else path}"


def _origin(url: str) -> tuple[str, str, int | None]:
    parsed = httpx.URL(url)
    return parsed.scheme, parsed.host, parsed.port


def _limits(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith("x-ratelimit-")}


def quoted(text: str) -> str:
    """Someone else's words, safe to print in one line."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable if len(printable) <= QUOTED_CHARS else printable[: QUOTED_CHARS - 1] + "…"
