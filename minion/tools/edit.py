"""Writing: a whole file, or one exact piece of it. Every write asks the territory first."""

from pathlib import Path

from minion.errors import ToolError
from minion.session import Session
from minion.tools.read import content
from minion.tools.tool import Parameter, Tool

COMPARED_LINES = 5_000
LISTED_MATCHES = 10


def write_file(session: Session, *, path: str, content: str) -> str:
    place = _file_to_write(session, path)
    existed = place.exists()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode())
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    return f"{'Replaced' if existed else 'Created'} {path} ({lines} lines)."


def edit_file(session: Session, *, path: str, old: str, new: str) -> str:
    place = _file_to_write(session, path)
    # Bytes that are not UTF-8 travel through as surrogates and come out unchanged.
    text = content(place, path).decode("utf-8", "surrogateescape")
    if "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    if not old:
        raise ToolError("old is empty; use write_file to make a new file or replace a whole one.")
    if old == new:
        raise ToolError("old and new are the same.")
    count = text.count(old)
    if count != 1:
        raise ToolError(_not_unique(path, text, old, count) if count else _not_found(path, text, old))
    at = text.index(old)
    place.write_bytes((text[:at] + new + text[at + len(old) :]).encode("utf-8", "surrogateescape"))
    first = text.count("\n", 0, at) + 1
    return f"Edited {path} at line {first}: {_count_lines(old)} lines became {_count_lines(new)}."


def _file_to_write(session: Session, path: str) -> Path:
    place = session.territory.writable(path)
    if place.is_dir():
        raise ToolError(f"{path} is a directory.")
    if place.exists() and not place.is_file():
        raise ToolError(f"{path} is not a regular file.")
    return place


def _not_unique(path: str, text: str, old: str, count: int) -> str:
    lines: list[str] = []
    at = -1
    while len(lines) < LISTED_MATCHES and (at := text.find(old, at + 1)) >= 0:
        lines.append(str(text.count("\n", 0, at) + 1))
    more = ", …" if count > LISTED_MATCHES else ""
    return (
        f"old occurs {count} times in {path}, at lines {', '.join(lines)}{more}. "
        "Nothing was changed. Give more of the surrounding lines, so that it occurs once."
    )


def _not_found(path: str, text: str, old: str) -> str:
    wanted = next((line for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()[:COMPARED_LINES]
    head = f"old does not occur in {path}. Nothing was changed."
    if not wanted:
        return f"{head} It holds only white space."
    stripped = [line.strip() for line in lines]
    if wanted.strip() in stripped:
        at = stripped.index(wanted.strip())
        reason = (
            "is indented differently" if lines[at] != wanted else "is there, but the lines after it differ"
        )
        return f"{head} Its first line {reason}: line {at + 1} is {_quoted(lines[at])}. Read the file again."
    from difflib import get_close_matches  # only a failed edit pays for it

    close = get_close_matches(wanted.strip(), stripped, n=1, cutoff=0.5)
    if not close:
        return f"{head} No line of it looks like {_quoted(wanted)}. Read the file again."
    at = stripped.index(close[0])
    return f"{head} The closest is line {at + 1}: {_quoted(lines[at])}"


def _quoted(line: str) -> str:
    return repr(line[:300].encode("utf-8", "replace").decode())


def _count_lines(text: str) -> int:
    return len(text.splitlines())


_PATH = Parameter(name="path", meaning="Path relative to the repository's root.", required=True)

TOOLS = (
    Tool(
        name="write_file",
        meaning="Create a file, or replace all of it. Directories are made as needed.",
        run=write_file,
        parameters=(_PATH, Parameter(name="content", meaning="The whole new content.", required=True)),
    ),
    Tool(
        name="edit_file",
        meaning="Replace one piece of a file. The old text must occur exactly once, white space included.",
        run=edit_file,
        parameters=(
            _PATH,
            Parameter(name="old", meaning="The exact text to replace, without line numbers.", required=True),
            Parameter(name="new", meaning="What to put there; empty removes it.", required=True),
        ),
    ),
)
