"""What the webhook believes: a signature and a repository's name. Everything else is refused, and strangers learn nothing."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.types import Message

from overlord.entrypoints.listen.webhook import MAX_BYTES, Webhook
from tests.listener.wire import (
    SECRET,
    event,
    exchange,
    get,
    heard_world,
    is_hinted,
    line,
    posted,
    signature,
)
from tests.world import REPO, World

Heard = tuple[World, str]


@pytest.fixture
async def heard() -> AsyncIterator[Heard]:
    async with heard_world() as made:
        yield made


async def test_a_signed_event_makes_a_poll_due_and_rings(heard: Heard) -> None:
    world, place = heard
    notified = world.overlord.wakeup.count
    answer = await exchange(place, posted(event()))
    assert (answer.status, answer.said) == (202, {"status": "accepted"})
    assert is_hinted(world) and world.overlord.wakeup.count > notified


async def test_the_name_of_a_repository_may_be_spelt_otherwise(heard: Heard) -> None:
    world, place = heard
    assert (await exchange(place, posted(event("Acme/CALC")))).status == 202
    assert is_hinted(world)


ABOUT_NOTHING: tuple[dict[str, object], ...] = (
    {"repository": {"full_name": "acme/other"}},
    {"repository": {"full_name": ["acme/calc"]}},
    {"repository": "acme/calc"},
    {"repository": None},
    {"full_name": "acme/calc"},
    {},
)


async def test_an_event_about_nothing_of_ours_is_taken_and_does_nothing(heard: Heard) -> None:
    world, place = heard
    notified = world.overlord.wakeup.count
    for payload in ABOUT_NOTHING:
        assert (await exchange(place, posted(json.dumps(payload).encode()))).status == 202, payload
    assert not is_hinted(world) and world.overlord.wakeup.count == notified


async def test_a_ping_is_answered_and_does_nothing(heard: Heard) -> None:
    world, place = heard
    answer = await exchange(place, posted(event(), x_github_event="ping"))
    assert (answer.status, is_hinted(world)) == (200, False)


async def test_without_a_secret_there_are_no_webhooks() -> None:
    async with heard_world(secret="") as (world, place):
        for secret in ("", "secret"):
            request = posted(event(), x_hub_signature_256=signature(event(), secret))
            assert (await exchange(place, request)).status == 404
        assert not is_hinted(world)


GOOD = signature(event())
UNSIGNED: dict[str, bytes] = {
    "no signature": posted(event(), without="x-hub-signature-256"),
    "an empty one": posted(event(), x_hub_signature_256=""),
    "no digest": posted(event(), x_hub_signature_256="sha256="),
    "another secret's": posted(event(), x_hub_signature_256=signature(event(), "guess")),
    "of another body": posted(event(), x_hub_signature_256=signature(b"{}")),
    "of nothing": posted(event(), x_hub_signature_256=signature(b"", "")),
    "another algorithm": posted(event(), x_hub_signature_256=GOOD.replace("sha256", "sha1")),
    "a bare digest": posted(event(), x_hub_signature_256=GOOD.removeprefix("sha256=")),
    "cut": posted(event(), x_hub_signature_256=GOOD[:-1]),
    "too long": posted(event(), x_hub_signature_256=GOOD + "0"),
    "capitals": posted(event(), x_hub_signature_256="sha256=" + GOOD[7:].upper()),
    "no hexadecimal": posted(event(), x_hub_signature_256="sha256=" + "g" * 64),
    "not ASCII": posted(event(), x_hub_signature_256=b"sha256=" + b"\xe9" * 64),
    "digits of another script": posted(event(), x_hub_signature_256=b"sha256=" + "٣".encode() * 32),
    "given twice": posted(event(), more=b"x-hub-signature-256: " + GOOD.encode() + b"\r\n"),
    "the old kind only": posted(event(), without="x-hub-signature-256", x_hub_signature="sha1=" + "0" * 40),
    "no delivery": posted(event(), without="x-github-delivery"),
    "an odd delivery": posted(event(), x_github_delivery="../../etc"),
    "a delivery that is not ASCII": posted(event(), x_github_delivery=b"\xff\xfe"),
    "an endless delivery": posted(event(), x_github_delivery="a" * 65),
    "no event": posted(event(), without="x-github-event"),
    "an odd event": posted(event(), x_github_event="issues; ping"),
    "a ping of a stranger": posted(event(), x_github_event="ping", x_hub_signature_256="sha256=" + "0" * 64),
    "another type as well": posted(event(), content_type="text/plain", x_hub_signature_256="sha256="),
}


async def test_whatever_is_wrong_with_its_headers_a_stranger_is_told_the_same(heard: Heard) -> None:
    world, place = heard
    answers = {name: await exchange(place, request) for name, request in UNSIGNED.items()}
    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(UNSIGNED, 401)
    assert len({answer.body for answer in answers.values()}) == 1
    assert not is_hinted(world)


async def test_a_length_over_the_limit_is_refused_before_anything_of_it_is_read(heard: Heard) -> None:
    _, place = heard
    request = posted(b"", content_length=str(MAX_BYTES + 1))  # and not one byte of it
    assert (await exchange(place, request)).status == 413
    assert (await exchange(place, posted(b"", content_length="9" * 19))).status == 413


async def test_a_body_without_a_length_is_refused_once_it_is_over_the_limit(heard: Heard) -> None:
    _, place = heard
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    async with line(place) as made:
        made.send(posted(b"", without="content-length", more=b"transfer-encoding: chunked\r\n"))
        made.send(chunk * 16)  # 1 MiB: allowed, and nothing ends it
        made.send(b"1\r\n \r\n")
        assert (await made.answer()).status == 413


async def test_a_body_of_just_the_limit_is_heard(heard: Heard) -> None:
    world, place = heard
    body = event().ljust(MAX_BYTES)
    assert (await exchange(place, posted(body))).status == 202
    assert is_hinted(world)


async def test_only_json_is_heard(heard: Heard) -> None:
    world, place = heard
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json5", ""):
        assert (await exchange(place, posted(event(), content_type=kind))).status == 415, kind
    assert (await exchange(place, posted(event(), without="content-type"))).status == 415
    assert not is_hinted(world)
    kind = "Application/JSON; charset=utf-8"
    assert (await exchange(place, posted(event(), content_type=kind))).status == 202


NO_OBJECT = (
    b"",
    b"{",
    b"[" * 500_000,
    b'{"a":' * 100_000,
    b"[]",
    b'"repository"',
    b"1" * 100_000,
    b'{"repository": "\xff"}',
    event().decode().encode("utf-16"),
)


async def test_what_is_signed_and_no_object_in_json_is_refused(heard: Heard) -> None:
    world, place = heard
    for body in NO_OBJECT:
        assert (await exchange(place, posted(body))).status == 400, body[:20]
    assert not is_hinted(world)


async def test_a_delivery_that_comes_again_does_nothing(heard: Heard) -> None:
    world, place = heard
    request = posted(event(), x_github_delivery="one-and-the-same")
    assert (await exchange(place, request)).said == {"status": "accepted"}
    world.overlord.parts.hints.take(REPO, world.clock.monotonic())
    world.clock.move(3600)
    notified = world.overlord.wakeup.count
    for again in (request, posted(event(), x_github_delivery="one-and-the-same")):
        answer = await exchange(place, again)
        assert (answer.status, answer.said) == (202, {"status": "known already"})
    assert not is_hinted(world) and world.overlord.wakeup.count == notified


async def test_a_stranger_cannot_use_up_a_delivery(heard: Heard) -> None:
    world, place = heard
    forged = posted(event(), x_github_delivery="guid-1", x_hub_signature_256="sha256=" + "0" * 64)
    assert (await exchange(place, forged)).status == 401
    assert (await exchange(place, posted(event(), x_github_delivery="guid-1"))).status == 202
    assert is_hinted(world)


async def test_deliveries_are_remembered_up_to_a_number() -> None:
    heard: list[str] = []
    webhook = Webhook(SECRET, lambda: [REPO], heard.append, remembered=3)

    async def deliver(number: int) -> None:
        head = posted(event(), x_github_delivery=f"d-{number}").partition(b"\r\n\r\n")[0]
        pairs = [tuple(text.split(b": ", 1)) for text in head.split(b"\r\n")[1:]]

        async def receive() -> Message:
            return {"type": "http.request", "body": event(), "more_body": False}

        await webhook.answer(Request({"type": "http", "method": "POST", "headers": pairs}, receive))

    for number in (1, 2, 3, 3, 2, 4, 1):  # the fourth puts the first out
        await deliver(number)
    assert len(heard) == 5


async def test_a_flood_of_events_makes_one_poll_and_what_comes_after_it_one_more(heard: Heard) -> None:
    world, place = heard

    def polls() -> int:
        return sum("labels=" in seen.path for seen in world.forge.requests if "/issues?" in seen.path)

    async def flood() -> None:
        answers = await asyncio.gather(*(exchange(place, posted(event())) for _ in range(24)))
        assert {answer.status for answer in answers} == {202}
        await world.until(lambda: world.overlord.tick.is_idle)

    before = polls()
    await flood()
    assert polls() == before + 1
    await flood()
    assert polls() == before + 1, "the space was polled a moment ago"
    world.clock.move(5.1)
    await world.until(lambda: world.overlord.tick.is_idle)
    assert polls() == before + 2
    world.clock.move(600)
    await world.until(lambda: world.overlord.tick.is_idle)
    assert polls() == before + 2


async def test_a_paused_space_is_not_polled_for_a_hint(heard: Heard) -> None:
    world, place = heard
    await world.overlord.parts.database.write(
        "by hand", lambda c: c.execute("UPDATE spaces SET paused = 1 WHERE name = ?", (REPO,))
    )
    before = len(world.forge.requests)
    assert (await exchange(place, posted(event()))).status == 202
    await world.until(lambda: world.overlord.tick.is_idle)
    assert len(world.forge.requests) == before


async def test_other_methods_and_paths_are_nothing(heard: Heard) -> None:
    _, place = heard
    assert (await get(place, "/webhooks/github")).status == 405
    for path in ("/", "/webhooks/github/", "/healthz/", "/webhooks/../healthz", "//healthz"):
        assert (await get(place, path)).status == 404, path
