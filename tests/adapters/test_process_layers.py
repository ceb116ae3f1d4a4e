"""Environments as directories: where they are, what they may be called, and that whatever a setup left can be removed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlord.adapters.process.layers import ProcessLayers
from overlord.adapters.trash import Trash
from overlord.errors import RunnerRefused

KEY, OTHER = "0123456789abcdef0123", "f" * 20
NOBODY = 65534


@pytest.fixture
def layers(tmp_path: Path) -> Iterator[ProcessLayers]:
    trash = Trash(tmp_path / "trash")
    yield ProcessLayers(tmp_path / "layers", trash, python="python3")
    trash.wait()


def finished(layers: ProcessLayers, key: str = KEY) -> Path:
    layers.prepare(key)
    (layers.directory(key) / "environment.json").write_text("{}")
    return layers.directory(key)


def test_an_environment_is_one_when_its_record_is_written(layers: ProcessLayers) -> None:
    layers.prepare(KEY)
    (layers.directory(KEY) / "venv").mkdir()
    assert not layers.has(KEY)
    with pytest.raises(RunnerRefused, match="left no finished environment"):
        layers.keep(KEY)
    (layers.directory(KEY) / "environment.json").mkdir()
    assert not layers.has(KEY)


def test_its_size_is_that_of_its_own_files(layers: ProcessLayers, tmp_path: Path) -> None:
    directory = finished(layers)
    (directory / "deep").mkdir()
    (directory / "deep" / "file").write_bytes(bytes(1000))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "big").write_bytes(bytes(100_000))
    (directory / "link").symlink_to(tmp_path / "elsewhere")
    (directory / "loop").symlink_to(directory)
    (directory / "gone").symlink_to("nowhere")
    assert 1000 < layers.keep(KEY) < 2000
    assert layers.keep(KEY) == layers.keep(KEY)


def test_preparing_again_leaves_nothing_of_before_and_nothing_of_others(layers: ProcessLayers) -> None:
    finished(layers, OTHER)
    directory = finished(layers)
    layers.prepare(KEY)
    assert list(directory.iterdir()) == []
    assert layers.has(OTHER)


def test_removing_one_leaves_the_cache_and_the_others(layers: ProcessLayers) -> None:
    finished(layers)
    finished(layers, OTHER)
    layers.cache("acme/calc").mkdir(parents=True)
    for _ in range(2):
        layers.remove(KEY)
    assert not layers.directory(KEY).exists()
    assert layers.has(OTHER)
    assert layers.cache("Acme/Calc").is_dir()


def test_an_image_is_refused_with_the_two_ways_out(layers: ProcessLayers) -> None:
    with pytest.raises(RunnerRefused, match="start Docker, or take `image` out of"):
        layers.ground("python:3.12")


def test_what_a_setup_closed_to_its_own_user_is_counted_and_removed_all_the_same(tmp_path: Path) -> None:
    """Go's module cache is read-only, directories and all. Root would not notice, so somebody else does it."""
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from overlord.adapters.process.layers import ProcessLayers
from overlord.adapters.trash import Trash
if os.getuid() == 0: os.setgid({NOBODY}); os.setuid({NOBODY})
root = Path({str(tmp_path)!r})
trash = Trash(root / "trash")
layers = ProcessLayers(root / "layers", trash, python="python3")
layers.prepare({KEY!r})
place = layers.directory({KEY!r})
(place / "environment.json").write_text("12345")
for name, mode in (("cache", 0o555), ("closed", 0o000), ("listed", 0o444)):
    (place / name / "deep").mkdir(parents=True); (place / name / "file").write_text("x"); (place / name).chmod(mode)
(root / "other").mkdir(mode=0o750)
(place / "link").symlink_to(root / "other")
print(layers.keep({KEY!r}) >= 5)
layers.remove({KEY!r})
trash.wait()
print([*(root / "trash").iterdir()], oct((root / "other").stat().st_mode))
"""
    if os.getuid() == 0:
        os.chown(tmp_path, NOBODY, NOBODY)
        for above in tmp_path.parents[:-2]:  # all but / and /tmp
            above.chmod(0o711)
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["True", "[] 0o40750"]
