"""Reports of tests, packed where they are large: `zlib:` and base64 of what is compressed. A hundred thousand tests take a megabyte.

Written and read in pieces, so that neither side holds a report as a whole. Standard library only.
"""

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator

PREFIX = "zlib:"
PLAIN_BYTES = 64 * 1024
"""What is smaller stays as it is, for people who look at it."""
MOST_BYTES = 64 * 1024 * 1024
"""Of a report as it was written."""
_PIECE = 256 * 1024


class TooLarge(ValueError):
    """A report is larger than anybody reads."""


class Packer:
    """Takes a report in pieces."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(6)
        self._packed: list[bytes] = []
        self._plain: list[bytes] = []
        self.size = 0
        """Bytes that were taken."""
        self.packed_size = 0

    def take(self, piece: bytes) -> None:
        """One more piece. Raises TooLarge."""
        self.size += len(piece)
        if self.size > MOST_BYTES:
            raise TooLarge
        if self.size <= PLAIN_BYTES:
            self._plain.append(piece)
        self._keep(self._compressor.compress(piece))

    def text(self) -> str:
        """All that was taken. It takes no more then."""
        self._keep(self._compressor.flush())
        if self.size <= PLAIN_BYTES:
            return b"".join(self._plain).decode("utf-8", "replace")
        return PREFIX + base64.b64encode(b"".join(self._packed)).decode("ascii")

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._packed.append(piece)
            self.packed_size += len(piece)


def pack(pieces: Iterable[bytes]) -> str:
    """A whole report. Raises TooLarge."""
    packer = Packer()
    for piece in pieces:
        packer.take(piece)
    return packer.text()


def unpacked(text: str) -> Iterator[bytes]:
    """A report in pieces, packed or not. Raises ValueError for what cannot be unpacked, TooLarge for what becomes too much."""
    if not text.startswith(PREFIX):
        yield text.encode("utf-8", "surrogatepass")
        return
    try:
        packed = base64.b64decode(text[len(PREFIX) :], validate=True)
        reader, size = zlib.decompressobj(), 0
        for start in range(0, len(packed), _PIECE):
            data = packed[start : start + _PIECE]
            while data:
                piece = reader.decompress(data, _PIECE)
                data = reader.unconsumed_tail
                size += len(piece)
                if size > MOST_BYTES:
                    raise TooLarge
                yield piece
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"not packed as a report is: {error}") from None
    if not reader.eof:
        raise ValueError("a packed report that is cut off")
