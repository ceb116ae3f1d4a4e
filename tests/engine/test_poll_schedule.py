"""How often a space is asked, and for what: a quiet hour costs little however many there are."""

from pathlib import Path

from bench.requests import an_hour
from overlord.domain.job import JobId
from overlord.engine.runtime.poll_schedule import PULL_LOOK_S, WHOLE_LOOK_S, PollSchedule, interval_s
from overlord.settings.load import load

REPOSITORIES = 20


async def test_a_quiet_hour_of_many_repositories_is_mostly_304(tmp_path: Path) -> None:
    made, unchanged = await an_hour(tmp_path, REPOSITORIES)
    assert made <= 1_100
    assert unchanged >= 0.9 * made


def test_a_space_is_looked_at_when_it_changed_and_once_in_a_while() -> None:
    poll_schedule = PollSchedule()
    assert poll_schedule.is_new("a/b", "one", 0.0)
    poll_schedule.saw("a/b", "one", 0.0)
    assert not poll_schedule.is_new("a/b", "one", WHOLE_LOOK_S - 1)
    assert poll_schedule.is_new("a/b", "two", 1.0)
    assert poll_schedule.is_new("a/b", "one", WHOLE_LOOK_S)
    assert poll_schedule.is_new("c/d", "one", 1.0)
    poll_schedule.forget("a/b")
    assert poll_schedule.is_new("a/b", "one", 1.0)


def test_each_pull_request_has_its_turn() -> None:
    poll_schedule, few, many = PollSchedule(), [JobId(1), JobId(2)], [JobId(number) for number in range(50)]
    assert poll_schedule.due(few, 0.0) == few
    poll_schedule.saw_pull(JobId(1), 0.0)
    assert poll_schedule.due(few, PULL_LOOK_S - 1) == [JobId(2)]
    assert poll_schedule.due(few, PULL_LOOK_S) == few
    for job in many:
        poll_schedule.saw_pull(job, 0.0)
    assert poll_schedule.due(many, PULL_LOOK_S) == []
    assert poll_schedule.due(many, 50 * 36.0) == many


def test_many_spaces_are_asked_less_often(tmp_path: Path) -> None:
    def between(count: int, poll_s: int) -> float:
        names = [f"a/b{number}" for number in range(count)]
        return interval_s(load({"OVERLORD_HOME": str(tmp_path)}, repositories=names, poll_s=poll_s))

    assert [between(1, 1), between(1, 30), between(5, 30), between(50, 30), between(50, 900)] == [
        1,
        30,
        30,
        300,
        900,
    ]
