"""What a command or a press gives the app besides itself: a trigger for one modal, an address for a few answers; and the
modals that are open."""

import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

from overlord.embedded.chat import block_kit, block_text
from overlord.embedded.chat.problem import Problem, wrong_field
from overlord.embedded.chat.record import Json, Message, ResponseAddress, Trigger, View
from overlord.embedded.chat.workspace import APP, Workspace

TRIGGER_LIFETIME = timedelta(seconds=3)
ADDRESS_LIFETIME = timedelta(minutes=30)
MOST_ANSWERS = 5


class Interactions:
    """Triggers, response addresses and modals of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.triggers: dict[str, Trigger] = {}
        self.spent: set[str] = set()
        self.addresses: dict[str, ResponseAddress] = {}
        self.views: dict[str, View] = {}
        """The modals that are open, by id."""
        self.homes: dict[str, View] = {}
        """What the app shows in the Home tab of each person."""
        self.has_home = True
        """Whether the app's manifest asks for that tab."""

    def trigger(self, user: str, channel: str) -> str:
        """Let the app open one modal for somebody, within three seconds."""
        name = f"{self.workspace.next_id('7')}.{secrets.token_hex(8)}"
        self.triggers[name] = Trigger(user=user, channel=channel, issued_at=self.workspace.now())
        return name

    def address(
        self, user: str, channel: str, *, source: Message | None = None
    ) -> tuple[str, ResponseAddress]:
        """Let the app answer somebody; gives the token that is the end of the address."""
        token = secrets.token_urlsafe(24)
        address = ResponseAddress(
            user=user,
            channel=channel,
            issued_at=self.workspace.now(),
            thread_ts=source.thread_ts if source else "",
            source_ts=source.ts if source else "",
        )
        self.addresses[token] = address
        return token, address

    # Modals

    def open(self, trigger_id: str, view: Any) -> View:
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise Problem("invalid_trigger_id")
        if trigger_id in self.spent:
            raise Problem("exchanged_trigger_id")
        if self.workspace.now() - trigger.issued_at > TRIGGER_LIFETIME:
            raise Problem("expired_trigger_id")
        spec = fit_view(view)
        self.spent.add(trigger_id)
        opened = View(
            id=self.workspace.next_id("V"), user=trigger.user, spec=spec, hash=self.workspace.next_ts()
        )
        return self._show(opened)

    def show_instead(self, view: View, spec: Any) -> View:
        """Put another modal in an open one's place."""
        return self._show(replace(view, spec=fit_view(spec), hash=self.workspace.next_ts(), errors={}))

    def object_to(self, view: View, errors: Any) -> View:
        """Show beside the fields what is wrong with what was filled in."""
        known = {block["block_id"] for block in view.spec["blocks"] if block["type"] == "input"}
        if not isinstance(errors, dict) or not errors or not errors.keys() <= known:
            raise Problem("invalid_arguments", messages=[f"[ERROR] no errors of its fields: {errors}"])
        return self._show(replace(view, errors=errors))

    def close(self, view: View) -> None:
        self.views.pop(view.id, None)
        self.workspace.change()

    def _show(self, view: View) -> View:
        self.views[view.id] = view
        self.workspace.change()
        return view

    def shape(self, view: View, state: Json | None = None) -> Json:
        """A modal in Slack's words."""
        defaults: Json = {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "submit": None,
            "close": None,
        }
        return {
            **defaults,
            "clear_on_close": False,
            "notify_on_close": False,
            **view.spec,
            "id": view.id,
            "team_id": self.workspace.team,
            "state": {"values": state or {}},
            "hash": view.hash,
            "previous_view_id": None,
            "root_view_id": view.id,
            "app_id": APP,
            "app_installed_team_id": self.workspace.team,
            "bot_id": self.workspace.bot_id,
        }

    # Home tabs

    def publish(self, user: str, view: Any) -> View:
        """Put something else into somebody's Home tab."""
        if not self.has_home:
            raise Problem("not_enabled")
        if user not in self.workspace.people:
            raise Problem("invalid_arguments", messages=["[ERROR] no such user [json-pointer:/user_id]"])
        if faults := block_kit.home_faults(view):
            raise Problem("invalid_arguments", messages=faults)
        before = self.homes.get(user)
        spec = {**view, "blocks": list(block_text.named(view["blocks"]))}
        number = before.id if before is not None else self.workspace.next_id("V")
        self.homes[user] = View(id=number, user=user, spec=spec, hash=self.workspace.next_ts())
        self.workspace.change()
        return self.homes[user]

    # Answers

    def answer(self, token: str, body: Any) -> None:
        """Carry out what the app sent to a response address."""
        address = self.addresses.get(token)
        if address is None:
            raise Problem("no_service", status=404)
        if self.workspace.now() - address.issued_at > ADDRESS_LIFETIME:
            raise Problem("expired_url", status=404)
        if address.uses >= MOST_ANSWERS:
            raise Problem("used_url", status=404)
        if not isinstance(body, dict):
            raise Problem("invalid_payload", status=400)
        source = self.workspace.standing.get(address.source_ts)
        text, blocks = message_content(body, is_optional=body.get("delete_original") is True)
        address.uses += 1
        address.answers.append(body)
        if body.get("delete_original") is True:
            self._delete_source(address)
        elif body.get("replace_original") is True and source is not None:
            self.workspace.edit(source, text=text, blocks=blocks)
        elif body.get("replace_original") is True and address.source_ts:
            self._replace_ephemeral(address, text, blocks)
        else:
            self.show(address, text, blocks, body)

    def show(self, address: ResponseAddress, text: str, blocks: list[Json], body: Json) -> None:
        """Show an answer: to its person only, unless it says that it is for the channel."""
        where = address.channel
        thread = str(body.get("thread_ts") or address.thread_ts)
        if body.get("response_type") == "in_channel":
            bot = self.workspace.bot.id
            self.workspace.post(where, bot, text, blocks=blocks, thread=thread, bot_id=self.workspace.bot_id)
        else:
            self.workspace.ephemeral(where, address.user, text, blocks=blocks, thread_ts=thread)

    def _delete_source(self, address: ResponseAddress) -> None:
        whispers = self.workspace.whispers
        if address.source_ts in self.workspace.standing:
            self.workspace.delete(address.source_ts)
        else:
            whispers[:] = [message for message in whispers if message.ts != address.source_ts]
            self.workspace.change()

    def _replace_ephemeral(self, address: ResponseAddress, text: str, blocks: list[Json]) -> None:
        whispers = self.workspace.whispers
        for index, message in enumerate(whispers):
            if message.ts == address.source_ts:
                named = block_text.named(blocks)
                whispers[index] = replace(message, text=text, blocks=named, edits=message.edits + 1)
        self.workspace.change()


def message_content(body: Json, *, is_optional: bool = False, name: str = "blocks") -> tuple[str, list[Json]]:
    """The text and the blocks of a message that the app sends, once they are seen to be what Slack takes."""
    text, blocks = body.get("text") or "", body.get(name) or []
    if not isinstance(text, str):
        raise wrong_field("text", "must provide a string")
    if block_kit.text_fault(text):
        raise Problem("msg_too_long")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise Problem("invalid_blocks_format")
    if faults := block_kit.message_faults(blocks):
        raise Problem("invalid_blocks", messages=faults)
    if not text and not blocks and not is_optional:
        raise Problem("no_text")
    return text, blocks


def fit_view(view: Any) -> Json:
    """A modal, once it is seen to be what Slack takes; its blocks named."""
    if faults := block_kit.view_faults(view):
        raise Problem("invalid_arguments", messages=faults)
    return {**view, "blocks": list(block_text.named(view["blocks"]))}
