"""A save pushed as one request, where `git push` starts four programs and asks twice.

Only the plain case is done here: one commit on top of what the branch is known to be at. Whatever else comes up is left to
`git push`, which also says why.
"""

import http.client
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from minion.git import SETTINGS, environment

LARGEST_PACK = 4 * 1024 * 1024
"""Bytes; git sends larger ones."""
ANSWERED_IN_S = 120.0
LONGEST_REPORT = 64 * 1024
_OPTIONS = tuple(word for setting in SETTINGS for word in ("-c", setting))


def pushed(root: Path, remote: str, search_path: str, *, reference: str, old: str, new: str) -> bool:
    """Move a branch of a repository over HTTP from one commit to the next; whether it is known to be done. Raises nothing."""
    if not remote.startswith("http://"):
        return False
    try:
        pack = _pack(root, search_path, old, new)
        return pack is not None and _taken(remote, reference, old, new, pack)
    except (OSError, http.client.HTTPException, subprocess.SubprocessError, ValueError):
        return False


def _pack(root: Path, search_path: str, old: str, new: str) -> bytes | None:
    """What the other side does not have; None where that is for git to send."""
    done = subprocess.run(
        ["git", *_OPTIONS, "pack-objects", "--quiet", "--revs", "--stdout", "--thin", "--delta-base-offset"],
        cwd=root,
        env=environment(search_path),
        input=f"{new}\n^{old}\n".encode("ascii"),
        capture_output=True,
        start_new_session=True,
        check=True,
    )
    return done.stdout if len(done.stdout) <= LARGEST_PACK else None


def _taken(remote: str, reference: str, old: str, new: str, pack: bytes) -> bool:
    url = urlsplit(remote)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=ANSWERED_IN_S)
    try:
        command = f"{old} {new} {reference}\0 report-status"
        connection.request(
            "POST",
            f"{url.path}/git-receive-pack",
            f"{len(command) + 4:04x}{command}0000".encode() + pack,
            {"Content-Type": "application/x-git-receive-pack-request"},
        )
        response = connection.getresponse()
        report = response.read(LONGEST_REPORT)
    finally:
        connection.close()
    return response.status == 200 and _lines(report) == [b"unpack ok", b"ok " + reference.encode()]


def _lines(report: bytes) -> list[bytes]:
    """The lines of a report, in git's own framing. Raises ValueError for what is none."""
    lines = []
    while (size := int(report[:4], 16)) > 4:
        lines.append(report[4:size].rstrip(b"\n"))
        report = report[size:]
    return lines
