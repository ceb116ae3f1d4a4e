"""What `overlord doctor` says of Slack: tokens, scopes, the channel, and the approvers."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from overlord.adapters.slack.scope import bot_scopes
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.server import serve
from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.entrypoints.doctor.slack import examine_slack
from overlord.settings.load import load


@dataclass
class Ground:
    """A workspace with a channel that Overlord is in, and one approver."""

    people: EmbeddedChat
    url: str
    root: Path
    channel: str
    alice: str

    async def found(self, **other: Any) -> dict[str, Finding]:
        slack = {
            "api_url": f"{self.url}/api/",
            "bot_token": self.people.bot_token,
            "app_token": self.people.app_token,
            "channel": self.channel,
            "approvers": [self.alice],
        }
        home = {"OVERLORD_HOME": str(self.root / "home"), "OVERLORD_REPOS": "acme/calc"}
        settings = load(home, slack={**slack, **other.pop("slack", {})}, **other)
        return {item.what: item for item in await examine_slack(settings)}


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    people = EmbeddedChat()
    async with serve(people) as url:
        yield Ground(people, url, tmp_path, people.channel, people.add_user("alice"))


def unwell(found: dict[str, Finding]) -> dict[str, str]:
    return {what: finding.said for what, finding in found.items() if finding.health is not Health.WELL}


async def test_a_sound_slack_is_well_and_nothing_is_said_there(ground: Ground) -> None:
    found = await ground.found()
    assert unwell(found) == {}
    assert set(found) == {"slack", "slack scopes", "slack channel", "slack hearing", "slack approvers"}
    assert ground.people.messages() == []


async def test_slack_that_is_off_is_said_and_is_well(tmp_path: Path) -> None:
    [finding] = await examine_slack(load({"OVERLORD_HOME": str(tmp_path), "OVERLORD_REPOS": "acme/calc"}))
    assert (finding.health, finding.said[:4]) == (Health.WELL, "off:")


async def test_a_bot_token_that_is_not_taken_is_all_there_is_to_say(ground: Ground) -> None:
    found = await ground.found(slack={"bot_token": "xoxb-no"})
    assert list(found) == ["slack"]
    assert "auth.test: invalid_auth (check SLACK_BOT_TOKEN" in found["slack"].said


@pytest.mark.parametrize("scope", bot_scopes())
async def test_each_scope_that_is_missing_is_named(ground: Ground, scope: str) -> None:
    ground.people.workspace.scopes.discard(scope)
    said = unwell(await ground.found())["slack scopes"]
    assert said.startswith(f"the bot token lacks {scope}: add them under OAuth & Permissions")


async def test_a_channel_that_is_not_there_or_that_overlord_is_not_in(ground: Ground) -> None:
    missing = await ground.found(slack={"channel": "C0NOWHERE"})
    assert "channel_not_found (check SLACK_CHANNEL_ID" in unwell(missing)["slack channel"]
    ground.people.invite_bot(ground.channel, is_in=False)
    said = unwell(await ground.found())["slack channel"]
    assert "not_in_channel (invite it: /invite @Overlord)" in said


async def test_an_app_level_token_that_is_not_taken(ground: Ground) -> None:
    said = unwell(await ground.found(slack={"app_token": "xapp-no"}))["slack hearing"]
    assert "apps.connections.open: invalid_auth" in said
    assert "with connections:write, and Socket Mode is on" in said


async def test_signed_requests_need_a_listener(ground: Ground) -> None:
    signed = {"app_token": "", "signing_secret": "0123456789abcdef"}
    assert "OVERLORD_LISTEN" in unwell(await ground.found(slack=signed))["slack hearing"]
    heard = await ground.found(slack=signed, listen={"address": "127.0.0.1:8712"})
    assert heard["slack hearing"].said.endswith("which leads to 127.0.0.1:8712")


async def test_approvers_who_decide_nothing_are_named(ground: Ground) -> None:
    people = ground.people
    guest, bot = people.add_user("guest", is_guest=True), people.add_user("bot", is_bot=True)
    empty = people.add_group("nobody", [])
    said = unwell(await ground.found(slack={"approvers": [guest, bot, empty, "U0NOBODY", "T0OTHER"]}))
    for expected in (
        f"{guest} is a guest, a bot or deactivated, and decides nothing",
        f"{bot} is a guest",
        f"{empty} is a group of nobody",
        "there is no U0NOBODY",
        "T0OTHER is not this workspace, which is T",
    ):
        assert expected in said["slack approvers"]
    assert "nobody may decide" in unwell(await ground.found(slack={"approvers": []}))["slack approvers"]


async def test_a_slack_that_does_not_answer(ground: Ground) -> None:
    found = await ground.found(slack={"api_url": "http://127.0.0.1:9/api/"})
    assert "auth.test: ClientConnectorError" in unwell(found)["slack"]
