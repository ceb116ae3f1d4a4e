"""The settings of the portfolio: a schedule that can be read, numbers in bounds, and a repository's own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from overlord.domain.cron import Cron
from overlord.errors import SettingsError
from overlord.queries.overview import space_values
from overlord.settings.load import Settings, load

Configured = Callable[[str], Settings]


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """Settings loaded with a file that holds this text."""

    def loading(text: str) -> Settings:
        (tmp_path / "overlord.yaml").write_text(text)
        return load({"OVERLORD_HOME": str(tmp_path)})

    return loading


def test_the_portfolio_is_gone_through_at_six_by_default(configured: Configured) -> None:
    settings = configured("")
    assert settings.portfolio.cron == Cron(expression="0 6 * * *", zone="UTC")
    assert settings.autonomy == settings.space("acme/calc").autonomy == "cautious"
    assert settings.space("acme/calc").portfolio == settings.portfolio


def test_a_space_has_its_own_values_key_by_key(configured: Configured) -> None:
    settings = configured(
        """
autonomy: proactive
portfolio: {schedule: "0 7 * * MON-FRI", stale_days: 3}
spaces:
  acme/calc: {autonomy: scheduled, portfolio: {time_zone: Europe/Berlin, leads: 2}}
  acme/web: {portfolio: {schedule: off}}
"""
    )
    own, other = settings.space("acme/calc"), settings.space("acme/web")
    assert own.portfolio.cron == Cron(expression="0 7 * * mon-fri", zone="Europe/Berlin")
    assert (own.portfolio.stale_days, own.portfolio.leads, other.portfolio.leads) == (3, 2, 1)
    assert (own.autonomy, other.autonomy) == ("scheduled", "proactive")
    assert (other.portfolio.schedule, other.portfolio.cron) == ("off", None)
    told = {
        value.key: (json.loads(value.value), value.source) for value in space_values(settings, "acme/calc")
    }
    assert told["portfolio.leads"] == (2, "spaces.acme/calc in the file")
    assert told["portfolio.stale_days"] == (3, "the file")
    assert told["portfolio.most_tasks"] == (40, "default")
    assert told["autonomy"] == ("scheduled", "spaces.acme/calc in the file")


@pytest.mark.parametrize("text", ["off", "null", '""', "OFF"])
def test_a_schedule_may_be_off(configured: Configured, text: str) -> None:
    assert configured(f"portfolio: {{schedule: {text}}}").portfolio.cron is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("portfolio: {schedule: daily}", "portfolio.schedule: a cron expression has five fields"),
        ("portfolio: {schedule: 6}", "portfolio.schedule: Input should be a valid string"),
        ("portfolio: {schedule: '0 25 * * *'}", "portfolio.schedule: the hour is 0 to 23, not 25"),
        ("portfolio: {time_zone: Mars/Base}", "portfolio.time_zone: there is no time zone 'Mars/Base'"),
        ("portfolio: {stale_days: 0}", "portfolio.stale_days: Input should be greater than or equal to 1"),
        ("portfolio: {most_tasks: 500}", "portfolio.most_tasks: Input should be less than or equal to 200"),
        ("portfolio: {session_tasks: -1}", "portfolio.session_tasks: Input should be greater than"),
        ("portfolio: {initiative_tokens: 0}", "portfolio.initiative_tokens: Input should be greater than 0"),
        ("portfolio: {schedul: off}", "unknown key 'portfolio.schedul'"),
        ("autonomy: wild", "autonomy: Input should be 'cautious', 'proactive' or 'scheduled'"),
        ("spaces: {acme/calc: {autonomy: wild}}", "spaces.acme/calc.autonomy: Input should be"),
        (
            "spaces: {acme/calc: {portfolio: {schedule: '* * 31 2 *'}}}",
            "spaces.acme/calc.portfolio.schedule: no year has such a day",
        ),
        (
            "model: {name: m}\nportfolio: {initiative_usd: 5}",
            "portfolio.initiative_usd caps dollars, and nobody said what m costs",
        ),
        (
            "model: {name: m}\nspaces: {acme/calc: {portfolio: {initiative_usd: 5}}}",
            "spaces.acme/calc.portfolio.initiative_usd caps dollars",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_key(configured: Configured, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        configured(text)
    assert said in str(refused.value)
