"""The pointers Git LFS leaves in a repository in the place of large files."""

import re
from dataclasses import dataclass

LARGEST_POINTER = 1023
"""What is longer is none, by the specification."""
SMALLEST_POINTER = 100
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize ([1-9][0-9]{0,15})\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What a pointer stands for."""

    oid: str
    """The SHA-256 of the content, which is also its name."""
    size: int


def parse_pointer(content: bytes) -> Pointer | None:
    """A pointer as Git LFS writes it. Anything else, with extensions or in another order, stands for itself."""
    found = _POINTER.fullmatch(content)
    return Pointer(oid=found[1].decode(), size=int(found[2])) if found else None


def pointer_to(pointer: Pointer) -> bytes:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{pointer.oid}\nsize {pointer.size}\n".encode()
