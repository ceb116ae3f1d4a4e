"""Signing people in with GitHub: where they are sent, and who they are once they come back with a code.

GitHub calls it the web application flow of a GitHub App; an OAuth app's is the same. The code is worth something only together with
the client's secret and with the verifier whose hash went along at the start (PKCE, RFC 7636). The token that it is exchanged for is
asked one thing, whose it is, and is forgotten: what an account may do is asked with Overlord's own sign-in.

The answers are a stranger's: they are read up to a limit, within a time, and what is no account's name is none.
"""

import asyncio
import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx

from overlord.adapters.github.client import GITHUB_API_URL, REQUESTER, quoted
from overlord.adapters.github.transport import why_unanswered
from overlord.adapters.http import open_client
from overlord.domain.access import is_login
from overlord.domain.repositories.forge import web_of
from overlord.errors import ForgeRefused, ForgeUnavailable

TIMEOUT_S = 10.0
"""For the whole exchange: a person waits for it."""
MOST_BYTES = 65_536
AUTHORIZE, EXCHANGE = "/login/oauth/authorize", "/login/oauth/access_token"
CLIENT_REFUSED = frozenset({"incorrect_client_credentials", "redirect_uri_mismatch", "unverified_user_email"})
"""Refusals that another try does not help against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """What an App signs people in with."""

    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str
    """Where GitHub sends them back to, as the App's settings have it too."""
    api_url: str = GITHUB_API_URL
    timeout_s: float = TIMEOUT_S

    def address(self, state: str, verifier: str) -> str:
        """Where a person is sent, who comes back with `state`."""
        asked = {
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        return f"{web_of(self.api_url)}{AUTHORIZE}?{urlencode(asked)}"

    async def login(self, code: str, verifier: str) -> str:
        """The account that a code stands for. Raises ForgeRefused for a code that counts for nothing, ForgeUnavailable."""
        try:
            async with (
                asyncio.timeout(self.timeout_s),
                open_client(self.api_url, httpx.Timeout(self.timeout_s)) as client,
            ):
                token = await self._token(client, code, verifier)
                headers = {"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"}
                found = await _answer(client, "GET", f"{self.api_url.rstrip('/')}/user", headers)
        except httpx.HTTPError as error:
            raise ForgeUnavailable(f"GitHub: {why_unanswered(error, self.api_url, None)}") from None
        except TimeoutError:
            raise ForgeUnavailable(f"GitHub: no answer within {self.timeout_s:g} s") from None
        login = found.get("login")
        if not isinstance(login, str) or not is_login(login):
            raise ForgeRefused("GitHub says no account's name of who signed in")
        return login

    async def _token(self, client: httpx.AsyncClient, code: str, verifier: str) -> str:
        sent = {
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": verifier,
        }
        address = f"{web_of(self.api_url)}{EXCHANGE}"
        answer = await _answer(client, "POST", address, {"accept": "application/json"}, sent)
        token = answer.get("access_token")
        if isinstance(token, str) and token.isascii() and token.isprintable() and token:
            return token
        why = quoted(str(answer.get("error") or "no token"))
        if why in CLIENT_REFUSED:
            raise ForgeRefused(
                f"GitHub refuses this App's sign-in ({why}); check its client id, client secret and callback URL"
            )
        raise ForgeRefused(f"GitHub takes no such code ({why}); sign in once more")


def challenge_of(verifier: str) -> str:
    """What stands for a verifier until it is shown: its hash, as RFC 7636 has it."""
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


async def _answer(
    client: httpx.AsyncClient,
    method: str,
    address: str,
    headers: dict[str, str],
    sent: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The object that is answered. Raises ForgeUnavailable for what is none, ForgeRefused for a refusal, httpx's own."""
    given = {"user-agent": REQUESTER, **headers}
    body = bytearray()
    async with client.stream(method, address, headers=given, data=sent) as response:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                raise ForgeUnavailable("GitHub: the answer is too long")
    if response.status_code >= 500 or response.status_code in {408, 429}:
        raise ForgeUnavailable(f"GitHub answers {response.status_code}")
    if response.status_code != 200:
        raise ForgeRefused(f"GitHub refuses the sign-in ({response.status_code})")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ForgeUnavailable("GitHub: the answer makes no sense")
    return found
