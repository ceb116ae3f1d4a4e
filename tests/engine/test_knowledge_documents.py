"""Documents and their files are kept alike, whoever changed them; what cannot be read is told and left as it is."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from overlord.domain.knowledge.note import Note, NoteKind, NoteState
from overlord.engine.knowledge import documents
from overlord.engine.knowledge import files as knowledge_files
from overlord.store.knowledge import notes, passages
from overlord.store.portfolio import files
from overlord.verbs.brain import Kept, Writing, brain_write
from tests.engine.stage import Stage, made_stage
from tests.world import REPO

PATH = f"spaces/{REPO}/knowledge/documents/rounding.md"
TEXT = "# Rounding\n\nEach line, half up."


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with made_stage({"calc.py": "x = 1\n"}) as made:
        yield made


async def write(stage: Stage, text: str = TEXT, *, space: str = REPO) -> Note:
    """A document that another agent wrote and a person accepted."""
    parts = stage.parts
    said = Writing(content=text, space=space, filename="rounding", tags=["billing"])
    kept: Kept = await stage.write(
        brain_write, said, settings=parts.settings, actor="mcp:ada", at=parts.clock.now()
    )
    await accept(stage, kept.note)
    return kept.note


async def accept(stage: Stage, note: Note) -> None:
    at = stage.parts.clock.now()
    await stage.write(notes.replaces, note, at=at, actor="cli:alice")
    await stage.write(notes.change, note.id, at=at, actor="cli:alice", state=NoteState.ACTIVE)


def file_of(stage: Stage, path: str = PATH) -> Path:
    return stage.parts.home.root / path


async def look(stage: Stage) -> None:
    """Until nothing is left to do; that comes at once."""
    await documents.look(stage.parts)
    assert not await documents.look(stage.parts), "a second look finds nothing to do"


async def counting(stage: Stage) -> list[Note]:
    found: list[Note] = await stage.read(passages.counting_documents)
    return found


async def trouble(stage: Stage, path: str = PATH) -> str:
    row = await stage.read(files.get, path)
    return "" if row is None else str(row.trouble)


async def test_a_document_that_counts_has_a_file_and_a_draft_has_none(stage: Stage) -> None:
    note = await write(stage)
    await look(stage)
    text = file_of(stage).read_text()
    assert text.startswith('---\ntitle: "Rounding"\nkind: "pattern"\ntags: ["billing"]\n')
    assert text.endswith(f"\n---\n\n{TEXT}\n")
    parts = stage.parts
    said = Writing(content="another", space=REPO, filename="other")
    await stage.write(brain_write, said, settings=parts.settings, actor="mcp:ada", at=parts.clock.now())
    await look(stage)
    assert [path.name for path in file_of(stage).parent.iterdir()] == ["rounding.md"]
    assert [item.id for item in await counting(stage)] == [note.id]


async def test_what_counts_in_all_repositories_has_its_file_at_the_top(stage: Stage) -> None:
    await write(stage, space="")
    await look(stage)
    assert file_of(stage, "knowledge/documents/rounding.md").exists()
    assert not file_of(stage).exists()


async def test_a_document_stands_in_no_file_of_notes(stage: Stage) -> None:
    await write(stage)
    await knowledge_files.look(stage.parts)
    assert not file_of(stage, f"spaces/{REPO}/knowledge/patterns.md").exists()


async def test_a_persons_edit_counts(stage: Stage) -> None:
    note = await write(stage)
    await look(stage)
    text = file_of(stage).read_text()
    file_of(stage).write_text(text.replace("half up", "half even").replace('"pattern"', "decision"))
    await look(stage)
    [now] = await counting(stage)
    assert (now.id, now.text) == (note.id, "# Rounding\n\nEach line, half even.")
    assert now.kind is NoteKind.DECISION
    assert now.tags == ("billing",)


async def test_a_file_that_a_person_puts_there_is_a_document(stage: Stage) -> None:
    file_of(stage).parent.mkdir(parents=True)
    file_of(stage).write_text("Restart it.\n")
    await look(stage)
    [now] = await counting(stage)
    assert (now.document, now.text, now.space) == ("rounding.md", "Restart it.", REPO)
    assert now.source.file == PATH
    assert file_of(stage).read_text().startswith('---\ntitle: "rounding"\n')


async def test_where_both_changed_it_the_persons_words_count_and_the_others_are_a_draft(stage: Stage) -> None:
    note = await write(stage)
    await look(stage)
    at = stage.parts.clock.now()
    await stage.write(notes.change, note.id, at=at, actor="cli:alice", text="Overlord's words")
    file_of(stage).write_text("A person's words\n")
    await look(stage)
    [now] = await counting(stage)
    assert now.text == "A person's words"
    [draft] = await stage.read(lambda c: notes.of_state(c, NoteState.DRAFT, documents=True))
    assert draft.text == "Overlord's words"


async def test_one_that_is_withdrawn_loses_its_file(stage: Stage) -> None:
    note = await write(stage)
    await look(stage)
    at = stage.parts.clock.now()
    await stage.write(notes.change, note.id, at=at, actor="cli:alice", state=NoteState.WITHDRAWN)
    await look(stage)
    assert not file_of(stage).exists()


async def test_a_file_that_is_gone_is_written_anew(stage: Stage) -> None:
    await write(stage)
    await look(stage)
    file_of(stage).unlink()
    await look(stage)
    assert TEXT in file_of(stage).read_text()


async def test_a_new_one_of_its_name_takes_its_place(stage: Stage) -> None:
    first = await write(stage)
    await look(stage)
    second = await write(stage, "# Rounding\n\nNever.")
    await look(stage)
    assert [item.id for item in await counting(stage)] == [second.id]
    assert (await stage.read(notes.get, first.id)).state is NoteState.WITHDRAWN
    assert "Never." in file_of(stage).read_text()


@pytest.mark.parametrize(
    ("content", "why"), [(b"\xff", "no UTF-8"), (b"---\nkind: rumour\n---\nx y z", "kind must be one of")]
)
async def test_what_cannot_be_read_is_told_and_left(stage: Stage, content: bytes, why: str) -> None:
    await write(stage)
    await look(stage)
    file_of(stage).write_bytes(content)
    await look(stage)
    assert why in await trouble(stage)
    assert file_of(stage).read_bytes() == content
    [now] = await counting(stage)
    assert now.text == TEXT
    file_of(stage).write_text("Fixed by a person.\n")
    await look(stage)
    assert not await trouble(stage)
    assert (await counting(stage))[0].text == "Fixed by a person."


async def test_a_file_with_a_name_that_is_none_is_told(stage: Stage) -> None:
    path = f"spaces/{REPO}/knowledge/documents/My Notes.md"
    file_of(stage, path).parent.mkdir(parents=True)
    file_of(stage, path).write_text("Restart it.\n")
    await look(stage)
    assert "rename it" in await trouble(stage, path)
    file_of(stage, path).rename(file_of(stage))
    await look(stage)
    assert not await trouble(stage, path)
    assert [item.document for item in await counting(stage)] == ["rounding.md"]


async def test_a_link_in_its_place_is_told_and_not_followed(stage: Stage) -> None:
    await write(stage)
    outside = stage.parts.home.root / "overlord.yaml.copy"
    outside.write_text("secret\n")
    file_of(stage).parent.mkdir(parents=True)
    file_of(stage).symlink_to(outside)
    await documents.look(stage.parts)
    assert "link" in await trouble(stage)
    assert outside.read_text() == "secret\n"
    assert (await counting(stage))[0].text == TEXT


async def test_a_secret_in_a_file_is_told_and_not_kept(stage: Stage) -> None:
    note = await write(stage)
    await look(stage)
    file_of(stage).write_text("ghp_Zk4Wq8Rt2Lm6Np0Xs5Vb9Cd3Fg7Hj1Ky4QwE\n")
    await look(stage)
    assert "looks like a secret" in await trouble(stage)
    assert (await stage.read(notes.get, note.id)).text == replace(note).text
