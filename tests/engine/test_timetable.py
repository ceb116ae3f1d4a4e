"""When a daemon looks by the clock: once for each schedule, however many repositories have it."""

from pathlib import Path

from overlord.domain.cron import Cron
from overlord.engine.timetable import timetable
from overlord.settings.load import load


def crons(tmp_path: Path, text: str) -> set[tuple[str, str]]:
    (tmp_path / "overlord.yaml").write_text(text)
    found = timetable(load({"OVERLORD_HOME": str(tmp_path)}), next_poll_at=None)
    return {(each.expression, each.zone) for each in found.values() if isinstance(each, Cron)}


def test_each_schedule_comes_round_once(tmp_path: Path) -> None:
    assert crons(
        tmp_path,
        """
repositories: [acme/calc, acme/web, acme/api, acme/old]
briefing: {hour: null}
portfolio: {schedule: "0 6 * * *"}
spaces:
  acme/web: {portfolio: {time_zone: Europe/Berlin}}
  acme/api: {portfolio: {time_zone: Europe/Berlin}}
  acme/old: {portfolio: {schedule: off}}
  acme/elsewhere: {portfolio: {schedule: "0 1 * * *"}}
""",
    ) == {("0 6 * * *", "UTC"), ("0 6 * * *", "Europe/Berlin")}


def test_without_a_schedule_the_briefing_alone_comes_by_the_clock(tmp_path: Path) -> None:
    assert crons(tmp_path, "portfolio: {schedule: off}") == {("0 8 * * *", "UTC")}
