"""What people do in the chat: they command, mention, talk, press buttons and fill in forms; each act comes back with what the
app said to it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from overlord.embedded.chat import block_text, payload
from overlord.embedded.chat.delivery import COMMANDS, EVENTS, PRESSES, Delivered, Deliveries
from overlord.embedded.chat.interaction import Interactions, message_content
from overlord.embedded.chat.problem import Problem
from overlord.embedded.chat.record import Button, Json, Message, Person, View
from overlord.embedded.chat.wire import RESPONSE, Wire
from overlord.embedded.chat.workspace import Workspace

ADDRESS = re.compile(r"https?://[^\s<>|]+")
COMMAND = "/overlord"


def typed(text: str, *, links: bool = True) -> str:
    """Words as Slack passes them on: its three signs escaped, and addresses made links of."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return ADDRESS.sub(lambda found: f"<{found[0]}>", escaped) if links else escaped


class People:
    """Everybody in the workspace but the app."""

    def __init__(
        self, workspace: Workspace, interactions: Interactions, deliveries: Deliveries, wire: Wire
    ) -> None:
        self.workspace = workspace
        self.interactions = interactions
        self.deliveries = deliveries
        self.wire = wire
        self.acts: list[tuple[str, str]] = []
        """When somebody did what, for the transcript."""

    # Commands and words

    async def command(
        self, user: str, text: str, *, channel: str, command: str = COMMAND, thread: str | None = None
    ) -> Delivered:
        """Give a slash command; what it is acknowledged with is shown to whoever gave it."""
        person, where = self._person(user), self.workspace.channel(channel)
        if thread is not None:
            raise ValueError("Slack takes no slash commands in a thread")
        token, address = self.interactions.address(person.id, where.id)
        body = payload.slash_command(
            person,
            where,
            command,
            typed(text, links=False),
            trigger=self.interactions.trigger(person.id, where.id),
            response_url=self._response_url(token),
        )
        delivered = Delivered(kind=COMMANDS, payload=body, user=person.id, channel=where.id, address=address)
        self._note(person, f"{command} {text}")
        await self.deliveries.deliver(delivered)
        self._show_answer(delivered, command)
        return delivered

    async def mention(self, user: str, text: str, *, channel: str, thread: str | None = None) -> Delivered:
        """Speak to the app by its name; it receives that twice, as a mention and as a message."""
        delivered = await self._post(user, f"<@{self.workspace.bot.id}> {typed(text)}", channel, thread)
        message = self.workspace.standing[delivered.ts]
        event = self.workspace.event(message, {**self.workspace.shape(message), "type": "app_mention"})
        return await self._deliver(message, event)

    async def say(
        self,
        user: str,
        text: str,
        *,
        channel: str,
        thread: str | None = None,
        is_broadcast: bool = False,
        files: Sequence[str] = (),
    ) -> Delivered:
        """Write a message, or a reply into the thread of one, with files of these names."""
        if is_broadcast and thread is None:
            raise ValueError("only a reply in a thread can be sent to the channel too")
        sent = tuple(self._file(name) for name in files)
        return await self._post(user, typed(text), channel, thread, is_broadcast=is_broadcast, files=sent)

    async def _post(self, user: str, text: str, channel: str, thread: str | None, **more: Any) -> Delivered:
        person = self._person(user)
        bot_id = self.workspace.next_id("B") if person.is_bot else ""
        message = self.workspace.put(channel, person.id, text, thread=thread or "", bot_id=bot_id, **more)
        return await self._deliver(message, self.workspace.event(message, self.workspace.shape(message)))

    async def _deliver(self, message: Message, event: Json | None) -> Delivered:
        body = payload.event_callback(self.workspace, event) if event else {}
        delivered = Delivered(
            kind=EVENTS, payload=body, user=message.user, channel=message.channel, ts=message.ts
        )
        return await self.deliveries.deliver(delivered) if event else delivered

    def deliver(self, event: Json) -> None:
        """Tell the app of something beside everything else."""
        body = payload.event_callback(self.workspace, event)
        self.deliveries.deliver_soon(Delivered(kind=EVENTS, payload=body, channel=event["channel"]))

    # Buttons

    async def click(
        self, user: str, message_ts: str, button: str | Button, *, channel: str | None = None
    ) -> Delivered:
        """Press a button that stands in a message now; LookupError for one that does not."""
        person = self._person(user)
        message = self._shown(person, message_ts)
        if message is None or channel not in (None, message.channel):
            raise LookupError(f"no message {message_ts}{f' in {channel}' if channel else ''}")
        block_id, element = _button(message.blocks, button)
        self._note(person, f"[{element['text']['text']}]")
        return await self._press(person, message, payload.action(element, block_id=block_id))

    async def click_with(self, user: str, message_ts: str, action_id: str, value: str) -> Delivered:
        """Press a button as somebody would who changes what it gives back."""
        person = self._person(user)
        message = self._shown(person, message_ts)
        if message is None:
            raise LookupError(f"no message {message_ts}")
        buttons = {element["action_id"]: (at, element) for at, element in block_text.buttons(message.blocks)}
        text = {"type": "plain_text", "text": action_id, "emoji": True}
        at, element = buttons.get(action_id, ("", {"action_id": action_id, "text": text}))
        self._note(person, f"[{action_id}] with {value!r}")
        return await self._press(person, message, payload.action({**element, "value": value}, block_id=at))

    async def click_stale(self, user: str, button: Button) -> Delivered:
        """Press a button that was looked at earlier, whatever stands in its message now."""
        person = self._person(user)
        gone = Message(channel=button.channel, ts=button.ts, user=self.workspace.bot.id, text="")
        message = self._shown(person, button.ts) or gone
        element: Json = {
            "action_id": button.action_id,
            "text": {"type": "plain_text", "text": button.label, "emoji": True},
        }
        element |= {name: word for name in ("value", "url", "style") if (word := getattr(button, name))}
        self._note(person, f"[{button.label}], which stood there before")
        return await self._press(person, message, payload.action(element, block_id=button.block_id))

    async def _press(self, person: Person, message: Message, action: Json) -> Delivered:
        token, address = self.interactions.address(person.id, message.channel, source=message)
        body = payload.block_actions(
            self.workspace,
            person,
            message,
            action,
            trigger=self.interactions.trigger(person.id, message.channel),
            response_url=self._response_url(token),
        )
        delivered = Delivered(
            kind=PRESSES,
            payload=body,
            user=person.id,
            channel=message.channel,
            ts=message.ts,
            address=address,
        )
        return await self.deliveries.deliver(delivered)

    # Home tabs

    async def open_home(self, user: str) -> Delivered:
        """Open the app's Home tab; the app receives an event each time."""
        person = self._person(user)
        view = self.interactions.homes.get(person.id)
        shape = self.interactions.shape(view) if view is not None else None
        body = payload.event_callback(self.workspace, payload.home_opened(self.workspace, person, shape))
        return await self.deliveries.deliver(Delivered(kind=EVENTS, payload=body, user=person.id))

    async def click_home(self, user: str, button: str | Button) -> Delivered:
        """Press a button of one's Home tab as it is now; LookupError for one that does not stand there."""
        person = self._person(user)
        view = self.interactions.homes.get(person.id)
        if view is None:
            raise LookupError(f"{user} has not been shown a Home tab")
        block_id, element = _button(view.spec["blocks"], button)
        self._note(person, f"[{element['text']['text']}], at home")
        body = payload.home_actions(
            self.workspace,
            person,
            self.interactions.shape(view),
            payload.action(element, block_id=block_id),
            trigger=self.interactions.trigger(person.id, ""),
        )
        return await self.deliveries.deliver(Delivered(kind=PRESSES, payload=body, user=person.id))

    # Forms

    async def submit(self, view: View, values: Mapping[str, str], user: str) -> Delivered:
        """Fill in a modal that is open and send it off. Fields go by label, block or action.

        LookupError for a modal or a field that is not there, ValueError for what its field does not take."""
        person, view = self._person(user), self._open(view, user)
        state = _filled_in(view, values)
        shape = self.interactions.shape(view, state)
        trigger = self.interactions.trigger(person.id, "")
        body = payload.view_submission(self.workspace, person, shape, trigger=trigger)
        self._note(person, f"({view.title}) {' · '.join(values.values())}")
        delivered = Delivered(kind=PRESSES, payload=body, user=person.id)
        await self.deliveries.deliver(delivered)
        if delivered.acked:
            self._follow(view, delivered)
        return delivered

    async def view_closed(self, view: View, user: str) -> Delivered:
        """Close a modal without sending it; the app receives an event if it has asked for one."""
        person, view = self._person(user), self._open(view, user)
        self.interactions.close(view)
        shape = self.interactions.shape(view)
        body = payload.view_closed(self.workspace, person, shape)
        delivered = Delivered(kind=PRESSES, payload=body, user=person.id)
        return await self.deliveries.deliver(delivered) if shape["notify_on_close"] else delivered

    def _follow(self, view: View, delivered: Delivered) -> None:
        """Do with a modal what the acknowledgement of its submission says."""
        answer = delivered.answer or {}
        try:
            match answer.get("response_action"):
                case None | "clear":
                    self.interactions.close(view)
                case "errors":
                    self.interactions.object_to(view, answer.get("errors"))
                case "update":
                    self.interactions.show_instead(view, answer.get("view"))
                case other:
                    delivered.error = f"invalid_arguments: no response_action {other}"
        except Problem as problem:
            delivered.error = str(problem)

    # What they see of it

    def _show_answer(self, delivered: Delivered, command: str) -> None:
        body, address = delivered.answer, delivered.address
        assert address is not None
        if body and not delivered.error:
            try:
                text, blocks = message_content(body)
            except Problem as problem:
                delivered.error = str(problem)
            else:
                self.interactions.show(address, text, blocks, body)
                in_channel = body.get("response_type") == "in_channel"
                shown = list(self.workspace.standing.values()) if in_channel else self.workspace.whispers
                delivered.shown = shown[-1]
        if delivered.error:
            words = f'{command} failed with the error "{delivered.error}"'
            slackbot = self.workspace.slackbot.id
            self.workspace.ephemeral(delivered.channel, delivered.user, words, author=slackbot)

    def shown(self, user: str, ts: str) -> Message | None:
        """A message that somebody sees."""
        return self._shown(self._person(user), ts)

    def _shown(self, person: Person, ts: str) -> Message | None:
        whispers = [m for m in self.workspace.whispers if m.ts == ts and m.shown_to == person.id]
        message = self.workspace.standing.get(ts)
        found = whispers or ([message] if message and not message.is_tombstone else [])
        return found[0] if found else None

    def _open(self, view: View, user: str) -> View:
        found = self.interactions.views.get(view.id)
        if found is None or found.user != self._person(user).id:
            raise LookupError(f"no modal {view.id} is open before {user}")
        return found

    def _person(self, user: str) -> Person:
        try:
            return self.workspace.person(user)
        except Problem:
            raise LookupError(f"nobody called {user!r}") from None

    def _file(self, name: str) -> Json:
        """A file as messages name it; what is in it takes a scope of its own to read."""
        number = self.workspace.next_id("F")
        url = f"https://files.slack.com/files-pri/{self.workspace.team}-{number}/{name}"
        return {"id": number, "name": name, "title": name, "mode": "hosted", "url_private": url}

    def _response_url(self, token: str) -> str:
        return f"{self.wire.base_url}{RESPONSE}{token}"

    def _note(self, person: Person, words: str) -> None:
        self.acts.append((self.workspace.next_ts(), f"{person.name}: {words}"))


def _button(blocks: Sequence[Json], button: str | Button) -> tuple[str, Json]:
    """The one button among these that is meant, with its block: by label, by action, by what comes before the
    action's colon; or the one that still gives back what another did."""
    buttons = list(block_text.buttons(blocks))
    if isinstance(button, Button):
        looks = (button.label, button.action_id, button.value)
        found = [
            (block_id, element)
            for block_id, element in buttons
            if (element["text"]["text"], element["action_id"], element.get("value", "")) == looks
        ]
        found = [item for item in found if item[0] == button.block_id] or found
    else:
        exact = [item for item in buttons if button in (item[1]["text"]["text"], item[1]["action_id"])]
        found = exact or [item for item in buttons if item[1]["action_id"].partition(":")[0] == button]
    if len(found) != 1:
        labels = [f"{element['text']['text']} ({element['action_id']})" for _, element in buttons]
        raise LookupError(f"{len(found)} buttons named {button!r}; there are: {', '.join(labels) or 'none'}")
    return found[0]


def _filled_in(view: View, values: Mapping[str, str]) -> Json:
    """The fields with what was written into them; untouched ones keep what they began with."""
    left = dict(values)
    state: Json = {}
    for block in view.spec["blocks"]:
        if block["type"] != "input":
            continue
        element: Mapping[str, Any] = block["element"]
        names = {block["label"]["text"], block["block_id"], element["action_id"]} & left.keys()
        text = left.pop(names.pop()) if names else element.get("initial_value", "")
        least, most = element.get("min_length", 0), element.get("max_length", 3000)
        if not text and not block.get("optional", False):
            raise ValueError(f"{block['label']['text']!r} must be filled in")
        if text and not least <= len(text) <= most:
            raise ValueError(f"{block['label']['text']!r} takes {least} to {most} characters")
        filled = {"type": element["type"], "value": text or None}
        state[block["block_id"]] = {element["action_id"]: filled}
    if left:
        raise LookupError(f"no such fields: {sorted(left)}")
    return state
