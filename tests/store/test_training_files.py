"""Records in a session's files: each once, no half line, whatever cuts the program off."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlord import failpoints
from overlord.domain.training.record import MOST_FILE_BYTES, Record, RecordKind
from overlord.errors import StoreError
from overlord.failpoints import Moment
from overlord.store.training.files import existing_records, write_records

KEY = "sess-1"


def record(number: int, kind: RecordKind = RecordKind.SFT) -> Record:
    if kind is RecordKind.DPO:
        return Record(kind=kind, prompt=f"prompt {number}", chosen="yes — ja", rejected="no")
    return Record(kind=kind, prompt=f"prompt {number}", completion="yes")


KEPT = (record(1), record(2), record(1, RecordKind.DPO), record(3, RecordKind.KTO))


def held(brain: Path) -> dict[str, list[dict[str, object]]]:
    """Every line of every file, which is JSON."""
    return {
        str(path.relative_to(brain)): [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(brain.rglob("*.jsonl"))
    }


WHOLE = {
    "training-data/dpo/sess-1.jsonl": [{"prompt": "prompt 1", "chosen": "yes — ja", "rejected": "no"}],
    "training-data/kto/sess-1.jsonl": [{"prompt": "prompt 3", "completion": "yes", "label": False}],
    "training-data/sft/sess-1.jsonl": [
        {"prompt": "prompt 1", "completion": "yes"},
        {"prompt": "prompt 2", "completion": "yes"},
    ],
}


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    return tmp_path / "brain"


def test_records_are_in_a_file_of_their_kind_which_only_its_owner_reads(brain: Path) -> None:
    written = write_records(brain, KEY, KEPT, call="c1")
    assert written.counts == {RecordKind.SFT: 2, RecordKind.DPO: 1, RecordKind.KTO: 1}
    assert held(brain) == WHOLE
    assert sorted(str(path.relative_to(brain)) for path in written.paths) == sorted(WHOLE)
    for path in brain.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_what_is_there_stays_and_nothing_is_written_twice(brain: Path) -> None:
    write_records(brain, KEY, KEPT[:1], call="c1")
    file = brain / "training-data/sft/sess-1.jsonl"
    file.write_text(file.read_text() + "a note of a person, without an end")
    write_records(brain, KEY, [record(2), record(1), record(2)], call="c2")
    write_records(brain, KEY, [record(2)], call="c2")
    assert file.read_text().splitlines() == [
        record(1).line,
        "a note of a person, without an end",
        record(2).line,
    ]
    assert [found.line for found in existing_records(brain, KEY)] == [record(1).line, record(2).line]
    assert existing_records(brain, "another") == []


def test_nothing_kept_writes_nothing(brain: Path) -> None:
    assert write_records(brain, KEY, ()).paths == ()
    assert not brain.exists()
    assert existing_records(brain, KEY) == []


def cuts() -> Iterator[tuple[int, Moment]]:
    """Each write of the four: the note, and three files."""
    yield from ((place, moment) for place in range(4) for moment in Moment)


@pytest.mark.parametrize(("place", "moment"), list(cuts()))
def test_a_call_that_was_cut_off_at_any_write_is_repeated_to_the_same_end(
    brain: Path, place: int, moment: Moment
) -> None:
    passed = list[Moment]()

    def cut(_: str, now: Moment) -> None:
        passed.append(now)
        if passed.count(moment) == place + 1 and now is moment:
            raise InterruptedError

    failpoints.listen(cut)
    try:
        with pytest.raises(InterruptedError):
            write_records(brain, KEY, KEPT, call="c7")
    finally:
        failpoints.listen(None)
    held(brain)  # every line that is there is whole
    assert existing_records(brain, KEY, call="c7") == [], "what it wrote itself is not in its own way"
    write_records(brain, KEY, KEPT, call="c7")
    assert held(brain) == WHOLE
    assert len(existing_records(brain, KEY, call="c8")) == len(KEPT)


def test_a_program_that_is_killed_between_writes_leaves_whole_lines(brain: Path) -> None:
    child = os.fork()
    if child == 0:
        failpoints.listen(lambda _, moment: os._exit(9) if moment is Moment.AFTER and held(brain) else None)
        write_records(brain, KEY, KEPT, call="c7")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert list(held(brain)) == ["training-data/sft/sess-1.jsonl"]
    write_records(brain, KEY, KEPT, call="c7")
    assert held(brain) == WHOLE


@pytest.mark.parametrize("link", ["training-data", "training-data/sft", "training-data/sft/sess-1.jsonl"])
def test_a_link_is_not_followed(brain: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (brain / link).parent.mkdir(parents=True)
    (brain / link).symlink_to(outside / "x" if link.endswith("jsonl") else outside)
    with pytest.raises(StoreError, match="link"):
        write_records(brain, KEY, KEPT)
    assert list(outside.iterdir()) == []


def test_a_file_that_is_full_is_left_as_it_is(brain: Path) -> None:
    file = brain / "training-data/sft/sess-1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x" * (MOST_FILE_BYTES - 10) + b"\n")
    before = file.stat()
    with pytest.raises(StoreError, match=r"^the training data brain/training-data/sft/sess-1\.jsonl is full"):
        write_records(brain, KEY, KEPT)
    assert file.stat().st_mtime_ns == before.st_mtime_ns


def test_a_brain_that_is_no_directory_is_a_sentence(brain: Path) -> None:
    brain.write_text("")
    with pytest.raises(StoreError, match=r"the training data in .* cannot be written: "):
        write_records(brain, KEY, KEPT)


def test_a_file_that_cannot_be_read_is_a_sentence(brain: Path) -> None:
    (brain / "training-data/sft/sess-1.jsonl").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be read: it is no plain file"):
        existing_records(brain, KEY)


def test_notes_that_somebody_else_wrote_are_passed_over(brain: Path) -> None:
    write_records(brain, KEY, KEPT, call="c1")
    notes = brain / "training-data/.written/sess-1"
    notes.write_text("[1]\nnot JSON\n" + notes.read_text())
    assert existing_records(brain, KEY, call="c1") == []
