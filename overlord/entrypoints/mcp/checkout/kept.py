"""What is kept of a checkout beside its files: which copies were made of it, and which patches were written to it. What is old goes."""

import contextlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from overlord.domain.disciplines.call import Call
from overlord.domain.identifiers import NO_COMMIT, Sha
from overlord.entrypoints.mcp.checkout.snapshot import Snapshot

KEPT = timedelta(days=30)
"""A call that was asked for longer ago is not written any more, so nobody needs to know whether it was."""
_SOURCE = "source"
"""Names the checkout, so that what is kept of one that is gone goes as well."""
_MAKING = ("making-*", "patching-*")
"""Directories for a moment, of a process that was killed; whoever clears is alone with the checkout."""


class Writing(StrEnum):
    """How far the writing of a patch came."""

    NONE = ""
    BEGUN = "begun"
    DONE = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A directory of ours for one checkout."""

    place: Path
    root: Path
    """Where the checkout is."""

    def remember(self, taken: Snapshot) -> None:
        """Know a copy again that was made of this checkout."""
        _put(self.place / "taken" / taken.commit, json.dumps(taken.left_out))
        _put(self.place / _SOURCE, os.fsdecode(self.root))

    def left_out(self, base: Sha) -> tuple[str, ...] | None:
        """What a worker was not shown; None where the call began on no copy of this checkout."""
        if base == NO_COMMIT:
            return None
        try:
            return tuple(json.loads(_read(self.place / "taken" / base)))
        except (OSError, ValueError):
            return None

    def writing(self, call: Call) -> Writing:
        """Of a call's patch."""
        try:
            return Writing(_read(self._mark(call)))
        except FileNotFoundError:
            return Writing.NONE

    def mark(self, call: Call, writing: Writing) -> None:
        """Say how far it came."""
        if writing is Writing.NONE:
            self._mark(call).unlink()
        else:
            _put(self._mark(call), writing)

    def _mark(self, call: Call) -> Path:
        name = f"{call.ref}-{int(call.created_at.timestamp())}-{call.patch[:16]}"
        return self.place / "applied" / name

    def clear(self) -> None:
        """Remove what nobody asks for any more, and what was cut off."""
        before = time.time() - KEPT.total_seconds()
        for file in (*self.place.glob("taken/*"), *self.place.glob("applied/*")):
            with contextlib.suppress(OSError):
                if file.stat().st_mtime < before:
                    file.unlink()
        for pattern in _MAKING:
            for directory in self.place.glob(pattern):
                shutil.rmtree(directory, ignore_errors=True)
        for source in self.place.parent.glob(f"*/{_SOURCE}"):
            with contextlib.suppress(OSError):
                if source.stat().st_mtime < before and not Path(_read(source)).exists():
                    shutil.rmtree(source.parent)


def is_old(call: Call) -> bool:
    """Whether what is known of its writing may be gone."""
    return datetime.now(UTC) - call.created_at > KEPT


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    new = file.with_name(f"{file.name}.new")
    new.write_text(text, encoding="utf-8", errors="surrogateescape")
    new.replace(file)
