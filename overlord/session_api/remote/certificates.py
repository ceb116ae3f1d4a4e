"""What the session listener shows to sessions, and what these trust: a certificate of Overlord's own authority, which is made at the
first start, or the operator's, which is read again when it changes."""

import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from overlord.errors import SettingsError
from overlord.session_api.remote.tokens import kept_secret
from overlord.settings.machines import SessionListenerSettings, is_address

AUTHORITY_VALID = datetime.timedelta(days=3650)
CERTIFICATE_VALID = datetime.timedelta(days=90)
RENEWED_BEFORE = datetime.timedelta(days=30)
SKEW = datetime.timedelta(days=1)
"""Certificates are valid from a day ago: clocks of machines differ."""
LONGEST_AUTHORITY = 64 * 1024
"""Bytes of what sessions trust: it goes into the environment of each."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its chain and its private key, in PEM."""

    chain: bytes
    key: bytes

    @property
    def certificate(self) -> x509.Certificate:
        """The first of the chain. Raises ValueError."""
        return x509.load_pem_x509_certificate(self.chain)


class Certificates:
    """`context` serves with the certificate of now; `authority` is what sessions are told to trust."""

    def __init__(
        self, directory: Path, settings: SessionListenerSettings, *, now: Callable[[], datetime.datetime]
    ) -> None:
        """`directory` holds the own authority's key. Raises SettingsError for an operator's certificate that cannot serve, OSError."""
        self._directory = directory
        self._settings = settings
        self._now = now
        self._seen: object = None
        self._valid_until = now()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0  # a session's connections are few and last
        self.authority = ""
        self.refresh()

    @property
    def valid_until(self) -> datetime.datetime:
        return self._valid_until

    def refresh(self) -> None:
        """Take up a certificate that the operator replaced, and make our own anew before it ends. Raises SettingsError, OSError."""
        if self._settings.certificate:
            if (seen := self._stamps()) != self._seen:
                self._take(_read(self._settings), _trusted(self._settings))
                self._seen = seen
        elif self._now() >= self._valid_until - RENEWED_BEFORE:
            authority = self._own_authority()
            made = issued(authority, self._settings.host, now=self._now())
            self._take(made, authority.certificate.public_bytes(serialization.Encoding.PEM).decode("ascii"))

    def _stamps(self) -> object:
        names = (self._settings.certificate, self._settings.key, self._settings.authority)
        found = [Path(name).expanduser().stat() for name in names if name]
        return [(stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in found]

    def _take(self, identity: Identity, authority: str) -> None:
        with tempfile.NamedTemporaryFile(
            suffix=".pem"
        ) as file:  # ssl reads files alone; this one is its owner's
            file.write(identity.chain + b"\n" + identity.key)
            file.flush()
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                    file.name
                )  # one that fits its key, or none is taken
                self.context.load_cert_chain(file.name)
            except ssl.SSLError as error:
                raise SettingsError(f"session_listener: certificate and key do not fit: {error}") from None
        self._valid_until = identity.certificate.not_valid_after_utc
        self.authority = authority

    def _own_authority(self) -> Identity:
        file = self._directory / "authority.pem"
        made = kept_secret(file, lambda: _pem(_new_authority(self._now())))
        try:
            key = serialization.load_pem_private_key(made, None)
            certificate = x509.load_pem_x509_certificate(made)
        except ValueError as error:
            raise SettingsError(
                f"session_listener: {file} does not hold an authority any more ({error}): delete it, and a new one is made"
            ) from None
        if certificate.not_valid_after_utc - CERTIFICATE_VALID < self._now():
            file.unlink()
            return self._own_authority()
        return Identity(chain=certificate.public_bytes(serialization.Encoding.PEM), key=_key_pem(key))


def _pem(identity: Identity) -> bytes:
    return identity.key + identity.chain


def _key_pem(key: object) -> bytes:
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _new_authority(now: datetime.datetime) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Overlord sessions")])
    built = (
        _builder(name, name, key, now=now, valid=AUTHORITY_VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Identity(chain=built.public_bytes(serialization.Encoding.PEM), key=_key_pem(key))


def issued(
    authority: Identity, host: str, *, now: datetime.datetime, valid: datetime.timedelta = CERTIFICATE_VALID
) -> Identity:
    """A certificate for a host, a name or an IP address, signed by an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    signing = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Overlord session listener")])
    own: x509.GeneralName = (
        x509.IPAddress(ipaddress.ip_address(host)) if is_address(host) else x509.DNSName(host)
    )
    built = (
        _builder(subject, authority.certificate.subject, key, now=now, valid=valid)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([own]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(signs=False), critical=True)
        .sign(signing, hashes.SHA256())
    )
    return Identity(chain=built.public_bytes(serialization.Encoding.PEM), key=_key_pem(key))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    now: datetime.datetime,
    valid: datetime.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + valid)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _read(settings: SessionListenerSettings) -> Identity:
    """The operator's. Raises SettingsError for one that cannot serve."""
    chain = Path(settings.certificate).expanduser().read_bytes()
    identity = Identity(chain=chain, key=Path(settings.key).expanduser().read_bytes())
    try:
        _ = identity.certificate
    except ValueError:
        raise SettingsError(
            f"session_listener.certificate: {settings.certificate} holds no certificate in PEM"
        ) from None
    return identity


def _trusted(settings: SessionListenerSettings) -> str:
    """What sessions trust where the operator's certificate serves."""
    if settings.authority:
        trusted = Path(settings.authority).expanduser().read_text(encoding="ascii", errors="replace")
        if len(trusted) > LONGEST_AUTHORITY:
            raise SettingsError(
                f"session_listener.authority: {settings.authority} has more than {LONGEST_AUTHORITY} bytes: it goes into each"
                " session, so name the certificate that signed yours alone"
            )
        return trusted
    chain = x509.load_pem_x509_certificates(Path(settings.certificate).expanduser().read_bytes())
    trusting = chain[1:] or chain
    return "".join(item.public_bytes(serialization.Encoding.PEM).decode("ascii") for item in trusting)


def unusable(identity: x509.Certificate, host: str, *, now: datetime.datetime) -> str:
    """Why a certificate is none that sessions would take, in words; empty when it is."""
    if now > identity.not_valid_after_utc:
        return f"the certificate expired on {identity.not_valid_after_utc:%Y-%m-%d}"
    if now < identity.not_valid_before_utc:
        return f"the certificate is valid from {identity.not_valid_before_utc:%Y-%m-%d} on, and this machine's clock is before that"
    if not _is_for(identity, host):
        return f"the certificate is not for {host}"
    return ""


def _is_for(certificate: x509.Certificate, host: str) -> bool:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    if is_address(host):
        return ipaddress.ip_address(host) in names.get_values_for_type(x509.IPAddress)
    own = [name.casefold() for name in names.get_values_for_type(x509.DNSName)]
    return host.casefold() in own or f"*.{host.casefold().partition('.')[2]}" in own
