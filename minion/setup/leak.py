"""Looks for secrets in what setup made, because every later session can read it. A value is never said, only its name."""

import base64
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

SHORTEST = 6
"""A shorter value is in many a file by chance, and no secret."""
_CHUNK = 4 * 1024 * 1024


def disguised(secrets: Mapping[str, str]) -> dict[bytes, str]:
    """What to look for: each value as it is, as in a URL, as in a header; and whose it is."""
    found: dict[bytes, str] = {}
    for name, value in secrets.items():
        plain = value.strip()
        if len(plain) < SHORTEST:
            continue
        raw = plain.encode("utf-8", "surrogateescape")
        for form in (raw, quote(raw, safe="").encode(), base64.b64encode(raw)):
            found[form] = name
    return found


def hidden(text: str, secrets: Mapping[str, str]) -> str:
    """Text with the name in place of every value."""
    forms = {form.decode("utf-8", "replace"): name for form, name in disguised(secrets).items()}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, f"${forms[form]}")
    return text


def find(directory: Path, secrets: Mapping[str, str], *, until: float) -> tuple[str, str] | None:
    """The first file with a secret in it, and the secret's name. Raises TimeoutError when `until` comes first."""
    forms = disguised(secrets)
    if not forms:
        return None
    for file in _files(directory):
        if time.monotonic() > until:
            raise TimeoutError("Looking for secrets in the environment took too long.")
        if name := _look(file, forms):
            return os.path.relpath(file, directory), name
    return None


def _files(directory: Path) -> Iterator[Path]:
    for place, _, names in os.walk(directory):
        for name in sorted(names):
            file = Path(place, name)
            if file.is_file() and not file.is_symlink():
                yield file


def _look(file: Path, forms: Mapping[bytes, str]) -> str | None:
    overlap = max(map(len, forms)) - 1
    kept = b""
    with file.open("rb") as source:
        while data := source.read(_CHUNK):
            window = kept + data
            for form, name in forms.items():
                if form in window:
                    return name
            kept = window[-overlap:]
    return None
