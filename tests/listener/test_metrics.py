"""What a scrape says of a played story, who may ask, and that it holds no secret."""

import re
from collections.abc import Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from overlord.embedded.play import edit, submit
from overlord.entrypoints.listen.listener import listening
from overlord.entrypoints.listen.metrics import is_own_host
from overlord.settings.model import Listen
from tests.listener.wire import exchange, get, heard_world
from tests.quick import made_quick_world
from tests.scenarios.test_pause import pause, until_told
from tests.world import FIX, REPO, World

TOKEN = "canary-metrics-token"
PRICES = {"scripted": {"input": 1.0, "output": 4.0}}

Samples = Mapping[str, float]


def samples(text: str) -> dict[str, float]:
    """Every sample as it is written, without its value, and its value."""
    found = {}
    for family in text_string_to_metric_families(text):
        for item in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(item.labels.items()))
            found[f"{item.name}{{{labels}}}" if labels else item.name] = item.value
    return found


async def scraped(place: str) -> dict[str, float]:
    answer = await get(place, "/metrics")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return samples(answer.body.decode())


async def played(world: World) -> None:
    """An issue whose first work leaves the test broken, and whose second is merged; and one that waits in the queue."""
    number = await world.issue("add() subtracts")
    world.model_will(edit("calc.py", "a * 2", "a * 3"), submit("Tripled."))
    world.model_will(edit("calc.py", "a * 3", "a * 2"), edit(*FIX), submit("Added."))
    await world.settle()
    [pull] = world.forge.pulls(REPO)
    await world.forge.merge(REPO, pull.number)
    await world.settle()
    assert number == 1
    world.clock.move(2)


async def test_a_story_is_in_the_numbers() -> None:
    async with heard_world(prices=PRICES) as (world, place):
        before = await scraped(place)
        assert before['overlord_jobs{space="acme/calc",state="queued"}'] == 0
        await played(world)
        after = await scraped(place)
        assert after['overlord_jobs_ended_total{space="acme/calc",state="completed"}'] == 1
        assert after['overlord_revisions_total{cause="revision_ordered"}'] == 1
        assert after['overlord_check_verdicts_total{check="tests",verdict="needs_revision"}'] == 1
        assert after['overlord_check_verdicts_total{check="tests",verdict="pass"}'] == 1
        assert after['overlord_check_verdicts_total{check="review",verdict="pass"}'] == 1
        assert after['overlord_sessions_ended_total{ending="exited",kind="work"}'] == 2
        assert after['overlord_session_duration_seconds_count{kind="work"}'] == 2
        assert after['overlord_job_duration_seconds_count{state="completed"}'] == 1
        assert after['overlord_model_calls_total{model="scripted",outcome="ok"}'] == 6
        assert after['overlord_model_call_duration_seconds_count{model="scripted"}'] == 6
        assert after['overlord_tokens_total{kind="prompt",model="scripted"}'] > 0
        assert after['overlord_spend_usd_total{model="scripted",space="acme/calc"}'] > 0
        assert after['overlord_forge_requests_total{outcome="ok"}'] > 5
        assert after['overlord_forge_requests_left{limit="core"}'] > 0
        assert after["overlord_tick_duration_seconds_count"] > before["overlord_tick_duration_seconds_count"]
        assert after['overlord_sessions_running{kind="work"}'] == 0
        assert after["process_resident_memory_bytes"] > 0


async def test_what_waits_is_told_with_how_long() -> None:
    async with heard_world() as (world, place):
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        running = await scraped(place)
        assert running['overlord_jobs{space="acme/calc",state="running"}'] == 1
        assert running['overlord_sessions_running{kind="work"}'] == 1
        world.clock.move(7)
        later = await scraped(place)
        step = later['overlord_job_oldest_seconds{state="running"}']
        assert step == running['overlord_job_oldest_seconds{state="running"}'] + 7
        world.let_go()
        await world.until(world.is_settled)


async def test_the_queue_has_an_age_and_a_pause_is_seen() -> None:
    async with heard_world() as (world, place):
        await pause(world)
        await world.issue("add() subtracts")
        await world.make_due()
        await until_told(world, "Everything is paused by alice")
        before = (await scraped(place))["overlord_queue_oldest_seconds"]
        world.clock.move(40)
        after = await scraped(place)
        assert after["overlord_queue_oldest_seconds"] == before + 40
        assert after['overlord_paused{space="acme/calc"}'] == 1


async def test_sums_go_on_after_a_restart() -> None:
    async with made_quick_world(prices=PRICES) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        async with listening(Listen(address="127.0.0.1:0", webhook_secret=""), world.overlord) as place:
            before = await scraped(place)
        await world.stop()
        await world.start()
        async with listening(Listen(address="127.0.0.1:0", webhook_secret=""), world.overlord) as place:
            after = await scraped(place)
    lasting = re.compile(
        r"overlord_(spend|tokens|model_calls|check_verdicts|sessions_ended|session_duration)"
    )
    kept = {name: value for name, value in before.items() if lasting.match(name)}
    assert len(kept) > 20
    assert {name: after[name] for name in kept} == kept


async def test_with_a_token_only_who_shows_it_is_answered() -> None:
    async with made_quick_world(listen={"metrics_token": TOKEN}) as world:
        await world.settle()
        async with listening(
            Listen(address="127.0.0.1:0", webhook_secret="", metrics_token=TOKEN), world.overlord
        ) as place:
            for header in (b"", b"authorization: Bearer wrong\r\n", b"authorization: Basic x\r\n"):
                answer = await exchange(place, b"GET /metrics HTTP/1.1\r\nhost: x\r\n" + header + b"\r\n")
                assert answer.status == 401
                assert TOKEN.encode() not in answer.body
            shown = f"GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
            assert (await exchange(place, shown.encode())).status == 200


OWN = (
    "localhost",
    "LOCALHOST:8712",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.8.8.8",
    "[::1]",
    "[::1]:8712",
    "box.lan:9",
    "BOX.lan",
)
OTHERS = ("", "x", "evil.example:8712", "localhost.evil.example", "127.0.0.1.nip.io", "evil.example#localhost", "10.0.0.7", "0.0.0.0",
          "localhost:80:80", "localhost@evil.example", "::1", "[::2]", "127.1", "2130706433", "lan", "localhost evil.example", "box.lan.")  # fmt: skip


@pytest.mark.parametrize("hosts", [[host] for host in OWN])
def test_a_host_is_this_machines_loopback_or_what_the_listener_was_told(hosts: list[str]) -> None:
    assert is_own_host(hosts, "box.lan")


@pytest.mark.parametrize(
    "hosts", [*([host] for host in OTHERS), [], ["localhost", "evil.example"], ["localhost"] * 2]
)
def test_any_other_host_is_not(hosts: list[str]) -> None:
    assert not is_own_host(hosts, "box.lan")


async def test_without_a_token_a_page_of_another_name_is_refused() -> None:
    async with heard_world() as (_, place):
        answer = await get(place, "/metrics", host="evil.example:8712")
        assert answer.status == 403
        assert b"listen.metrics_token" in answer.body
        assert (await get(place, "/metrics", host="localhost:8712")).status == 200
        assert (await get(place, "/healthz", host="evil.example")).status == 200


@pytest.mark.parametrize(
    "header", ["x-forwarded-for: 203.0.113.7", "forwarded: for=203.0.113.7", "via: 1.1 x"]
)
async def test_without_a_token_what_a_proxy_passes_on_is_refused(header: str) -> None:
    async with heard_world() as (_, place):
        answer = await exchange(place, f"GET /metrics HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n".encode())
        assert (answer.status, answer.said) == (
            403,
            {"error": "through a proxy this needs listen.metrics_token"},
        )


async def test_a_database_that_is_another_daemons_is_no_scrape() -> None:
    async with heard_world() as (world, place):
        await world.overlord.parts.database.write(
            "by hand", lambda c: c.execute("UPDATE daemon SET token = 'x'")
        )
        assert (await get(place, "/metrics")).status == 503
