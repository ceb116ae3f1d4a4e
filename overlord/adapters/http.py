"""How Overlord makes an HTTP client: explicit timeouts, no redirects followed, and no proxy for loopback."""

import functools
import ipaddress
import os
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from overlord.errors import SettingsError

CONNECTIONS = 64


def open_client(base_url: str, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """A client for one external service. Proxies and certificates come from the environment, unless it is on this machine."""
    trust_env = not is_loopback(base_url)
    return httpx.AsyncClient(
        timeout=timeout,
        follow_redirects=False,
        verify=authorities_for(base_url, trust_env=trust_env),
        trust_env=trust_env,
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=16),
    )


def authorities_for(base_url: str, *, trust_env: bool) -> ssl.SSLContext:
    """Whom an external service's certificate may come from; from nobody where none is shown."""
    if httpx.URL(base_url).scheme == "http":
        return _nobody()
    named = tuple(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _read_authorities(trust_env, named)


@functools.cache
def _nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@functools.cache
def _read_authorities(trust_env: bool, _named: tuple[str | None, ...]) -> ssl.SSLContext:
    """Read once: all authorities of the world take longer than anything else at a start."""
    return httpx.create_ssl_context(trust_env=trust_env)


def is_loopback(url: str) -> bool:
    """Whether an address can only be this machine."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxy_for(url: str) -> str | None:
    """The proxy through which the environment wants an address to be asked, by the rules of Python's own `urllib`.

    Raises SettingsError for one that does not speak HTTP.
    """
    address, known = httpx.URL(url), getproxies()
    proxy = known.get(address.scheme) or known.get("all")
    if not proxy or any(proxy_bypass(host, known) for host in (address.host, address.netloc.decode())):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not _speaks_http(proxy):
        raise SettingsError(
            f"the proxy that the environment names for {address.host} is none that is asked over HTTP"
        )
    return proxy


def _speaks_http(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
