"""A knowledge file as text: notes are its top-level bullets, and whatever else stands in it is people's and stays.

    - All endpoints return data and error. <!-- n12 -->
    - Which cache do we use? Redis: it survives restarts.

The second has no mark yet: a person wrote it. What cannot be read leads to a sentence that names the line, and then nothing of the file
counts, so that half an edit is never taken for a whole one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from overlord.domain.knowledge.note import MOST_NOTE_CHARS, NoteKind
from overlord.domain.knowledge.vetting import tidied
from overlord.domain.text.hidden_text import without_hidden, without_hidden_characters

MOST_FILE_BYTES = 1024 * 1024
MOST_BULLETS = 2_000
_BULLET = re.compile(r"[-*+] +(?=\S)")
_MARK = re.compile(r"(?<![ \t])[ \t]*<!--[ \t]*n([1-9][0-9]{0,9})[ \t]*-->[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SEPARATOR = "\n"


class BrokenFileError(Exception):
    """Why a knowledge file cannot be read, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullet:
    """A note as it stands in a file."""

    text: str
    number: int | None = None
    """The note's; None for one that a person wrote and that has none yet."""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeText:
    """A file that was read: its parts in order."""

    parts: tuple[Bullet | str, ...] = ()
    """A string is lines of people's that are no note, as they are."""

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        return tuple(part for part in self.parts if isinstance(part, Bullet))

    def numbered(self) -> Mapping[int, Bullet]:
        return {bullet.number: bullet for bullet in self.bullets if bullet.number is not None}

    def text(self) -> str:
        """The file."""
        return "".join(_written(part) if isinstance(part, Bullet) else part for part in self.parts)

    def with_bullets(self, wanted: Iterable[Bullet]) -> "KnowledgeText":
        """The same with other bullets: those that it has keep their place, what is new comes last."""
        left = {bullet.number: bullet for bullet in wanted}
        parts = list[Bullet | str]()
        for part in self.parts:
            if isinstance(part, str):
                parts.append(part)
            elif (kept := left.pop(part.number, None)) is not None:
                parts.append(kept)
        if left and parts and not _text_of(parts[-1]).endswith(_SEPARATOR):
            parts.append(_SEPARATOR)
        return KnowledgeText(parts=(*parts, *left.values()))


def _text_of(part: Bullet | str) -> str:
    return part if isinstance(part, str) else _SEPARATOR


def _written(bullet: Bullet) -> str:
    lines = tidied(bullet.text).split("\n")
    mark = f" <!-- n{bullet.number} -->" if bullet.number is not None else ""
    more = [f"  {line}" if line else "" for line in lines[1:]]
    return "\n".join([f"- {lines[0]}", *more]) + mark + "\n"


def as_in_file(text: str) -> str:
    """A note's text as it is read back from a file."""
    return tidied(text)


def heading(kind: NoteKind, space: str) -> KnowledgeText:
    """A file that has no note yet."""
    where = f"of {space}" if space else "that count in all repositories"
    return KnowledgeText(
        parts=(
            f"# {kind.capitalize()}s {where}\n\n"
            "Each bullet is a note. Edit, add and remove them here: Overlord reads the file, and gives each new bullet a\n"
            "number in a comment at its end, which is to stay there.\n\n",
        )
    )


def read(content: bytes) -> KnowledgeText:
    """Read a file. Raises BrokenFileError."""
    if len(content) > MOST_FILE_BYTES:
        raise BrokenFileError(f"it is larger than {MOST_FILE_BYTES // 1024} kB: shorten it")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise BrokenFileError("it is no UTF-8 text: save it as UTF-8") from None
    if "\0" in text:
        raise BrokenFileError("it is no text: it has NUL characters")
    found = KnowledgeText(parts=tuple(_parts(re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff")))))
    _check(found.bullets)
    return found


def _parts(text: str) -> Iterator[Bullet | str]:
    """The file in parts. A bullet goes on over indented lines, and over empty ones before an indented one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    index, fence, is_comment = 0, "", False
    while index < len(lines):
        line = lines[index]
        if not fence and not is_comment and _BULLET.match(line):
            end = _end_of(lines, index)
            yield _bullet(lines[index:end], index + 1)
            index = end
            continue
        fence = _fence_after(fence, line)
        is_comment = not fence and _is_in_comment(line, is_comment)
        if line:
            yield line
        index += 1


def _end_of(lines: list[str], start: int) -> int:
    """The line after a bullet's last one."""
    end, index = start + 1, start + 1
    while index < len(lines):
        line = lines[index]
        if line.strip() and not line.startswith((" ", "\t")):
            break
        if line.strip():
            end = index + 1
        index += 1
    return end


def _fence_after(fence: str, line: str) -> str:
    found = _FENCE.match(line)
    if not fence:
        return found[1] if found else ""
    is_end = found is not None and found[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if is_end else fence


def _is_in_comment(line: str, is_comment: bool) -> bool:
    """Whether a comment that people put between notes goes on after a line."""
    opened, closed = line.rfind("<!--"), line.rfind("-->")
    if opened < 0 and closed < 0:
        return is_comment
    return opened > closed


def _bullet(lines: list[str], line: int) -> Bullet:
    text = "".join(lines).rstrip()
    mark = _MARK.search(text)
    number = int(mark[1]) if mark is not None else None
    text = text[: mark.start()] if mark is not None else text
    first, *more = text[2:].lstrip(" ").split("\n")
    return Bullet(
        text=tidied("\n".join([first, *(re.sub(r"^(?:\t| {1,2})", "", each) for each in more)])),
        number=number,
        line=line,
    )


def _check(bullets: tuple[Bullet, ...]) -> None:
    """Raises BrokenFileError for what cannot be read as one note each."""
    if len(bullets) > MOST_BULLETS:
        raise BrokenFileError(
            f"it has {len(bullets):,} bullets, and at most {MOST_BULLETS:,} are read: take some out"
        )
    seen = dict[int, int]()
    for bullet in bullets:
        where = f"line {bullet.line}"
        if bullet.number is not None and bullet.number in seen:
            raise BrokenFileError(
                f"{where} and line {seen[bullet.number]} have the same mark n{bullet.number}: take it from the one that is new"
            )
        if bullet.number is not None:
            seen[bullet.number] = bullet.line
        if not bullet.text:
            raise BrokenFileError(f"{where} is a note without words: write it, or take the bullet out")
        if len(bullet.text) > MOST_NOTE_CHARS:
            raise BrokenFileError(
                f"the note in {where} has {len(bullet.text):,} characters, and at most {MOST_NOTE_CHARS:,} are read: shorten it"
            )
        hides = without_hidden(bullet.text).hidden or without_hidden_characters(bullet.text).hidden
        if "<!--" in bullet.text or hides:
            raise BrokenFileError(
                f"the note in {where} has text that people cannot see: take it out (a note's own mark stands at its end, once)"
            )
