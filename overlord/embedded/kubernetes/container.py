"""Runs one container's program in a process and mount namespace of its own, with its claims mounted where it expects them.

Started as a program: `python -I container.py WORLD COMMAND…`, WORLD as JSON: `mounts` are `[source, target, is read-only]` each, and
`has_network` says whether it has this machine's network or none. It uses the standard library alone. TERM is passed on; when the program ends everything it started ends too; the exit code is that of the program, or 128
and the signal's number. What is under this machine's root stays visible: it is a stand-in for a container, and no wall.
"""

import ctypes
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
_BIND, _REC, _PRIVATE, _REMOUNT, _RDONLY = 4096, 16384, 1 << 18, 32, 1
_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    world, command = json.loads(sys.argv[1]), sys.argv[2:]
    _die_with_parent()
    user, group = os.getuid(), os.getgid()
    own = _NEWNS | _NEWPID | (0 if user == 0 else _NEWUSER) | (0 if world["has_network"] else _NEWNET)
    _checked(_libc.unshare(own), "unshare")
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    first = os.fork()
    if first == 0:
        _die_with_parent()
        os._exit(_first_process(world["mounts"], command))
    os._exit(_outcome(first))


def _first_process(mounts: list[list[str]], command: list[str]) -> int:
    """What stands for the Pod's first process: it passes TERM on, and everything else ends with it."""
    if mounts:
        _enter(_root_with(mounts))
    program = os.fork()
    if program == 0:
        os.environ["OVERLORD_EMBEDDED_POD"] = os.environ["HOSTNAME"]
        os.execvpe(command[0], command, os.environ)  # noqa: S606 - no shell is meant
    return _outcome(program)


def _outcome(child: int) -> int:
    """Wait for a child, and pass TERM on meanwhile; its code as a shell has it."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    signal.signal(signal.SIGTERM, pass_on)
    while True:
        found, status = os.wait()
        if found == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _root_with(mounts: list[list[str]]) -> str:
    """A directory that looks like this machine's root, with the mounts in it."""
    _mount(None, "/", None, _REC | _PRIVATE)
    root = tempfile.mkdtemp(prefix="container-")
    _mount("tmpfs", root, "tmpfs", 0)
    targets = {Path(target) for _, target, _ in mounts}
    _fill(Path("/"), root, targets)
    for source, target, read_only in mounts:
        place = f"{root}{target}"
        Path(place).mkdir(parents=True, exist_ok=True)
        _mount(source, place, None, _BIND | _REC)
        if read_only:
            _mount(None, place, None, _BIND | _REMOUNT | _RDONLY)
    return root


def _fill(directory: Path, root: str, targets: set[Path]) -> None:
    for entry in directory.iterdir():
        if entry in targets or str(entry) == root:
            continue
        copy = Path(f"{root}{entry}")
        if entry.is_symlink():
            copy.symlink_to(entry.readlink())
        elif entry.is_dir() and any(entry in target.parents for target in targets):
            copy.mkdir()
            _fill(entry, root, targets)
        elif entry.is_dir():
            copy.mkdir()
            _mount(str(entry), str(copy), None, _BIND | _REC)
        else:
            copy.touch()
            _mount(str(entry), str(copy), None, _BIND)


def _enter(root: str) -> None:
    here = Path.cwd()
    os.chroot(root)
    os.chdir(here)


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    encoded = [None if text is None else text.encode() for text in (source, target, kind)]
    _checked(_libc.mount(encoded[0], encoded[1], encoded[2], flags, None), f"mount {target}")


def _die_with_parent() -> None:
    _libc.prctl(_PDEATHSIG, signal.SIGKILL)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        print(f"{what}: {os.strerror(number)}", file=sys.stderr)
        os._exit(128)


if __name__ == "__main__":
    main()
