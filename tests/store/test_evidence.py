"""Evidence: a name that exists holds its whole content, and what was changed is known by its name."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from overlord.errors import StoreError
from overlord.store import evidence
from overlord.store.database import Database
from overlord.store.evidence import EvidenceFile, EvidenceStore
from tests.records import NOW, later
from tests.stored import claim


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "evidence")


def files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "evidence").rglob("*") if path.is_file()]


@pytest.mark.parametrize("content", [b"", b"a log\n", os.urandom(1_000_000)])
def test_what_was_put_is_given_back_by_its_hash(store: EvidenceStore, content: bytes) -> None:
    digest = store.put(content)
    assert digest == sha256(content).hexdigest()
    assert store.get(digest) == content


def test_the_same_content_is_kept_once(store: EvidenceStore, tmp_path: Path) -> None:
    assert store.put(b"a log") == store.put(b"a log")
    assert len(files(tmp_path)) == 1


def test_what_was_changed_afterwards_is_no_evidence(store: EvidenceStore) -> None:
    digest = store.put(b"3 tests failed")
    store.path(digest).write_bytes(b"3 tests passed")
    with pytest.raises(StoreError, match=f"evidence {digest} was changed after it was written"):
        store.get(digest)


def test_what_is_gone_is_named(store: EvidenceStore) -> None:
    digest = store.put(b"a log")
    store.path(digest).unlink()
    with pytest.raises(StoreError, match=f"evidence {digest} is missing"):
        store.get(digest)


def test_content_that_was_damaged_is_put_right_when_it_comes_again(store: EvidenceStore) -> None:
    digest = store.put(b"a log")
    store.path(digest).write_bytes(b"a l")
    store.put(b"a log")
    assert store.get(digest) == b"a log"


def test_a_write_that_fails_leaves_nothing(store: EvidenceStore, tmp_path: Path) -> None:
    digest = sha256(b"a log").hexdigest()
    store.path(digest).mkdir(parents=True)
    (store.path(digest) / "in the way").touch()
    with pytest.raises(OSError, match="irectory"):
        store.put(b"a log")
    assert [path.name for path in files(tmp_path)] == ["in the way"]


def test_evidence_is_closed_to_others(store: EvidenceStore) -> None:
    path = store.path(store.put(b"a log"))
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


async def test_an_exhibit_says_whose_it_is(database: Database) -> None:
    one, other = await database.write("by hand", lambda c: (claim(c, 1), claim(c, 2)))
    log = EvidenceFile(job_id=one.id, session_id="j1-work-1", kind="log", sha256="a" * 64, size=3, at=NOW)
    brief = EvidenceFile(job_id=one.id, session_id=None, kind="brief", sha256="b" * 64, size=0, at=later(1))
    diff = EvidenceFile(job_id=other.id, session_id=None, kind="diff", sha256="a" * 64, size=3, at=NOW)
    for evidence_file in (log, brief, diff):
        await database.write("by hand", lambda c, item=evidence_file: evidence.record(c, item))  # type: ignore[misc]
    assert await database.read(lambda c: evidence.exhibits(c, one.id)) == [log, brief]
    assert await database.read(evidence.exhibits) == [log, brief, diff]
