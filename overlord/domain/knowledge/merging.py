"""What a knowledge file and the rows say together: whoever changed something since they last agreed has it counted.

Three sides are compared, as for a merge: the file as it is, the rows as they are, and the file as it was when both last agreed. Where both
sides changed the same note, the person's words count and Overlord's are kept as a draft, so that nothing is lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from overlord.domain.knowledge.file_text import BrokenFileError, Bullet, KnowledgeText, as_in_file
from overlord.domain.knowledge.note import Note, NoteState


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A note has other words in its file, or is there again."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What is to be done to the rows; then the file is written anew from them."""

    new: tuple[Bullet, ...] = ()
    """Bullets that a person wrote, by their places in the file."""
    changed: tuple[Changed, ...] = ()
    gone: tuple[int, ...] = ()
    """Notes whose bullets a person took out."""
    drafts: tuple[Note, ...] = ()
    """Overlord's words that a person's go before, to be kept as drafts."""
    matched: Mapping[int, int] = field(default_factory=dict)
    """The line of a bullet without a mark that is a note all the same, and the note's number: somebody's editor dropped the mark."""


def merge(
    file: KnowledgeText, base: KnowledgeText, rows: Mapping[int, Note], *, space: str, kind: str
) -> Merged:
    """`rows`: the active notes of the file, and every note that the file or the base marks. Raises BrokenFileError."""
    _check_marks(file, rows, space=space, kind=kind)
    before, there = base.numbered(), file.numbered()
    active = {number: note for number, note in rows.items() if _is_active_here(note, space, kind)}
    matched = _matched(file, active, there)
    changed, drafts = list[Changed](), list[Note]()
    for number, bullet in there.items():
        row, was = rows[number], before.get(number)
        ours, is_edited = as_in_file(row.text), was is None or was.text != bullet.text
        if not is_edited or (number in active and bullet.text == ours):
            continue  # what changed in the rows since, or does not count any more, is for the file to take over
        changed.append(Changed(number=number, text=bullet.text))
        if number in active and (was is None or was.text != ours):
            drafts.append(row)
    gone = [
        number
        for number in before
        if number in active and number not in there and number not in matched.values()
    ]
    drafts += [rows[number] for number in gone if before[number].text != as_in_file(rows[number].text)]
    return Merged(
        new=tuple(item for item in file.bullets if item.number is None and item.line not in matched),
        changed=tuple(changed),
        gone=tuple(gone),
        drafts=tuple(drafts),
        matched=matched,
    )


def _is_active_here(note: Note, space: str, kind: str) -> bool:
    return note.state is NoteState.ACTIVE and note.space == space and note.kind == kind


def _matched(file: KnowledgeText, active: Mapping[int, Note], there: Mapping[int, Bullet]) -> dict[int, int]:
    """Bullets without a mark that say word for word what a note says whose mark is nowhere in the file."""
    left = {as_in_file(note.text): number for number, note in active.items() if number not in there}
    found = dict[int, int]()
    for bullet in file.bullets:
        if bullet.number is None and (number := left.pop(bullet.text, None)) is not None:
            found[bullet.line] = number
    return found


def _check_marks(file: KnowledgeText, rows: Mapping[int, Note], *, space: str, kind: str) -> None:
    """Raises BrokenFileError for a mark that is none of this file's."""
    for number, bullet in file.numbered().items():
        note = rows.get(number)
        if note is None:
            raise BrokenFileError(
                f"line {bullet.line} has the mark n{number}, and there is no such note: take the mark out, and it gets its own"
            )
        if note.space != space or note.kind != kind:
            where = note.space or "all repositories"
            raise BrokenFileError(
                f"line {bullet.line} has the mark of another file: n{number} is a {note.kind} of {where}; take the mark out, and"
                " the bullet is a note of its own"
            )


def written(file: KnowledgeText, active: Sequence[Note], lines: Mapping[int, int]) -> KnowledgeText:
    """The file with the notes that count now. `lines`: the numbers of bullets that had none, by their lines."""
    marked = KnowledgeText(
        parts=tuple(
            Bullet(text=part.text, number=lines.get(part.line, part.number), line=part.line)
            if isinstance(part, Bullet)
            else part
            for part in file.parts
        )
    )
    return marked.with_bullets(Bullet(text=as_in_file(note.text), number=note.id) for note in active)
