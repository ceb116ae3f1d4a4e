"""The settings of the chat: how Overlord signs in there, and what is refused before it starts."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from overlord.entrypoints.chat.stand_in import with_chat
from overlord.errors import SettingsError
from overlord.settings.load import Settings, load

GOOD = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "SLACK_CHANNEL_ID": "C0123456789",
}


def loaded(home: Path, environment: dict[str, str], **overrides: Any) -> Settings:
    return load({"OVERLORD_HOME": str(home), **environment}, **overrides)


def test_there_is_no_chat_without_a_token(tmp_path: Path) -> None:
    slack = loaded(tmp_path, {}).slack
    assert not slack.is_on
    assert slack.page == "127.0.0.1:8713"


def test_an_app_token_means_socket_mode(tmp_path: Path) -> None:
    slack = loaded(tmp_path, GOOD).slack
    assert slack.is_on and slack.by_socket
    assert (slack.channel, slack.api_url) == ("C0123456789", "https://slack.com/api/")


def test_tokens_come_from_files_and_are_secrets(tmp_path: Path) -> None:
    file = tmp_path / "bot"
    file.write_text("xoxb-2\n")
    given = {**GOOD, "SLACK_BOT_TOKEN_FILE": str(file)}
    del given["SLACK_BOT_TOKEN"]
    settings = loaded(tmp_path, given)
    assert {"xoxb-2", "xapp-1"} <= set(settings.secrets())
    assert "xoxb" not in repr(settings)


@pytest.mark.parametrize(
    ("left_out", "added", "named"),
    [
        ("SLACK_BOT_TOKEN", {}, "SLACK_BOT_TOKEN"),
        ("SLACK_APP_TOKEN", {}, "SLACK_SIGNING_SECRET"),
        ("SLACK_CHANNEL_ID", {}, "SLACK_CHANNEL_ID"),
        ("", {"SLACK_BOT_TOKEN": "xoxp-1"}, "slack.bot_token"),
        ("", {"SLACK_APP_TOKEN": "xoxb-1"}, "slack.app_token"),
        ("", {"SLACK_CHANNEL_ID": "#general"}, "slack.channel"),
        ("", {"SLACK_API_URL": "http://slack.com/api/"}, "https"),
        ("", {"SLACK_API_URL": "ftp://127.0.0.1/"}, "https"),
    ],
)
def test_what_cannot_work_is_refused_and_named(
    tmp_path: Path, left_out: str, added: dict[str, str], named: str
) -> None:
    given = {name: value for name, value in {**GOOD, **added}.items() if name != left_out}
    with pytest.raises(SettingsError, match=named):
        loaded(tmp_path, given)


def test_this_machine_itself_is_spoken_to_without_tls(tmp_path: Path) -> None:
    slack = loaded(tmp_path, {**GOOD, "SLACK_API_URL": "http://127.0.0.1:9/api"}).slack
    assert slack.api_url == "http://127.0.0.1:9/api/"


@pytest.mark.parametrize("page", ["192.0.2.7:8713", "127.0.0.1", "example.com:80", "127.0.0.1:99999"])
def test_the_stand_in_is_offered_on_this_machine_alone(tmp_path: Path, page: str) -> None:
    with pytest.raises(SettingsError, match=r"slack\.page"):
        loaded(tmp_path, {}, slack={"page": page})


@pytest.mark.parametrize("page", ["", "off"])
def test_the_stand_in_can_be_left_out(tmp_path: Path, page: str) -> None:
    assert loaded(tmp_path, {}, slack={"page": page}).slack.page == ""


@pytest.mark.parametrize(
    ("page", "in_container", "said"),
    [
        ("0.0.0.0:0", False, "opened in a container alone: others could reach it"),
        ("off", False, "the chat page is off"),
        ("off", True, "the chat page is off"),
    ],
)
async def test_where_there_is_no_chat_the_log_says_so_and_how_there_is_one(
    tmp_path: Path, page: str, in_container: bool, said: str
) -> None:
    settings = loaded(tmp_path, {}, slack={"page": page})
    with capture_logs() as logged:
        async with with_chat(settings, in_container=in_container) as given:
            assert given is settings
    [told] = logged
    assert told["event"] == "no_chat" and said in told["reason"] and "Talking without Slack" in told["how"]


async def test_in_a_container_it_listens_for_the_machine_around_it_and_is_asked_for_on_that_machine(
    tmp_path: Path,
) -> None:
    settings = loaded(tmp_path, {}, slack={"page": "0.0.0.0:0"})
    with capture_logs() as logged:
        async with with_chat(settings, in_container=True) as given:
            assert given.slack.api_url.startswith("http://127.0.0.1:")
    [told] = logged
    assert told["event"] == "talk_here" and told["page"].startswith("http://127.0.0.1:")


def test_a_space_has_approvers_of_its_own(tmp_path: Path) -> None:
    spaces = {"acme/calc": {"approvers": ["S012"]}, "acme/web": {"approvers": []}}
    settings = loaded(tmp_path, GOOD, slack={"approvers": ["U012"]}, spaces=spaces)
    assert settings.approvers("Acme/Calc") == ("S012",)
    assert settings.approvers("acme/web") == ()
    assert settings.approvers("acme/other") == settings.approvers("") == ("U012",)


@pytest.mark.parametrize("who", ["alice", "@alice", "U", "x012", "C012"])
def test_approvers_are_ids(tmp_path: Path, who: str) -> None:
    with pytest.raises(SettingsError, match=r"slack\.approvers"):
        loaded(tmp_path, GOOD, slack={"approvers": [who]})


@pytest.mark.parametrize("given", [{"hour": 24}, {"hour": -1}, {"zone": "Mars/Phobos"}, {"zone": "../etc"}])
def test_a_briefing_has_an_hour_of_a_time_zone_that_exists(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="briefing"):
        loaded(tmp_path, {}, briefing=given)
