"""Exchanges under way in this process: a budget that is only reserved, not spent, is waited for until one of them lands."""

import asyncio


class Flight:
    """Counts requests between their reservation and their settlement."""

    def __init__(self) -> None:
        self._flying = 0
        self.landings = 0
        self._landed = asyncio.Event()

    def begin(self) -> None:
        self._flying += 1

    def end(self) -> None:
        self._flying -= 1
        self.landings += 1
        landed, self._landed = self._landed, asyncio.Event()
        landed.set()

    async def landing(self, seen: int) -> bool:
        """Wait for a landing after the first `seen`; False when none can come because nothing flies."""
        while self.landings == seen:
            if self._flying == 0:
                return False
            await self._landed.wait()
        return True
