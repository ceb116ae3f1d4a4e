"""A webhook of the embedded forge: signed as GitHub signs, sent beside everything else, and kept so that it can be sent again.

A listener that is slow, gone or refuses delays and fails its own deliveries only; nothing is tried again by itself.
"""

import asyncio
import hashlib
import hmac
import json
import ssl
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

TIMEOUT_S = 10.0
"""After so long GitHub counts a delivery as failed."""
MOST_WAITING = 1000
MOST_KEPT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event as it is sent. Status 0: it has had no answer."""

    id: str
    event: str
    action: str
    headers: Mapping[str, str]
    body: bytes
    status: int = 0
    is_redelivery: bool = False


class Hook:
    """Sends to one address, one delivery after the other, from `open` until `close`."""

    def __init__(self, number: int, url: str, secret: str) -> None:
        self.id = number
        self.url = url
        self.deliveries: deque[Delivery] = deque(maxlen=MOST_KEPT)
        """What was sent, oldest first."""
        self._secret = secret.encode()
        self._waiting: asyncio.Queue[Delivery] = asyncio.Queue(MOST_WAITING)
        self._sending: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._sending = asyncio.create_task(self._send_all())

    def close(self) -> None:
        """Stop sending; what waits is not sent."""
        if self._sending is not None:
            self._sending.cancel()

    def send(self, event: str, payload: Mapping[str, Any], *, target_id: int) -> None:
        """Have an event sent; one too many is dropped, as nobody is kept waiting for a listener."""
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        number = str(uuid.uuid4())
        headers = {
            "accept": "*/*",
            "content-type": "application/json",
            "user-agent": "GitHub-Hookshot/embedded",
            "x-github-delivery": number,
            "x-github-event": event,
            "x-github-hook-id": str(self.id),
            "x-github-hook-installation-target-id": str(target_id),
            "x-github-hook-installation-target-type": "repository",
            **self._signatures(body),
        }
        action = str(payload.get("action", ""))
        self._enqueue(Delivery(id=number, event=event, action=action, headers=headers, body=body))

    def redeliver(self, delivery: Delivery) -> None:
        """Send once more what was sent before, under the same id."""
        self._enqueue(replace(delivery, status=0, is_redelivery=True))

    async def sent(self) -> None:
        """Wait until nothing is left to send."""
        await asyncio.sleep(0)  # what happened a moment ago is put in line by the loop
        await self._waiting.join()

    def _signatures(self, body: bytes) -> dict[str, str]:
        if not self._secret:
            return {}
        kinds = {"x-hub-signature": "sha1", "x-hub-signature-256": "sha256"}
        return {
            name: f"{kind}={hmac.new(self._secret, body, getattr(hashlib, kind)).hexdigest()}"
            for name, kind in kinds.items()
        }

    def _enqueue(self, delivery: Delivery) -> None:
        if not self._waiting.full():
            self._waiting.put_nowait(delivery)

    async def _send_all(self) -> None:
        nobody = ssl.SSLContext(
            ssl.PROTOCOL_TLS_CLIENT
        )  # this forge knows plain addresses on its own machine
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False, verify=nobody) as client:
            while True:
                delivery = await self._waiting.get()
                status = await self._send(client, delivery)
                self.deliveries.append(replace(delivery, status=status))
                self._waiting.task_done()

    async def _send(self, client: httpx.AsyncClient, delivery: Delivery) -> int:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await client.post(self.url, content=delivery.body, headers=dict(delivery.headers))
        except (httpx.HTTPError, TimeoutError):
            return 0
        return answer.status_code
