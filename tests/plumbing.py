"""Bare repositories made by hand: any name, any mode, any tree, without a working copy."""

import os
import struct
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from hashlib import sha1
from pathlib import Path

from overlord.domain.identifiers import Sha

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


def bomb(repository: Path, branch: str, *, levels: int, leaf: str = "x") -> Sha:
    """A commit of few bytes whose trees name each other: it lists ten files to the power of `levels`; without a `leaf`
    directories alone."""
    entries = [f"n{number}" for number in range(10)]
    blob = run(repository, "hash-object", "-w", "--stdin", stdin=leaf.encode())
    lowest = "".join(f"100644 blob {blob}\t{entry}\n" for entry in entries) if leaf else ""
    tree = run(repository, "mktree", stdin=lowest.encode())
    for _ in range(levels - 1):
        above = "".join(f"040000 tree {tree}\t{entry}\n" for entry in entries)
        tree = run(repository, "mktree", stdin=above.encode())
    return _committed(repository, branch, tree)


def nested(repository: Path, branch: str, depth: int, *, leaf: str = "x") -> Sha:
    """A commit with one directory in another, so many times."""
    blob = b"blob %d\0%b" % (len(leaf), leaf.encode())
    content = b"100644 f\0" + sha1(blob, usedforsecurity=False).digest() if leaf else b""
    objects = [(_BLOB, leaf.encode())]
    for _ in range(depth + 1):
        objects.append((_TREE, content))
        made = sha1(b"tree %d\0%b" % (len(content), content), usedforsecurity=False)
        content = b"40000 d\0" + made.digest()
    run(repository, "index-pack", "--stdin", stdin=_pack(objects))
    return _committed(repository, branch, made.hexdigest())


_TREE, _BLOB = 2, 3


def _pack(objects: Sequence[tuple[int, bytes]]) -> bytes:
    """A pack of small objects of these kinds."""
    parts = [b"PACK" + struct.pack(">II", 2, len(objects))]
    for kind, content in objects:
        low, rest = len(content) & 15, len(content) >> 4
        size = bytes([kind << 4 | low | 0x80, rest]) if rest else bytes([kind << 4 | low])
        parts.append(size + zlib.compress(content))
    body = b"".join(parts)
    return body + sha1(body, usedforsecurity=False).digest()


def _committed(repository: Path, branch: str, tree: str) -> Sha:
    identity = ("-c", "user.name=m", "-c", "user.email=m@x")
    made = run(repository, *identity, "commit-tree", tree, stdin=b"hostile")
    run(repository, "update-ref", f"refs/heads/{branch}", made)
    return Sha(made)


def delta_bomb(*sizes: int) -> bytes:
    """A pack of a few hundred bytes: 1 MiB of zeros, and for each of the sizes a file that is the one before over and over."""
    base = 1024 * 1024
    parts, last, position, before = [_object_head(_BLOB, base) + zlib.compress(bytes(base), 9)], 12, 12, base
    position += len(parts[0])
    for size in sizes:
        step = min(before, 0xFFFFFF)
        count = size // step
        # Each instruction copies from the start of the one before, in the three bytes a size may have.
        copy = b"\xf0" + struct.pack("<I", step)[:3]
        delta = _delta_size(before) + _delta_size(count * step) + copy * count
        part = _object_head(_OFFSET_DELTA, len(delta)) + _offset(position - last) + zlib.compress(delta, 9)
        parts.append(part)
        last, position, before = position, position + len(part), count * step
    body = b"PACK" + struct.pack(">II", 2, len(parts)) + b"".join(parts)
    return body + sha1(body, usedforsecurity=False).digest()


_OFFSET_DELTA = 6


def _object_head(kind: int, size: int) -> bytes:
    head, size = [kind << 4 | size & 15], size >> 4
    while size:
        head[-1] |= 0x80
        head.append(size & 127)
        size >>= 7
    return bytes(head)


def _delta_size(size: int) -> bytes:
    written = bytearray()
    while size > 127:
        written.append(size & 127 | 128)
        size >>= 7
    return bytes([*written, size])


def _offset(distance: int) -> bytes:
    written = [distance & 127]
    while distance := distance >> 7:
        distance -= 1
        written.insert(0, distance & 127 | 128)
    return bytes(written)
