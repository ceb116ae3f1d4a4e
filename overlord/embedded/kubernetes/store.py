"""The objects of a cluster, each change with a version of its own, and the last changes for whoever watches."""

import asyncio
import copy
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from overlord.embedded.kubernetes.kind import Kind
from overlord.embedded.kubernetes.refusal import Refusal

Object = dict[str, Any]
Key = tuple[str, str, str]
"""Plural, namespace (empty for one of the cluster), name."""
_MOST_CHANGES = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one object."""

    version: int
    plural: str
    kind: str
    item: Object


class Store:
    """The truth of a cluster. What is handed out is a copy."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.version = 1000
        self.changes: list[Change] = []
        self.forgotten = 0
        """The last version whose change nobody can have any more."""
        self._now = now
        self._items: dict[Key, Object] = {}
        self._changed = asyncio.Event()

    def get(self, plural: str, namespace: str, name: str) -> Object | None:
        found = self._items.get((plural, namespace, name))
        return None if found is None else copy.deepcopy(found)

    def list(self, plural: str, namespace: str = "") -> list[Object]:
        """All of a resource; of every namespace where none is named."""
        found = [
            item for (kind, space, _), item in self._items.items()
            if kind == plural and namespace in {"", space}
        ]  # fmt: skip
        return copy.deepcopy(found)

    def add(self, kind: Kind, namespace: str, item: Object) -> Object:
        """Raises Refusal (409) where there is one of that name."""
        metadata = item["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        key = (kind.plural, namespace, str(metadata["name"]))
        if key in self._items:
            raise Refusal(409, f'{kind.plural} "{key[2]}" already exists')
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.timestamp(), "generation": 1}
        if kind.namespaced:
            metadata["namespace"] = namespace
        item |= {"apiVersion": kind.api_version, "kind": kind.name}
        self._items[key] = item
        return self._note(kind.plural, "ADDED", item)

    def put(self, kind: Kind, item: Object) -> Object:
        """Replace an object. Raises Refusal: 404 where there is none, 409 where it was changed since it was read."""
        metadata = item["metadata"]
        key = (
            kind.plural,
            str(metadata.get("namespace", "")) if kind.namespaced else "",
            str(metadata["name"]),
        )
        now = self._items.get(key)
        if now is None:
            raise Refusal(404, f'{kind.plural} "{key[2]}" not found')
        asked = metadata.get("resourceVersion")
        if asked and asked != now["metadata"]["resourceVersion"]:
            raise Refusal(
                409, f'Operation cannot be fulfilled on {kind.plural} "{key[2]}": the object has been modified',
                reason="Conflict",
            )  # fmt: skip
        for name in ("uid", "creationTimestamp", "generation", "deletionTimestamp", "namespace"):
            if name in now["metadata"]:
                metadata.setdefault(name, now["metadata"][name])
        item |= {"apiVersion": kind.api_version, "kind": kind.name}
        if {**item, "metadata": {**metadata, "resourceVersion": ""}} == {
            **now, "metadata": {**now["metadata"], "resourceVersion": ""}
        }:  # fmt: skip
            return copy.deepcopy(now)
        self._items[key] = copy.deepcopy(item)
        return self._note(kind.plural, "MODIFIED", self._items[key])

    def remove(self, kind: Kind, namespace: str, name: str) -> Object | None:
        found = self._items.pop((kind.plural, namespace, name), None)
        return None if found is None else self._note(kind.plural, "DELETED", found)

    def since(self, version: int, plural: str) -> Iterable[Change]:
        """The changes of a resource after a version. Raises Refusal (410) when they are not all there any more."""
        if version < self.forgotten:
            raise Refusal(410, f"too old resource version: {version} ({self.forgotten})")
        return [change for change in self.changes if change.version > version and change.plural == plural]

    def forget_changes(self) -> None:
        """As a server compacts what it holds: watches of an older version are over."""
        self.changes.clear()
        self.version += 1
        self.forgotten = self.version
        self._wake()

    async def wait(self) -> None:
        """Until anything changes."""
        await self._changed.wait()

    def timestamp(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def _note(self, plural: str, kind: str, item: Object) -> Object:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        self.changes.append(Change(self.version, plural, kind, copy.deepcopy(item)))
        if len(self.changes) > _MOST_CHANGES:
            self.forgotten = self.changes[_MOST_CHANGES // 2].version
            del self.changes[: _MOST_CHANGES // 2 + 1]
        self._wake()
        return copy.deepcopy(item)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
