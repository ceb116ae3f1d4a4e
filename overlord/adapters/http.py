"""How Overlord makes an HTTP client: explicit timeouts, no redirects followed, and no proxy for loopback."""

import ipaddress

import httpx

CONNECTIONS = 64


def open_client(base_url: str, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """A client for one far end. Proxies and certificates come from the environment, unless it is on this machine."""
    return httpx.AsyncClient(
        timeout=timeout,
        follow_redirects=False,
        trust_env=not is_loopback(base_url),
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=16),
    )


def is_loopback(url: str) -> bool:
    """Whether an address can only be this machine."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
