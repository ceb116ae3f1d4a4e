"""The manifest, its page and the code agree on what Overlord needs at Slack."""

import re

import yaml

from overlord.adapters.slack.refusal import MEANINGS
from overlord.adapters.slack.scope import COMMAND, EVENTS, SCOPES, SOCKET_METHOD, SOCKET_SCOPE, bot_scopes
from overlord.settings.env import ENVIRONMENT
from tests.architecture.test_imports import ROOT, modules

PAGE = (ROOT / "deploy" / "slack-app.md").read_text(encoding="utf-8")
MANIFEST = yaml.safe_load((ROOT / "deploy" / "slack-manifest.yaml").read_text(encoding="utf-8"))
FAMILIES = "auth|chat|conversations|usergroups|users|views|reactions|files|pins|team|bots|apps"
METHOD = re.compile(rf'"((?:{FAMILIES})\.[A-Za-z.]+)"')


def test_every_method_that_is_called_has_its_scopes() -> None:
    sources = [path.read_text(encoding="utf-8") for path in modules("overlord/adapters/slack")]
    assert {name for source in sources for name in METHOD.findall(source)} == {*SCOPES, SOCKET_METHOD}


def test_the_manifest_asks_for_what_is_needed() -> None:
    assert MANIFEST["oauth_config"] == {"scopes": {"bot": list(bot_scopes())}}
    assert MANIFEST["settings"]["event_subscriptions"] == {"bot_events": list(EVENTS)}
    assert set(filter(None, EVENTS.values())) <= set(bot_scopes())
    home = {"home_tab_enabled": True, "messages_tab_enabled": False, "messages_tab_read_only_enabled": True}
    assert MANIFEST["features"]["app_home"] == home
    [command] = MANIFEST["features"]["slash_commands"]
    # An address typed into a command comes as it was typed.
    assert (command["command"], command["should_escape"]) == (COMMAND, False)


def test_the_manifest_is_for_socket_mode_in_one_workspace() -> None:
    settings = MANIFEST["settings"]
    assert settings["socket_mode_enabled"] is settings["interactivity"]["is_enabled"] is True
    assert settings["org_deploy_enabled"] is settings["token_rotation_enabled"] is False
    assert "url" not in str(MANIFEST)


def test_the_manifest_keeps_to_the_lengths_of_slacks_schema() -> None:
    shown = MANIFEST["display_information"]
    [command] = MANIFEST["features"]["slash_commands"]
    assert len(shown["name"]) <= 35
    assert len(shown["description"]) <= 140
    assert 175 <= len(shown["long_description"]) <= 4000
    assert re.fullmatch(r"#[0-9a-f]{6}", shown["background_color"])
    assert len(MANIFEST["features"]["bot_user"]["display_name"]) <= 80
    assert len(command["description"]) <= 2000
    assert len(command["usage_hint"]) <= 1000


def test_the_table_of_the_page_has_the_scopes_that_are_needed() -> None:
    rows = re.findall(r"^\| `([a-z_]+(?::[a-z]+)?)` \| [a-z`]", PAGE, re.MULTILINE)
    scopes = [row for row in rows if ":" in row or row == "commands"]
    assert scopes == list(bot_scopes())
    assert f"`{SOCKET_SCOPE}`" in PAGE


def test_the_page_names_the_variables_and_addresses_there_are() -> None:
    named = set(re.findall(r"\b(?:SLACK|OVERLORD)_[A-Z_]+\b", PAGE))
    known = {*ENVIRONMENT, *(f"{name}_FILE" for name in ENVIRONMENT)}
    assert named <= known
    assert {"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_CHANNEL_ID", "SLACK_SIGNING_SECRET_FILE"} <= named
    assert set(re.findall(r"https://HOST(\S+)", PAGE)) == {"/slack/events"}


def test_the_page_knows_the_words_that_people_meet() -> None:
    met = {
        "not_in_channel",
        "channel_not_found",
        "invalid_auth",
        "token_revoked",
        "account_inactive",
        "is_archived",
    }
    assert met <= MEANINGS.keys()
    assert [word for word in met if f"`{word}`" not in PAGE] == []


def test_the_settings_lead_there() -> None:
    assert "deploy/slack-app.md" in (ROOT / "config" / "overlord.yaml").read_text(encoding="utf-8")
    assert "(slack-manifest.yaml)" in PAGE
