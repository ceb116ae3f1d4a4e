"""A sentence becomes an issue that runs its repository's contract: from the chat, and from a comment."""

from collections.abc import AsyncIterator

import pytest

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.store import ledger
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

REQUIREMENT = "add() subtracts. Ask @alice why, and keep `@pytest` as it is."


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        await talk.world.settle()
        yield talk


async def facts(world: World, name: str) -> list[ledger.Entry]:
    return [entry for entry in await world.read(lambda c: list(ledger.entries(c))) if entry.name == name]


async def test_a_sentence_in_the_chat_becomes_a_pull_request(talk: Talk) -> None:
    talk.world.model_will(edit(*FIX), submit())
    said = await talk.command(f'build {REPO} "{REQUIREMENT}"')
    assert said.splitlines() == [
        f"I open an issue for that in {REPO}.",
        f"{REPO}#1 is open for it. Job 1 takes up {REPO}#1.",
    ]
    job = await talk.world.job()
    assert job.state is JobState.IN_REVIEW
    issue = talk.world.forge.issue(REPO, 1)
    assert issue.title == "add() subtracts"
    assert "Ask `@alice` why, and keep `@pytest` as it is." in issue.body
    assert f"Asked for by {talk.alice} (slack)" in issue.body
    [opened] = await facts(talk.world, "requested_issue_opened")
    assert opened.data == {"request": 1, "issue": f"{REPO}#1", "kind": "build"}
