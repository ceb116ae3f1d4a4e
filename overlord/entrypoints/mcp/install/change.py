"""An agent's configuration with Overlord's entry put in or taken out: worked out first, shown, and only then written.

A file that cannot be read as what it should be is refused: it is a person's, and a guess would lose something.
"""

import contextlib
import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from overlord.domain.text.json_text import json_text as dumped
from overlord.entrypoints.mcp.install import json_text, toml_text
from overlord.entrypoints.mcp.install.client import Client, ClientScope, Server
from overlord.entrypoints.mcp.install.json_text import JsonTextError
from overlord.entrypoints.mcp.install.toml_text import TomlTextError
from overlord.errors import Refused
from overlord.file_tree import FileTree, UnreadableFileError, digest_of

MOST_BYTES = 32_000_000
"""Claude Code keeps more than its settings in its file."""
MOST_LINE = 160
"""Characters of a line that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would be written where."""

    tree: FileTree
    """Of the directory below which no link is followed."""
    path: Path
    before: bytes | None
    """What is there now; None for no file."""
    after: str
    mode: int
    """The permissions that the file has, or gets."""

    @property
    def is_needed(self) -> bool:
        return (self.before or b"").decode() != self.after

    def diff(self) -> str:
        """The change as people read it."""
        before = (self.before or b"").decode().splitlines()
        lines = difflib.unified_diff(before, self.after.splitlines(), "now", "then", lineterm="", n=1)
        return "\n".join(_short(line) for line in list(lines)[2:])

    def carry_out(self) -> None:
        """Write it, as a whole or not at all, and only where the file is as it was. Raises Refused."""
        with _refusing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            expected = digest_of(self.before) if self.before is not None else ""
            self.tree.put(_name(self.tree, self.path), self.after.encode(), expected=expected)
            self.path.chmod(self.mode)


def install(client: Client, scope: ClientScope, path: Path, server: Server, *, root: Path) -> Change:
    """The file with Overlord's entry. What a person added to that entry stays in it. `root`: the checkout, or the file's own directory:
    no link below it is followed. Raises Refused."""
    tree = FileTree(root)
    before, text = _read(tree, path)
    entry = client.entry(server, scope)
    with _refusing(path):
        place = _place(client, text)
        if place != client.path:
            entry.pop("enabled", None)
        known = _entry(client, text, place)
        if known is not None and all(known.get(name) == value for name, value in entry.items()):
            after = text
        elif client.is_toml:
            after = toml_text.put(text, place, {**entry, **_of_person(known)})
        else:
            whole = {**entry, **_of_person(known)}
            after = json_text.put(text or "{}\n", place, whole, comments=client.comments)
    return Change(tree=tree, path=path, before=before, after=after, mode=_mode(scope, path))


def uninstall(client: Client, scope: ClientScope, path: Path, *, root: Path) -> Change:
    """The file without Overlord's entry; `root` as for `install`. Raises Refused."""
    tree = FileTree(root)
    before, text = _read(tree, path)
    with _refusing(path):
        if before is None:
            after = ""
        elif client.is_toml:
            after = toml_text.remove(text, client.path)
        else:
            after = json_text.remove(text, _place(client, text), comments=client.comments)
    return Change(tree=tree, path=path, before=before, after=after, mode=_mode(scope, path))


def snippet(client: Client, scope: ClientScope, server: Server) -> str:
    """The entry alone, in what stands around it, for those who write such files by other means."""
    entry = client.entry(server, scope)
    if client.is_toml:
        return toml_text.put("", client.path, entry)
    value: object = entry
    for name in reversed(client.path):
        value = {name: value}
    return f"{dumped(value, indent=2)}\n"


_TRANSPORT = frozenset(
    {
        *("type", "command", "args", "env", "env_vars", "environment", "cwd"),
        *("url", "httpUrl", "headers", "http_headers", "bearer_token_env_var", "oauth"),
    }
)
"""Keys that say how a server is reached. Those of one way must not stay beside the other's."""


def _of_person(known: Mapping[str, object] | None) -> dict[str, object]:
    """What somebody added to our entry, as a list of tools or a longer time: it stays."""
    return {name: value for name, value in (known or {}).items() if name not in _TRANSPORT}


def _entry(client: Client, text: str, place: tuple[str, ...]) -> Mapping[str, object] | None:
    if client.is_toml:
        return toml_text.found(text, place)
    if not text.strip():
        return None
    node = json_text.found(json_text.read(text, comments=client.comments), place)
    if node is not None and not isinstance(node.value, Mapping):
        raise JsonTextError(f"{'.'.join(place)} is no object")
    return node.value if node is not None else None  # type: ignore[return-value] # it was looked at above


def _place(client: Client, text: str) -> tuple[str, ...]:
    """Where the entry belongs in this file. Newer files of OpenCode have servers one level lower."""
    if client.is_toml or len(client.path) != 2 or client.path[0] != "mcp" or not text.strip():
        return client.path
    root = json_text.read(text, comments=client.comments)
    below = json_text.found(root, ("mcp", "servers"))
    is_list = below is not None and isinstance(below.value, Mapping)
    if is_list and not {"type", "command", "url"} & {item.name for item in below.members}:  # type: ignore[union-attr]
        return ("mcp", "servers", client.path[1])
    return client.path


def _name(tree: FileTree, path: Path) -> str:
    return str(path.relative_to(tree.root))


def _read(tree: FileTree, path: Path) -> tuple[bytes | None, str]:
    """The file as it is. Raises Refused."""
    with _refusing(path):
        if not tree.root.is_dir():
            return None, ""
        before = tree.read(_name(tree, path), most=MOST_BYTES)
        if before is None:
            return None, ""
        try:
            return before, before.decode()
        except UnicodeDecodeError:
            raise UnreadableFileError("it is no UTF-8 text") from None


def _mode(scope: ClientScope, path: Path) -> int:
    """The permissions it has; of a new one those of the person's other files, and for the person alone in their home."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    if scope is ClientScope.USER:
        return 0o600
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _short(line: str) -> str:
    return line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]} …"


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except JsonTextError as error:
        raise Refused(f"{path} cannot be read as JSON: {error}", kept="nothing was changed") from None
    except TomlTextError as error:
        raise Refused(f"{path} cannot be read as TOML: {error}", kept="nothing was changed") from None
    except UnreadableFileError as error:
        raise Refused(f"{path} cannot be used: {error}", kept="nothing was changed") from None
    except OSError as error:
        raise Refused(f"{path} cannot be used: {error.strerror}", kept="nothing was changed") from None
