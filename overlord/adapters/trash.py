"""Where what is not needed any more goes: gone at once by its name, deleted beside whoever let go of it.

Deleting a large tree takes seconds on some disks. What a daemon leaves when it ends, the next one's first deletion takes along.
"""

import os
import secrets
import shutil
import threading
from contextlib import suppress
from pathlib import Path


class Trash:
    """A folder on the same disk as what is thrown into it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._emptying: threading.Thread | None = None

    def discard(self, path: Path) -> None:
        """Take `path` away. What is not there is no error."""
        self._place.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.rename(self._place / secrets.token_hex(8))
        # A daemon thread: nobody who ends waits for a deletion.
        self._emptying = threading.Thread(target=self._empty, name="trash", daemon=True)
        self._emptying.start()

    def wait(self) -> None:
        """Return once what was thrown away last is deleted."""
        if self._emptying is not None:
            self._emptying.join()

    def _empty(self) -> None:
        with suppress(FileNotFoundError):
            for item in list(self._place.iterdir()):
                shutil.rmtree(item, ignore_errors=True)
                if item.is_dir():
                    _open_up(item)
                    shutil.rmtree(item, ignore_errors=True)


def _open_up(directory: Path) -> None:
    """Give back the permissions that were taken from directories, by a session or by a module cache."""
    directory.chmod(0o700)
    for place, names, _ in os.walk(directory):
        for name in names:  # before the walk goes on into them
            inner = Path(place, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
