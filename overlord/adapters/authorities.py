"""Which certificate authorities this machine trusts: what a setup must trust too to reach its package indexes."""

import os
from contextlib import suppress
from pathlib import Path

SYSTEM = Path("/etc/ssl/certs/ca-certificates.crt")
"""Where Debian's programs look, on this machine and in our images."""


def authorities() -> Path | None:
    """The file with them, if there is one where programs look for it."""
    path = Path(os.environ.get("SSL_CERT_FILE") or SYSTEM)
    return path if path.is_file() else None


def copied_to(copy: Path) -> Path | None:
    """That file at a place of our own, for an engine that sees Overlord's home and may have no other file of ours."""
    trusted = authorities()
    if trusted is None:
        return None
    content = trusted.read_bytes()
    with suppress(FileNotFoundError):
        if copy.read_bytes() == content:
            return copy
    fresh = copy.with_name(f"{copy.name}.new")
    fresh.write_bytes(content)
    fresh.chmod(0o644)
    return fresh.replace(copy)
