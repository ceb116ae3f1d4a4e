"""Sessions on other machines: who is let in at the session listener, from where, and for how long; and what its certificates are."""

import asyncio
import contextlib
import os
import sqlite3
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from minion.errors import BadStart, SessionApiGone, SessionApiRefused
from minion.protocol import BRIEF_PATH, SessionKind
from minion.reach import SECRETS, FarEnd, Reach, reached
from minion.session_api import SessionApi
from overlord.adapters.clock import SystemClock
from overlord.domain.launch import SessionAccess
from overlord.errors import SettingsError
from overlord.session_api.remote import gate
from overlord.session_api.remote.access import session_listener
from overlord.session_api.remote.certificates import Certificates, Identity, issued, unusable
from overlord.session_api.remote.tokens import SessionTokens
from overlord.settings.session_listener import SessionListenerSettings
from tests.session_api.ground import Ground, made_ground, visitor

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
DEADLINE_S = 60


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        async with made_ground(Path(root), way="tls") as made:
            yield made


def access_of(ground: Ground, session: str) -> SessionAccess:
    access = ground.access.session(session)
    assert access is not None
    return access


def far_end(ground: Ground, session: str) -> FarEnd:
    return FarEnd.of({"MINION_ID": session, **access_of(ground, session).environment()})


async def said_to(
    ground: Ground,
    session: str,
    token: str,
    *,
    source: str = "127.0.0.1",
    then: bytes = b"GET /session/brief HTTP/1.1\r\nhost: session\r\nconnection: close\r\n\r\n",
) -> list[str]:
    """The status lines that a client gets which asks for a session with a token, and then that session's API."""
    async with connected(ground, session, source=source) as (reader, writer):
        writer.write(f"CONNECT {session} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode() + then)
        lines = (await reader.read()).split(b"\r\n")
    return [line.decode() for line in lines if line.startswith(b"HTTP/1.1 ")]


@contextlib.asynccontextmanager
async def connected(
    ground: Ground, session: str, *, source: str = "127.0.0.1"
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    far = far_end(ground, session)
    async with asyncio.timeout(DEADLINE_S):
        reader, writer = await asyncio.open_connection(
            *far.address, ssl=far.context, server_hostname=far.host, local_addr=(source, 0)
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
            await asyncio.sleep(0)


async def test_a_token_opens_its_own_session_and_no_other(ground: Ground) -> None:
    one = await ground.session()
    other = await ground.session(await ground.job(8))
    own, others = access_of(ground, one.id).token, access_of(ground, other.id).token
    assert own.startswith("ovs_")
    assert await said_to(ground, one.id, own) == ["HTTP/1.1 200 Connected", "HTTP/1.1 200 OK"]
    assert await said_to(ground, one.id, others) == ["HTTP/1.1 401 Unauthorized"]
    assert await said_to(ground, one.id, "") == ["HTTP/1.1 401 Unauthorized"]
    assert await said_to(ground, "j9-work-9", own) == ["HTTP/1.1 401 Unauthorized"]


@pytest.mark.parametrize("name", ["../../etc", "", "x" * 3000, "j7-work-1\0"])
async def test_no_name_leads_anywhere_else(ground: Ground, name: str) -> None:
    session = await ground.session()
    async with connected(ground, session.id) as (reader, writer):
        token = SessionTokens.at(ground.home.session_listener / "token.key").of(name)
        writer.write(f"CONNECT {name} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert (await reader.read()).partition(b" ")[2][:3] in {b"401", b"400"}


async def test_a_token_is_dead_when_its_session_is(ground: Ground) -> None:
    session = await ground.session()
    token = access_of(ground, session.id).token
    async with connected(ground, session.id) as (reader, writer):
        writer.write(f"CONNECT {session.id} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == gate.READY
        await ground.end(session)
        await ground.keeper.reconcile()
        await ground.keeper.reconcile()
        assert await reader.read() == b"", "who was connected is cut off"
    assert await said_to(ground, session.id, token) == ["HTTP/1.1 401 Unauthorized"]


async def test_a_copied_token_is_refused_at_another_address_until_the_session_was_silent_for_long(
    ground: Ground,
) -> None:
    session = await ground.session()
    token = access_of(ground, session.id).token
    welcome = ["HTTP/1.1 200 Connected", "HTTP/1.1 200 OK"]
    assert await said_to(ground, session.id, token, source="127.0.0.1") == welcome
    assert await said_to(ground, session.id, token, source="127.0.0.2") == ["HTTP/1.1 403 Forbidden"]
    assert await said_to(ground, session.id, token, source="127.0.0.1") == welcome
    ground.clock.move(gate.HELD_S - 1)
    assert await said_to(ground, session.id, token, source="127.0.0.2") == ["HTTP/1.1 403 Forbidden"]
    ground.clock.move(1)
    assert await said_to(ground, session.id, token, source="127.0.0.2") == welcome
    assert await said_to(ground, session.id, token, source="127.0.0.1") == ["HTTP/1.1 403 Forbidden"]


async def test_the_address_of_an_open_connection_holds_the_token_for_as_long_as_it_is_open(
    ground: Ground,
) -> None:
    session = await ground.session()
    token = access_of(ground, session.id).token
    async with connected(ground, session.id) as (reader, writer):
        writer.write(f"CONNECT {session.id} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        ground.clock.move(10 * gate.HELD_S)
        assert await said_to(ground, session.id, token, source="127.0.0.2") == ["HTTP/1.1 403 Forbidden"]


async def test_a_session_whose_api_is_closed_now_is_told_to_wait(ground: Ground) -> None:
    session = await ground.session()
    token = access_of(ground, session.id).token
    await ground.keeper.close()
    assert await said_to(ground, session.id, token) == ["HTTP/1.1 503 Service Unavailable"]
    await ground.restart()
    assert (await said_to(ground, session.id, token))[1:] == ["HTTP/1.1 200 OK"]


async def test_a_sealed_check_is_let_in_no_more(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    token = access_of(ground, session.id).token
    assert len(await said_to(ground, session.id, token)) == 2
    await ground.keeper.seal(session)
    assert await said_to(ground, session.id, token) == ["HTTP/1.1 503 Service Unavailable"]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01" + b"\0" * 400,
        b"CONNECT " + b"a" * 100_000,
        b"",
    ],
)
async def test_strangers_are_closed_and_a_session_notices_nothing(ground: Ground, sent: bytes) -> None:
    session = await ground.session()
    address = far_end(ground, session.id).address
    reader, writer = await asyncio.open_connection(*address)
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(DEADLINE_S):
        with contextlib.suppress(ConnectionError):
            await reader.read()
    writer.transport.abort()
    token = access_of(ground, session.id).token
    assert len(await said_to(ground, session.id, token)) == 2


async def test_a_request_without_end_is_cut_off(ground: Ground) -> None:
    session = await ground.session()
    async with connected(ground, session.id) as (reader, writer):
        writer.write(b"CONNECT " + b"a" * 100_000)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""


async def test_older_tls_is_not_spoken(ground: Ground) -> None:
    session = await ground.session()
    far = far_end(ground, session.id)
    far.context.minimum_version = ssl.TLSVersion.TLSv1_2
    far.context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection(*far.address, ssl=far.context, server_hostname=far.host)


async def test_of_many_strangers_those_over_the_limit_are_closed_at_once(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(gate), "MOST_STRANGERS", 3)
    monkeypatch.setitem(vars(gate), "GREETING_S", 0.5)
    session = await ground.session()
    address = far_end(ground, session.id).address
    many = [await asyncio.open_connection(*address) for _ in range(6)]
    async with asyncio.timeout(DEADLINE_S):
        assert [await reader.read() for reader, _ in many[3:]] == [b""] * 3
        assert [await reader.read() for reader, _ in many[:3]] == [b""] * 3, (
            "the others when their time is over"
        )
    for _, writer in many:
        writer.transport.abort()
    assert len(await said_to(ground, session.id, access_of(ground, session.id).token)) == 2


async def test_trouble_with_one_connection_ends_neither_the_listener_nor_any_other(tmp_path: Path) -> None:
    answers: Iterator[Exception | bool] = iter([sqlite3.OperationalError("disk I/O error"), False])

    async def is_live(_: str) -> bool:
        if isinstance(answer := next(answers), Exception):
            raise answer
        return answer

    certificates = Certificates(tmp_path, listener(), now=lambda: datetime.now(UTC))
    tokens = SessionTokens(b"k")
    made = gate.SessionGate(
        bound=("127.0.0.1", 0),
        certificates=certificates,
        tokens=tokens,
        socket_of=lambda _: tmp_path / "s",
        copy_of=lambda _, name: tmp_path / name,
        is_live=is_live,
        monotonic=lambda: 0.0,
    )
    await made.open()
    url = f"https://127.0.0.1:{made.port}"
    given = SessionAccess(url=url, token=tokens.of("s1"), authority=certificates.authority)
    far = FarEnd.of({"MINION_ID": "s1", **given.environment()})
    said = []
    for _ in range(2):
        reader, writer = await asyncio.open_connection(
            *far.address, ssl=far.context, server_hostname=far.host
        )
        writer.write(f"CONNECT s1 HTTP/1.1\r\nAuthorization: Bearer {far.token}\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            said.append((await reader.read())[:12])
        writer.transport.abort()
        await asyncio.sleep(0)
    assert said[-1] == b"HTTP/1.1 401"
    await made.close()


async def test_a_session_trusts_only_the_authority_it_was_given(
    ground: Ground, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = await ground.session()
    other = Certificates(tmp_path, listener(), now=lambda: datetime.now(UTC))
    environment = {"MINION_ID": session.id, **access_of(ground, session.id).environment()}
    reach = Reach(FarEnd.of({**environment, "OVERLORD_AUTHORITY": other.authority}))
    ground.reaches[session.id] = reach
    api = SessionApi(reach.socket, patience_s=0)
    with pytest.raises(SessionApiGone, match="did not take GET"):
        await asyncio.to_thread(api.call, "GET", BRIEF_PATH)
    assert "its certificate is not trusted" in capfd.readouterr().err


async def test_a_refusal_reaches_the_minion_as_one(ground: Ground) -> None:
    session = await ground.session()
    wrong = {**access_of(ground, session.id).environment(), "OVERLORD_TOKEN": "ovs_wrong"}
    reach = Reach(FarEnd.of({"MINION_ID": session.id, **wrong}))
    ground.reaches[session.id] = reach
    with pytest.raises(SessionApiRefused, match="opens no session") as refused:
        await asyncio.to_thread(SessionApi(reach.socket).call, "GET", BRIEF_PATH)
    assert refused.value.status == 401


async def test_a_restart_is_waited_out(ground: Ground) -> None:
    session = await ground.session()
    api = SessionApi(ground.door(session), patience_s=DEADLINE_S)
    assert (await asyncio.to_thread(api.call, "GET", BRIEF_PATH)).status == 200
    await ground.keeper.close()
    again = asyncio.create_task(asyncio.to_thread(api.call, "GET", BRIEF_PATH))
    await ground.restart()
    assert (await again).status == 200
    api.close()


async def test_a_relay_in_between_changes_nothing(ground: Ground) -> None:
    session = await ground.session()
    environment = access_of(ground, session.id).environment()
    host, _, port = environment["OVERLORD_URL"].removeprefix("https://").rpartition(":")
    named = {**environment, "OVERLORD_URL": f"https://{host}:1", "OVERLORD_CONNECT": f"{host}:{port}"}
    ground.reaches[session.id] = Reach(FarEnd.of({"MINION_ID": session.id, **named}))
    async with visitor(ground, session) as inside:
        assert (await inside.get(BRIEF_PATH)).status_code == 200


GIVEN = {
    "OVERLORD_URL": "https://127.0.0.1:8714",
    "OVERLORD_TOKEN": "ovs_x",
    "OVERLORD_AUTHORITY": "pem",
    "MINION_ID": "j1-work-1",
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"OVERLORD_URL": "https://:1"}, "OVERLORD_URL must be https"),
        ({"OVERLORD_URL": "https://h:99999"}, "no port that can be"),
        ({"OVERLORD_TOKEN": ""}, "OVERLORD_TOKEN is not set"),
        ({"OVERLORD_AUTHORITY": ""}, "OVERLORD_AUTHORITY is not set"),
        ({"MINION_ID": ""}, "MINION_ID is not set"),
        ({"OVERLORD_AUTHORITY": "no pem"}, "OVERLORD_AUTHORITY holds no certificate"),
    ],
)
def test_what_is_wrong_with_the_way_is_named(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(BadStart, match=said):
        FarEnd.of({**GIVEN, **wrong})


async def test_no_program_of_the_session_is_given_its_token(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await ground.session()
    environment = {"MINION_ID": session.id, **access_of(ground, session.id).environment()}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    near, ground.reaches[session.id] = reached(dict(os.environ))
    assert not near.keys() & set(SECRETS)
    assert not os.environ.keys() & set(SECRETS)
    assert near["OVERLORD_URL"] == os.environ["OVERLORD_URL"] == f"unix://{ground.door(session)}"


def listener(**given: str) -> SessionListenerSettings:
    return SessionListenerSettings(
        **{"address": "127.0.0.1:0", "listen": "", "certificate": "", "key": "", "authority": "", **given}
    )


def test_the_own_authority_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    one = Certificates(tmp_path, listener(), now=lambda: NOW)
    two = Certificates(tmp_path, listener(), now=lambda: NOW)
    assert one.authority == two.authority
    assert (tmp_path / "authority.pem").stat().st_mode & 0o077 == 0
    assert "PRIVATE" not in one.authority


def test_the_own_certificate_is_made_anew_before_it_ends(tmp_path: Path) -> None:
    now = [NOW]
    made = Certificates(tmp_path, listener(), now=lambda: now[0])
    first, authority = made.valid_until, made.authority
    now[0] = first - timedelta(days=31)
    made.refresh()
    assert made.valid_until == first
    now[0] = first - timedelta(days=30)
    made.refresh()
    assert made.valid_until > first
    assert made.authority == authority
    now[0] = NOW + timedelta(days=3650 - 60)
    made.refresh()
    assert made.authority != authority, "an authority that would end before its certificate is replaced"


def test_an_authority_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "authority.pem").write_text("nothing")
    with pytest.raises(SettingsError, match="does not hold an authority any more"):
        Certificates(tmp_path, listener(), now=lambda: NOW)


@pytest.fixture
def operators(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An operator's certificate, signed by another authority, with its files."""
    yield written(tmp_path, issued_by(tmp_path, "127.0.0.1"))


def issued_by(place: Path, host: str, **given: Any) -> Identity:
    authority = Certificates(place / "theirs", listener(), now=lambda: datetime.now(UTC))
    kept = (place / "theirs" / "authority.pem").read_bytes()
    signing = Identity(chain=authority.authority.encode(), key=kept)
    made = issued(signing, host, now=given.pop("now", datetime.now(UTC)), **given)
    return Identity(chain=made.chain + authority.authority.encode(), key=made.key)


def written(place: Path, identity: Identity) -> dict[str, str]:
    (place / "chain.pem").write_bytes(identity.chain)
    (place / "key.pem").write_bytes(identity.key)
    return {"certificate": str(place / "chain.pem"), "key": str(place / "key.pem")}


def served_by(certificates: Certificates) -> str:
    """The serial number that a client is shown."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificates.authority)
    client = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    server = certificates.context.wrap_bio(outgoing, incoming, server_side=True)
    for end in (client, server, client, server):
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    return str(x509.load_der_x509_certificate(shown).serial_number)


def test_an_operators_certificate_is_served_and_read_again_when_it_is_replaced(
    tmp_path: Path, operators: dict[str, str]
) -> None:
    made = Certificates(tmp_path / "own", listener(**operators), now=lambda: datetime.now(UTC))
    first = served_by(made)
    made.refresh()
    assert served_by(made) == first
    new = issued_by(tmp_path, "127.0.0.1")
    (tmp_path / "chain.pem").write_bytes(new.chain)  # the key follows in a moment
    with pytest.raises(SettingsError, match="do not fit"):
        made.refresh()
    assert served_by(made) == first, "the one that was read last serves"
    (tmp_path / "key.pem").write_bytes(new.key)
    made.refresh()
    assert served_by(made) == str(x509.load_pem_x509_certificate(new.chain).serial_number)


async def test_a_session_comes_by_an_operators_certificate(operators: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        given = {"session_listener": {"address": "127.0.0.1:0", **operators}}
        async with made_ground(Path(root), way="tls", **given) as ground:
            session = await ground.session()
            async with visitor(ground, session) as inside:
                assert (await inside.get(BRIEF_PATH)).status_code == 200


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"valid": timedelta(days=-1)}, "expired on"),
        ({"now": datetime.now(UTC) + timedelta(days=9)}, "this machine's clock is before that"),
        ({}, ""),
    ],
)
def test_why_a_certificate_is_not_taken_is_said(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    certificate = issued_by(tmp_path, "overlord.example.org", **given).certificate
    why = unusable(certificate, "overlord.example.org", now=datetime.now(UTC))
    assert said in why
    assert bool(said) == bool(why)


def test_a_certificate_is_for_its_own_name_or_address(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    of_name = issued_by(tmp_path, "a.example.org").certificate
    assert unusable(of_name, "A.example.org", now=now) == ""
    assert "not for b.example.org" in unusable(of_name, "b.example.org", now=now)
    assert "not for 192.0.2.1" in unusable(of_name, "192.0.2.1", now=now)
    assert unusable(issued_by(tmp_path, "192.0.2.1").certificate, "192.0.2.1", now=now) == ""
    assert unusable(issued_by(tmp_path, "*.example.org").certificate, "c.example.org", now=now) == ""


async def test_an_address_that_is_taken_is_named(ground: Ground) -> None:
    _, _, port = access_of(ground, "j1-work-1").url.rpartition(":")
    parts = ground.another_keeper().parts
    settings = SessionListenerSettings(
        **{**listener().model_dump(), "address": f"127.0.0.1:{port}", "listen": f"127.0.0.1:{port}"}
    )
    parts.current.settings = parts.settings.model_copy(update={"session_listener": settings})
    with pytest.raises(
        SettingsError, match=rf"session_listener.listen: 127.0.0.1:{port} cannot be listened on"
    ):
        async with session_listener(parts, now=SystemClock().now):
            pass


async def test_without_an_address_nobody_is_given_a_way(ground: Ground) -> None:
    parts = ground.another_keeper().parts
    parts.current.settings = parts.settings.model_copy(update={"session_listener": listener(address="")})
    async with session_listener(parts) as access:
        assert access.session("j1-work-1") is None
        assert access.copy("acme/calc", "c" * 40) is None


def test_the_token_is_in_no_text_of_what_a_session_is_given() -> None:
    access = SessionAccess(url="https://h:1", token=SessionTokens(b"k").of("j1-work-1"), authority="pem")
    assert access.token not in repr(access)


def test_tokens_of_another_home_open_nothing() -> None:
    assert not SessionTokens(b"one").opens(SessionTokens(b"two").of("j1-work-1"), "j1-work-1")
    assert SessionTokens(b"one").opens(SessionTokens(b"one").of("j1-work-1"), "j1-work-1")
    assert not SessionTokens(b"one").opens("ovs_\udcff", "j1-work-1")
