"""What is cleared up after a machine whose test was killed: folders that tests made, and nothing else."""

import tempfile
from pathlib import Path

import pytest

from tests.deploy.machine import is_test_folder


@pytest.mark.parametrize("place", ["", ".", "/", "ov-1", "/ov-1", "/home/me/ov-1", str(Path.cwd()), tempfile.gettempdir()])  # fmt: skip
def test_what_no_test_made_stays(place: str) -> None:
    assert not is_test_folder(place)


@pytest.mark.parametrize("place", [f"{tempfile.gettempdir()}/ov-1", f"{tempfile.gettempdir()}/engine-1"])
def test_what_a_test_made_goes(place: str) -> None:
    assert is_test_folder(place)
