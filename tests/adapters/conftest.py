"""The adapter of the chat, and the embedded chat it is tried against."""

from collections.abc import AsyncIterator

import pytest

from overlord.adapters.slack.chat import SlackChat
from overlord.domain.identifiers import ChannelId
from overlord.embedded.chat.chat import EmbeddedChat
from tests.adapters.slack_calls import Clock, connect


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def people(clock: Clock) -> AsyncIterator[EmbeddedChat]:
    people = EmbeddedChat(now=clock)
    async with people.serve():
        yield people


@pytest.fixture
async def chat(people: EmbeddedChat, clock: Clock) -> AsyncIterator[SlackChat]:
    chat = connect(people.base_url, people.bot_token, clock)
    yield chat
    await chat.close()


@pytest.fixture
def channel(people: EmbeddedChat) -> ChannelId:
    return ChannelId(people.channel)
