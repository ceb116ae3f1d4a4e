"""What a call of an agent names anywhere in what it says of it: commands, files it changes, files it reads.

What it says of its own kind is believed only where that makes it more, not less.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from minion.agents.acp.wire import Message

MOST_ITEMS = 200
_MOST_VALUES = 2000
_FILE_NAMES = (
    "file_path filepath path abs_path absolute_path paths files file filename notebook_path target_file"
)
_PATHS = frozenset([*_FILE_NAMES.split(), "source", "destination", "old_path", "new_path"])
_PLACES = frozenset(["directory", "dir_path", "cwd", "workdir"])
_TEXTS = frozenset(
    ["content", "contents", "edits", "patch", "patchtext", "diff", "new_string", "newtext", "new_text"]
)
_COMMANDS = frozenset(["command", "cmd", "script"])
_WRITES = frozenset(["edit", "delete", "move"])
_READS = frozenset(["read", "search"])
_SHELLS = frozenset(["sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/bash"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, as the agent asks for it."""

    title: str
    is_fetch: bool
    is_plain: bool
    """It says of itself neither that it changes files nor that it runs or reads anything: tools of MCP servers."""
    changes: bool
    lines: tuple[str, ...]
    """What a shell is to run."""
    files: tuple[str, ...]
    places: tuple[str, ...]
    """Directories it works in."""


def read_call(said: Message) -> Call:
    """What a call names."""
    kind, title = str(said.get("kind", "")), str(said.get("title", ""))
    given, shown = said.get("rawInput"), [as_object(item) for item in as_list(said.get("content"))]
    diffs = [str(item.get("path", "")) for item in shown if item.get("type") == "diff"]
    located = [str(as_object(item).get("path", "")) for item in as_list(said.get("locations"))]
    lines = tuple(_commands(given)) or ((title,) if kind == "execute" else ())
    writes = kind in _WRITES or bool(diffs) or bool(_found(given, _TEXTS))
    return Call(
        title=title,
        is_fetch=kind == "fetch",
        is_plain=kind in ("", "other") and not diffs,
        changes=writes or (kind not in _READS and not lines),
        lines=lines,
        files=tuple(map(plain_path, [*diffs, *located, *_found(given, _PATHS)])),
        places=tuple(map(plain_path, _found(given, _PLACES))),
    )


def joined(earlier: Message, later: Message) -> Message:
    """What two messages say of one call."""
    both = {**earlier, **later}
    for name in ("locations", "content"):
        both[name] = (as_list(earlier.get(name)) + as_list(later.get(name)))[-MOST_ITEMS:]
    both["rawInput"] = {**as_object(earlier.get("rawInput")), **as_object(later.get("rawInput"))}
    return both


def plain_path(path: str) -> str:
    """A path that may be written as an address."""
    return path.removeprefix("file://")


def as_object(value: object) -> Message:
    """The value where it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value where it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def _found(value: object, names: frozenset[str]) -> list[str]:
    """Every text below one of the names, at whatever depth."""
    return [text for name, text in _texts(value) if name in names]


def _texts(value: object) -> Iterator[tuple[str, str]]:
    """Every text of a JSON value with the name it stands under. One with too much in it names a path that nobody may touch."""
    left: list[tuple[str, object]] = [("", value)]
    for _ in range(_MOST_VALUES):
        if not left:
            return
        name, item = left.pop()
        if isinstance(item, dict):
            left += [(str(key).casefold(), inner) for key, inner in item.items()]
        elif isinstance(item, list):
            left += [(name, inner) for inner in item]
        elif isinstance(item, str):
            yield name, item
    yield from (("path", ""), ("cwd", ""))


def _commands(value: object) -> Iterator[str]:
    """The lines that a call's input says it starts."""
    for name, given in as_object(value).items():
        if name.casefold() not in _COMMANDS:
            continue
        if isinstance(given, str):
            yield given
        elif isinstance(given, list) and all(isinstance(word, str) for word in given):
            is_shell = len(given) == 3 and given[0] in _SHELLS and given[1] in ("-c", "-lc")
            yield given[2] if is_shell else shlex.join(given)
        else:
            yield ""
