"""What a run was started with, one small file each: what Overlord's own state has no place for."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from overlord.entrypoints.local.place import Place
from overlord.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A result that was brought into the user's repository."""

    head: str
    """The judged commit."""
    branch: str
    commit: str
    """What the branch was made at: the judged commit, or its like on a shallow clone's own history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A run is an issue of the place's forge. What it was started with holds when it is gone on with."""

    number: int
    title: str
    base: str
    """The user's own commit it starts from."""
    forge_base: str
    """What stands for it at the forge: the same, unless the repository is a shallow clone."""
    base_branch: str
    """The branch of the forge that is at `forge_base`."""
    onto: str
    """How the user says where it starts: a branch, or a short commit."""
    scope: tuple[str, ...] = ()
    model: str = ""
    runner: str = ""
    budget_usd: float | None = None
    agent: str = ""
    """The coding agent the user named; empty for the contract's, or the settings'."""
    accepts: bool = False
    """Whether what an architect proposes counts as the user's answer to its questions."""
    merge: str = ""
    """What the user said of merging the result, as `MergeWish`; "" for a run, whose branch stays beside theirs."""
    proposes: bool = False
    """Whether the result becomes a pull request at the forge its repository comes from."""
    fixes: int | None = None
    """The job that it mends."""
    landed: tuple[Landed, ...] = ()

    def result(self, head: str | None) -> Landed | None:
        """What became of a judged commit in the user's repository."""
        return next((item for item in self.landed if item.head == head), None)


def save(place: Place, record: Record) -> Record:
    """Write it whole, or not at all."""
    path = _path(place, record.number)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    fresh.replace(path)
    return record


def get(place: Place, number: int) -> Record:
    """Raises NotFound."""
    path = _path(place, number)
    if not path.exists():
        raise NotFound(f"there is no run {number} of {place.source}; `overlord history` shows every run")
    data = json.loads(path.read_text(encoding="utf-8"))
    landed = tuple(Landed(**item) for item in data["landed"])
    return Record(**{**data, "scope": tuple(data["scope"]), "landed": landed})


def every(place: Place) -> Sequence[Record]:
    """All runs, oldest first."""
    names = (path.stem for path in place.runs.glob("*.json"))
    return [get(place, int(name)) for name in sorted(names, key=int)]


def _path(place: Place, number: int) -> Path:
    return place.runs / f"{number}.json"
