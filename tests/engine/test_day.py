"""The day's briefing is written once a day, with or without a chat, and what a person adds to its file is left alone."""

from datetime import datetime
from pathlib import Path

import pytest

from overlord.domain.event import EventName
from overlord.domain.portfolio.day_note import MARK
from overlord.engine.portfolio import day, escalations
from overlord.store import ledger
from overlord.store.portfolio import daily_notes
from overlord.store.portfolio import escalations as rows
from tests.engine.stage import Stage, made_stage
from tests.records import an_escalation

HOUR, DAY = 3600, 24 * 3600


def hour_of(stage: Stage) -> datetime:
    return stage.parts.clock.now()


def file_of(stage: Stage, name: str) -> Path:
    return stage.parts.home.root / "daily" / f"{name}.md"


def today(stage: Stage) -> str:
    """The day whose hour came last."""
    cron = stage.parts.settings.briefing.cron
    assert cron is not None
    return cron.slot_at(hour_of(stage)).at.date().isoformat()


async def is_due(stage: Stage) -> bool:
    found: bool = await stage.read(day.is_due, stage.parts)
    return found


async def asks(stage: Stage) -> None:
    await stage.write(rows.draft, an_escalation(id=0))
    await escalations.step(stage.parts)


async def test_where_there_is_no_portfolio_there_is_nothing_to_write(stage: Stage) -> None:
    assert not await is_due(stage)
    assert not await day.step(stage.parts)
    assert not file_of(stage, today(stage)).exists()


async def test_it_is_written_once_a_day_and_is_a_fact(stage: Stage) -> None:
    await asks(stage)
    assert await is_due(stage)
    assert await day.step(stage.parts)
    name = today(stage)
    text = file_of(stage, name).read_text()
    assert text.startswith(f"# {name}\n\n### Briefing: 1 waiting for you\n")
    assert "DECISIONS (1)" in text and "Redis or Memcached for token blacklisting?" in text
    assert text.endswith(f"{MARK}\n")
    assert not await is_due(stage)
    assert not await day.step(stage.parts)
    events = [
        entry.details
        for entry in await stage.read(lambda c: list(ledger.entries(c)))
        if entry.name == EventName.DAY_BRIEFED
    ]
    assert events == [{"day": name}]


async def test_the_next_day_has_its_own_and_a_clock_that_goes_back_writes_none_again(stage: Stage) -> None:
    await asks(stage)
    await day.step(stage.parts)
    first = today(stage)
    stage.world.clock.move(DAY)
    assert await day.step(stage.parts)
    assert today(stage) != first
    stage.world.clock.move(-DAY)
    assert not await is_due(stage)
    assert len(list(file_of(stage, first).parent.glob("*.md"))) == 2


async def test_days_that_a_clock_jumps_over_are_told_in_the_one_after_them(stage: Stage) -> None:
    await asks(stage)
    await day.step(stage.parts)
    written = (await stage.read(daily_notes.last)).written_at
    stage.world.clock.move(5 * DAY)
    await day.step(stage.parts)
    text = file_of(stage, today(stage)).read_text()
    assert f"Spent since {written.day} {written:%b %H:%M} UTC" in text


async def test_what_a_person_wrote_is_kept_below_ours(stage: Stage) -> None:
    await asks(stage)
    file = file_of(stage, today(stage))
    file.parent.mkdir()
    file.write_bytes(b"mine \xff\n")
    await day.step(stage.parts)
    content = file.read_bytes()
    assert content.endswith(f"{MARK}\n".encode() + b"mine \xff\n")


async def test_a_link_in_its_place_is_left_and_the_day_is_kept_all_the_same(stage: Stage) -> None:
    await asks(stage)
    file = file_of(stage, today(stage))
    file.parent.mkdir()
    (other := stage.parts.home.root / "other").write_text("theirs")
    file.symlink_to(other)
    assert await day.step(stage.parts)
    assert other.read_text() == "theirs"
    note = await stage.read(daily_notes.of_day, today(stage))
    assert "DECISIONS (1)" in note.text


@pytest.mark.parametrize("hour", [None])
async def test_without_an_hour_there_is_none(hour: None) -> None:
    async with made_stage(briefing={"hour": hour}) as stage:
        await asks(stage)
        assert not await is_due(stage)
        assert not await day.step(stage.parts)
