"""How much of a repository Overlord fetches, by its operator's word: never by the repository's own."""

from dataclasses import dataclass
from datetime import datetime

MODULES, LFS = "-modules", "-lfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What belongs to one space."""

    history_depth: int = 0
    """Commits of each branch a mirror begins with; 0 for all. Later fetches go on from there."""
    submodules: bool = False
    """Whether sessions find the files of submodules; else empty directories."""
    lfs: bool = False
    """Whether sessions find what Git LFS keeps; else the pointers."""

    @property
    def mark(self) -> str:
        """What tells the ready copies of one commit apart: empty for files as they are in the repository."""
        return MODULES * self.submodules + LFS * self.lfs


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A repository as it lies here."""

    name: str
    """In small letters."""
    size: int
    used_at: datetime
