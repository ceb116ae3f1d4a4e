"""Signed requests in place of a socket: the same conversation over the operator's listener; and whatever is not signed, late,
seen before or misshapen is refused alike, nothing is written, and the daemon goes on."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.chat.hook import encoded, signature, signed_headers
from overlord.embedded.chat.workspace import utc_now
from overlord.embedded.play import edit, submit
from overlord.entrypoints.chat.signed import MAX_BYTES
from overlord.entrypoints.chat.talk import talking
from overlord.entrypoints.listen.listener import listening
from overlord.settings.model import Listen
from overlord.store import ledger
from overlord.store.spaces import pauses
from tests.chatting import Talk
from tests.listener.wire import Answer, exchange, get
from tests.pressing import WORK, asked, questions, stuck
from tests.quick import made_quick_talk
from tests.world import FIX, REPO

FORM = "application/x-www-form-urlencoded"
PATH = "/slack/events"


@dataclass
class SessionApi:
    """Where Slack's requests arrive, and who stands before it."""

    talk: Talk
    place: str

    async def knock(self, body: bytes, headers: list[tuple[str, str | bytes]]) -> Answer:
        """A request of these very headers and bytes."""
        lines = [f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}".encode()]
        lines += [name.encode() + b": " + (v if isinstance(v, bytes) else v.encode()) for name, v in headers]
        return await exchange(self.place, b"\r\n".join(lines) + b"\r\n\r\n" + body)

    def signed(
        self, body: bytes, *, content_type: str = FORM, ago_s: float = 0
    ) -> list[tuple[str, str | bytes]]:
        """The headers with which Slack would send this."""
        at = self.talk.chat.workspace.now() - timedelta(seconds=ago_s)
        secret = self.talk.chat.signing_secret
        return list(signed_headers(secret, body, at=at, content_type=content_type).items())

    async def written(self) -> tuple[int, int, int]:
        """How much is written down: requests, ledger events, pauses."""

        def count(connection: Any) -> tuple[int, int, int]:
            [said] = connection.execute("SELECT count(*) FROM requests").fetchone()
            return said, len(list(ledger.entries(connection))), len(pauses.every(connection))

        found: tuple[int, int, int] = await self.talk.world.read(count)
        return found


@contextlib.asynccontextmanager
async def made_door(**overrides: Any) -> AsyncIterator[SessionApi]:
    """A talk in which Slack calls the Overlord."""
    async with made_quick_talk(**overrides) as talk:
        chat, world = talk.chat, talk.world
        signing = {"app_token": "", "signing_secret": chat.signing_secret}
        world.overrides["slack"] = world.overrides["slack"] | signing
        at = utc_now()  # requests are checked by the machine's time; that of Slack stands, whatever second a test has come to
        chat.workspace.now = lambda: at
        world.chat = None  # it is not waited for at a socket
        await world.start()
        world.chat = chat
        listen = Listen(address="127.0.0.1:0", webhook_secret="")
        async with (
            talking(world.overlord) as slack,
            listening(listen, world.overlord, slack=slack) as place,
        ):
            assert slack is not None
            await chat.deliver_to(f"http://{place}{PATH}")
            yield SessionApi(talk=talk, place=place)


@pytest.fixture
async def session_api() -> AsyncIterator[SessionApi]:
    async with made_door() as session_api:
        yield session_api


def command(session_api: SessionApi, text: str = f"pause {REPO}", *, trigger: str = "1.forged") -> bytes:
    """A slash command of alice's, as Slack writes it."""
    chat = session_api.talk.chat
    said = {"command": "/overlord", "text": text, "user_id": session_api.talk.alice, "team_id": chat.team}
    said |= {"channel_id": chat.channel, "trigger_id": trigger, "api_app_id": "A0OVERLORD"}
    return urlencode(said).encode()


# The conversation


async def test_a_whole_conversation_works(session_api: SessionApi) -> None:
    talk = session_api.talk
    assert talk.chat.links == 0
    card = await stuck(talk)
    assert "cannot go on" in await talk.command("why #1")
    talk.world.model_will(*WORK)
    await talk.press(card, "Try again")
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    assert f"Try again · @{talk.alice}" in talk.card("Blocker 1").plain
    mention = await talk.chat.mention(talk.alice, "status")
    await talk.chat.arrived()
    await talk.world.settle()
    [answer] = talk.chat.messages(thread=mention.ts)
    assert "in review" in answer.plain
    assert "What I understand" in await talk.command("help")


async def test_a_question_is_answered_by_a_reply_and_by_a_form(session_api: SessionApi) -> None:
    talk = session_api.talk
    card = await asked(talk)
    await talk.chat.click(talk.alice, card.ts, "In words …")
    await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
    [view] = talk.chat.open_views(talk.alice)
    assert (await talk.chat.submit(view, {"Your answer": "plus, of course"}, talk.alice)).acked
    await talk.world.settle()
    [card] = questions(talk)
    assert "> plus, of course" in card.plain
    assert (await talk.world.job()).state is JobState.IN_REVIEW


async def test_a_reply_in_the_thread_arrives_too(session_api: SessionApi) -> None:
    talk = session_api.talk
    card = await asked(talk)
    await talk.chat.say(talk.alice, "minus!", thread=card.thread_ts)
    await talk.chat.arrived()
    await talk.world.settle()
    assert "> minus!" in questions(talk)[0].plain


async def test_an_event_that_slack_repeats_is_heard_once(session_api: SessionApi) -> None:
    talk = session_api.talk
    mention = await talk.chat.mention(talk.alice, f"pause {REPO}")
    assert mention.acked
    await talk.world.settle()
    body, content_type = encoded("events_api", mention.payload)
    retried = [*session_api.signed(body, content_type=content_type, ago_s=-2), ("x-slack-retry-num", "1")]
    assert (await session_api.knock(body, retried)).status == 200
    await talk.world.settle()
    assert len(talk.chat.messages(thread=mention.ts)) == 1


async def test_strangers_do_not_count_here_either(session_api: SessionApi) -> None:
    stranger = session_api.talk.chat.add_stranger("eve")
    assert "guests and people of other workspaces" in await session_api.talk.command(
        f"pause {REPO}", by=stranger
    )
    names = [row.name for row in await session_api.talk.world.read(lambda c: list(ledger.entries(c)))]
    assert names[-1] == EventName.CHAT_REFUSED


# What is refused


async def refused(
    session_api: SessionApi, body: bytes, headers: list[tuple[str, str | bytes]], status: int = 401
) -> None:
    """It is refused, nothing is written, and the next good request is taken."""
    before = await session_api.written()
    answer = await session_api.knock(body, headers)
    assert answer.status == status
    assert b"secret" not in answer.body.replace(b"signing secret", b"")
    assert await session_api.written() == before
    await session_api.talk.world.overlord.turn()
    assert await session_api.written() == before


async def goes_on(session_api: SessionApi) -> None:
    """What is good is still taken."""
    assert f"Paused: {REPO}" in await session_api.talk.command(f"pause {REPO}")


async def test_what_is_forged_is_refused(session_api: SessionApi) -> None:
    body = command(session_api)
    at = session_api.talk.chat.workspace.now()
    await refused(session_api, body, list(signed_headers("guess", body, at=at, content_type=FORM).items()))
    await refused(session_api, body, list(signed_headers("", body, at=at, content_type=FORM).items()))
    await refused(session_api, body + b"&text=stop+1", session_api.signed(body))
    await refused(session_api, b"", session_api.signed(body))
    for wrong in ("v0=", "v0=" + "0" * 64, "v1=" + "0" * 64, "0" * 64, "v0=" + "g" * 64, ""):
        good = dict(session_api.signed(body))
        await refused(session_api, body, list((good | {"x-slack-signature": wrong}).items()))
    later = str(int(at.timestamp()) + 1)
    await refused(
        session_api,
        body,
        list((dict(session_api.signed(body)) | {"x-slack-request-timestamp": later}).items()),
    )
    await goes_on(session_api)


async def test_what_is_older_than_five_minutes_is_refused_and_what_is_of_the_future_too(
    session_api: SessionApi,
) -> None:
    body = command(session_api)
    await refused(session_api, body, session_api.signed(body, ago_s=301))
    await refused(session_api, body, session_api.signed(body, ago_s=24 * 3600))
    await refused(session_api, body, session_api.signed(body, ago_s=-600))
    await goes_on(session_api)


async def test_a_request_that_was_taken_before_is_refused(session_api: SessionApi) -> None:
    body = command(session_api)
    headers = session_api.signed(body)
    assert (await session_api.knock(body, headers)).status == 200
    await session_api.talk.world.settle()
    said, _, paused = await session_api.written()
    assert (said, paused) == (1, 1)
    await refused(session_api, body, headers)
    delivered = await session_api.talk.chat.command(session_api.talk.alice, f"resume {REPO}")
    await session_api.talk.world.settle()
    assert not (await session_api.talk.chat.replay(delivered)).acked
    await goes_on(session_api)


async def test_headers_that_are_missing_doubled_or_odd_are_refused(session_api: SessionApi) -> None:
    body = command(session_api)
    good = session_api.signed(body)
    names = ("x-slack-signature", "x-slack-request-timestamp")
    for name in names:
        await refused(session_api, body, [item for item in good if item[0] != name])
        await refused(session_api, body, [*good, next(item for item in good if item[0] == name)])
        await refused(session_api, body, [*good, (name.title(), "x")])
    for odd in ("", "soon", "-1", "1e9", "99999999999999", "１２３", "1 2", "0x10", "9" * 12):
        timed = dict(good) | {"x-slack-request-timestamp": odd.encode()}
        await refused(session_api, body, list(timed.items()))
    await refused(session_api, body, list((dict(good) | {"x-slack-signature": b"\xff\xfe"}).items()))
    at = str(int(session_api.talk.chat.workspace.now().timestamp()))
    shouted = signature(session_api.talk.chat.signing_secret, at, body).upper()
    await refused(session_api, body, list((dict(good) | {"x-slack-signature": shouted}).items()))
    await goes_on(session_api)


async def test_a_body_that_is_no_text_is_refused_and_strangers_learn_nothing_of_why(
    session_api: SessionApi,
) -> None:
    for body in (b"\xff\xfe\x00", b"payload=\xff", b"\x80" * 1000):
        await refused(session_api, body, session_api.signed(body), 400)
        at = session_api.talk.chat.workspace.now()
        await refused(
            session_api, body, list(signed_headers("guess", body, at=at, content_type=FORM).items())
        )
    await goes_on(session_api)


async def test_two_megabytes_are_too_much(session_api: SessionApi) -> None:
    for size in (MAX_BYTES + 1, 2 * 1024 * 1024):
        body = b"a" * size
        await refused(session_api, body, session_api.signed(body), 413)
    await goes_on(session_api)


async def test_a_chunked_body_is_counted_too(session_api: SessionApi) -> None:
    body = b"a" * (MAX_BYTES + 1)
    lines = [f"POST {PATH} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked"]
    lines += [f"{name}: {value!s}" for name, value in session_api.signed(body)]
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    answer = await exchange(session_api.place, "\r\n".join(lines).encode() + b"\r\n\r\n" + chunks)
    assert answer.status == 413
    await goes_on(session_api)


SIGNED_NONSENSE = (
    (b"", FORM),
    (b"text=", FORM),
    (b"payload=", FORM),
    (b"payload=%7B", FORM),
    (b"payload=[]", FORM),
    (b"payload=null", FORM),
    (b'payload={"type":"block_actions"}', FORM),
    (b"command=/overlord&text=pause", FORM),
    (b"command=/overlord&command=/other", FORM),
    (b"{", "application/json"),
    (b"[]", "application/json"),
    (b"null", "application/json"),
    (b"[" * 100_000, "application/json"),
    (b'{"type":"event_callback","event":{"type":"app_mention"}}', "application/json"),
    (b'{"type":"event_callback","event":"app_mention"}', "application/json"),
    (
        json.dumps({"type": "event_callback", "team_id": "T1", "event": {"type": "message"}}).encode(),
        "text/x",
    ),
)


async def test_what_is_signed_and_makes_no_sense_changes_nothing(session_api: SessionApi) -> None:
    for body, content_type in SIGNED_NONSENSE:
        before = await session_api.written()
        answer = await session_api.knock(body, session_api.signed(body, content_type=content_type))
        assert answer.status == (200 if content_type == "text/x" else 400), (
            body
        )  # a message in no thread is none of ours
        assert b"Traceback" not in answer.body
        assert await session_api.written() == before, body
    await goes_on(session_api)


async def test_other_ways_in_are_closed(session_api: SessionApi) -> None:
    assert (await get(session_api.place, PATH)).status == 405
    assert (await get(session_api.place, f"{PATH}/")).status == 404
    body = command(session_api)
    head = "\r\n".join(f"{name}: {value!s}" for name, value in session_api.signed(body))
    for path in (f"{PATH}/", f"/{PATH}", "/slack", "/webhooks/github"):
        request = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{head}\r\n\r\n"
        assert (await exchange(session_api.place, request.encode() + body)).status in (401, 404), path
    assert (await session_api.written())[0] == 0
    await goes_on(session_api)


async def test_work_goes_on_while_strangers_knock() -> None:
    async with made_door() as session_api:
        talk = session_api.talk
        await talk.world.issue("add() subtracts")
        talk.world.model_will(talk.world.hold(), edit(*FIX), submit())
        await talk.world.until_holding()
        for number in range(40):
            await refused(session_api, command(session_api, f"stop #{number}"), [])
        talk.world.let_go()
        await talk.world.settle()
        assert (await talk.world.job()).state is JobState.IN_REVIEW
