"""Which part of the suite one run takes. A run takes all of it unless `FAULT_SHARE` or `SLOW_SHARE` say otherwise, as `make test` does:
the share there moves on with each commit, so that every case runs every few commits.

`FAULT_SHARE=k/n` takes every n-th parametrised case of each module of the fault campaign, at least one a module; what has no
parameters always runs. `SLOW_SHARE=k/n` takes every n-th of the slow tests (`tests/slow.txt`) outside the campaign. Cases are sorted by
name first, so all workers agree, and a failed run can be repeated with the same shares.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pytest

FAULTS = Path(__file__).parent / "faults"
SLOW = Path(__file__).parent / "slow.txt"
"""Tests that took five seconds or more, a node id a line: written by `python -m tests.slow`."""
SLOW_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Every `size`-th case, beginning with number `first` (from 0)."""

    first: int
    size: int

    @property
    def is_all(self) -> bool:
        return self.size == 1

    def of(self, names: Iterable[str], *, least: int = 0) -> set[str]:
        """Those of these names that this share takes; at least so many, if there are that many."""
        ordered = sorted(names)
        taken = ordered[self.first :: self.size]
        others = [name for name in ordered if name not in taken]
        return {*taken, *others[: max(0, least - len(taken))]}

    def __str__(self) -> str:
        return f"{self.first}/{self.size}"


ALL = Share(first=0, size=1)


def parse_share(text: str) -> Share:
    """`k/n` as a share; k counts on from n again, so that n/n is 0/n and 1/1 is everything. Raises UsageError for anything else."""
    number, slash, size = text.partition("/")
    if not (
        slash and number.isascii() and number.isdigit() and size.isascii() and size.isdigit() and int(size)
    ):
        raise pytest.UsageError(f"a share is k/n, such as 2/6, not {text!r}")
    return Share(first=int(number) % int(size), size=int(size))


def share_of(variable: str) -> Share:
    """The share that an environment variable asks for; everything when it asks for nothing."""
    return parse_share(os.environ.get(variable) or "1/1")


def slow_tests() -> frozenset[str]:
    return frozenset(line for line in SLOW.read_text(encoding="utf-8").splitlines() if line)


def mark_slow(items: Iterable[pytest.Item], root: Path) -> None:
    """Give the tests of `tests/slow.txt` the mark `slow`."""
    slow = slow_tests()
    for item in items:
        if node_id(item, root) in slow:
            item.add_marker("slow")


def node_id(item: pytest.Item, root: Path) -> str:
    """The test's name from the top of the repository, wherever pytest was started."""
    return f"{item.path.relative_to(root).as_posix()}::{item.nodeid.partition('::')[2]}"


def left_out(items: Sequence[pytest.Item], *, faults: Share, slow: Share) -> list[pytest.Item]:
    """The tests that are not in this run's share."""
    outside = [item for item in items if item.path.parent != FAULTS and item.get_closest_marker("slow")]
    taken = slow.of(item.nodeid for item in outside)
    left = [item for item in outside if item.nodeid not in taken]
    cases = [item for item in items if item.path.parent == FAULTS and hasattr(item, "callspec")]
    for _, group in groupby(sorted(cases, key=attrgetter("path")), key=attrgetter("path")):
        module = list(group)
        taken = faults.of((item.nodeid for item in module), least=1)
        left += [item for item in module if item.nodeid not in taken]
    return left
