"""When a disk is low, and when it is not any more."""

import pytest

from overlord.domain.disk import FreeSpace, Least

LEAST = Least(gb=2.0, files=1000)


@pytest.mark.parametrize(
    ("size", "files", "is_low", "missing"),
    [
        (2_000_000_000, 1000, False, ""),
        (1_999_999_999, 1000, False, "the disk has 2.0 GB left, and disk.least_free_gb is 2"),
        (2_199_999_999, 5000, True, "the disk has 2.2 GB left, and disk.least_free_gb is 2"),
        (2_200_000_000, 1100, True, ""),
        (9_000_000_000, 999, False, "the disk has 999 inodes left, and disk.least_free_files is 1,000"),
        (9_000_000_000, 1099, True, "the disk has 1,099 inodes left, and disk.least_free_files is 1,000"),
        (9_000_000_000, None, True, ""),
    ],
)
def test_work_stops_below_the_least_and_goes_on_a_tenth_above(
    size: int, files: int | None, is_low: bool, missing: str
) -> None:
    assert LEAST.missing(FreeSpace(bytes=size, files=files), is_low=is_low) == missing


def test_nothing_is_too_little_for_who_does_not_mind() -> None:
    assert Least(gb=0, files=0).missing(FreeSpace(bytes=0, files=0), is_low=True) == ""
