"""How Overlord stands at Slack: what its tokens may do, and whether the channel and the approvers are there. For `overlord doctor`."""

from collections.abc import Callable
from datetime import datetime

from overlord.adapters.slack.chat import SLACK_HOOKS, SlackChat
from overlord.adapters.slack.client import SlackClient
from overlord.adapters.slack.scope import SOCKET_METHOD
from overlord.domain.chat.account import ChatIdentity, ChatUser
from overlord.domain.identifiers import ChannelId, UserId


class SlackPermissions:
    """One workspace, looked at and left as it is."""

    def __init__(
        self, *, api_url: str, bot_token: str, app_token: str, timeout_s: float, now: Callable[[], datetime]
    ) -> None:
        def client(token: str) -> SlackClient:
            return SlackClient(
                api_url=api_url, bot_token=token, timeout_s=timeout_s, now=now, hooks=SLACK_HOOKS
            )

        self._chat = SlackChat(api_url=api_url, bot_token=bot_token, timeout_s=timeout_s, now=now)
        self._bot, self._app = client(bot_token), client(app_token)

    async def identity(self) -> ChatIdentity:
        return await self._chat.identity()

    async def granted(self) -> frozenset[str]:
        """The bot token's scopes; none where Slack does not tell."""
        return await self._bot.granted()

    async def read_channel(self, channel: ChannelId) -> None:
        """Raises what Slack refuses to one who is not in it."""
        await self._bot.read("conversations.history", channel=channel, limit=1)

    async def may_listen(self) -> None:
        """Ask where Socket Mode is, without going there. Raises what Slack refuses to the app-level token."""
        await self._app.read(SOCKET_METHOD)

    async def person(self, user: UserId) -> ChatUser:
        return await self._chat.person(user)

    async def members(self, group: str) -> int:
        return len(await self._chat.group(group))

    async def close(self) -> None:
        for client in (self._chat, self._bot, self._app):
            await client.close()
