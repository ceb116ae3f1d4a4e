"""Small file systems of their own, to be filled."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.required import missing

SAID = {"bytes": "is full", "names": "can hold no more files"}
"""What is said of a disk that has no room for these."""


@dataclass
class Disk:
    """A small file system of its own."""

    root: Path

    def fill(self) -> None:
        """Leave no byte of it."""
        with (self.root / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)

    def name(self) -> None:
        """Leave no name for another file."""
        (self.root / "names").mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            for number in range(1_000_000):
                (self.root / "names" / str(number)).touch()

    def free(self) -> None:
        (self.root / "filler").unlink(missing_ok=True)
        for file in (self.root / "names").glob("*"):
            file.unlink()

    def remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(self.root)], check=True)


@contextlib.contextmanager
def mounted(options: str) -> Iterator[Disk]:
    """A file system at a place of its own; it goes with everything on it."""
    root = Path(tempfile.mkdtemp(prefix="disk-", dir="/tmp"))
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "overlord-test", str(root)], capture_output=True, check=False
    )
    if made.returncode:
        missing("tmpfs", "no file system can be mounted here: this needs root")
    try:
        yield Disk(root)
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)
        root.rmdir()
