"""A document: knowledge that is longer than a note, in a file of its own that people edit.

It is a note in all else: it has a number, where it comes from, and a person who accepts it. At its head stand its kind and its tags, which
are read, and what Overlord knows of it, which is written anew.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from overlord.domain.knowledge.file_text import BrokenFileError
from overlord.domain.knowledge.note import DOCUMENT_NAME, MOST_DOCUMENT_CHARS, Note, NoteKind
from overlord.domain.knowledge.vetting import vetted
from overlord.domain.text.plain import plain_line, visible
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, read_yaml

ENDING = ".md"
MOST_NAME_CHARS = 80
MOST_TAGS = 20
MOST_TAG_CHARS = 40
MOST_FILE_BYTES = 1024 * 1024
_HEAD = re.compile(r"---\n(.*?)^---(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +([^ \n].*)$", re.MULTILINE)
_BETWEEN = re.compile(r"[\s_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """What a file says: its words, and what its head says of them."""

    text: str
    kind: NoteKind
    tags: tuple[str, ...] = ()


def name_of(filename: str) -> str:
    """The name that a document is kept by, which always ends in `.md`. Raises ValueError for what can be no name of a file, as a path."""
    name = _BETWEEN.sub("-", filename.strip().casefold())
    name = name if name.endswith(ENDING) else f"{name}{ENDING}"
    if len(name) > MOST_NAME_CHARS or DOCUMENT_NAME.fullmatch(name) is None:
        raise ValueError(
            f"filename must be a name without directories, of letters a to z, digits, dots and hyphens, at most"
            f" {MOST_NAME_CHARS} characters long: {visible(filename)[:120]!r}"
        )
    return name


def tags_of(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are kept: each once, in small letters. Raises ValueError for what can be no tag."""
    tags = tuple(dict.fromkeys(" ".join(tag.casefold().split()) for tag in given))
    if len(tags) > MOST_TAGS:
        raise ValueError(f"tags: at most {MOST_TAGS} are kept")
    for tag in tags:
        if not tag or len(tag) > MOST_TAG_CHARS or not tag.isprintable() or visible(tag) != tag:
            raise ValueError(
                f"tags: each is a word or a few, at most {MOST_TAG_CHARS} characters long: {visible(tag)[:80]!r}"
            )
    if vetted(" ".join(("tags", *tags))).problem:
        raise ValueError(f"tags: {vetted(' '.join(('tags', *tags))).problem}")
    return tags


def title_of(note: Note) -> str:
    """Its first heading, or else its name."""
    found = _HEADING.search(note.text)
    heading = found[1].rstrip(" #") if found else ""
    return plain_line(heading, limit=120) or note.document.removesuffix(ENDING)


def written(note: Note, source: str) -> str:
    """The file of a document. `source` is where it comes from, in words."""
    said = {
        "title": title_of(note),
        "kind": str(note.kind),
        "tags": list(note.tags),
        "space": note.space or "all",
        "source": source,
        "written_at": note.updated_at.isoformat(timespec="seconds"),
        "actor": note.actor,
        "note": note.ref,
    }
    head = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in said.items())
    return f"---\n{head}\n---\n\n{note.text}\n"


def read(content: bytes, *, kind: NoteKind = NoteKind.PATTERN, tags: tuple[str, ...] = ()) -> DocumentText:
    """Read a file. `kind` and `tags` are those of a file whose head does not say. Raises BrokenFileError, with words for people."""
    try:
        text = re.sub(r"\r\n?", "\n", content.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise BrokenFileError("it is no UTF-8 text: save it as UTF-8") from None
    found = _HEAD.match(text)
    said = _head(found[1]) if found else {}
    kept = vetted(text[found.end() :] if found else text, most=MOST_DOCUMENT_CHARS)
    if kept.problem:
        raise BrokenFileError(kept.problem)
    try:
        named = NoteKind(str(said.get("kind", kind)))
        tags = tags_of(_texts(said["tags"])) if "tags" in said else tags
    except ValueError as error:
        words = str(error) if "tags" in str(error) else f"its kind must be one of {', '.join(NoteKind)}"
        raise BrokenFileError(words) from None
    return DocumentText(text=kept.text, kind=named, tags=tags)


def _head(text: str) -> dict[object, object]:
    try:
        said = read_yaml(text.encode(), "the head")
    except UntrustedYamlError as error:
        raise BrokenFileError(str(error)) from None
    if said is not None and not isinstance(said, dict):
        raise BrokenFileError(
            "its head, between the lines of three hyphens, must be names with values: kind: decision"
        )
    return said or {}


def _texts(value: object) -> list[str]:
    """Raises ValueError."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str | int | float) for item in value):
        raise ValueError("tags: a list of words, as [billing, rounding]")
    return [str(item) for item in value]
