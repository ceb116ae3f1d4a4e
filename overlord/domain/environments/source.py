"""A repository's manifests as detection reads them: anybody's bytes, so each reader is bounded, total, and says in a
note what it could not read. Whatever of them goes into a command passes a strict pattern first, and `quoted`.
"""

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from overlord.domain.environments.paths import TEST_WORDS
from overlord.domain.text.plain import visible

MAX_BYTES = 256 * 1024
MAX_LINE = 2000
"""Of TOML: its parser takes memory by the square of a dotted key's length."""
NOTE_CHARS = 160
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,60}[A-Za-z0-9])?")
_JSON_EXTRAS = re.compile(
    r'("(?>(?:\\.|[^"\\])*)(?:"|\\?\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])', re.DOTALL
)
"""Comments and trailing commas; each alternative takes what is unfinished to the end, or hostile text would be read again and again."""
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}"
    r"(?:\[[A-Za-z0-9._, -]{1,200}\])?"
    r"(?: *(?:[<>=!~]=|<|>|===) *[A-Za-z0-9.*+!_-]{1,40} *,?){0,8}"
    r"(?: *; *[A-Za-z0-9_.<>=!~'\"() ,-]{1,200})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What there is at base, what of it was read, and the notes its readers left."""

    names: frozenset[str]
    files: Mapping[str, bytes]
    notes: list[str] = field(default_factory=list)

    def has(self, *paths: str) -> bool:
        return any(path in self.names for path in paths)

    def present(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if path in self.names)

    def text(self, path: str) -> str:
        """The file's text; empty when there is none, or it is too large."""
        try:
            return _decoded(self.files.get(path, b""))
        except ValueError as error:
            self._note(path, str(error))
            return ""

    def head(self, path: str) -> str:
        """The beginning of a file of any size."""
        return self.files.get(path, b"")[:1000].decode("utf-8", "replace")

    def toml(self, path: str) -> dict[str, object]:
        try:
            return read_toml(self.files.get(path, b""))
        except ValueError as error:
            return self._note(path, f"cannot be read as TOML ({error})")

    def json(self, path: str, *, with_comments: bool = False) -> dict[str, object]:
        try:
            return read_json(self.files.get(path, b"{}"), with_comments=with_comments)
        except ValueError as error:
            return self._note(path, f"cannot be read as JSON ({error})")

    def ini(self, path: str) -> dict[str, dict[str, str]]:
        try:
            return read_ini(self.files.get(path, b""))
        except ValueError as error:
            self._note(path, f"cannot be read ({error})")
            return {}

    def _note(self, path: str, problem: str) -> dict[str, object]:
        self.notes.append(shown(f"{path} {problem}: detected without it"))
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one language's project needs; `overlord/domain/environments/recipe.py` joins the parts."""

    packages: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    """Commands that make room for an installation, whoever gives the commands that install."""
    install: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    """The same, so that it writes a report (`report.REPORT_PATH`); empty where none is known."""
    lint: tuple[str, ...] = ()
    what: tuple[str, ...] = ()


def read_toml(content: bytes) -> dict[str, object]:
    """A TOML document. Raises ValueError for what is none, and for what would take too much to read."""
    text = _decoded(content)
    if any(len(line) > MAX_LINE for line in text.splitlines()):
        raise ValueError(f"a line has more than {MAX_LINE:,} characters")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nothing in it is so deep") from None


def read_json(content: bytes, *, with_comments: bool = False) -> dict[str, object]:
    """A JSON document that is an object; nothing of any other. Raises ValueError."""
    text = _decoded(content)
    if with_comments:
        text = _JSON_EXTRAS.sub(lambda match: match[1] or " ", text)
    try:
        return table(json.loads(text))
    except RecursionError:
        raise ValueError("nothing in it is so deep") from None


def read_ini(content: bytes) -> dict[str, dict[str, str]]:
    """The sections of a file such as tox.ini. Raises ValueError."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_decoded(content))
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    return {name: dict(parser[name]) for name in parser.sections()}


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES:,} bytes")
    return content.decode("utf-8-sig", "replace")


def table(value: object, *keys: str) -> dict[str, object]:
    """The table at the end of these keys; empty for anything that is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def strings(value: object) -> tuple[str, ...]:
    """The strings of a list; nothing for anything else."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def word(value: object) -> str:
    return value if isinstance(value, str) else ""


def named_for_tests(names: Iterable[str]) -> tuple[str, ...]:
    """Those that say by their name that tests need them, and are names at all."""
    return tuple(
        name for name in names if _NAME.fullmatch(name) and re.sub("[._]", "-", name).lower() in TEST_WORDS
    )


def requirements(lines: Iterable[str]) -> tuple[str, ...]:
    """Those that name a package and versions of it; no address, no option, no path."""
    cleaned = (" ".join(line.split(" #")[0].split()) for line in lines)
    return tuple(dict.fromkeys(line for line in cleaned if _REQUIREMENT.fullmatch(line)))


def quoted(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(item) for item in words)


def shown(text: str) -> str:
    """Words that may hold a repository's, made safe to put into a sentence."""
    line = " ".join(visible(text).split())
    return line if len(line) <= NOTE_CHARS else f"{line[: NOTE_CHARS - 1]}…"
