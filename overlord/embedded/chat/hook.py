"""Signed deliveries: what Socket Mode carries, posted to an address of the app's, each signed as Slack signs."""

import hashlib
import hmac
import json
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import httpx

from overlord.embedded.chat.payload import TOKEN
from overlord.embedded.chat.record import Json


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Slack's signature, version 0."""
    signed = b":".join([b"v0", timestamp.encode(), body])
    return f"v0={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def signed_headers(secret: str, body: bytes, *, at: datetime, content_type: str) -> dict[str, str]:
    timestamp = str(int(at.timestamp()))
    return {
        "content-type": content_type,
        "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": signature(secret, timestamp, body),
    }


def encoded(kind: str, payload: Mapping[str, Any]) -> tuple[bytes, str]:
    """A payload as Slack writes it, and its content type: commands and presses are forms, events are JSON."""
    if kind == "slash_commands":
        return urlencode(payload).encode(), "application/x-www-form-urlencoded"
    text = json.dumps(payload)
    if kind == "interactive":
        return urlencode({"payload": text}).encode(), "application/x-www-form-urlencoded"
    return text.encode(), "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """One delivery as it went out, and what came back. Status 0: nothing did."""

    headers: Mapping[str, str]
    body: bytes
    status: int = 0
    answer: bytes = b""
    is_late: bool = False

    @property
    def payload(self) -> Json | None:
        """What the app said with its acknowledgement, when it said something: JSON, or words."""
        if not self.answer.strip():
            return None
        try:
            answer = json.loads(self.answer)
        except (ValueError, RecursionError):
            return {"text": self.answer.decode(errors="replace")}
        return answer if isinstance(answer, dict) else None


class Hook:
    """Posts to one address."""

    def __init__(self, url: str, secret: str, *, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s
        self.posted: list[Posted] = []
        """Everything that went out, oldest first."""
        self._secret = secret
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # this chat knows plain addresses on its own machine
        self._client = httpx.AsyncClient(trust_env=False, verify=nobody)

    async def send(
        self, kind: str, payload: Json, *, at: datetime, attempt: int = 0, reason: str = ""
    ) -> Posted:
        body, content_type = encoded(kind, payload)
        headers = signed_headers(self._secret, body, at=at, content_type=content_type)
        if attempt:
            headers |= {"x-slack-retry-num": str(attempt), "x-slack-retry-reason": reason}
        return await self.post(headers, body)

    async def post(self, headers: Mapping[str, str], body: bytes) -> Posted:
        """Send these very bytes."""
        status, answer, is_late = 0, b"", False
        try:
            response = await self._client.post(
                self.url, content=body, headers=dict(headers), timeout=self.timeout_s
            )
            status, answer = response.status_code, response.content
        except httpx.TimeoutException:
            is_late = True
        except httpx.HTTPError:
            pass  # refused or cut: status 0 says it
        posted = Posted(headers=headers, body=body, status=status, answer=answer, is_late=is_late)
        self.posted.append(posted)
        return posted

    async def verify(self, *, at: datetime) -> None:
        """Ask the address to show that it is the app's, as Slack does before it sends anything else."""
        challenge = secrets.token_hex(16)
        asked = {"token": TOKEN, "challenge": challenge, "type": "url_verification"}
        posted = await self.send("events_api", asked, at=at)
        answer = posted.payload or {}
        if posted.status != 200 or challenge not in (answer.get("challenge"), answer.get("text")):
            raise ValueError(f"{self.url} did not answer the challenge: status {posted.status}")

    async def close(self) -> None:
        await self._client.aclose()
