"""What people have done with notes: written, accepted, changed, withdrawn, made to count everywhere."""

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.knowledge_argument import kind_of, number_of
from overlord.domain.knowledge.matching import question_in
from overlord.domain.knowledge.note import MOST_DOCUMENT_CHARS, MOST_NOTE_CHARS, Note, NoteSource, NoteState
from overlord.domain.knowledge.vetting import Vetted, vetted
from overlord.domain.text.plain import plain_line
from overlord.domain.text.reference import repository_in
from overlord.errors import Refused
from overlord.store.knowledge import notes
from overlord.verbs.verb import Context, Done

MOST_REASON = 500


def note_of(context: Context, ref: str) -> Note:
    """Raises NotFound, Refused."""
    return notes.get(context.connection, number_of(ref, "n"))


def split_space(words: str) -> tuple[str, str]:
    """A repository before the words, where one is said: `acme/calc Use Zod.`"""
    first = words.split(None, 1)[0] if words.split() else ""
    named = repository_in(first) if "/" in first else None
    return (named, words[len(first) :].strip()) if named is not None else ("", words)


def add_note(context: Context, kind: str, text: str, space: str) -> Done:
    """Write down what counts from now on. Raises Refused for what is not kept."""
    found = checked(text)
    note = Note(
        id=0,
        space=space,
        kind=kind_of(kind),
        text=found.text,
        question=question_in(found.text),
        state=NoteState.ACTIVE,
        source=NoteSource(),
        actor=context.actor,
        created_at=context.at,
        updated_at=context.at,
    )
    made = notes.add(context.connection, note)
    return Done(text=f"Note {made.ref} counts in {space or 'all repositories'} from now on.")


def checked(text: str, note: Note | None = None) -> Vetted:
    """A text as it is kept, of this note where it is there already. Raises Refused with what is held against it."""
    is_document = note is not None and note.document
    found = vetted(text, most=MOST_DOCUMENT_CHARS if is_document else MOST_NOTE_CHARS)
    if found.problem:
        raise Refused(found.problem)
    return found


def accept_note(context: Context, ref: str, reason: str) -> Done:
    """Have a draft count. Raises NotFound; Refused for what is no draft."""
    note = note_of(context, ref)
    if note.state is NoteState.ACTIVE:
        raise Refused(f"note {note.ref} counts already")
    checked(note.text, note)
    notes.replaces(context.connection, note, at=context.at, actor=context.actor)
    notes.change(
        context.connection,
        note.id,
        at=context.at,
        actor=context.actor,
        reason=_reason(reason) or "accepted",
        state=NoteState.ACTIVE,
        contradicted_by="",
    )
    return Done(text=f"Note {note.ref} counts in {note.space or 'all repositories'} from now on.")


def withdraw_note(context: Context, ref: str, reason: str) -> Done:
    """Have a note count no more, or a draft never. Raises NotFound; Refused for one that does not count anyway."""
    note = note_of(context, ref)
    if note.state not in (NoteState.ACTIVE, NoteState.DRAFT):
        raise Refused(f"note {note.ref} does not count anyway: it is {note.state}")
    state = NoteState.WITHDRAWN if note.state is NoteState.ACTIVE else NoteState.REJECTED
    why = _reason(reason) or "a person took it out"
    notes.change(context.connection, note.id, at=context.at, actor=context.actor, reason=why, state=state)
    back = hint(CommandRef("knowledge-accept", (note.ref,)), " takes it back")
    return Done(text=f"Note {note.ref} is {state}", hint=back)


def edit_note(context: Context, ref: str, text: str) -> Done:
    """Put other words in its place. Raises NotFound, Refused."""
    note = note_of(context, ref)
    found = checked(text, note)
    notes.change(
        context.connection,
        note.id,
        at=context.at,
        actor=context.actor,
        reason="changed by a person",
        text=found.text,
        question="" if note.document else question_in(found.text) or note.question,
        contradicted_by="",
    )
    return Done(text=f"Note {note.ref} is changed.")


def promote_note(context: Context, ref: str) -> Done:
    """Have it count in all repositories, as a note of its own that names this one. Raises NotFound, Refused."""
    note = note_of(context, ref)
    made = notes.promote(context.connection, note, actor=context.person.actor, at=context.at)
    return Done(text=f"Note {made.ref} says the same for all repositories, from {note.ref} of {note.space}.")


def _reason(text: str) -> str:
    return plain_line(text[:1000], limit=MOST_REASON)
