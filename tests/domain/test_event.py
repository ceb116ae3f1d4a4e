"""Facts in the past tense, and who they are about."""

import re

from overlord.domain.event import OVERLORD, EventName, LedgerEvent
from overlord.domain.job import TRANSITIONS
from tests.records import NOW

ENDS_WELL = re.compile(
    r"(ed|lost|found|spent|chosen|ran_low|over|taken|unavailable|short|written|withdrawn|cycle_ran|signed_in|signed_out)$"
)


def test_every_event_is_told_in_the_past_tense() -> None:
    assert [name for name in EventName if not ENDS_WELL.search(name)] == []


def test_the_moves_are_events() -> None:
    assert {event for _, event in TRANSITIONS} < set(EventName)


def test_what_code_decides_is_overlords_and_has_no_data_unless_given() -> None:
    event = LedgerEvent(name=EventName.PASSED, at=NOW)
    assert (event.actor, event.job_id, dict(event.data)) == (OVERLORD, None, {})
