"""A proxy of the environment: which is asked for what, and what NO_PROXY keeps from it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from overlord.adapters.github.client import AT_ONCE, GitHubClient
from overlord.adapters.http import proxy_for
from overlord.errors import SettingsError
from tests.adapters.github_calls import failure
from tests.adapters.wire import SECRET, Wire, answer, ask, client_of, wire


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for written in (name, name.upper()):
            monkeypatch.delenv(written, raising=False)
    return monkeypatch


async def test_a_far_address_is_asked_through_the_proxy_of_the_environment(
    environment: pytest.MonkeyPatch,
) -> None:
    async with wire(lambda *_: answer()) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url.replace("http://", "http://me:word@"))
        async with client_of("http://forge.example/api/v3") as client:
            assert await ask(client, path="/a%2Fb") == ({"is": "well"}, None)
    [head] = proxy.heads
    assert head.startswith(b"GET http://forge.example/api/v3/a%2Fb HTTP/1.1\r\nHost: forge.example\r\n")
    assert b"proxy-authorization: basic bwu6d29yza==" in head.lower()
    assert f"token {SECRET}".encode() in head


async def test_a_proxy_is_asked_for_a_tunnel_and_is_not_shown_the_token(
    environment: pytest.MonkeyPatch,
) -> None:
    async with wire(lambda *_: answer(b"", status="403 No"), hangs_up=True) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        async with client_of("https://forge.example") as client:
            error = await failure(ask(client))
    [head] = proxy.heads
    assert head.startswith(b"CONNECT forge.example:443 HTTP/1.1\r\n")
    assert SECRET.encode() not in head
    told = "the proxy refuses it; check the proxy of the environment"
    assert str(error) == f"GET /thing: {told} (ProxyError)"


@asynccontextmanager
async def tunnel(certificate: Path, behind: Wire) -> AsyncIterator[str]:
    """A proxy that leads everybody to one external service, whose certificate this is; gives its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await writer.start_tls(context)
        except (ssl.SSLError, ConnectionError):
            writer.close()
        else:
            await behind.talk(reader, writer)

    async with await asyncio.start_server(lead, "127.0.0.1", 0) as server:
        yield "http://{}:{}".format(*server.sockets[0].getsockname())


def write_certificate(path: Path, host: str) -> Path:
    """A certificate of a host that it gave itself, with its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    kept = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(kept + made.public_bytes(pem))
    return path


@pytest.mark.parametrize(
    ("host", "is_named", "said"),
    [
        ("forge.example", True, ""),
        ("forge.example", False, "ConnectError"),
        ("another.example", True, "ConnectError"),
    ],
)
async def test_a_far_end_is_believed_whose_authority_the_environment_names(
    environment: pytest.MonkeyPatch, tmp_path: Path, host: str, is_named: bool, said: str
) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem", host)
    other = write_certificate(tmp_path / "other.pem", host)
    environment.setenv("SSL_CERT_FILE", str(certificate if is_named else other))
    behind = Wire(lambda *_: answer())
    async with tunnel(certificate, behind) as url:
        environment.setenv("https_proxy", url)
        async with client_of("https://forge.example") as client:
            if said:
                trust = "the certificate of forge.example is not to be trusted; check its address and SSL_CERT_FILE"
                assert str(await failure(ask(client))) == f"GET /thing: {trust} ({said})"
            else:
                assert await ask(client) == ({"is": "well"}, None)
                assert await ask(client) == ({"is": "well"}, None)
    assert len(behind.heads) == (0 if said else 2)


async def test_tunnels_that_fail_leave_room_for_those_that_do_not(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each failed one would keep its place among the connections for good, and the ninth request would have none."""
    certificate = write_certificate(tmp_path / "certificate.pem", "another.example")
    environment.setenv("SSL_CERT_FILE", str(certificate))
    async with tunnel(certificate, Wire(lambda *_: answer())) as url:
        environment.setenv("https_proxy", url)
        async with client_of("https://forge.example") as client:
            for _ in range(2 * AT_ONCE):
                assert "certificate of forge.example" in str(await failure(ask(client)))


async def test_nobody_at_the_proxy_is_unavailable(
    environment: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    environment.setenv("ALL_PROXY", f"127.0.0.1:{unused_tcp_port}")
    async with client_of("https://forge.example") as client:
        assert str(await failure(ask(client))) == (
            f"GET /thing: 127.0.0.1:{unused_tcp_port} cannot be reached (Connection refused);"
            " check the proxy of the environment (ConnectError)"
        )


@pytest.mark.parametrize(
    "spared",
    ["*", "github.com", ".github.com", "API.github.com", "x:y:z, github.com"],
)
def test_what_no_proxy_names_is_asked_directly(environment: pytest.MonkeyPatch, spared: str) -> None:
    environment.setenv("HTTPS_PROXY", "http://proxy:1")
    environment.setenv("NO_PROXY", spared)
    assert proxy_for("https://api.github.com") is None


@pytest.mark.parametrize(
    "spared",
    ["", "hub.com", "x.api.github.com", "github.com:8443", "127.0.0.1", ","],
)
def test_what_no_proxy_does_not_name_is_not(environment: pytest.MonkeyPatch, spared: str) -> None:
    environment.setenv("HTTPS_PROXY", "http://proxy:1")
    environment.setenv("NO_PROXY", spared)
    assert proxy_for("https://api.github.com") == "http://proxy:1"


@pytest.mark.parametrize(
    ("spared", "host", "is_spared"),
    [
        *(("10.0.0.1", "10.0.0.1", True), ("10.0.0.1", "10.0.0.10", False), ("fe::1", "[fe::1]", True)),
        *(("ghe:8443", "ghe:8443", True), ("ghe:8443", "ghe", False), ("fe::1", "[fe::1]:8443", True)),
    ],
)
def test_no_proxy_may_name_addresses_and_ports(
    environment: pytest.MonkeyPatch, spared: str, host: str, is_spared: bool
) -> None:
    environment.setenv("ALL_PROXY", "proxy:1")
    environment.setenv("NO_PROXY", spared)
    assert (proxy_for(f"https://{host}") is None) == is_spared


@pytest.mark.parametrize(
    "proxy", ["socks5://me:word@proxy:1080", "http://[", "http://", "http://p:x", "ftp://proxy"]
)
def test_a_proxy_that_does_not_speak_http_is_refused_at_once(
    environment: pytest.MonkeyPatch, proxy: str
) -> None:
    environment.setenv("ALL_PROXY", proxy)
    with pytest.raises(SettingsError, match=r"api\.github\.com .* over HTTP") as refused:
        GitHubClient("https://api.github.com")
    assert "word" not in str(refused.value)
