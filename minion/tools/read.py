"""Reading: numbered lines of a file, and what is in a directory."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from minion.errors import ToolError
from minion.session import Session
from minion.tools.tool import Kind, Parameter, Tool
from minion.workspace.scope import Territory

LARGEST_FILE = 20 * 1024 * 1024
LONGEST_LINE = 2_000
MOST_ENTRIES = 500


def content(place: Path, name: str) -> bytes:
    """A regular file's bytes. A pipe or device is refused before it can block."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            raise ToolError(f"{name} is not a regular file.")
        if kind.st_size > LARGEST_FILE:
            raise ToolError(f"{name} has {kind.st_size:,} bytes; look at parts of it with run_command.")
        return file.read()


def read_file(session: Session, *, path: str, start_line: int = 1, end_line: int | None = None) -> str:
    place = session.territory.readable(path)
    if place.is_dir():
        raise ToolError(f"{path} is a directory; use list_directory.")
    data = content(place, path)
    if b"\0" in data[:8192]:
        raise ToolError(f"{path} is a binary file of {len(data):,} bytes.")
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "(the file is empty)"
    if start_line > len(lines):
        raise ToolError(f"{path} has only {len(lines):,} lines.")
    last = min(end_line or len(lines), len(lines))
    if last < start_line:
        raise ToolError("end_line must not be before start_line.")
    return _numbered(lines, start_line, last, session.brief.limits.output_chars) + _remark(data, text)


def _numbered(lines: list[str], first: int, last: int, room: int) -> str:
    shown: list[str] = []
    for number in range(first, last + 1):
        line = lines[number - 1].removesuffix("\r")
        if len(line) > LONGEST_LINE:
            line = f"{line[:LONGEST_LINE]} [… {len(line) - LONGEST_LINE:,} more characters in this line]"
        room -= len(line) + 8
        if room < 0 and shown:
            rest = f"[lines {first}-{number - 1} of {len(lines):,}; read on with start_line={number}]"
            return "\n".join([*shown, rest])
        shown.append(f"{number:6}\t{line}")
    if last < len(lines):
        shown.append(f"[lines {first}-{last} of {len(lines):,}]")
    return "\n".join(shown)


def _remark(data: bytes, text: str) -> str:
    remarks = []
    if text.encode() != data:
        remarks.append("some bytes are not UTF-8 and are shown as �")
    if b"\r\n" in data:
        remarks.append("lines end in CRLF; edit_file keeps that")
    return f"\n[{'; '.join(remarks)}]" if remarks else ""


def list_directory(session: Session, *, path: str = ".", depth: int = 1) -> str:
    place = session.territory.readable(path)
    if not place.is_dir():
        raise ToolError(f"{path} is not a directory." if place.exists() else f"{path} does not exist.")
    lines: list[str] = []
    for line in _entries(place, depth, "", session.territory):
        if len(lines) == MOST_ENTRIES:
            lines.append(f"[only the first {MOST_ENTRIES} entries are shown; list a subdirectory]")
            break
        lines.append(line)
    return "\n".join(lines) or "(the directory is empty)"


def _entries(directory: Path, depth: int, indent: str, territory: Territory) -> Iterator[str]:
    with os.scandir(directory) as found:
        shown = (entry for entry in found if not territory.is_hidden(territory.name(Path(entry.path))))
        entries = sorted(shown, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_symlink():
            yield f"{indent}{_printable_name(entry.name)} -> {_printable_name(str(Path(entry.path).readlink()))}"
        elif entry.is_dir():
            yield f"{indent}{_printable_name(entry.name)}/"
            if depth > 1 and entry.name != ".git":
                yield from _entries(Path(entry.path), depth - 1, indent + "  ", territory)
        else:
            yield f"{indent}{_printable_name(entry.name)}  {entry.stat(follow_symlinks=False).st_size:,}"


def _printable_name(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


TOOLS = (
    Tool(
        name="read_file",
        meaning="Read a text file; each line comes with its number and a tab, which are not part of the file.",
        run=read_file,
        parameters=(
            Parameter(name="path", meaning="Path relative to the repository's root.", required=True),
            Parameter(name="start_line", meaning="First line, from 1.", kind=Kind.NUMBER, least=1),
            Parameter(name="end_line", meaning="Last line, included.", kind=Kind.NUMBER, least=1),
        ),
    ),
    Tool(
        name="list_directory",
        meaning="List a directory: directories end in /, files come with their size in bytes.",
        run=list_directory,
        parameters=(
            Parameter(name="path", meaning="Directory; the repository's root when left out."),
            Parameter(name="depth", meaning="Levels to show, 1 to 4.", kind=Kind.NUMBER, least=1, most=4),
        ),
    ),
)
