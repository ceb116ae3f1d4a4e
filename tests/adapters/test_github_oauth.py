"""Who somebody is that GitHub sent back: asked with a code, from a server whose answers may be anything."""

import contextlib
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.types import Receive, Scope, Send

from overlord.adapters.github.oauth import MOST_BYTES, OAuthClient, challenge_of
from overlord.embedded.server import serve
from overlord.errors import ForgeRefused, ForgeUnavailable

TOKEN = b'{"access_token": "ghu_1", "token_type": "bearer"}'


class Server:
    """Answers each address with what a test says; with None, never."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes] | None] = {
            "/login/oauth/access_token": (200, TOKEN),
            "/api/v3/user": (200, b'{"login": "ada"}'),
        }
        self.seen: list[tuple[str, str, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        body: bytes = (await receive()).get("body", b"")
        self.seen.append((scope["method"], scope["path"], headers.get(b"authorization", body)))
        answer = self.answers[scope["path"]]
        if answer is None:
            while (await receive())["type"] != "http.disconnect":
                continue
            return
        status, content = answer
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": content})


@contextlib.asynccontextmanager
async def served(timeout_s: float = 10) -> AsyncIterator[tuple[Server, OAuthClient]]:
    server = Server()
    async with serve(server) as address:
        yield (
            server,
            OAuthClient(
                client_id="id",
                client_secret="canary",
                redirect_uri="https://o.example/back",
                api_url=f"{address}/api/v3",
                timeout_s=timeout_s,
            ),
        )


async def test_a_code_says_whose_it_is() -> None:
    async with served() as (server, client):
        assert await client.login("a code", "v" * 43) == "ada"
        [(_, _, sent), user] = server.seen
        assert dict(parse_qsl(sent.decode())) == {
            "client_id": "id",
            "client_secret": "canary",
            "code": "a code",
            "redirect_uri": "https://o.example/back",
            "code_verifier": "v" * 43,
        }
        assert user == ("GET", "/api/v3/user", b"Bearer ghu_1")
        assert "canary" not in repr(client)


@pytest.mark.parametrize(
    ("api_url", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://git.example.org/api/v3", "https://git.example.org"),
        ("https://api.octo.ghe.com", "https://octo.ghe.com"),
    ],
)
def test_people_are_sent_to_the_pages_of_the_same_forge(api_url: str, web: str) -> None:
    client = OAuthClient(
        client_id="id", client_secret="s", redirect_uri="https://o.example/b", api_url=api_url
    )
    address = urlsplit(client.address("state", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
    assert f"{address.scheme}://{address.netloc}{address.path}" == f"{web}/login/oauth/authorize"
    assert dict(parse_qsl(address.query)) == {
        "client_id": "id",
        "redirect_uri": "https://o.example/b",
        "state": "state",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "S256",
    }


def test_a_challenge_is_that_of_the_rfc() -> None:
    expected = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == expected


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b'{"error": "bad_verification_code"}', r"no such code \(bad_verification_code\)"),
        (200, b'{"error": "redirect_uri_mismatch"}', "check its client id, client secret and callback URL"),
        (200, b'{"error": ["x"]}', "no such code"),
        (200, b"{}", r"no such code \(no token\)"),
        (200, b'{"access_token": ""}', "no such code"),
        (200, b'{"access_token": "a\\r\\nx: y"}', "no such code"),
        (200, b'{"access_token": 7}', "no such code"),
        (404, b"Not Found", r"refuses the sign-in \(404\)"),
        (302, b"", r"refuses the sign-in \(302\)"),
    ],
)
async def test_what_is_no_token_signs_nobody_in(status: int, body: bytes, said: str) -> None:
    async with served() as (server, client):
        server.answers["/login/oauth/access_token"] = (status, body)
        with pytest.raises(ForgeRefused, match=said):
            await client.login("a code", "v")
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body", [b'{"login": null}', b'{"login": ["ada"]}', b'{"login": "a/b"}', b'{"login": ""}', b"{}"]
)
async def test_what_is_no_name_is_nobody(body: bytes) -> None:
    async with served() as (server, client):
        server.answers["/api/v3/user"] = (200, body)
        with pytest.raises(ForgeRefused, match="no account's name"):
            await client.login("a code", "v")


@pytest.mark.parametrize("path", ["/login/oauth/access_token", "/api/v3/user"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, b"x" * (MOST_BYTES + 1)), "too long"),
        ((200, b"[" * 60_000), "makes no sense"),
        ((200, b"<html>"), "makes no sense"),
        ((200, b"[1]"), "makes no sense"),
        ((502, b""), "answers 502"),
        ((429, b""), "answers 429"),
    ],
)
async def test_a_server_in_trouble_is_asked_again_later(
    path: str, answer: tuple[int, bytes], said: str
) -> None:
    async with served() as (server, client):
        server.answers[path] = answer
        with pytest.raises(ForgeUnavailable, match=said):
            await client.login("a code", "v")


async def test_nobody_waits_longer_than_the_time_there_is() -> None:
    async with served(timeout_s=0.2) as (server, client):
        server.answers["/api/v3/user"] = None
        with pytest.raises(ForgeUnavailable, match=r"no answer within 0.2 s|the connection broke"):
            await client.login("a code", "v")


async def test_a_server_that_is_not_there_is_said_without_a_secret() -> None:
    async with served() as (_, client):
        pass
    with pytest.raises(ForgeUnavailable, match="cannot be reached") as error:
        await client.login("a code", "v")
    assert "canary" not in str(error.value) and error.value.__context__ is not None
