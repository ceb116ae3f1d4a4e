"""How calls went is noted by the calls, and what they give and raise is what the port gives and raises."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from overlord.engine.runtime.contact import Contact, watched
from overlord.errors import ChatMissing, RunnerUnavailable
from tests.records import NOW


class Port:
    """Something that is called, and goes wrong when it is told to."""

    name = "port"

    def __init__(self) -> None:
        self.fault: Exception | None = None

    async def call(self, value: int) -> int:
        if self.fault is not None:
            raise self.fault
        return value

    async def follow(self) -> AsyncIterator[int]:
        yield 1
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def times() -> list[datetime]:
    return [NOW]


async def test_an_answer_and_a_failure_are_noted(times: list[datetime]) -> None:
    port, contact = Port(), Contact()
    seen = watched(port, contact, lambda: times[-1])
    assert (seen.name, await seen.call(3)) == ("port", 3)
    assert (contact.answered_at, contact.trouble, contact.failed_at) == (NOW, "", None)
    port.fault = RunnerUnavailable("no engine answers")
    for minutes in (1, 2):
        times.append(NOW + timedelta(minutes=minutes))
        with pytest.raises(RunnerUnavailable):
            await seen.call(3)
    assert contact.trouble == "no engine answers"
    assert contact.failed_at == NOW + timedelta(minutes=1), "since when it fails"
    port.fault = ChatMissing("no such message")
    with pytest.raises(ChatMissing):
        await seen.call(3)
    assert contact == Contact(answered_at=times[-1]), "who says no is there"


async def test_what_is_no_fault_of_theirs_is_not_noted(times: list[datetime]) -> None:
    port, contact = Port(), Contact()
    port.fault = ValueError("ours")
    with pytest.raises(ValueError, match="ours"):
        await watched(port, contact, lambda: times[-1]).call(3)
    assert contact == Contact()


async def test_what_goes_on_without_end_is_noted_too(times: list[datetime]) -> None:
    port, contact = Port(), Contact()
    port.fault = OSError("reset")
    found = []
    with pytest.raises(OSError, match="reset"):
        async for item in watched(port, contact, lambda: times[-1]).follow():
            found.append(item)
    assert found == [1]
    assert (contact.answered_at, contact.trouble) == (NOW, "reset")
