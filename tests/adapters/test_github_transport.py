"""What goes over the wire to GitHub, against servers that speak it byte by byte, well or badly."""

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from overlord.adapters.github.client import AT_ONCE, GitHubClient
from overlord.errors import ForgeUnavailable
from overlord.metrics import Meters
from tests.adapters.github_calls import failure
from tests.adapters.wire import BODY, SECRET, SIGN_IN, Respond, answer, ask, client_of, silence, wire


async def said_by(respond: Respond, *, hangs_up: bool = False) -> object:
    async with wire(respond, hangs_up=hangs_up) as server, client_of(server.url) as client:
        return await ask(client)


# What is sent


async def test_a_request_says_what_it_must_and_no_more() -> None:
    async with wire(lambda *_: answer()) as server, client_of(server.url) as client:
        await ask(client, path="/a%2Fb/c%7Ed?e=%20f+g")
        await ask(client, "POST", "/thing", {"a": 1})
    host = server.url.removeprefix("http://")
    ours = {
        "host": host,
        "user-agent": "overlord",
        "accept": "application/vnd.github+json",
        "authorization": f"token {SECRET}",
        "x-github-api-version": "2022-11-28",
    }
    first, second = (head.decode().removesuffix("\r\n\r\n").split("\r\n") for head in server.heads)
    assert (first[0], second[0]) == ("GET /a%2Fb/c%7Ed?e=%20f+g HTTP/1.1", "POST /thing HTTP/1.1")
    sent = [dict(line.lower().split(": ", 1) for line in lines[1:]) for lines in (first, second)]
    packed = [headers.pop("accept-encoding") for headers in sent]
    assert all(way.startswith("gzip, deflate") for way in packed)
    assert sent[0] == ours | {"content-length": "0"}
    assert sent[1] == ours | {"content-length": "8", "content-type": "application/json; charset=utf-8"}
    assert server.bodies == [b"", b'{"a": 1}']


async def test_what_an_address_leaves_unquoted_is_quoted() -> None:
    link = 'link: <{url}/next?a=b c&d=é>; rel="next"'

    def respond(asked: int, _: bytes) -> bytes:
        return answer(BODY, *([] if asked else [link.replace("{url}", server.url)]))

    async with wire(respond) as server, client_of(server.url) as client:
        _, following = await client.ask("GET", "/thing", SIGN_IN, {})
        assert following is not None
        await ask(client, path=following)
    assert server.heads[1].startswith(b"GET /next?a=b%20c&d=%C3%A9 HTTP/1.1\r\n")


async def test_a_cookie_is_not_kept() -> None:
    respond: Respond = lambda *_: answer(BODY, "set-cookie: a=b; Path=/")  # noqa: E731
    async with wire(respond) as server, client_of(server.url) as client:
        await ask(client)
        await ask(client)
    assert not [head for head in server.heads if b"cookie" in head.lower()]


async def test_a_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its passwords would take the token's place."""
    (netrc := tmp_path / "netrc").write_text("machine forge.example login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with wire(lambda *_: answer()) as server:
        monkeypatch.setenv("http_proxy", server.url)
        async with client_of("http://forge.example") as client:
            await ask(client)
    assert f"token {SECRET}".encode() in server.heads[0]


# What is answered


async def test_long_headers_are_read() -> None:
    following = "/thing?" + "p" * 60_000

    def respond(*_: object) -> bytes:
        return answer(
            BODY, f'link: <{server.url}{following}>; rel="next"', *(f"x-{n}: y" for n in range(100))
        )

    async with wire(respond) as server, client_of(server.url) as client:
        assert await ask(client) == ({"is": "well"}, server.url + following)


@pytest.mark.parametrize(
    "respond",
    [
        pytest.param(lambda *_: answer(gzip.compress(BODY), "content-encoding: gzip"), id="packed"),
        pytest.param(
            lambda *_: (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
                b"e\r\n" + BODY + b"\r\n0\r\n\r\n"
            ),
            id="chunked",
        ),
        pytest.param(lambda *_: b"HTTP/1.1 100 Continue\r\n\r\n" + answer(), id="after another"),
        pytest.param(lambda *_: answer().replace(b"content-type", b"CONTENT-Type"), id="in capitals"),
    ],
)
async def test_an_answer_is_read_however_it_is_sent(respond: Respond) -> None:
    assert await said_by(respond) == ({"is": "well"}, None)


async def test_an_answer_that_ends_where_the_connection_does_is_read() -> None:
    whole = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + BODY
    assert await said_by(lambda *_: whole, hangs_up=True) == ({"is": "well"}, None)


async def test_a_large_answer_is_read_whole() -> None:
    large = json.dumps({"text": "x" * 8_000_000}).encode()
    found, _ = await _asked(lambda *_: answer(large))
    assert len(found["text"]) == 8_000_000


async def _asked(respond: Respond) -> tuple[dict[str, str], str | None]:
    async with wire(respond) as server, client_of(server.url) as client:
        return await client.ask("GET", "/thing", SIGN_IN, {})


async def test_a_header_that_comes_twice_is_one_list() -> None:
    first, second = 'link: </a>; rel="first"', 'link: </b>; rel="next"'
    _, following = await _asked(lambda *_: answer(BODY, first, second))
    assert following == "/b"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    def respond(*_: object) -> bytes:
        return answer(b"", f"location: {server.url}/else", status=f"{status} Moved")

    async with wire(respond) as server, client_of(server.url) as client:
        await failure(ask(client))
    assert [head.partition(b" HTTP")[0] for head in server.heads] == [b"GET /thing"]


# What goes wrong


async def test_a_name_that_nobody_knows_is_said_with_what_to_look_at() -> None:
    async with client_of("https://forge.invalid") as client:
        error = await failure(ask(client))
    assert str(error) == (
        "GET /thing: the name forge.invalid is not known here; check this machine's network and name servers"
        " (ConnectError)"
    )


async def test_a_far_end_where_nobody_listens_is_said_with_its_address() -> None:
    async with wire(lambda *_: answer()) as server:
        url = server.url
    async with client_of(url) as client:
        error = await failure(ask(client))
    where = url.removeprefix("http://")
    assert str(error) == (
        f"GET /thing: {where} cannot be reached (Connection refused); check the network, firewall and proxy (ConnectError)"
    )


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
@pytest.mark.parametrize(
    ("respond", "why"),
    [
        pytest.param(lambda *_: b"", "the connection broke (RemoteProtocolError)", id="nothing"),
        pytest.param(
            lambda *_: b"HTTP/1.1 200 OK\r\ncontent-",
            "the connection broke (RemoteProtocolError)",
            id="half a head",
        ),
        pytest.param(
            lambda *_: answer(BODY[:5], length=14),
            "the answer is no whole HTTP (RemoteProtocolError)",
            id="half a body",
        ),
        pytest.param(lambda *_: answer(BODY[:5], length=5), "the answer makes no sense", id="too short"),
        pytest.param(
            lambda *_: answer(BODY, "content-encoding: gzip"),
            "the answer is no whole HTTP (DecodingError)",
            id="not packed",
        ),
        pytest.param(
            lambda *_: answer(gzip.compress(BODY)[:-12], "content-encoding: gzip"),
            "the answer makes no sense",
            id="half packed",
        ),
        pytest.param(
            lambda *_: answer(BODY, "content-length: 3"),
            "the answer is no whole HTTP (RemoteProtocolError)",
            id="two lengths",
        ),
        pytest.param(
            lambda *_: b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
            "the answer is no whole HTTP (RemoteProtocolError)",
            id="no HTTP",
        ),
        pytest.param(
            lambda *_: answer(BODY, f"x: {'y' * 300_000}"),
            "the answer is no whole HTTP (RemoteProtocolError)",
            id="endless head",
        ),
    ],
)
async def test_what_is_no_whole_answer_is_said_so_without_asking_again(
    respond: Respond, why: str, method: str
) -> None:
    meters = Meters()
    async with wire(respond, hangs_up=True) as server, client_of(server.url, meters=meters) as client:
        error = await failure(ask(client, method))
    assert isinstance(error, ForgeUnavailable)
    assert str(error) == f"{method} /thing: {why}"
    assert len(server.heads) == 1
    seen: BaseException | None = error
    while seen is not None:
        assert SECRET not in repr(seen)
        seen = seen.__context__


async def test_what_comes_after_an_answer_is_not_the_next_one() -> None:
    respond: Respond = lambda asked, _: answer(b'{"is": "first"}') + answer() if not asked else answer()  # noqa: E731
    async with wire(respond) as server, client_of(server.url) as client:
        assert await ask(client) == ({"is": "first"}, None)
        assert await ask(client) == ({"is": "well"}, None)
    assert len(server.heads) == 2


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_connection_that_was_closed_meanwhile_is_not_used(method: str) -> None:
    async with wire(lambda *_: answer(), hangs_up=True) as server, client_of(server.url) as client:
        for _ in range(3):
            server.hung_up.clear()
            assert await ask(client, method) == ({"is": "well"}, None)
            await server.hung_up.wait()
    assert (server.connections, len(server.heads)) == (3, 3)


async def test_connections_are_used_again() -> None:
    async with wire(lambda *_: answer()) as server, client_of(server.url) as client:
        for _ in range(5):
            await ask(client)
    assert server.connections == 1


async def test_a_client_that_was_never_used_is_closed_without_a_word_and_stays_so() -> None:
    client = GitHubClient("https://api.github.com")
    await client.close()
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await ask(client)


def test_a_client_needs_no_loop_to_be_made() -> None:
    client = GitHubClient("https://api.github.com")
    asyncio.run(client.close())


# How many at once


async def test_those_who_wait_for_their_turn_are_few_on_the_wire_and_not_timed() -> None:
    async with silence() as server, client_of(server.url, timeout_s=1.0) as client:
        asked = [asyncio.create_task(failure(ask(client))) for _ in range(2 * AT_ONCE)]
        asked += [asyncio.create_task(failure(ask(client)))]
        errors = await asyncio.gather(*asked)
    assert {str(error) for error in errors} == {"GET /thing: no answer within 1 s from 127.0.0.1"}
    assert (server.most, server.seen) == (AT_ONCE, 2 * AT_ONCE + 1)
