"""A chat for those who have none yet: without a Slack token `overlord serve` offers the stand-in, with a page to talk on."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

import structlog

from overlord.settings.chat import EVERYWHERE
from overlord.settings.load import Settings, rebuilt

HOW = 'Slack: deploy/slack-app.md; a page without Slack, here or on a server: deploy/README.md, "Talking without Slack"'
"""Where it is said how people get a chat."""
_OFF = "Slack is not connected, and the chat page is off (slack.page, OVERLORD_CHAT_PAGE)"
_CLOSED = f"Slack is not connected, and a chat page on {EVERYWHERE} is opened in a container alone: others could reach it"
_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))
"""What Docker and Podman put into a container."""

log = structlog.get_logger()


def _is_contained() -> bool:
    """Whether this program is in a container, whose addresses only its own machine reaches."""
    return any(path.exists() for path in _CONTAINERS)


def looks() -> dict[str, bytes]:
    """The operator's page's, which the chat's page builds on: both are one design."""
    static = resources.files("overlord.entrypoints.web").joinpath("static")
    return {name: static.joinpath(name).read_bytes() for name in ("style.css", "icon.svg")}


@contextlib.asynccontextmanager
async def with_chat(settings: Settings, *, in_container: bool | None = None) -> AsyncIterator[Settings]:
    """The settings as they are, or with the stand-in's address in them while the block runs. `in_container`: whether only its own
    machine reaches this program's addresses; looked up where nobody says it."""
    slack = settings.slack
    if slack.is_on:
        yield settings
        return
    host, _, port = slack.page.rpartition(":")
    if not slack.page or (
        host == EVERYWHERE and not (_is_contained() if in_container is None else in_container)
    ):
        log.info("no_chat", reason=_CLOSED if slack.page else _OFF, how=HOW)
        yield settings
        return
    from overlord.embedded.chat.chat import EmbeddedChat

    # It begins empty, as another channel does.
    chat = EmbeddedChat(first_id=secrets.randbelow(9_000_000), looks=looks())
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
        yield rebuilt(settings, slack=ours, spaces={name: {"approvers": None} for name in settings.spaces})
