"""The embedded chat, alice and bob, and an app beside it."""

from collections.abc import AsyncIterator

import pytest

from overlord.embedded.chat.chat import EmbeddedChat
from tests.embedded.chat_app import App, Hands, connected


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
async def chat(clock: Hands) -> AsyncIterator[EmbeddedChat]:
    chat = EmbeddedChat(now=clock, retry_after_s=(0.0, 0.0, 0.0))
    for name in ("alice", "bob"):
        chat.add_user(name)
    async with chat.serve():
        yield chat


@pytest.fixture
async def app(chat: EmbeddedChat) -> AsyncIterator[App]:
    async with connected(chat) as app:
        yield app
