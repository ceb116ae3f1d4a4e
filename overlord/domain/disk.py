"""Whether a disk has the room that work needs, and when it has it again."""

from dataclasses import dataclass

from overlord.domain.text.plain import size_text

AGAIN = 1.1
"""Work goes on once there is so much more than the least: a disk at the edge would begin and stop all day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSpace:
    """What is left of a file system. `files` is None where it does not count them."""

    bytes: int
    files: int | None

    def __str__(self) -> str:
        return f"{size_text(self.bytes)} free"


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """What there is to be for new work to begin."""

    gb: float
    files: int

    def missing(self, room: FreeSpace, *, is_low: bool) -> str:
        """Why no new work is to be begun, as a reason in one line; empty where there is room. `is_low`: none was begun until now."""
        factor = AGAIN if is_low else 1.0
        if room.bytes < self.gb * factor * 1e9:
            return f"the disk has {size_text(room.bytes)} left, and disk.least_free_gb is {self.gb:g}"
        if room.files is not None and room.files < self.files * factor:
            return f"the disk has {room.files:,} inodes left, and disk.least_free_files is {self.files:,}"
        return ""
