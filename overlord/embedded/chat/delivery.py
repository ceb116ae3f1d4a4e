"""How what people do reaches the app: over its connections or to its address, in time or not at all.

Commands and presses are sent once. Events are sent again, up to three times, and wait for a connection when there is none.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from overlord.embedded.chat import block_text
from overlord.embedded.chat.hook import Hook, Posted
from overlord.embedded.chat.link import LinkLost, Links
from overlord.embedded.chat.record import Json, Message, ResponseAddress
from overlord.embedded.chat.workspace import Workspace

COMMANDS, PRESSES, EVENTS = "slash_commands", "interactive", "events_api"
ACK_TIMEOUT_S = 3.0
"""How long Slack waits for an acknowledgement."""
RETRY_AFTER_S = (0.0, 60.0, 300.0)
"""How long Slack waits before it sends an event again."""
MOST_WAITING = 1000
"""Events that wait for the app; one too many is dropped."""
TIMED_OUT, UNREACHABLE = "operation_timeout", "dispatch_failed"


@dataclass(slots=True, kw_only=True, eq=False)
class Delivered:
    """Something a person did, on its way to the app, and what came back."""

    kind: str
    payload: Json
    user: str = ""
    channel: str = ""
    ts: str = ""
    """The message that was written, or whose button was pressed."""
    acked: bool = False
    error: str = ""
    """What the person is told when it did not arrive; empty when it did."""
    answer: Json | None = None
    """What the acknowledgement carried."""
    attempts: int = 0
    address: ResponseAddress | None = None
    posted: Posted | None = None
    """The request that carried it last, when it went to an address."""
    shown: Message | None = None
    """What the acknowledgement made the person see."""

    @property
    def responses(self) -> Sequence[Json]:
        """Everything that was sent to its response address, oldest first."""
        return self.address.answers if self.address else ()

    @property
    def plain(self) -> str:
        """Everything the person was told in return, in order."""
        lines = [self.error] if self.error else []
        lines += [self.shown.plain] if self.shown else []
        for body in self.responses:
            lines.append(
                block_text.plain(body["blocks"]) if body.get("blocks") else str(body.get("text", ""))
            )
        return "\n".join(lines)


class Deliveries:
    """The way to the app: its address when it has named one, else its connections."""

    def __init__(self, workspace: Workspace, *, ack_timeout_s: float, retry_after_s: Sequence[float]) -> None:
        self.ack_timeout_s = ack_timeout_s
        self.links = Links(self._look)
        self.hook: Hook | None = None
        self._workspace = workspace
        self._retry_after_s = retry_after_s
        self._is_open = False
        self._reachable = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def is_reachable(self) -> bool:
        """Whether there is a way to the app."""
        return self._reachable.is_set()

    async def send_to(self, url: str, secret: str) -> Hook:
        """From now on post everything there, once the address has answered the challenge."""
        hook = Hook(url, secret, timeout_s=self.ack_timeout_s)
        try:
            await hook.verify(at=self._workspace.now())
        except ValueError:
            await hook.close()
            raise
        self.hook = hook
        self._look()
        return hook

    async def deliver(self, delivered: Delivered) -> Delivered:
        """Send once, and wait for what comes back; an event that did not arrive is sent again beside everything else."""
        if delivered.kind == EVENTS and not self._reachable.is_set():
            self.deliver_soon(delivered)
        elif not await self._attempt(delivered) and delivered.kind == EVENTS:
            self._start_task(self._again(delivered))
        return delivered

    def deliver_soon(self, delivered: Delivered) -> None:
        """Send an event beside everything else, when the app can be reached."""
        if self._is_open and len(self._under_way) < MOST_WAITING:
            self._start_task(self._until_it_arrives(delivered))

    async def replay(self, delivered: Delivered) -> Delivered:
        """Send the very same once more; to an address, the very same bytes."""
        again = Delivered(
            kind=delivered.kind,
            payload=delivered.payload,
            user=delivered.user,
            channel=delivered.channel,
            ts=delivered.ts,
            address=delivered.address,
        )
        if self.hook is not None and delivered.posted is not None:
            again.attempts = 1
            self._note(again, await self.hook.post(delivered.posted.headers, delivered.posted.body))
        else:
            await self._attempt(again)
        return again

    async def arrived(self) -> None:
        """Wait until nothing is on its way any more. What waits for an app that is away is not on its way."""
        await self._workspace.until(lambda: not (self._under_way and self.is_reachable))

    def open(self) -> None:
        """Begin to tell of events. What happened before is told to nobody."""
        self._is_open = True

    async def close(self) -> None:
        self._is_open = False
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self.hook is not None:
            await self.hook.close()
            self.hook = None
        self._look()

    # One attempt

    async def _attempt(self, delivered: Delivered) -> bool:
        delivered.attempts += 1
        number, reason = delivered.attempts - 1, "timeout" if delivered.attempts > 1 else ""
        if self.hook is not None:
            reason = "http_timeout" if delivered.posted and delivered.posted.is_late else "http_error"
            at = self._workspace.now()
            posted = await self.hook.send(
                delivered.kind, delivered.payload, at=at, attempt=number, reason=reason
            )
            self._note(delivered, posted)
            return delivered.acked
        link = self.links.next()
        if link is None:
            delivered.error = UNREACHABLE
            return False
        try:
            async with asyncio.timeout(self.ack_timeout_s):
                ack = await link.send(delivered.kind, delivered.payload, attempt=number, reason=reason)
        except (LinkLost, TimeoutError):
            delivered.error = TIMED_OUT
            return False
        delivered.acked, delivered.error, delivered.answer = True, "", ack.payload
        return True

    def _note(self, delivered: Delivered, posted: Posted) -> None:
        delivered.posted = posted
        delivered.acked = 200 <= posted.status < 300
        delivered.answer = posted.payload if delivered.acked else None
        delivered.error = "" if delivered.acked else TIMED_OUT if posted.is_late else UNREACHABLE

    # Events, again

    async def _until_it_arrives(self, delivered: Delivered) -> None:
        await self._reachable.wait()
        if not await self._attempt(delivered):
            await self._again(delivered)

    async def _again(self, delivered: Delivered) -> None:
        for wait_s in self._retry_after_s:
            await asyncio.sleep(wait_s)
            await self._reachable.wait()
            if await self._attempt(delivered):
                return

    def _look(self) -> None:
        """Whether the app can be reached has changed."""
        if self.hook is not None or self.links.next() is not None:
            self._reachable.set()
        else:
            self._reachable.clear()
        self._workspace.change()

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._finish_task)

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._workspace.change()
