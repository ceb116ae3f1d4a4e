"""What GitHub has told us already, so that asking again costs it a 304 and us none of the rate limit.

Bodies are kept as bytes, so nobody shares an object; the least recently used go first when the store is full.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """One answer, as it came."""

    etag: str
    headers: Mapping[str, str]
    body: bytes


class EtagStore:
    """Answers by address, within a number of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, CachedAnswer] = OrderedDict()
        self._bytes = 0

    def get(self, url: str) -> CachedAnswer | None:
        kept = self._kept.get(url)
        if kept is not None:
            self._kept.move_to_end(url)
        return kept

    def put(self, url: str, kept: CachedAnswer) -> None:
        self._drop(url)
        if len(kept.body) > self._max_bytes:
            return
        self._kept[url] = kept
        self._bytes += len(kept.body)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def __len__(self) -> int:
        return len(self._kept)

    def _drop(self, url: str) -> None:
        dropped = self._kept.pop(url, None)
        if dropped is not None:
            self._bytes -= len(dropped.body)
