"""Bare repositories made by hand: any name, any mode, any tree, without a working copy."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from overlord.ports import Sha

Files = Mapping[str | bytes, str | bytes | tuple[str, bytes]]
"""Content by path; with a mode where it is not that of a plain file. An empty mode takes the path away."""

DELETED = ("", b"")


def quoted(path: str | bytes) -> bytes:
    raw = path.encode() if isinstance(path, str) else path
    return b'"' + b"".join(b"\\%03o" % byte for byte in raw) + b'"'


def run(repository: Path, *arguments: str, stdin: bytes = b"") -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", f"--git-dir={repository}", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="backslashreplace").strip()


def commit(repository: Path, branch: str, files: Files, *, parent: str | None = None) -> Sha:
    """One commit on a bare repository's branch: what is there at `parent`, with these files over it."""
    stream = [
        f"commit refs/heads/{branch}\ncommitter Mallory <m@x> 1700000000 +0000\ndata 6\nsecret\n".encode()
    ]
    if parent is not None:
        stream.append(f"from {parent}\n".encode())
    for path, content in files.items():
        mode, data = content if isinstance(content, tuple) else ("100644", content)
        data = data.encode() if isinstance(data, str) else data
        if not mode:
            stream.append(b"D " + quoted(path) + b"\n")
        elif mode == "160000":
            stream.append(b"M 160000 " + data + b" " + quoted(path) + b"\n")
        else:
            stream.append(b"M %b inline %b\ndata %d\n%b\n" % (mode.encode(), quoted(path), len(data), data))
    run(repository, "fast-import", "--quiet", "--force", "--date-format=raw", stdin=b"".join(stream))
    return Sha(run(repository, "rev-parse", f"refs/heads/{branch}"))


def plant(repository: Path, branch: str, path: str, content: bytes) -> Sha:
    """Put a file at a path no git program would write, by making the trees by hand."""
    made = run(repository, "hash-object", "-w", "--stdin", stdin=content)
    kind = "100644 blob"
    *directories, name = path.split("/")
    for part in [name, *reversed(directories)]:
        entry = f"{kind} {made}\t{part}".encode()
        made = run(repository, "mktree", stdin=entry)
        kind = "040000 tree"
    parent = run(repository, "rev-parse", f"refs/heads/{branch}")
    identity = ("-c", "user.name=m", "-c", "user.email=m@x")
    made = run(repository, *identity, "commit-tree", made, "-p", parent, stdin=b"hostile")
    run(repository, "update-ref", f"refs/heads/{branch}", made)
    return Sha(made)
