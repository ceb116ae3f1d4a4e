"""A GitHub App's key, made once for all tests, and what may lie in its place."""

from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa


@cache
def keys() -> tuple[str, str]:
    """A private key and its public half, as PEM."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    secret = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return secret.decode(), public.decode()


@cache
def other_forms() -> dict[str, str]:
    """The same kind of key in a newer envelope, and keys that GitHub's Apps do not have."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    curve = ec.generate_private_key(ec.SECP256R1())
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked = serialization.BestAvailableEncryption(b"secret")
    traditional = serialization.PrivateFormat.TraditionalOpenSSL
    return {
        "pkcs8": private.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode(),
        "locked": private.private_bytes(pem, pkcs8, locked).decode(),
        "locked, old": private.private_bytes(pem, traditional, locked).decode(),
        "curve": curve.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode(),
        "curve, old": curve.private_bytes(pem, traditional, serialization.NoEncryption()).decode(),
    }


def write_key(path: Path) -> Path:
    """The private key in a file that nobody else may read."""
    path.write_text(keys()[0])
    path.chmod(0o600)
    return path
