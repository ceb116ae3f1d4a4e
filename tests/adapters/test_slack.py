"""The Slack adapter over the wire: what is said and how, and that nothing but what is asked for goes out."""

import logging

import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

from overlord.adapters.slack.chat import EVENT_TYPE, SLACK_HOOKS, SlackChat
from overlord.adapters.slack.scope import EVENTS, SCOPES, bot_scopes
from overlord.domain.chat.account import ChatIdentity, ChatUser, Posted
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.method import METHODS
from overlord.embedded.chat.workspace import SCOPES as GRANTED
from overlord.embedded.chat.workspace import STRANGERS
from overlord.errors import ChatExpired, ChatMissing, ChatRefused, ChatUnavailable
from tests.adapters.slack_calls import (
    FORM,
    Clock,
    accepting,
    connect,
    far_end,
    ground,
    saying,
)


async def test_who_we_are(people: EmbeddedChat, chat: SlackChat) -> None:
    assert await chat.identity() == ChatIdentity(team=people.team, user=UserId(people.bot_user))


async def test_a_message_is_posted_without_previews_and_with_its_key(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    posted = await chat.post(channel, saying("look at https://x.example", "Stop"), key="job-7")
    [message] = people.messages()
    assert posted == Posted(channel=channel, ts=MessageTs(message.ts))
    assert message.plain == "look at https://x.example\n[Stop]"
    assert (message.unfurl_links, message.unfurl_media) == (False, False)
    assert message.metadata == {"event_type": EVENT_TYPE, "event_payload": {"key": "job-7"}}
    said = people.requests[-1].arguments
    assert (said["parse"], said["link_names"]) == ("none", False)


async def test_a_reply_goes_into_its_thread(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    posted = await chat.post(channel, saying("card"), key="a")
    reply = await chat.post(channel, saying("story"), key="b", thread=posted.ts)
    assert [message.ts for message in people.messages(thread=posted.ts)] == [reply.ts]
    with pytest.raises(ChatMissing):
        await chat.post(channel, saying("story"), key="b", thread=MessageTs("1700000000.000100"))


async def test_an_edit_leaves_nothing_of_what_was_there(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    posted = await chat.post(channel, saying("running", "Stop"), key="a")
    await chat.edit(posted, saying("done"))
    message = people.message(posted.ts)
    assert (message.plain, message.buttons, message.text) == ("done", (), "done")
    assert message.metadata == {"event_type": EVENT_TYPE, "event_payload": {"key": "a"}}
    said = people.requests[-1].arguments
    assert (said["parse"], said["link_names"]) == ("none", False)


async def test_what_cannot_be_edited(people: EmbeddedChat, chat: SlackChat, channel: ChannelId) -> None:
    posted = await chat.post(channel, saying("running"), key="a")
    people.delete_message(posted.ts)
    with pytest.raises(ChatMissing, match="message_not_found"):
        await chat.edit(posted, saying("done"))
    theirs = await people.say(people.add_user("ada"), "hello")
    with pytest.raises(ChatRefused, match="cant_update_message"):
        await chat.edit(Posted(channel=channel, ts=MessageTs(theirs.ts)), saying("done"))


async def test_a_whisper_is_for_one_person(people: EmbeddedChat, chat: SlackChat, channel: ChannelId) -> None:
    ada = people.add_user("ada")
    await chat.ephemeral(channel, UserId(ada), saying("for you", "Show"))
    assert [message.plain for message in people.ephemerals(ada)] == ["for you\n[Show]"]
    assert people.messages() == []
    with pytest.raises(ChatMissing):
        await chat.ephemeral(channel, UserId("U0NOBODY"), saying("for you"))


# Answers to commands and presses


async def test_a_command_is_answered_for_its_givers_eyes(people: EmbeddedChat, chat: SlackChat) -> None:
    ada = people.add_user("ada")
    delivered = await people.command(ada, "status")
    await chat.respond(delivered.payload["response_url"], saying("all is well"))
    assert "all is well" in [message.plain for message in people.ephemerals(ada)]
    assert people.messages() == []
    [answer] = delivered.responses
    assert (answer["response_type"], answer["unfurl_links"], answer["unfurl_media"]) == (
        "ephemeral",
        False,
        False,
    )


async def test_an_answer_to_a_press_leaves_the_message_as_it_is(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    ada = people.add_user("ada")
    posted = await chat.post(channel, saying("card", "Stop"), key="a")
    pressed = await people.click(ada, posted.ts, "Stop")
    await chat.respond(pressed.payload["response_url"], saying("not you"))
    assert people.message(posted.ts).plain == "card\n[Stop]"
    assert "not you" in [message.plain for message in people.ephemerals(ada)]


async def test_an_address_for_answers_is_good_for_half_an_hour_and_five_answers(
    people: EmbeddedChat, chat: SlackChat, clock: Clock
) -> None:
    ada = people.add_user("ada")
    [first, second] = [(await people.command(ada, "status")).payload["response_url"] for _ in range(2)]
    for _ in range(5):
        await chat.respond(first, saying("again"))
    with pytest.raises(ChatExpired):
        await chat.respond(first, saying("again"))
    clock.move(minutes=31)
    with pytest.raises(ChatExpired):
        await chat.respond(second, saying("late"))
    with pytest.raises(ChatExpired):
        await chat.respond(f"{people.base_url}/response/nothing", saying("late"))


STRANGE = (
    "https://hooks.slack.com.evil.example/x",
    "https://hooks.slack.com@evil.example/x",
    "https://someone@hooks.slack.com/x",
    "http://hooks.slack.com/x",
    "https://hooks.slack.com:8443/x",
    "//hooks.slack.com/x",
    "file:///etc/passwd",
    "https://[::1",
    "http://127.0.0.1:notaport/",
    "",
)


async def test_an_answer_goes_nowhere_else(chat: SlackChat) -> None:
    for address in STRANGE:
        with pytest.raises(ChatRefused, match="not Slack's"):
            await chat.respond(address, saying("secret"))


async def test_an_answer_goes_only_below_the_place_that_was_named(people: EmbeddedChat, clock: Clock) -> None:
    async with far_end(accepting) as hooks:
        chat = connect(
            people.base_url, people.bot_token, clock, hooks=(*SLACK_HOOKS, f"{hooks.base_url}/commands/")
        )
        await chat.respond(f"{hooks.base_url}/commands/T1/x", saying("secret"))
        for other in ("/other", "/commands", "/commands/../other", "/commands/%2e%2e/other"):
            with pytest.raises(ChatRefused, match="not Slack's"):
                await chat.respond(f"{hooks.base_url}{other}", saying("secret"))
        await chat.close()
    [(path, headers)] = hooks.asked
    assert path == "/commands/T1/x"
    # Whoever is behind that address learns no token of ours.
    assert people.bot_token not in str(headers)


# Forms


async def test_a_form_opens_before_whoever_acted(people: EmbeddedChat, chat: SlackChat) -> None:
    ada = people.add_user("ada")
    delivered = await people.command(ada, "answer 3")
    await chat.ask(delivered.payload["trigger_id"], FORM)
    [view] = people.open_views(ada)
    assert (view.title, view.spec["callback_id"], view.spec["private_metadata"]) == (
        "Answer",
        "answer",
        "n0nce",
    )
    with pytest.raises(ChatExpired):
        await chat.ask(delivered.payload["trigger_id"], FORM)


async def test_a_form_that_comes_too_late(people: EmbeddedChat, chat: SlackChat, clock: Clock) -> None:
    delivered = await people.command(people.add_user("ada"), "answer 3")
    clock.move(seconds=4)
    with pytest.raises(ChatExpired, match="expired_trigger_id"):
        await chat.ask(delivered.payload["trigger_id"], FORM)
    with pytest.raises(ChatRefused, match="invalid_trigger_id"):
        await chat.ask("forged", FORM)


async def test_what_is_filled_in_comes_back_by_the_fields_name(people: EmbeddedChat, chat: SlackChat) -> None:
    ada = people.add_user("ada")
    await chat.ask((await people.command(ada, "answer 3")).payload["trigger_id"], FORM)
    [view] = people.open_views(ada)
    submitted = await people.submit(view, {"Your answer": "Postgres"}, ada)
    [values] = submitted.payload["view"]["state"]["values"].values()
    assert values["answer"]["value"] == "Postgres"


# People


async def test_who_somebody_is(people: EmbeddedChat, chat: SlackChat) -> None:
    ada = people.add_user("ada", real_name="Ada L.")
    assert await chat.person(UserId(ada)) == ChatUser(id=UserId(ada), name="ada", team=people.team)
    others = {
        "guest": people.add_user("guest", is_guest=True),
        "stranger": people.add_stranger("stranger"),
        "bot": people.add_user("bot", is_bot=True),
        "gone": people.add_user("gone", is_gone=True),
        "slackbot": "USLACKBOT",
    }
    found = {name: await chat.person(UserId(user)) for name, user in others.items()}
    assert {name: user.is_guest for name, user in found.items() if user.is_guest} == {
        "guest": True,
        "stranger": True,
    }
    assert found["stranger"].team == STRANGERS
    assert [name for name, user in found.items() if user.is_bot] == ["bot", "slackbot"]
    assert [name for name, user in found.items() if user.is_gone] == ["gone"]
    with pytest.raises(ChatMissing):
        await chat.person(UserId("U0NOBODY"))


BELONGING: list[tuple[dict[str, object], bool, str]] = [
    ({"team_id": "T1"}, False, "T1"),
    ({"team_id": "T1", "is_ultra_restricted": True}, True, "T1"),
    ({"team_id": "T1", "is_stranger": True}, True, "T1"),
    ({"team_id": "T2"}, True, "T2"),
    ({}, True, ""),
    # An organization of several workspaces: somebody may belong to more than one.
    ({"team_id": "T2", "enterprise_user": {"teams": ["T2", "T1"]}}, False, "T1"),
]


async def test_a_guest_is_whoever_does_not_wholly_belong(clock: Clock) -> None:
    about: dict[str, object] = {}

    def answer(_: object) -> Response:
        user = {"id": "U1", "name": "x\u202e\ny", **about}
        return JSONResponse({"ok": True, "team_id": "T1", "user_id": "U0", "user": user})

    async with far_end(answer) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        for about, is_guest, team in BELONGING:
            found = await chat.person(UserId("U1"))
            assert (found.is_guest, found.team, found.name) == (is_guest, team, "x y"), about
        await chat.close()


async def test_who_is_in_a_group(people: EmbeddedChat, chat: SlackChat) -> None:
    ada, bob = people.add_user("ada"), people.add_user("bob")
    assert set(await chat.group(people.add_group("approvers", [ada, bob]))) == {ada, bob}
    with pytest.raises(ChatMissing, match="begins with S"):
        await chat.group("S0NOBODY")


# What goes out


async def test_a_redirect_is_not_followed(clock: Clock) -> None:
    def elsewhere(_: object) -> Response:
        return RedirectResponse(f"{other.base_url}/api/auth.test", 307)

    async with far_end(accepting) as other, far_end(elsewhere) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        for act in (
            chat.identity,
            lambda: chat.post(ChannelId("C1"), saying("x"), key="k"),
            lambda: chat.respond(f"{end.base_url}/response/x", saying("x")),
        ):
            with pytest.raises(ChatUnavailable):
                await act()
        await chat.close()
    assert other.asked == []
    assert len(end.asked) == 3


async def test_this_machines_own_chat_is_not_reached_through_a_proxy(
    people: EmbeddedChat, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    chat = connect(people.base_url, people.bot_token, clock)
    assert (await chat.identity()).team == people.team
    await chat.close()


async def test_a_proxy_of_the_environment_is_used_for_what_is_not_on_this_machine(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with far_end(accepting) as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.base_url)
        chat = connect("http://slack.invalid", "xoxb-1", clock)
        posted = await chat.post(ChannelId("C1"), saying("x"), key="k")
        await chat.close()
    assert posted.channel == "C1"
    [(_, headers)] = proxy.asked
    assert headers["host"] == "slack.invalid"


async def test_nothing_that_is_said_is_logged(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    at = await ground(people, chat)
    await chat.post(at.channel, saying("between us"), key="a")
    await chat.respond(at.address, saying("between us"))
    texts = [record.getMessage() for record in caplog.records]
    assert [text for text in texts if "between us" in text or people.bot_token in text] == []


async def test_a_chat_that_was_closed_can_be_used_again(chat: SlackChat) -> None:
    await chat.identity()
    await chat.close()
    await chat.close()
    await chat.identity()


def test_the_embedded_chat_wants_the_scopes_that_slack_does() -> None:
    assert {name: METHODS[name].scopes for name in SCOPES} == dict(SCOPES)
    assert set(GRANTED) == set(bot_scopes())
    assert set(filter(None, EVENTS.values())) <= set(bot_scopes())
