"""What `overlord doctor` finds on the machine itself: the home, its disk, the listener's port, the clock."""

import errno
import os
import socket
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from overlord.adapters.http import open_client
from overlord.entrypoints.doctor.finding import Finding, bad, warn, well
from overlord.home import Home
from overlord.settings.env import MAX_SOCKET_PATH
from overlord.settings.load import Settings
from overlord.wakeup import is_heard

DISK_SHORT_GB = 5
CLOCK_OFF_S = 30.0
"""GitHub takes no sign-in of an App from a clock that is a minute ahead; an answer may take a few seconds."""
CLOCK_S = 10.0
_UNWRITABLE: Mapping[int | None, str] = {
    errno.EROFS: "its file system is read-only; mount it for writing",
    errno.ENOSPC: "its disk is full, or can hold no more files; make room",
    errno.EDQUOT: "this user's quota is used up; make room",
}


async def examine_machine(settings: Settings) -> Sequence[Finding]:
    """Every finding about this machine; the clock is left out where the forge does not answer."""
    home = Home(settings.home)
    found = [_disk(settings), _home(home)]
    if settings.listen.address:
        found.append(_port(settings, is_served=is_heard(home.wakeup)))
    return [*found, *await _clock(settings.forge.api_url)]


def _disk(settings: Settings) -> Finding:
    """Whether the daemon would begin work with what is left."""
    room = Home(_nearest(settings.home)).room()
    more = "give it room, or see what `overlord gc` would remove"
    if missing := settings.disk.least.missing(room, is_low=False):
        return bad("disk", f"{missing}: no new work is begun; {more}")
    text = f"{room} for {settings.home}"
    return warn("disk", f"{text}; {more}") if room.bytes < DISK_SHORT_GB * 1e9 else well("disk", text)


def _home(home: Home) -> Finding:
    """Whether this user can keep its state there."""
    user = f"{os.geteuid()}:{os.getegid()}"
    try:
        with tempfile.TemporaryFile(dir=_nearest(home.root)):
            pass
    except OSError as error:
        if not isinstance(error, PermissionError):
            return bad(
                "home", f"{home.root} cannot be written: {_UNWRITABLE.get(error.errno, error.strerror)}"
            )
        fix = f"make it this user's: `install -d -o {user.replace(':', ' -g ')} -m 700 {home.root}`"
        if home.root.exists():
            fix = f"give it to this user: `chown -R {user} {home.root}`"
        return bad("home", f"{home.root} cannot be written by uid {os.geteuid()}; {fix}")
    length = len(str(home.any_socket).encode())
    text = f"{home.root}, a socket's path takes {length} of {MAX_SOCKET_PATH} bytes"
    return well("home", f"{text}; {'a' if is_heard(home.wakeup) else 'no'} daemon works on it now")


def _nearest(home: Path) -> Path:
    """The home, or where it will be made."""
    return next(path for path in (home, *home.parents) if path.exists())


def _port(settings: Settings, *, is_served: bool) -> Finding:
    """Whether the listener could listen; while this home's daemon works it is it who does."""
    address, (host, port) = settings.listen.address, settings.listen.place
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE and is_served:
            return well("listener", f"{address}, where this home's daemon listens")
        why = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror
        return bad("listener", f"{address} cannot be listened on: {why}; choose another in OVERLORD_LISTEN")
    return well("listener", f"{address} is free")


async def _clock(api_url: str) -> Sequence[Finding]:
    """This machine's clock beside the forge's, as each of its answers tells it."""
    try:
        async with open_client(api_url, httpx.Timeout(CLOCK_S)) as client:
            reply = await client.get(api_url)
        theirs = parsedate_to_datetime(reply.headers["date"])
    except (httpx.HTTPError, httpx.InvalidURL, LookupError, ValueError):
        return []
    ahead_s = (datetime.now(UTC) - theirs).total_seconds()
    if abs(ahead_s) < CLOCK_OFF_S:
        return [well("clock", f"as {httpx.URL(api_url).host} has it")]
    text = f"{abs(ahead_s):,.0f} s {'ahead of' if ahead_s > 0 else 'behind'} {httpx.URL(api_url).host}"
    return [
        bad(
            "clock", f"{text}; sign-ins and signatures fail by it: set it, as `timedatectl set-ntp true` does"
        )
    ]
