"""What `overlord doctor` looks at in Slack: the tokens, their scopes, the channel, and the approvers. It says nothing there."""

from collections.abc import Sequence

from overlord.adapters.clock import SystemClock
from overlord.adapters.slack.access import SlackPermissions
from overlord.adapters.slack.scope import SOCKET_SCOPE, bot_scopes
from overlord.domain.identifiers import ChannelId, UserId
from overlord.entrypoints.doctor.finding import Finding, bad, warn, well
from overlord.errors import ChatMissing, ExternalServiceError
from overlord.settings.load import Settings

OFF = "off: without SLACK_BOT_TOKEN people use the command line; deploy/slack-app.md connects it"
NOBODY = "nobody may decide in the chat: name people in slack.approvers (U…, S… for a group, T… for all)"


async def examine_slack(settings: Settings) -> Sequence[Finding]:
    """Every finding about the chat."""
    slack = settings.slack
    if not slack.is_on:
        return [well("slack", OFF)]
    permissions = SlackPermissions(
        api_url=slack.api_url,
        bot_token=slack.bot_token.get_secret_value(),
        app_token=slack.app_token.get_secret_value(),
        timeout_s=slack.timeout_s,
        now=SystemClock().now,
    )
    try:
        return await _looked(permissions, settings)
    except ExternalServiceError as error:
        return [bad("slack", str(error))]
    finally:
        await permissions.close()


async def _looked(permissions: SlackPermissions, settings: Settings) -> Sequence[Finding]:
    """Raises ExternalServiceError where the bot token itself is not taken; nothing else can be looked at then."""
    who = await permissions.identity()
    found = [well("slack", f"at {settings.slack.api_url}, workspace {who.team}, as {who.user}")]
    found.append(_scopes(await permissions.granted()))
    found.append(await _channel(permissions, settings.slack.channel))
    found.append(await _hearing(permissions, settings))
    return [*found, await _approvers(permissions, settings)]


def _scopes(granted: frozenset[str]) -> Finding:
    if not granted:
        return warn("slack scopes", "Slack does not tell which the bot token has")
    if lacking := [scope for scope in bot_scopes() if scope not in granted]:
        text = f"the bot token lacks {', '.join(lacking)}: add them under OAuth & Permissions, Bot Token Scopes, and install the app again"
        return bad("slack scopes", text)
    return well("slack scopes", "the bot token has all it needs")


async def _channel(permissions: SlackPermissions, channel: str) -> Finding:
    try:
        await permissions.read_channel(ChannelId(channel))
    except ExternalServiceError as error:
        return bad("slack channel", f"{channel}: {error}")
    return well("slack channel", f"{channel} can be read")


async def _hearing(permissions: SlackPermissions, settings: Settings) -> Finding:
    """How requests of people arrive."""
    if not settings.slack.by_socket:
        if not settings.listen.address:
            text = "signed requests need listen.address (OVERLORD_LISTEN); or set SLACK_APP_TOKEN for Socket Mode"
            return bad("slack hearing", text)
        text = f"Slack calls https://HOST/slack/events, which leads to {settings.listen.address}"
        return well("slack hearing", text)
    try:
        await permissions.may_listen()
    except ExternalServiceError as error:
        text = f"{error}; SLACK_APP_TOKEN is an app-level token (xapp-…) with {SOCKET_SCOPE}, and Socket Mode is on"
        return bad("slack hearing", text)
    return well("slack hearing", "by Socket Mode")


async def _approvers(permissions: SlackPermissions, settings: Settings) -> Finding:
    named = dict.fromkeys(settings.slack.approvers)
    for space in settings.repositories:
        named |= dict.fromkeys(settings.approvers(space))
    if not named:
        return warn("slack approvers", NOBODY)
    problems = [problem for approver in named if (problem := await _problem(permissions, approver))]
    if problems:
        return warn("slack approvers", "; ".join(problems))
    return well("slack approvers", ", ".join(named))


async def _problem(permissions: SlackPermissions, approver: str) -> str:
    """Why one of them decides nothing, if that is so."""
    try:
        if approver.startswith("T"):
            ours = (await permissions.identity()).team
            return "" if approver == ours else f"{approver} is not this workspace, which is {ours}"
        if approver.startswith("S"):
            return "" if await permissions.members(approver) else f"{approver} is a group of nobody"
        person = await permissions.person(UserId(approver))
        counts = not (person.is_bot or person.is_gone or person.is_guest)
        return "" if counts else f"{approver} is a guest, a bot or deactivated, and decides nothing"
    except ChatMissing:
        return f"there is no {approver}"
    except ExternalServiceError as error:
        return f"{approver} could not be looked up: {error}"
