"""One thing that was looked at to see whether sessions can run somewhere."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One thing that was looked at. `is_sure`: whether what is not well keeps sessions from running."""

    what: str
    is_well: bool
    said: str
    is_sure: bool = True
