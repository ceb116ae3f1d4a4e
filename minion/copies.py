"""`python -m minion.copies`: fetch a ready copy of a repository's base commit onto this machine, once, for all sessions here.

It runs in a container of its own, the one thing that writes to the directory; sessions only read it. The copy appears under its
name when it is whole. Nothing of it is run or laid out: it is plain files, each below the copy's own directory.

Environment: OVERLORD_URL, OVERLORD_TOKEN, OVERLORD_AUTHORITY, OVERLORD_CONNECT as for sessions; MINION_COPY, as
`owner/name/COPY`; MINION_COPIES, the directory. Exit codes: 0 it is there · 3 it could not be fetched · 6 the environment is wrong.
"""

import contextlib
import http.client
import os
import shutil
import socket
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from minion.errors import BadStart
from minion.protocol import COPIES_PATH
from minion.reach import FarEnd

THERE, NOT_FETCHED, BAD_ENVIRONMENT = 0, 3, 6
TRIES = 5
PAUSE_S = 2.0
SILENCE_S = 60.0
CHUNK = 65536
MAKING = ".making-"
KEPT = 4
"""So many are kept whatever their age."""
KEPT_S = 3 * 24 * 3600.0
"""How long others are kept after they were last wanted: longer than any session that reads one goes on."""


def main(environment: Mapping[str, str], *, pause: Callable[[float], None] = time.sleep) -> int:
    """Fetch the copy that the environment names; the exit code says how it went."""
    try:
        far = FarEnd.of({**environment, "MINION_ID": "copy"})
        copy, directory = _order(environment)
    except BadStart as error:
        _say(str(error))
        return BAD_ENVIRONMENT
    name = copy.rpartition("/")[2]
    for _ in range(TRIES):
        try:
            _fetch_once(far, copy, directory, name)
        except (OSError, http.client.HTTPException, tarfile.TarError) as error:
            _say(f"{copy} could not be fetched: {error}")
            pause(PAUSE_S)
        else:
            return THERE
    return NOT_FETCHED


def _order(environment: Mapping[str, str]) -> tuple[str, Path]:
    copy, place = environment.get("MINION_COPY", ""), environment.get("MINION_COPIES", "")
    if not copy.rpartition("/")[0] or not place:
        raise BadStart("MINION_COPY must be owner/name/COPY, and MINION_COPIES a directory")
    return copy, Path(place)


def _fetch_once(far: FarEnd, copy: str, directory: Path, name: str) -> None:
    target = directory / name
    if not target.is_dir():
        for left in directory.glob(f"{MAKING}{name}-*"):
            if time.time() - left.stat().st_mtime > KEPT_S:
                shutil.rmtree(left, ignore_errors=True)
        making = Path(tempfile.mkdtemp(dir=directory, prefix=f"{MAKING}{name}-"))
        try:
            with _asked(far, copy) as response:
                _unpack(response, making)
            making.chmod(0o755)
            with contextlib.suppress(OSError):  # another one was faster
                making.rename(target)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    os.utime(target)
    _prune(directory, target)


def _unpack(source: BinaryIO, making: Path) -> None:
    with tarfile.open(fileobj=source, mode="r|") as tar:
        for member in tar:
            name, content = PurePosixPath(member.name), tar.extractfile(member) if member.isreg() else None
            if content is None or name.is_absolute() or ".." in name.parts:
                raise tarfile.TarError(f"{member.name} is no plain file below the copy")
            (making / name).parent.mkdir(parents=True, exist_ok=True)
            with (making / name).open("xb") as file:
                shutil.copyfileobj(content, file)
            os.utime(making / name, (member.mtime, member.mtime))
    # One that was cut off between two files looks whole to tarfile: reading on finds out.
    while source.read(CHUNK):
        pass


def _prune(directory: Path, wanted: Path) -> None:
    """Let go of copies that nobody wanted for long."""
    copies = [entry for entry in directory.iterdir() if not entry.name.startswith(".") and entry != wanted]
    newest = sorted(copies, key=lambda entry: entry.stat().st_mtime, reverse=True)
    for old in newest[KEPT - 1 :]:
        if time.time() - old.stat().st_mtime > KEPT_S:
            shutil.rmtree(old, ignore_errors=True)


class _Whole:
    """A response's body, whose end is an error unless all of it came."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response

    def read(self, size: int = -1) -> bytes:
        data = self._response.read(size)
        if not data and size and self._response.length:
            raise http.client.IncompleteRead(b"", self._response.length)
        return data

    def __enter__(self) -> BinaryIO:
        return self  # type: ignore[return-value]

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _asked(far: FarEnd, copy: str) -> _Whole:
    connection = http.client.HTTPConnection(far.host, timeout=SILENCE_S)
    plain = socket.create_connection(far.address, timeout=SILENCE_S)
    try:
        connection.sock = far.context.wrap_socket(plain, server_hostname=far.host)
    except BaseException:
        plain.close()
        raise
    connection.request("GET", COPIES_PATH + copy, headers={"authorization": f"Bearer {far.token}"})
    response = connection.getresponse()
    if response.status != 200:
        text = response.read(2000).decode("utf-8", "replace")
        connection.close()
        raise OSError(f"{response.status} {text}")
    return _Whole(connection, response)


def _say(text: str) -> None:
    print(f"copies: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(os.environ))
