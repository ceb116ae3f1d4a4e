"""Reading an index that git made (version 2), and telling it the sizes of the files it speaks of."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1

GITLINK, SYMLINK = 0o160000, 0o120000
_HEADER = struct.Struct(">4sII")
_MODE = struct.Struct(">I")
_MODE_AT, _SIZE_AT, _OBJECT_AT, _NAME_AT = 24, 36, 40, 62
_SEAL_BYTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One path. `position` is where it begins in the index."""

    position: int
    name: bytes
    mode: int
    object: bytes

    @property
    def is_file(self) -> bool:
        return self.mode not in (GITLINK, SYMLINK)


def entries(index: bytes | bytearray) -> Iterator[Entry]:
    """Every entry, in order. Raises ValueError for an index of another version."""
    magic, version, count = _HEADER.unpack_from(index)
    if (magic, version) != (b"DIRC", 2):
        raise ValueError("not an index of version 2")
    position = _HEADER.size
    for _ in range(count):
        end = index.index(0, position + _NAME_AT)
        yield Entry(
            position=position,
            name=bytes(index[position + _NAME_AT : end]),
            mode=_MODE.unpack_from(index, position + _MODE_AT)[0],
            object=bytes(index[position + _OBJECT_AT : position + _OBJECT_AT + 20]),
        )
        position += (end - position + 8) // 8 * 8


def set_size(index: bytearray, entry: Entry, size: int) -> None:
    _MODE.pack_into(index, entry.position + _SIZE_AT, size)


def seal(index: bytearray) -> None:
    """Make the checksum at the end fit again."""
    index[-_SEAL_BYTES:] = sha1(index[:-_SEAL_BYTES], usedforsecurity=False).digest()
