"""Where a submodule may be fetched from. Its address was written by whoever wrote the repository, so it is taken for hostile.

Only https, or the forge itself the way Overlord reaches it; nothing of this machine, no sign-in, no way up a path.
"""

import ipaddress
import re
from urllib.parse import SplitResult, unquote, urlsplit

_FORGE_BY_SSH = re.compile(r"(?:ssh://)?git@(?P<host>[A-Za-z0-9.-]+)[:/](?P<path>[^:]+)")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
"""A last part like this makes a short form of an IPv4 address out of a host, as 127.1 is."""
_HERE = (".localhost", ".localdomain", ".local", ".internal")
_CARRIERS = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))
"""Addresses that carry an IPv4 address, which may be any."""
_PLAIN = re.compile(r"[!-~]+")
LONGEST = 2000


def address(words: str, parent: str, forge: str) -> str:
    """The address to fetch from. `given` is what .gitmodules says, `parent` where the repository that says it came from,
    `forge` where the space's own does.

    Raises ValueError with the end of a sentence for an address that is not used.
    """
    if len(words) > LONGEST or not _PLAIN.fullmatch(words) or "\\" in words or words.startswith("-"):
        raise ValueError("its address has characters that none should have")
    text = _relative(words, parent) if words.startswith(("./", "../")) else _over_https(words, forge)
    parts = _split(text)
    if origin(text) != origin(forge):
        if parts.scheme != "https":
            raise ValueError("its address is neither https nor at the forge")
        _check_host(parts.hostname or "")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("its address holds more than a host and a path")
    steps = unquote(parts.path).split("/")
    if any(step == ".." or step.startswith("-") for step in steps) or not parts.path.strip("/"):
        raise ValueError("its address has a path that none should have")
    return text


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: who gets a credential that is sent there."""
    parts = _split(url)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", parts.port or usual


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("its address cannot be read") from None
    return parts


def _relative(text: str, parent: str) -> str:
    """As git does: each step up takes one part of the parent's address away. Never its host."""
    parts = _split(parent)
    path, rest = parts.path.rstrip("/"), text
    while rest.startswith(("./", "../")):
        step, _, rest = rest.partition("/")
        if step == "..":
            if not path:
                raise ValueError("its address leads above the forge's own")
            path = path.rpartition("/")[0]
    return f"{parts.scheme}://{parts.netloc}{path}/{rest.rstrip('/')}"


def _over_https(text: str, forge: str) -> str:
    """An address for people with a key at the forge means what its clone address means."""
    parts = _split(forge)
    found = _FORGE_BY_SSH.fullmatch(text)
    if found is None or found["host"].lower() != (parts.hostname or "").lower():
        return text
    return f"{parts.scheme}://{parts.netloc}/{found['path'].lstrip('/')}"


def _check_host(host: str) -> None:
    """Raises ValueError for what is no public host's name."""
    try:
        known = ipaddress.ip_address(host)
    except ValueError:
        if (
            _HOST.fullmatch(host)
            and not _NUMBER.fullmatch(host.rpartition(".")[2])
            and "." in host
            and not host.lower().endswith(_HERE)
        ):
            return
        raise ValueError("its address names no public host") from None
    if not known.is_global or any(known in carrier for carrier in _CARRIERS):
        raise ValueError("its address names no public host")
