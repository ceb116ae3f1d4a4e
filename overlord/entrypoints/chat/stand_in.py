"""A chat for those who have none yet: without a Slack token `overlord serve` offers the stand-in, with a page to talk on."""

import contextlib
import secrets
from collections.abc import AsyncIterator

import structlog

from overlord.settings import Settings, remade

log = structlog.get_logger()


@contextlib.asynccontextmanager
async def with_chat(settings: Settings) -> AsyncIterator[Settings]:
    """The settings as they are, or with the stand-in's address in them while the block runs."""
    slack = settings.slack
    if slack.is_on or not slack.page:
        yield settings
        return
    from overlord.embedded.chat.chat import EmbeddedChat

    host, _, port = slack.page.rpartition(":")
    chat = EmbeddedChat(first_id=secrets.randbelow(9_000_000))  # it begins empty, as another channel does
    async with contextlib.AsyncExitStack() as stack:
        try:
            base_url = await stack.enter_async_context(chat.serve(host=host.strip("[]"), port=int(port)))
        except OSError as error:
            log.warning("no_page", address=slack.page, reason=error.strerror or str(error))
            yield settings
            return
        log.info("talk_here", page=chat.page_url(base_url), instead_of="Slack: deploy/slack-app.md")
        ours = {
            "api_url": f"{base_url}/api/",
            "bot_token": chat.bot_token,
            "app_token": chat.app_token,
            "channel": chat.channel,
            "approvers": [chat.page_user],
        }
        yield remade(settings, slack=ours, spaces={name: {"approvers": None} for name in settings.spaces})
