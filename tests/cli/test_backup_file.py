"""`overlord backup` and `overlord restore` on files: what is in one, and what of a bad one is ever written down: nothing."""

import fcntl
import io
import json
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from overlord.home import Home
from overlord.store.evidence import EvidenceStore
from overlord.store.schema.migrations import LATEST
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import kept, story

CANARY = "ghp_canary0123456789"
Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture
def file(filled: Filled, overlord: Overlord, home: Home, tmp_path: Path) -> Path:
    """A backup of a home with a story in it."""
    filled(story)
    filled(kept(home, b"3 tests failed\n"))
    home.settings.write_text("poll_s: 60\n")
    target = tmp_path / "one.tar.gz"
    assert overlord("backup", str(target)).code == 0
    return target


def test_a_backup_is_one_file_for_its_owner_alone_and_proves_itself(overlord: Overlord, file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in file.parent.iterdir()} == {"home", file.name}
    said = overlord("backup", "--verify", str(file))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(
        f"{file} is whole: the database (schema {LATEST}) and 1 evidence file, written "
    )
    shown = json.loads(overlord("backup", "--verify", str(file), "--json").out)
    assert (shown["sound"], shown["format"], shown["schema_version"]) == (True, 1, LATEST)


def test_nothing_of_the_environment_is_in_it(file: Path) -> None:
    with tarfile.open(file) as packed:
        contents = [content.read() for entry in packed if (content := packed.extractfile(entry)) is not None]
    assert CANARY.encode() not in b"".join(contents)


def test_a_name_that_is_taken_is_left_alone(overlord: Overlord, file: Path) -> None:
    before = file.read_bytes()
    said = overlord("backup", str(file))
    assert (said.code, said.err) == (5, f"overlord: {file} is there already; name another file\n")
    assert file.read_bytes() == before


def test_without_a_name_it_is_named_for_the_time(
    overlord: Overlord, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    shown = json.loads(overlord("backup", "--json").out)
    [made] = here.iterdir()
    assert made.name.startswith("overlord-backup-20")
    assert (shown["file"], shown["size"]) == (str(made), made.stat().st_size)


def test_a_folder_that_is_not_there_is_a_sentence(overlord: Overlord, file: Path, tmp_path: Path) -> None:
    said = overlord("backup", str(tmp_path / "none" / "two.tar.gz"))
    assert (said.code, said.out) == (6, "")
    assert said.err.endswith("two.tar.gz cannot be written: No such file or directory\n")


def test_what_was_restored_is_what_was_there(
    overlord: Overlord, file: Path, home: Home, tmp_path: Path
) -> None:
    new = Home(tmp_path / "new")
    said = overlord("restore", str(file), "--home", str(new.root))
    assert (said.code, said.err) == (0, "")
    assert f"Set OVERLORD_HOME={new.root} first." in said.out
    assert "overlord.yaml was restored." in said.out
    assert (new.settings.read_text(), new.instance()) == ("poll_s: 60\n", home.instance())
    digest = sha256(b"3 tests failed\n").hexdigest()
    assert EvidenceStore(new.evidence).get(digest) == b"3 tests failed\n"
    assert rows(new.database, "jobs") == rows(home.database, "jobs")
    [*before, last] = rows(new.database, "ledger")
    assert (before, last["name"], last["actor"]) == (
        rows(home.database, "ledger"),
        "backup_restored",
        "cli:alice",
    )
    assert not list(new.root.glob(".restoring-*"))


def rows(database: Path, table: str) -> list[dict[str, object]]:
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


def test_a_home_with_a_database_is_left_alone(overlord: Overlord, file: Path, home: Home) -> None:
    before = home.database.read_bytes()
    said = overlord("restore", str(file))
    assert (said.code, said.out) == (5, "")
    assert "is in use: it has a database. Move it away first" in said.err
    assert home.database.read_bytes() == before


def test_a_home_that_a_daemon_holds_is_left_alone(overlord: Overlord, file: Path, tmp_path: Path) -> None:
    (new := tmp_path / "new").mkdir()
    with (new / "overlord.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = overlord("restore", str(file), "--home", str(new))
    assert said.code == 6
    assert "another Overlord daemon is using" in said.err
    assert [path.name for path in new.iterdir()] == ["overlord.lock"]


def test_settings_that_are_there_are_kept(overlord: Overlord, file: Path, tmp_path: Path) -> None:
    (new := tmp_path / "new").mkdir()
    (new / "overlord.yaml").write_text("poll_s: 90\n")
    said = overlord("restore", str(file), "--home", str(new))
    assert "overlord.yaml of the backup was left out" in said.out
    assert (new / "overlord.yaml").read_text() == "poll_s: 90\n"


def test_a_file_that_is_not_there_is_no_such_thing(overlord: Overlord, tmp_path: Path) -> None:
    for words in (("restore",), ("backup", "--verify")):
        said = overlord(
            *words,
            str(tmp_path / "none"),
            *(("--home", str(tmp_path / "n")) if words[0] == "restore" else ()),
        )
        assert (said.code, said.err) == (4, f"overlord: there is no file {tmp_path / 'none'}\n")


# Bad ones.


def entry(
    name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = len(content), kind, link
    return made, content


def changed(name: str, content: bytes) -> Callable[[Members], Members]:
    """The same backup, in which one file holds something else."""
    return lambda members: [
        entry(name, content) if info.name == name else (info, data) for info, data in members
    ]


def also(name: str, content: bytes = b"x", **given: object) -> Callable[[Members], Members]:
    return lambda members: [entry(name, content, **given), *members]  # type: ignore[arg-type]


def newer(members: Members) -> Members:
    """A backup by a later program: a schema of the future, with a manifest that is right about it."""
    data = {info.name: content for info, content in members}
    database = edited(data["overlord.db"], f"PRAGMA user_version={LATEST + 1}")
    return [entry(name, content) for name, content in proved({**data, "overlord.db": database}).items()]


def poisoned(members: Members) -> Members:
    """A database that does something of its own accord, with a manifest that is right about it."""
    data = {info.name: content for info, content in members}
    trigger = "CREATE TRIGGER theirs AFTER INSERT ON ledger BEGIN DELETE FROM decisions; END"
    return [
        entry(name, content)
        for name, content in proved({**data, "overlord.db": edited(data["overlord.db"], trigger)}).items()
    ]


def forged(members: Members) -> Members:
    """A ledger somebody has written in."""
    data = {info.name: content for info, content in members}
    words = (
        "SELECT sql FROM sqlite_master WHERE name = 'ledger_is_never_changed'",
        "DROP TRIGGER ledger_is_never_changed",
        "UPDATE ledger SET actor = 'cli:mallory' WHERE seq = 1",
    )
    database = edited(data["overlord.db"], *words, again=True)
    return [entry(name, content) for name, content in proved({**data, "overlord.db": database}).items()]


def garbled(members: Members) -> Members:
    """A repository's history that is none, with a manifest that is right about it."""
    data = {info.name: content for info, content in members}
    history = {"history.pack": b"PACK of lies", "heads": b"a" * 40 + b"\n", "shallow": b""}
    named = {f"history/acme/calc/{part}": content for part, content in history.items()}
    return [entry(name, content) for name, content in proved({**data, **named}).items()]


def edited(database: bytes, *statements: str, again: bool = False) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(database)
        first = connection.execute(statements[0]).fetchone()
        for statement in statements[1:]:
            connection.execute(statement)
        if again:
            connection.execute(first[0])
        return bytes(connection.serialize())


def proved(data: dict[str, bytes]) -> dict[str, bytes]:
    """The files with a manifest that is right about them."""
    manifest = json.loads(data.pop("manifest.json"))
    manifest["members"] = {
        name: {"sha256": sha256(content).hexdigest(), "size": len(content)} for name, content in data.items()
    }
    return {**data, "manifest.json": json.dumps(manifest).encode()}


BAD: dict[str, tuple[Callable[[Members], Members], str]] = {
    "an absolute name": (also("/tmp/owned"), "it holds '/tmp/owned'"),
    "a name that climbs": (also("evidence/../../owned"), "it holds 'evidence/../../owned'"),
    "a repository that climbs": (also("history/../x/heads"), "it holds 'history/../x/heads'"),
    "a name nobody knows": (also("mirrors/a/b.git/hooks/post-receive"), "it holds 'mirrors/"),
    "a link": (also("instance", b"", kind=tarfile.SYMTYPE, link="/etc/passwd"), "it holds 'instance'"),
    "a hard link": (also("instance", b"", kind=tarfile.LNKTYPE, link="/etc/passwd"), "it holds 'instance'"),
    "a device": (also("instance", b"", kind=tarfile.CHRTYPE), "it holds 'instance'"),
    "a folder": (also("evidence", b"", kind=tarfile.DIRTYPE), "it holds 'evidence'"),
    "a file twice": (also("overlord.db"), "it holds 'overlord.db'"),
    "a file it does not name": (
        also("transcripts/j9-work-1.jsonl"),
        "transcripts/j9-work-1.jsonl is not what was written",
    ),
    "other content": (changed("instance", b"other"), "instance is not what was written"),
    "no manifest": (lambda members: members[:-1], "its manifest is missing"),
    "another format": (changed("manifest.json", b'{"format": 2}'), "has format 2, and this Overlord reads 1"),
    "a manifest that is none": (changed("manifest.json", b"[]"), "its manifest cannot be read"),
    "no database": (
        lambda members: [
            entry(name, content)
            for name, content in proved({i.name: d for i, d in members if i.name != "overlord.db"}).items()
        ],
        "this backup has no database",
    ),
    "a newer schema": (
        newer,
        f"schema {LATEST + 1}, newer than this Overlord's {LATEST}; install the newer version",
    ),
    "a trigger of its own": (poisoned, "is not as Overlord makes one"),
    "a history of lies": (garbled, "is damaged: git index-pack failed"),
    "a forged ledger": (forged, "the ledger in this backup is broken: event 1 was changed"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_backup_is_a_sentence_and_nothing_of_it_is_kept(
    overlord: Overlord, file: Path, tmp_path: Path, kind: str
) -> None:
    change, told = BAD[kind]
    bad = tmp_path / "bad.tar.gz"
    pack(bad, change(unpacked(file)))
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    new = tmp_path / "new"
    said = overlord("restore", str(bad), "--home", str(new))
    assert (said.code, said.out) == (6, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1
    left = [path for path in new.rglob("*") if path.name != "overlord.lock"]
    assert left == []
    (new / "overlord.lock").unlink()
    new.rmdir()
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def unpacked(file: Path) -> Members:
    with tarfile.open(file) as packed:
        return [(info, packed.extractfile(info).read()) for info in packed]  # type: ignore[union-attr]


def pack(file: Path, members: Members) -> None:
    with tarfile.open(file, "w:gz") as packed:
        for info, content in members:
            packed.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_was_cut_short_is_no_backup(
    overlord: Overlord, file: Path, tmp_path: Path, share: float
) -> None:
    whole = file.read_bytes()
    (bad := tmp_path / "cut.tar.gz").write_bytes(whole[: int(len(whole) * share)])
    said = overlord("backup", "--verify", str(bad))
    assert (said.code, said.err) == (1, "")
    assert "no whole backup" in said.out or "cannot be read" in said.out
    assert overlord("restore", str(bad), "--home", str(tmp_path / "new")).code == 6
    assert not (tmp_path / "new" / "overlord.db").exists()
    shown = json.loads(overlord("backup", "--verify", str(bad), "--json").out)
    assert shown["sound"] is False and shown["problem"]


# The portfolio's files.

PORTFOLIO = {
    "IDENTITY.md": "You are careful.\n",
    "spaces/acme/calc/OVERVIEW.md": "## Goals\n- Add\n",
    "spaces/acme/calc/plans/sums/plan.md": "First this.\n",
    "spaces/acme/calc/plans/sums/tasks/1.json": "{}\n",
    "spaces/acme/calc/plans/sums/tasks/.highwatermark": "1\n",
    "knowledge/decisions.md": "- Redis <!-- n1 -->\n",
    "daily/2026-03-02.md": "# Monday\n",
    "rules.json": "[]\n",
}


def lay_down(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_the_portfolios_files_are_in_it_and_come_back(
    filled: Filled, overlord: Overlord, home: Home, tmp_path: Path
) -> None:
    filled(story)
    lay_down(home.root, {**PORTFOLIO, "spaces/acme/calc/notes.txt": "mine\n"})
    (home.root / "USER.md").symlink_to("/etc/passwd")
    said = overlord("backup", str(tmp_path / "one.tar.gz"))
    assert (said.code, said.err) == (0, "")
    assert "and 8 files of the portfolio." in said.out
    assert "Not in it, as they cannot be read (put plain files in their places): USER.md." in said.out
    (new := tmp_path / "new").mkdir()
    lay_down(
        new,
        {
            "IDENTITY.md": "You are quick.\n",
            "knowledge/decisions.md": "- Kafka\n",
            "knowledge/decisions.md.before-restore": "- Files\n",
            "daily/2026-03-02.md": "# Monday\n",
        },
    )
    assert overlord("restore", str(tmp_path / "one.tar.gz"), "--home", str(new)).code == 0
    assert {name: (new / name).read_text() for name in PORTFOLIO} == PORTFOLIO
    assert (new / "IDENTITY.md.before-restore").read_text() == "You are quick.\n"
    aside = [path.read_text() for path in sorted((new / "knowledge").glob("decisions.md.before-*"))]
    assert aside == ["- Files\n", "- Kafka\n"]
    assert sorted(path.name for path in (new / "daily").iterdir()) == ["2026-03-02.md"]
    assert not (new / "spaces/acme/calc/notes.txt").exists()
