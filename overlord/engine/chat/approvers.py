"""Who may give commands in the chat: members of our own workspace may look; who may decide, the settings name for each space."""

from overlord.domain.chat.account import ChatUser
from overlord.domain.identifiers import UserId
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.errors import ChatMissing


async def why_not_a_member(chat_output: ChatOutput, user: str, team: str) -> str:
    """Why somebody is not talked with, in a sentence for them; empty for a member of our workspace."""
    ours = (await chat_output.identity()).team
    try:
        person = await chat_output.person(UserId(user))
    except ChatMissing:
        return "I do not know who you are, so I cannot do that for you."
    if person.is_bot:
        return "I take no orders from bots."
    if person.is_gone:
        return "Your account is deactivated."
    if person.is_guest or person.team != ours or (team and team != ours):
        return (
            "I work for the members of this workspace; guests and people of other workspaces ask one of them."
        )
    return ""


async def may_decide(parts: Parts, chat_output: ChatOutput, user: str, space: str) -> bool:
    """Whether somebody's word counts for a space; of none, for everything."""
    person: ChatUser | None = None
    for approver in parts.settings.approvers(space):
        if approver == user:
            return True
        if approver.startswith("S") and await _is_in(chat_output, approver, user):
            return True
        if approver.startswith("T"):
            person = person or await chat_output.person(UserId(user))
            if person.team == approver:
                return True
    return False


async def _is_in(chat_output: ChatOutput, group: str, user: str) -> bool:
    try:
        return user in await chat_output.members(group)
    except ChatMissing:
        return False


def not_among(parts: Parts, user: str, space: str) -> str:
    """What somebody is told whose word does not count."""
    where = f"for {space}" if space else "for everything"
    key = (
        f"spaces.{space}.approvers"
        if space and "approvers" in parts.settings.keys_of(space)
        else "slack.approvers"
    )
    return f"Only approvers decide that {where}, and {user} is not among them. Whoever runs Overlord adds people in {key}."
