"""The embedded chat as its owner holds it: what people do in Slack, what they see there, and what goes wrong.

Nothing is kept: a chat lives as long as its object.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from starlette.types import Receive, Scope, Send

from overlord.embedded.chat.delivery import ACK_TIMEOUT_S, RETRY_AFTER_S, Delivered, Deliveries
from overlord.embedded.chat.hook import Hook
from overlord.embedded.chat.interaction import Interactions
from overlord.embedded.chat.link import SocketProtocol
from overlord.embedded.chat.page import Page
from overlord.embedded.chat.people import COMMAND, People
from overlord.embedded.chat.record import Button, Group, Message, RecordedCall, View
from overlord.embedded.chat.telling import transcript
from overlord.embedded.chat.wire import KNOWN_METHODS, Wire
from overlord.embedded.chat.workspace import STRANGERS, Workspace, utc_now
from overlord.embedded.server import serve

CHANNEL = "overlord"

PATIENCE_S = 180.0
"""How long something is waited for that should come; only where something is broken it does not."""


class EmbeddedChat:
    """A Slack-shaped server and the people around it. It is an ASGI application; `serve` puts it on a port.

    One channel is there from the start, and the bot is in it. Everybody may be named by id or by name.
    """

    def __init__(
        self,
        *,
        now: Callable[[], datetime] = utc_now,
        ack_timeout_s: float = ACK_TIMEOUT_S,
        retry_after_s: Sequence[float] = RETRY_AFTER_S,
        first_id: int = 1,
        looks: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """`first_id`: where the numbers in its ids begin; another chat's are no names in this one. `looks`: the style sheet that its
        page's own builds on, `style.css`, and its `icon.svg`."""
        self.workspace = Workspace(now, first_id)
        self.interactions = Interactions(self.workspace)
        self.deliveries = Deliveries(self.workspace, ack_timeout_s=ack_timeout_s, retry_after_s=retry_after_s)
        self.wire = Wire(self.workspace, self.interactions, self.deliveries)
        self.people = People(self.workspace, self.interactions, self.deliveries, self.wire)
        self.page = Page(self.workspace, self.interactions, self.people, looks)
        self.workspace.deliver = self.people.deliver
        self.bot_token = f"xoxb-{secrets.token_hex(12)}"
        """What Overlord calls the Web API with."""
        self.app_token = f"xapp-1-{secrets.token_hex(12)}"
        """What Overlord opens connections with."""
        self.wire.tokens = {self.bot_token: False, self.app_token: True}
        self.signing_secret = secrets.token_hex(16)
        """What deliveries to an address are signed with."""
        self.team = self.workspace.team
        self.bot_user = self.workspace.bot.id
        self.channel = self.workspace.open_channel(CHANNEL, has_bot=True).id
        """Where everything is said that does not say where."""
        self.page.channel = self.channel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.page.serves(scope["path"]):
            await self.page(scope, receive, send)
        else:
            await self.wire(scope, receive, send)

    @asynccontextmanager
    async def serve(self, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
        """Serve the Web API (at `/api/`), Socket Mode and the page for as long as the block lasts; gives the URL.

        It may be served again afterwards, and has what it had; deliveries to an address have to be asked for anew.
        """
        async with serve(self, host=host, port=port, ws=SocketProtocol) as served_at:
            # Where it listens on every address, it is asked for at this machine's own: no browser is let in by another.
            self.wire.base_url = base_url = served_at.replace("//0.0.0.0:", "//127.0.0.1:")
            self.deliveries.open()
            self.page.open()
            try:
                yield base_url
            finally:
                self.page.close()
                await self.deliveries.close()

    @property
    def base_url(self) -> str:
        return self.wire.base_url

    @property
    def page_user(self) -> str:
        """Who acts on the page; they come in when this is first asked."""
        return self.page.user

    def page_url(self, base_url: str = "") -> str:
        """Where the page is, with what lets a browser in. Until this was asked for, nobody is let in."""
        return self.page.url(base_url or self.base_url)

    @property
    def requests(self) -> list[RecordedCall]:
        """Every call so far, oldest first."""
        return self.wire.requests

    # What goes wrong

    def fail(self, method: str, *, kind: str = "500", times: int = 1, after: int = 0) -> None:
        """Let `times` calls of a method go wrong, after so many more; kinds are those of `fault.ANSWERS`, and `error:<word>`.

        Methods have Slack's names, or are `response` (an answer to a response address), or `*` for any.
        """
        if method not in KNOWN_METHODS:
            raise ValueError(f"unknown method {method!r}; known: {', '.join(sorted(KNOWN_METHODS))}")
        self.wire.faults.add(method, times=times, kind=kind, after=after)

    def mend(self) -> None:
        """Let nothing go wrong any more that was to."""
        self.wire.faults.pending.clear()

    def limit(self, *, per_channel_s: float) -> None:
        """Let posts to a channel be so far apart at least, by the chat's clock; 0 for any distance."""
        self.wire.per_channel_s = per_channel_s

    def revoke(self, token: str) -> None:
        """A token is good no more."""
        self.wire.revoked.add(token)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask the app to connect anew: `warning`, `refresh_requested` or `link_disabled`."""
        await self.deliveries.links.disconnect(reason)

    def drop_links(self) -> None:
        """Cut the app's connections without a word."""
        self.deliveries.links.drop()

    @property
    def links(self) -> int:
        """How many connections of the app are used."""
        return sum(link.is_taking for link in self.deliveries.links.open)

    async def deliver_to(self, url: str, signing_secret: str | None = None) -> Hook:
        """From now on send everything to an address instead, signed; ValueError when it does not answer the challenge."""
        return await self.deliveries.send_to(url, signing_secret or self.signing_secret)

    # Who is there

    def add_user(
        self,
        name: str,
        *,
        is_bot: bool = False,
        is_guest: bool = False,
        is_gone: bool = False,
        team: str | None = None,
        real_name: str = "",
    ) -> str:
        """Somebody comes in, from another workspace if `team` names one; returns their id."""
        person = self.workspace.enter(
            name,
            is_bot=is_bot,
            is_guest=is_guest,
            is_gone=is_gone,
            team=team or self.team,
            is_stranger=team not in (None, self.team),
            real_name=real_name,
        )
        return person.id

    def add_stranger(self, name: str) -> str:
        """Somebody of another workspace, who is here through a shared channel; returns their id."""
        return self.add_user(name, team=STRANGERS)

    def deactivate(self, user: str) -> None:
        """Somebody leaves the workspace."""
        person = self.workspace.person(user)
        self.workspace.people[person.id] = replace(person, is_gone=True)

    def add_group(self, handle: str, members: Collection[str]) -> str:
        """Make a user group; returns its id."""
        ids = tuple(self.workspace.person(member).id for member in members)
        group = Group(id=self.workspace.next_id("S"), handle=handle, members=ids)
        self.workspace.groups[group.id] = group
        return group.id

    def set_members(self, group: str, members: Collection[str]) -> None:
        ids = tuple(self.workspace.person(member).id for member in members)
        self.workspace.groups[group] = replace(self.workspace.groups[group], members=ids)

    def add_channel(self, name: str, *, has_bot: bool = False, is_private: bool = False) -> str:
        """Open a channel, as yet without the bot; returns its id."""
        return self.workspace.open_channel(name, has_bot=has_bot, is_private=is_private).id

    def invite_bot(self, channel: str, *, is_in: bool = True) -> None:
        """Bring the bot into a channel, or send it out."""
        self.workspace.channels[channel] = replace(self.workspace.channel(channel), has_bot=is_in)

    def archive(self, channel: str) -> None:
        self.workspace.channels[channel] = replace(self.workspace.channel(channel), is_archived=True)

    # What they do

    async def command(
        self, user: str, text: str, *, command: str = COMMAND, channel: str | None = None
    ) -> Delivered:
        """Give a slash command and wait until it is acknowledged, or is not."""
        return await self.people.command(user, text, command=command, channel=channel or self.channel)

    async def mention(
        self, user: str, text: str, *, channel: str | None = None, thread: str | None = None
    ) -> Delivered:
        """Speak to the app; returns once it has received that, or could not be reached. `ts` is the message."""
        return await self.people.mention(user, text, channel=channel or self.channel, thread=thread)

    async def say(
        self,
        user: str,
        text: str,
        *,
        channel: str | None = None,
        thread: str | None = None,
        is_broadcast: bool = False,
        files: Sequence[str] = (),
    ) -> Delivered:
        """Write a message or a reply; returns as `mention` does. `is_broadcast`: a reply is also sent to the channel;
        `files`: the names of what is sent with it."""
        where = channel or self.channel
        return await self.people.say(
            user, text, channel=where, thread=thread, is_broadcast=is_broadcast, files=files
        )

    async def click(
        self, user: str, message_ts: str, button: str | Button, *, channel: str | None = None
    ) -> Delivered:
        """Press a button that stands in a message now, by its label or action, or as one of `buttons` where several
        are called the same; LookupError for one that does not stand there."""
        return await self.people.click(user, message_ts, button, channel=channel)

    async def click_with(self, user: str, message_ts: str, action_id: str, value: str) -> Delivered:
        """Press a button and give back something else than its value."""
        return await self.people.click_with(user, message_ts, action_id, value)

    async def click_stale(self, user: str, button: Button) -> Delivered:
        """Press a button as it stood when it was looked at."""
        return await self.people.click_stale(user, button)

    async def replay(self, delivered: Delivered) -> Delivered:
        """Send the very same payload again."""
        return await self.deliveries.replay(delivered)

    async def submit(self, view: View, values: Mapping[str, str], user: str) -> Delivered:
        """Fill in a modal, by label, block or action, and send it off."""
        return await self.people.submit(view, values, user)

    async def view_closed(self, view: View, user: str) -> Delivered:
        """Close a modal without sending it."""
        return await self.people.view_closed(view, user)

    async def open_home(self, user: str) -> Delivered:
        """Open the app's Home tab; returns once the app has received that, or could not be reached."""
        return await self.people.open_home(user)

    async def click_home(self, user: str, button: str | Button) -> Delivered:
        """Press a button that stands in one's Home tab now, as `click` does."""
        return await self.people.click_home(user, button)

    def delete_message(self, ts: str) -> None:
        self.workspace.delete(ts)

    # What they see

    def messages(self, channel: str | None = None, *, thread: str | None = None) -> list[Message]:
        """What stands in a channel, or the replies in the thread of one message, oldest first."""
        where = channel or self.channel
        return [
            message
            for message in self.workspace.standing.values()
            if message.thread_ts == (thread or "") and not message.is_tombstone
            if thread or message.channel == where
        ]

    def message(self, ts: str) -> Message:
        """A message as it stands now; LookupError when it is gone."""
        return self.workspace.standing[ts]

    def ephemerals(self, user: str) -> list[Message]:
        """What somebody alone was shown, oldest first."""
        person = self.workspace.person(user)
        return [message for message in self.workspace.whispers if message.shown_to == person.id]

    def home(self, user: str) -> View | None:
        """What somebody's Home tab shows; None while the app has shown nothing there."""
        return self.interactions.homes.get(self.workspace.person(user).id)

    def open_views(self, user: str) -> list[View]:
        """The modals that are open before somebody."""
        person = self.workspace.person(user)
        return [view for view in self.interactions.views.values() if view.user == person.id]

    async def until(self, is_so: Callable[[], Any], *, timeout_s: float = PATIENCE_S) -> None:
        """Wait until something is so, looked at again after each change; TimeoutError tells the conversation so far."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.workspace.until(is_so)
        except TimeoutError:
            raise TimeoutError(f"it never came about:\n{self.transcript()}") from None

    async def arrived(self) -> None:
        """Wait until the app has had every event, or is away, or has been given up on."""
        await self.deliveries.arrived()

    def transcript(self) -> str:
        """The conversation, and the calls that were refused, as people can read them."""
        return transcript(self.workspace, self.people.acts, self.requests)
