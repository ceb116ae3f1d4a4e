"""A ready copy as another machine fetches it: one tar stream of plain files, whose length is known before it begins."""

import asyncio
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

BLOCK = tarfile.BLOCKSIZE
END = b"\0" * 2 * BLOCK
CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Part:
    file: Path
    header: bytes
    size: int


@dataclass(frozen=True, slots=True)
class CopyStream:
    """The files of one copy. They are never written again, so what was counted is what is sent."""

    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, copy: Path) -> "CopyStream":
        """Raises OSError where it is not there, or goes away just now."""
        if not copy.is_dir():
            raise FileNotFoundError(copy)
        return cls(tuple(_part(copy, file) for file in sorted(copy.rglob("*")) if file.is_file()))

    @property
    def length(self) -> int:
        """Bytes that are sent."""
        return sum(len(part.header) + -(-part.size // BLOCK) * BLOCK for part in self.parts) + len(END)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The stream. Raises OSError where a file is not what it was."""
        for part in self.parts:
            yield part.header
            opened = await asyncio.to_thread(part.file.open, "rb")
            try:
                left = part.size
                while left:
                    data = await asyncio.to_thread(_read, opened, min(left, CHUNK))
                    left -= len(data)
                    yield data
            finally:
                opened.close()
            yield b"\0" * (-part.size % BLOCK)
        yield END


def _read(opened: BinaryIO, size: int) -> bytes:
    data = opened.read(size)
    if not data:
        raise OSError("a file of the copy became shorter")
    return data


def _part(copy: Path, file: Path) -> _Part:
    stat = file.stat()
    info = tarfile.TarInfo(file.relative_to(copy).as_posix())
    info.size, info.mtime, info.mode = stat.st_size, int(stat.st_mtime), 0o644
    return _Part(file, info.tobuf(tarfile.USTAR_FORMAT), stat.st_size)
