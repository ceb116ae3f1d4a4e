"""The chat as Slack has it: `ports.Chat` over Slack's Web API."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from overlord.adapters.slack.blocks import home_payload, message_payload, view_payload
from overlord.adapters.slack.client import SlackClient
from overlord.adapters.slack.payload import (
    GroupPayload,
    MessagePayload,
    PagePayload,
    PersonPayload,
    PostedPayload,
    WhoPayload,
    parsed,
)
from overlord.domain.chat.account import ChatIdentity, ChatUser, Posted
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.view.form import Form
from overlord.domain.view.view import View
from overlord.errors import ChatUnavailable
from overlord.failpoints import Failpoint, outward

SLACK_API_URL = "https://slack.com/api/"
SLACK_HOOKS = ("https://hooks.slack.com/",)
"""Where the addresses lead that Slack gives for answers."""
PAGE = 200
MOST_PAGES = 100
EVENT_TYPE = "overlord_message"
LITERALLY: Mapping[str, Any] = {"parse": "none", "link_names": False}
"""`text` is not looked through for names and addresses; an edit would do that if it were not told."""
WITHOUT_PREVIEWS: Mapping[str, Any] = {"unfurl_links": False, "unfurl_media": False}


class SlackChat:
    """`ports.Chat` for one workspace."""

    def __init__(
        self,
        *,
        api_url: str,
        bot_token: str,
        timeout_s: float,
        now: Callable[[], datetime],
        hooks: tuple[str, ...] = SLACK_HOOKS,
    ) -> None:
        """`api_url` with its last slash. `hooks`: beginnings of the addresses that answers may go to, beside those at
        the API's own host."""
        self._client = SlackClient(
            api_url=api_url, bot_token=bot_token, timeout_s=timeout_s, now=now, hooks=hooks
        )
        self._who: WhoPayload | None = None

    async def identity(self) -> ChatIdentity:
        self._who = parsed(WhoPayload, await self._client.read("auth.test"), "auth.test")
        return self._who.record()

    @outward(Failpoint.POST_MESSAGE)
    async def post(
        self, channel: ChannelId, message: View, *, key: str, thread: MessageTs | None = None
    ) -> Posted:
        answer = await self._client.write(
            "chat.postMessage",
            channel=channel,
            thread_ts=thread,
            metadata={"event_type": EVENT_TYPE, "event_payload": {"key": key}},
            **message_payload(message),
            **LITERALLY,
            **WITHOUT_PREVIEWS,
        )
        posted = parsed(PostedPayload, answer, "chat.postMessage")
        return Posted(channel=ChannelId(posted.channel), ts=MessageTs(posted.ts))

    async def find(
        self, channel: ChannelId, key: str, *, since: datetime, thread: MessageTs | None = None
    ) -> MessageTs | None:
        who = await self._ourselves()
        found = [
            message.ts
            async for message in self._messages(channel, since, thread)
            if message.is_from(who)
            and message.metadata.event_type == EVENT_TYPE
            and message.metadata.event_payload.get("key") == key
        ]
        return MessageTs(max(found, key=float)) if found else None

    @outward(Failpoint.EDIT_MESSAGE)
    async def edit(self, posted: Posted, message: View) -> None:
        payload = message_payload(message)
        await self._client.write("chat.update", channel=posted.channel, ts=posted.ts, **payload, **LITERALLY)

    @outward(Failpoint.EPHEMERAL)
    async def ephemeral(self, channel: ChannelId, user: UserId, message: View) -> None:
        payload = message_payload(message)
        await self._client.write("chat.postEphemeral", channel=channel, user=user, **payload, **LITERALLY)

    @outward(Failpoint.RESPOND)
    async def respond(self, address: str, message: View) -> None:
        how = {"response_type": "ephemeral", "replace_original": False, **WITHOUT_PREVIEWS}
        await self._client.send(address, {**message_payload(message), **how})

    @outward(Failpoint.OPEN_FORM)
    async def ask(self, trigger: str, form: Form) -> None:
        await self._client.write("views.open", trigger_id=trigger, view=view_payload(form))

    @outward(Failpoint.PUBLISH_HOME)
    async def publish(self, user: UserId, message: View) -> None:
        await self._client.write("views.publish", user_id=user, view=home_payload(message))

    async def person(self, user: UserId) -> ChatUser:
        who = await self._ourselves()
        answer = await self._client.read("users.info", user=user)
        return parsed(PersonPayload, answer, "users.info").user.record(who.team_id)

    async def group(self, group: str) -> Collection[UserId]:
        answer = await self._client.read("usergroups.users.list", usergroup=group)
        found = parsed(GroupPayload, answer, "usergroups.users.list")
        return frozenset(UserId(user) for user in found.users)

    async def close(self) -> None:
        await self._client.close()

    async def _ourselves(self) -> WhoPayload:
        """Whom the token stands for, which does not change."""
        if self._who is None:
            await self.identity()
        assert self._who is not None
        return self._who

    async def _messages(
        self, channel: ChannelId, since: datetime, thread: MessageTs | None
    ) -> AsyncIterator[MessagePayload]:
        """Every message since then, in no order: Slack's depends on what is asked."""
        asked: dict[str, str | int] = {
            **{"channel": channel, "limit": PAGE, "oldest": f"{since.timestamp():.6f}"},
            **{"inclusive": "true", "include_all_metadata": "true"},
        }
        method = "conversations.replies" if thread else "conversations.history"
        if thread:
            asked["ts"] = thread
        for _ in range(MOST_PAGES):
            page = parsed(PagePayload, await self._client.read(method, **asked), method)
            for message in page.readable():
                yield message
            if not page.following:
                return
            asked["cursor"] = page.following
        raise ChatUnavailable(f"{method}: no end of pages")
