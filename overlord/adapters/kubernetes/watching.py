"""The Pods of an instance as they change: one watch, begun again with a fresh list whenever it cannot go on from where it was."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from overlord.adapters.kubernetes.cluster import Cluster, Expired
from overlord.errors import RunnerRefused, RunnerUnavailable

Object = dict[str, Any]
_LOOK_AGAIN_S = 1.0
_LONGEST_S = 30.0


class PodWatch:
    """`on_pod` is told each Pod that is there and each that changes, and whether it is gone."""

    def __init__(
        self, cluster: Cluster, labels: str, on_pod: Callable[[Object, bool], None], *, pause_s: float = 0.25
    ) -> None:
        self._cluster = cluster
        self._labels = labels
        self._on_pod = on_pod
        self._pause_s = pause_s
        self._changed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Watch from now on, if nobody does yet; from within a loop."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    async def wait_for_change(self, within_s: float = _LOOK_AGAIN_S) -> None:
        """Until a Pod changes, but no longer than this: a watch may be broken off just now."""
        self.begin()
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(_LOOK_AGAIN_S, within_s)):
                await changed.wait()

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching

    async def _watch(self) -> None:
        pause_s = self._pause_s
        while True:
            try:
                listed = await self._cluster.list("pods", labels=self._labels)
                for pod in listed.items:
                    self._tell(pod, is_gone=False)
                pause_s = self._pause_s
                async for change in self._cluster.watch("pods", labels=self._labels, version=listed.version):
                    self._tell(change.item, is_gone=change.kind == "DELETED")
            except (Expired, RunnerUnavailable, RunnerRefused):
                # Whoever asks for a session meets what is wrong, and says so.
                await asyncio.sleep(pause_s)
                pause_s = min(_LONGEST_S, pause_s * 2)

    def _tell(self, pod: Object, *, is_gone: bool) -> None:
        self._on_pod(pod, is_gone)
        self._changed.set()
        self._changed = asyncio.Event()
