"""What `overlord doctor` says of the listener for sessions on other machines: its certificate, and whether it answers."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.entrypoints.doctor.session_listener import CERTIFICATE, WHAT, examine_session_listener
from overlord.home import Home
from overlord.session_api.remote.certificates import Certificates, Identity, issued
from overlord.settings.load import load
from overlord.settings.session_listener import SessionListenerSettings

HOST = "127.0.0.1"


async def found(home: Path, address: str, *, runner: str = "process", **own: Any) -> dict[str, Finding]:
    listener = {"address": address, **own}
    settings = load({"OVERLORD_HOME": str(home)}, runner=runner, session_listener=listener)
    return {item.what: item for item in await examine_session_listener(settings)}


def made(home: Path, address: str, **own: str) -> Certificates:
    """As a daemon makes them when it starts."""
    section = SessionListenerSettings(
        **{"address": address, "listen": "", "certificate": "", "key": "", "authority": "", **own}
    )
    return Certificates(Home(home).session_listener, section, now=lambda: datetime.now(UTC))


@asynccontextmanager
async def listening(context: ssl.SSLContext | None) -> AsyncIterator[str]:
    """The address of somebody who listens, with TLS or without."""

    async def meet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(b"SSH-2.0-OpenSSH\r\n")
            await writer.drain()
        writer.transport.abort()

    server = await asyncio.start_server(meet, HOST, 0, ssl=context)
    async with server:
        yield f"{HOST}:{server.sockets[0].getsockname()[1]}"


def closed() -> str:
    with socket.create_server((HOST, 0)) as free:
        return f"{HOST}:{free.getsockname()[1]}"


def operators(place: Path, host: str = HOST, **given: Any) -> dict[str, str]:
    """An operator's certificate, signed by another authority, with its files."""
    authority = made(place / "theirs", f"{HOST}:1")
    kept = (Home(place / "theirs").session_listener / "authority.pem").read_bytes()
    signing = Identity(chain=authority.authority.encode(), key=kept)
    now = datetime.now(UTC)
    identity = issued(signing, host, **{"now": now, **given})
    (place / "chain.pem").write_bytes(identity.chain + authority.authority.encode())
    (place / "key.pem").write_bytes(identity.key)
    return {"certificate": str(place / "chain.pem"), "key": str(place / "key.pem")}


@pytest.mark.parametrize("runner", ["swarm", "kubernetes"])
async def test_who_needs_it_and_has_none_is_told(tmp_path: Path, runner: str) -> None:
    assert await found(tmp_path, "") == {}
    finding = (await found(tmp_path, "", runner=runner))[WHAT]
    assert finding.health is Health.BAD
    assert "set session_listener.address" in finding.said


async def test_a_daemons_own_certificate_is_what_answers(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with listening(made(home, f"{HOST}:1").context) as address:
        assert (await found(home, address))[WHAT].said == f"{address} answers"
        other = tmp_path / "other"
        made(other, address)
        finding = (await found(other, address))[WHAT]
        assert (finding.health, "do not trust" in finding.said) == (Health.BAD, True), finding


async def test_nobody_there_may_mean_that_no_daemon_runs(tmp_path: Path) -> None:
    finding = (await found(tmp_path, closed()))[WHAT]
    assert (finding.health, "the daemon may not run" in finding.said) == (Health.WARN, True)
    assert (await found(tmp_path, f"{HOST}:0"))[WHAT].health is Health.WELL
    assert not Home(tmp_path).session_listener.exists(), "looking makes no authority"


async def test_somebody_else_at_the_address_is_told(tmp_path: Path) -> None:
    made(tmp_path, f"{HOST}:1")
    async with listening(None) as address:
        finding = (await found(tmp_path, address))[WHAT]
    assert (finding.health, "not the session listener" in finding.said) == (Health.BAD, True), finding


async def test_an_operators_certificate_that_is_good_is_well(tmp_path: Path) -> None:
    own = operators(tmp_path)
    async with listening(made(tmp_path, f"{HOST}:1", **own).context) as address:
        findings = await found(tmp_path, address, **own)
    assert {item.health for item in findings.values()} == {Health.WELL}
    assert list(findings) == [CERTIFICATE, WHAT]


@pytest.mark.parametrize(
    ("given", "health", "words"),
    [
        ({"valid": timedelta(days=-1)}, Health.BAD, "expired on"),
        ({"now": datetime.now(UTC) + timedelta(days=9)}, Health.BAD, "this machine's clock is before"),
        ({"host": "elsewhere.test"}, Health.BAD, f"is not for {HOST}"),
        ({"valid": timedelta(days=3)}, Health.WARN, "renew it"),
    ],
)
async def test_an_operators_certificate_that_sessions_would_not_take_is_told(
    tmp_path: Path, given: dict[str, Any], health: Health, words: str
) -> None:
    finding = (await found(tmp_path, closed(), **operators(tmp_path, **given)))[CERTIFICATE]
    assert (finding.health, words in finding.said) == (health, True), finding


async def test_a_key_of_another_certificate_is_told(tmp_path: Path) -> None:
    own = operators(tmp_path)
    first = Path(own["key"]).read_bytes()
    operators(tmp_path)
    Path(own["key"]).write_bytes(first)
    finding = (await found(tmp_path, closed(), **own))[CERTIFICATE]
    assert (finding.health, "do not fit" in finding.said) == (Health.BAD, True)
