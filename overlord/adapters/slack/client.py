"""Slack's Web API over its own SDK: one call, with a timeout, and every failure translated once, here.

Nothing that leaves this file as an exception carries a token: foreign exceptions are not chained, because the requests
they hold do. Nothing is repeated but a read whose connection broke: whether a message was posted, the engine looks.
"""

import json
import logging
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import httpx
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from overlord.adapters.http import is_loopback
from overlord.adapters.slack.refusal import meaning
from overlord.errors import ChatExpired, ChatRefused, ChatUnavailable, ExternalServiceError

ANSWER_BYTES = 2000
"""As much as is read of what an address for answers says."""
GONE = frozenset({404, 410})
WORD = re.compile("[a-z_]{1,80}")
BROKEN = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)

_LOG = logging.getLogger("overlord.slack")
_LOG.setLevel(logging.WARNING)
"""Below it the SDK writes down whole messages."""


class _Dropped(ChatUnavailable):
    """The connection broke or was never made."""


class SlackClient:
    """One workspace, as one bot. What it opens, it opens when it is first needed, in the loop that runs then."""

    def __init__(
        self,
        *,
        api_url: str,
        bot_token: str,
        timeout_s: float,
        now: Callable[[], datetime],
        hooks: Sequence[str],
    ) -> None:
        self._api_url = api_url
        self._bot_token = bot_token
        self._timeout_s = timeout_s
        self._now = now
        self._hooks = [URL(hook) for hook in (str(URL(api_url).origin()), *hooks)]
        self._session: aiohttp.ClientSession | None = None

    async def read(self, method: str, **asked: str | int) -> Mapping[str, Any]:
        """Ask for something; once more where the connection broke. By POST: aiohttp repeats a GET as it likes."""
        data = {name: str(value) for name, value in asked.items()}
        try:
            return await self._call(method, data=data)
        except _Dropped:
            return await self._call(method, data=data)

    async def write(self, method: str, **arguments: Any) -> Mapping[str, Any]:
        """Do something, once. After ChatUnavailable it may have been done."""
        return await self._call(
            method, json={name: value for name, value in arguments.items() if value is not None}
        )

    async def send(self, address: str, payload: Mapping[str, Any]) -> None:
        """Post to an address for answers that came with a command or a press, without our token."""
        if not self._is_ours(address):
            raise ChatRefused("an answer would go to an address that is not Slack's")
        try:
            async with self._opened().post(URL(address), json=payload) as answer:
                body = (await answer.content.read(ANSWER_BYTES)).decode(errors="replace").strip()
                status, wait_s = answer.status, self._wait_s(answer.headers)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise self._unanswered(error, "an answer") from None
        reply = _parsed_answer(body)
        if status in GONE:
            raise ChatExpired(
                "an answer came too late: its address is good for half an hour and five answers"
            )
        if status != 200 or reply.get("ok") is not True:
            raise meaning("an answer", status, reply, wait_s)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def granted(self) -> frozenset[str]:
        """The scopes of the token; none where Slack does not tell."""
        answer = await self._answer("auth.test")
        text = str(answer.headers.get("x-oauth-scopes") or "")
        return frozenset(filter(None, (scope.strip() for scope in text.split(","))))

    async def _call(self, method: str, **arguments: Any) -> Mapping[str, Any]:
        answer = await self._answer(method, **arguments)
        try:
            return _mapping(answer.data)
        except TypeError:
            raise ChatUnavailable(f"{method}: the answer makes no sense") from None

    async def _answer(self, method: str, **arguments: Any) -> AsyncSlackResponse:
        try:
            return await self._sdk().api_call(method, **arguments)
        except SlackApiError as error:
            raise self._refusal(method, error.response) from None
        except (TimeoutError, SlackClientError, aiohttp.ClientError, OSError) as error:
            raise self._unanswered(error, method) from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ChatUnavailable(f"{method}: the answer makes no sense") from None

    def _refusal(self, method: str, answer: Any) -> ExternalServiceError:
        """The SDK's exception holds its own record of an answer, or aiohttp's where the body was no JSON."""
        status = int(answer.status if isinstance(answer, aiohttp.ClientResponse) else answer.status_code)
        data = {} if isinstance(answer, aiohttp.ClientResponse) else answer.data
        return meaning(
            method, status, data if isinstance(data, Mapping) else {}, self._wait_s(answer.headers)
        )

    def _unanswered(self, error: Exception, what: str) -> ChatUnavailable:
        if isinstance(error, TimeoutError):
            return ChatUnavailable(f"{what}: no answer within {self._timeout_s:g} s", is_away=True)
        kind = _Dropped if isinstance(error, BROKEN) else ChatUnavailable
        return kind(f"{what}: {type(error).__name__}", is_away=True)

    def _wait_s(self, headers: Mapping[str, str]) -> float | None:
        """What `Retry-After` asks for: seconds, or from a proxy also a date."""
        asked = headers.get("Retry-After", "")
        if asked.isascii() and asked.isdecimal():
            return float(asked)
        try:
            return max((parsedate_to_datetime(asked) - self._now()).total_seconds(), 1.0)
        except (ValueError, TypeError):
            return None

    def _is_ours(self, address: str) -> bool:
        """Whether an address is on one of Slack's places; another one would learn what is meant for one person."""
        try:
            url = URL(address)
            return any(
                url.user is None and url.origin() == hook.origin() and url.path.startswith(hook.path)
                for hook in self._hooks
            )
        except (ValueError, TypeError):
            return False

    def _sdk(self) -> AsyncWebClient:
        sdk = AsyncWebClient(
            token=self._bot_token,
            base_url=self._api_url,
            session=self._opened(),
            retry_handlers=[],
            logger=_LOG,
        )
        # The SDK would send everything through a proxy, this machine's own servers too. The session knows NO_PROXY.
        sdk.proxy = None
        return sdk

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            on_this_machine = is_loopback(self._api_url)
            trace = aiohttp.TraceConfig()
            trace.on_request_redirect.append(_refuse_redirect)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=_authorities(self._api_url)),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=not on_this_machine,
                trace_configs=[trace],
            )
        return self._session


async def _refuse_redirect(
    _session: aiohttp.ClientSession, _context: object, redirect: aiohttp.TraceRequestRedirectParams
) -> None:
    """Slack sends nobody elsewhere; whoever does, gets no token of ours."""
    redirect.response.close()
    raise aiohttp.TooManyRedirects(redirect.response.request_info, ())


def _authorities(api_url: str) -> ssl.SSLContext | bool:
    """Whom Slack's certificate may come from: the same as GitHub's."""
    return httpx.create_ssl_context() if URL(api_url).scheme == "https" else True


def _mapping(data: object) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise TypeError("not an object")
    return data


def _parsed_answer(body: str) -> Mapping[str, Any]:
    """An address for answers says a word, alone or as the Web API does."""
    if body in ("", "ok"):
        return {"ok": True}
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = {"error": body if WORD.fullmatch(body) else ""}
    return answer if isinstance(answer, Mapping) else {}
