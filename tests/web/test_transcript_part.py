"""The transcript on a job's page, where an exploration stands between the turns."""

from types import SimpleNamespace

from overlord.domain.transcript import Exchange
from overlord.entrypoints.web.pages.job import Turn
from overlord.entrypoints.web.render import Templates
from tests.web.paging import words_of


def test_an_exploration_is_told_from_the_sessions_own_turns() -> None:
    turns = [
        Turn(number=1, exchange=Exchange(said="I ask.")),
        Turn(number=2, exchange=Exchange(said="<b>It subtracts.", explores=True)),
    ]
    job, session = SimpleNamespace(job=SimpleNamespace(id=1)), SimpleNamespace(id="j1-work-1")
    shown = {"head": job, "sessions": [session], "session": session, "turns": turns}
    page = {"transcript": SimpleNamespace(**shown, first=0, before=0, after=20, total=2)}
    words = words_of(bytes(Templates("").response("parts/job_transcript.html", page).body).decode())
    first, second = words.split("Turn 2")
    assert "exploration" not in first
    assert second.strip().startswith("exploration, read only")
    assert "<b>It subtracts." in second
