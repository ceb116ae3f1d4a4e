"""What `overlord doctor` finds of the listener for sessions on other machines: its certificate, and whether it answers."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overlord.entrypoints.doctor.finding import Finding, bad, warn, well
from overlord.errors import SettingsError
from overlord.home import Home
from overlord.settings.load import Settings
from overlord.settings.session_listener import SessionListenerSettings, split
from overlord.wakeup import is_heard

if TYPE_CHECKING:
    from cryptography import x509

WHAT, CERTIFICATE = "session listener", "session listener's certificate"
ENDS_SOON = timedelta(days=14)
_ANSWER_S = 5.0


async def examine_session_listener(settings: Settings) -> Sequence[Finding]:
    """Nothing where it is off and no session needs it."""
    own, home = settings.session_listener, Home(settings.home)
    if not own.is_on:
        if settings.runner in {"swarm", "kubernetes"}:
            text = f"none: with `runner: {settings.runner}` sessions reach Overlord over the network; set session_listener.address"
            return [bad(WHAT, text)]
        return []
    found, authority = _certificate(own, home)
    return [*found, await _answer(own, authority, is_served=is_heard(home.wakeup))]


def _certificate(own: SessionListenerSettings, home: Home) -> tuple[Sequence[Finding], str]:
    """The operator's certificate, and what sessions trust; empty where that is not known yet."""
    if not own.certificate:
        return [], _own_authority(home)
    from overlord.session_api.remote.certificates import Certificates, unusable

    now = datetime.now(UTC)
    try:
        served = Certificates(home.session_listener, own, now=lambda: now)
    except (SettingsError, OSError) as error:
        return [bad(CERTIFICATE, str(error))], ""
    if why := unusable(_first(own), own.host, now=now):
        text = f"{why}; sessions would not trust it: put another in {own.certificate}, which is read without a restart"
        return [bad(CERTIFICATE, text)], served.authority
    text = f"{own.certificate}, for {own.host}, valid until {served.valid_until:%Y-%m-%d}"
    is_soon = served.valid_until - now < ENDS_SOON
    return [(warn if is_soon else well)(CERTIFICATE, text + "; renew it" * is_soon)], served.authority


def _first(own: SessionListenerSettings) -> "x509.Certificate":
    from cryptography import x509

    return x509.load_pem_x509_certificate(Path(own.certificate).expanduser().read_bytes())


def _own_authority(home: Home) -> str:
    """Overlord's own, in PEM, if a daemon has made one."""
    try:
        made = (home.session_listener / "authority.pem").read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
    begin = made.find("-----BEGIN CERTIFICATE-----")
    return made[begin:] if begin >= 0 else ""


async def _answer(own: SessionListenerSettings, authority: str, *, is_served: bool) -> Finding:
    """Whether somebody whom sessions would trust answers at the address."""
    host, port = split(own.address)
    if not port:
        return well(WHAT, f"{own.address}: any free port, which the daemon takes when it starts")
    secured: dict[str, Any] = {"ssl": _trusting(authority), "server_hostname": host} if authority else {}
    try:
        async with asyncio.timeout(_ANSWER_S):
            _, writer = await asyncio.open_connection(host, port, **secured)
    except ssl.SSLCertVerificationError as error:
        return bad(
            WHAT, f"{own.address} shows a certificate that sessions do not trust: {error.verify_message}"
        )
    except ssl.SSLError as error:
        return bad(
            WHAT, f"{own.address} is answered by something that is not the session listener: {error.reason}"
        )
    except (OSError, ValueError) as error:
        return warn(WHAT, _silent(own, error, is_served=is_served))
    writer.transport.abort()
    return well(WHAT, f"{own.address} answers")


def _trusting(authority: str) -> ssl.SSLContext:
    """As sessions do: see `minion/reach.py`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=authority)
    return context


def _silent(own: SessionListenerSettings, error: Exception, *, is_served: bool) -> str:
    why = str(error) or f"no answer within {_ANSWER_S:.0f} s"
    if is_served:
        return (
            f"nobody answers at {own.address} from here ({why}), and the daemon runs: nodes must reach that address; see"
            " session_listener.listen, and what a firewall lets through"
        )
    return f"nobody answers at {own.address} ({why}): the daemon may not run, and then nobody should"
