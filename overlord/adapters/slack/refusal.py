"""What Slack's error words mean to Overlord: whose fault it is, and what a person does about it. One table."""

from collections.abc import Mapping
from typing import Any

from overlord.adapters.slack.scope import SCOPES
from overlord.domain.text.plain import plain_line
from overlord.errors import (
    ChatExpired,
    ChatMissing,
    ChatRefused,
    ChatUnavailable,
    ExternalServiceError,
    MessageMissing,
)

QUOTED_CHARS = 300
TOKEN = "check SLACK_BOT_TOKEN: it begins with xoxb- and is on the app's page under OAuth & Permissions"
ANEW = "install the app again and put the new token in SLACK_BOT_TOKEN"
INVITE = "invite it: /invite @Overlord"
CHANNEL = "check SLACK_CHANNEL_ID; into a private channel Overlord must be invited: /invite @Overlord"
LATER = ChatUnavailable, ""

MEANINGS: Mapping[str, tuple[type[ExternalServiceError], str]] = {
    **dict.fromkeys(("ratelimited", "rate_limited", "message_limit_exceeded"), LATER),
    **dict.fromkeys(("internal_error", "fatal_error", "service_unavailable", "request_timeout"), LATER),
    **dict.fromkeys(("team_added_to_org", "update_failed"), LATER),
    **dict.fromkeys(("message_not_found", "thread_not_found"), (MessageMissing, "")),
    "channel_not_found": (ChatMissing, CHANNEL),
    "not_in_channel": (ChatMissing, INVITE),
    "user_not_in_channel": (ChatMissing, ""),
    "user_not_visible": (ChatMissing, ""),
    "no_such_subteam": (ChatMissing, "there is no user group with this id; it begins with S"),
    "subteam_not_found": (ChatMissing, "there is no user group with this id; it begins with S"),
    "team_not_found": (ChatRefused, TOKEN),
    **dict.fromkeys(("expired_trigger_id", "exchanged_trigger_id"), (ChatExpired, "")),
    **dict.fromkeys(("expired_url", "used_url"), (ChatExpired, "")),
    "is_archived": (ChatRefused, "unarchive the channel, or name another one in SLACK_CHANNEL_ID"),
    "restricted_action": (ChatRefused, "let Overlord post there, in the channel's posting permissions"),
    "not_enabled": (ChatRefused, "turn the Home tab on: put the manifest in again (App Manifest)"),
    "not_authed": (ChatRefused, TOKEN),
    "invalid_auth": (ChatRefused, TOKEN),
    "not_allowed_token_type": (ChatRefused, TOKEN),
    "token_expired": (ChatRefused, f"turn token rotation off for the app; {ANEW}"),
    "token_revoked": (ChatRefused, ANEW),
    "account_inactive": (ChatRefused, f"the app was uninstalled; {ANEW}"),
    "org_login_required": (ChatRefused, "the workspace is moving to an organization; install the app there"),
}
"""Slack's word → what it is to us, and what to do about it. A word that is not here is a plain refusal."""
MISSING = "_not_found"
"""How Slack's words for a thing that is not there end."""


def meaning(
    method: str, status: int, answer: Mapping[str, Any], wait_s: float | None
) -> ExternalServiceError:
    """An answer that is no success as an exception of ours. `wait_s`: how long Slack asked to be left alone, if it did."""
    word = plain_line(str(answer.get("error") or ""), limit=QUOTED_CHARS)
    text = f"{method}: {word or f'status {status} without a word'}"
    kind, advice = MEANINGS.get(word, (ChatMissing if word.endswith(MISSING) else ChatRefused, ""))
    if wait_s is not None and (status == 429 or word in ("ratelimited", "rate_limited")):
        return ChatUnavailable(f"{text}; asked to wait {wait_s:.0f} s", retry_after_s=wait_s)
    if status >= 500 or status in (408, 429) or not word or kind is ChatUnavailable:
        return ChatUnavailable(f"{text} (status {status})" if word else text, retry_after_s=wait_s)
    if word == "missing_scope":
        advice = _scope_advice(method, answer)
    details = [advice] if advice else [plain_line(line, limit=QUOTED_CHARS) for line in _messages(answer)]
    return kind(f"{text} ({'; '.join(details)})" if details else text)


def _scope_advice(method: str, answer: Mapping[str, Any]) -> str:
    """Which scope to add. Slack says it; if not, the method does."""
    needed = plain_line(str(answer.get("needed") or ""), limit=QUOTED_CHARS) or ", ".join(
        SCOPES.get(method, ())
    )
    return f"add {needed} under OAuth & Permissions, Bot Token Scopes, and install the app again"


def _messages(answer: Mapping[str, Any]) -> list[str]:
    """What Slack says beyond its word, of blocks and arguments it does not take."""
    metadata = answer.get("response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, Mapping) else None
    return [str(message) for message in messages[:3]] if isinstance(messages, list) else []
