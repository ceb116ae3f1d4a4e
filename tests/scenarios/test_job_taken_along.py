"""What is kept of a job under a contract, and how a person reads it: brief, history from the ledger alone, export."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from overlord.embedded.play import edit, submit
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.main import run
from overlord.store import evidence
from tests.memory.world import MemoryWorld, made_memory_world
from tests.two_roles import merged
from tests.world import FIX

Typed = Callable[..., tuple[int, str]]
HOSTILE = "<img src=x> [click](http://evil.test) ]( \x1b[31m\u202e --to=/"
LONG = "plan/" + "x" * 180 + ".md"


@pytest.fixture
def overlord(capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type `overlord …`: its exit code, and all it said."""

    def typed(*words: str) -> tuple[int, str]:
        try:
            code: object = run(lambda: app(list(words)))
        except SystemExit as ending:
            code = ending.code or 0
        said = capsys.readouterr()
        assert isinstance(code, int)
        return code, said.out + said.err

    return typed


@asynccontextmanager
async def told_story(
    monkeypatch: pytest.MonkeyPatch, *artifacts: tuple[str, str], title: str = "add() subtracts"
) -> AsyncIterator[MemoryWorld]:
    """The story to its end; the Overlord is gone afterwards, and the command line is at its home."""
    async with made_memory_world() as world:
        await merged(world, *artifacts, title=title)
        await world.stop()
        monkeypatch.setenv("OVERLORD_HOME", str(world.root / "home"))
        monkeypatch.setenv("OVERLORD_COMMAND", "overlord")
        monkeypatch.setenv("COLUMNS", "200")
        yield world


def lines_of(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


async def test_a_brief_is_shown_in_three_layers_with_where_each_part_comes_from(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed
) -> None:
    async with told_story(monkeypatch):
        code, text = overlord("job", "brief", "1")
        assert code == 0
        assert max(map(len, lines_of(text))) <= 80
        layers = [line.partition(":")[0] for line in lines_of(text) if line[:1].isupper() and ": " in line]
        assert [name for name in layers if name in {"IDENTITY", "MISSION", "WORLD"}] == [
            "IDENTITY",
            "MISSION",
            "WORLD",
        ]
        sources = [line.removeprefix("-- from ") for line in lines_of(text) if line.startswith("-- from ")]
        assert "contract two-roles, role backend" in sources
        assert "issue" in sources
        assert "phase build" in sources
        assert "plan/acceptance.md" in sources
        assert "card-1111" not in text, "the plan's text is in the working copy, and its name in the brief"
        _, first = overlord("job", "brief", "1", "--session", "j1-work-1")
        assert "role architect" in first
        _, same = overlord("job", "brief", "1", "--session", "j1-work-1")
        assert same == first
        code, said = overlord("job", "brief", "1", "--session", "j1-work-9")
        assert (code, "has no session j1-work-9" in said) == (4, True)
        code, text = overlord("job", "brief", "1", "--json")
        assert json.loads(text)["terms"]["phase"] == "build"


async def test_the_history_of_a_job_needs_its_ledger_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    async with told_story(monkeypatch) as world:
        code, text = overlord("history", "--detail", "1")
        assert code == 0
        assert max(map(len, lines_of(text))) <= 80
        sections = [line for line in lines_of(text)[1:] if line and not line.startswith(" ")]
        assert sections == [
            "Before the first phase",
            "Phase plan",
            "Phase build",
            "Delivery and review",
            "What it cost",
        ]
        words = " ".join(text.split())
        assert "it goes by contract two-roles" in words
        assert "prepared j1-work-1 for architect" in words
        assert "the work is at gate plan_approval (plan->build), which shows " in words
        assert "cli:alice: decision 1 at gate plan_approval was answered with approve: go on" in words
        assert "forge: pull request #2 was merged" in words
        kept = tmp_path / "only-the-ledger"
        shutil.copytree(world.root / "home", kept)
        emptied(kept / "overlord.db")
        monkeypatch.setenv("OVERLORD_HOME", str(kept))
        decisions, _, _ = text.partition("\nWhat it cost\n")  # what calls cost is no fact of the ledger
        assert overlord("history", "--detail", "1") == (0, decisions)
        code, said = overlord("history", "--detail", "7")
        assert (code, "the ledger has no event of job 7" in said) == (4, True)


def emptied(database: Path) -> None:
    """Every table but the ledger has no row any more."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            if not trigger.startswith("ledger_"):
                connection.execute(f"DROP TRIGGER {trigger}")
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
            " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%\\_fts%' ESCAPE '\\' AND name != 'ledger'"
        )
        for (table,) in tables.fetchall():
            try:
                connection.execute(f"DELETE FROM {table}")
            except sqlite3.OperationalError as error:
                assert "shadow" in str(error) or "may not be modified" in str(error), (table, error)
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)
        connection.commit()


async def test_an_export_is_a_directory_that_a_person_reads_without_a_daemon(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    async with told_story(monkeypatch):
        place = tmp_path / "job"
        code, text = overlord("job", "export", "1", "--to", str(place), "--json")
        assert code == 0, text
        manifest = json.loads(text)
        assert json.loads((place / "manifest.json").read_text()) == manifest
        paths = [item["path"] for item in manifest["files"]]
        assert paths == sorted(
            str(path.relative_to(place))
            for path in place.rglob("*")
            if path.is_file() and path.name != "manifest.json"
        )
        for item in manifest["files"]:
            content = (place / item["path"]).read_bytes()
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (item["sha256"], item["size"])
        assert {"README.md", "contract.yaml", "ledger.jsonl", "decisions.json", "final.json"} <= set(paths)
        own = {path.rpartition("/")[2] for path in paths if path.startswith("sessions/02-backend/")}
        assert own == {"brief.md", "brief.json", "report.json", "transcript.jsonl", "log.txt", "diff.patch"}
        assert "plan/acceptance.md" in paths
        [answered] = json.loads((place / "gates/01/answer.json").read_text())["asked"]
        assert (answered["verb"], answered["by"]) == ("approve", "cli:alice")
        results = [
            json.loads((place / path).read_text()) for path in paths if path.endswith("/criteria.json")
        ]
        [ran] = [item for found in results for item in found if item["command"]]
        assert (ran["exit_code"], ran["evidence"]) == (0, "[redacted]")
        readme = (place / "README.md").read_text()
        links = [part.partition(")")[0] for part in readme.split("](")[1:]]
        assert links
        assert [link for link in links if not (place / link).is_file()] == []
        assert "Phase build" in readme


async def test_what_the_contract_redacts_is_in_no_evidence_and_no_file_of_an_export(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    async with told_story(monkeypatch) as world:
        store = world.root / "home" / "evidence"
        kept = [path for path in store.rglob("*") if path.is_file()]
        rows = evidence_of(world)
        said = {
            item.sha256: item.kind
            for item in rows
            if item.kind in {"transcript", "log", "diff", "gate", "criteria"}
        }
        assert set(said.values()) == {"transcript", "log", "diff", "gate", "criteria"}
        for path in kept:
            if path.parent.name + path.name in said:
                assert b"card-1111" not in path.read_bytes(), said[path.parent.name + path.name]
                assert b"card-4242" not in path.read_bytes()
        place = tmp_path / "job"
        code, _ = overlord("job", "export", "1", "--to", str(place))
        assert code == 0
        texts = {path.name: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        assert [name for name, text in texts.items() if b"card-1111" in text or b"card-2222" in text] == []
        assert "ledger.jsonl" in json.loads(texts["manifest.json"])["redacted"]


def evidence_of(world: MemoryWorld) -> list[evidence.EvidenceFile]:
    with closing(sqlite3.connect(world.root / "home" / "overlord.db")) as connection:
        connection.row_factory = sqlite3.Row
        return evidence.exhibits(connection, 1)


async def test_hostile_names_stay_inside_and_hostile_words_link_to_nothing(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    artifacts = (
        ("plan/acceptance.md", "fine\n"),
        ("plan/-rf \u202e;$(x).md", "one\n"),
        ("plan/.hidden/README", "two\n"),
        (LONG, "three\n"),
    )
    async with told_story(monkeypatch, *artifacts, title=HOSTILE) as world:
        with closing(sqlite3.connect(world.root / "home" / "overlord.db")) as connection:
            query = "INSERT INTO plan_files VALUES (1, ?, 'out', 'j1-work-1', '2026-03-02T09:00:00+00:00')"
            connection.execute(query, ("plan/../../../escaped",))
            connection.execute(query, ("/etc/escaped",))
            connection.commit()
        place = tmp_path / "below" / "job"
        code, text = overlord("job", "export", "1", "--to", str(place))
        assert code == 0, text
        found = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
        assert "plan/_/_/_/escaped" in found
        assert "plan/etc/escaped" in found
        assert all(len(part) <= 100 and part[0] not in ".-" for path in found for part in path.split("/"))
        assert all(path.isascii() and path.isprintable() for path in found)
        assert [path.name for path in tmp_path.iterdir()] == ["below"]
        assert [path.name for path in (tmp_path / "below").iterdir()] == ["job"]
        readme = (place / "README.md").read_text()
        assert "<img" not in readme
        assert "http://" not in readme
        assert "\x1b" not in readme
        assert "\u202e" not in readme


async def test_evidence_that_was_removed_or_is_gone_is_said_in_the_manifest(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    async with told_story(monkeypatch) as world:
        home = world.root / "home"
        files = evidence.EvidenceStore(home / "evidence")
        rows = evidence_of(world)
        [transcript] = [item for item in rows if (item.kind, item.session_id) == ("transcript", "j1-work-1")]
        [diff] = [item for item in rows if (item.kind, item.session_id) == ("diff", "j1-work-2")]
        files.path(diff.sha256).write_text("changed")
        with closing(sqlite3.connect(home / "overlord.db")) as connection:
            gone = "UPDATE evidence SET removed_at = '2026-03-03T00:00:00+00:00' WHERE sha256 = ?"
            connection.execute(gone, (transcript.sha256,))
            connection.commit()
        code, text = overlord("job", "export", "1", "--to", str(tmp_path / "job"))
        assert code == 0
        assert "2 evidence files are not kept any more" in text
        manifest = json.loads((tmp_path / "job" / "manifest.json").read_text())
        assert [(item["kind"], item["session"]) for item in manifest["removed"]] == [
            ("transcript", "j1-work-1")
        ]
        assert [(item["kind"], item["session"]) for item in manifest["missing"]] == [("diff", "j1-work-2")]
        readme = (tmp_path / "job" / "README.md").read_text()
        assert "not here: the transcript of j1-work-1: removed on 2026-03-03" in readme


async def test_an_export_goes_over_nothing_and_says_what_is_there(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    async with told_story(monkeypatch):
        place = tmp_path / "job"
        place.mkdir()
        assert overlord("job", "export", "1", "--to", str(place))[0] == 0, "an empty directory is taken"
        code, said = overlord("job", "export", "1", "--to", str(place))
        assert (code, "has a whole export already" in said) == (5, True)
        (place / "manifest.json").rename(place / "unfinished.json")
        code, said = overlord("job", "export", "1", "--to", str(place))
        assert (code, "an export that was interrupted, with " in said) == (5, True)
        other = tmp_path / "mine"
        other.mkdir()
        (other / "letter").write_text("mine")
        code, said = overlord("job", "export", "1", "--to", str(other))
        assert (code, "is not empty" in said) == (5, True)
        assert [path.name for path in other.iterdir()] == ["letter"]
        link = tmp_path / "link"
        link.symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").mkdir()
        code, said = overlord("job", "export", "1", "--to", str(link))
        assert (code, "is no directory" in said) == (5, True)
        assert os.listdir(tmp_path / "elsewhere") == []
        code, said = overlord("job", "export", "7", "--to", str(tmp_path / "new"))
        assert (code, "there is no job 7" in said) == (4, True)
        assert not (tmp_path / "new").exists()


async def test_a_job_without_a_contract_of_version_2_has_its_brief_and_its_export_too(
    monkeypatch: pytest.MonkeyPatch, overlord: Typed, tmp_path: Path
) -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit("calc.py", "a * 2", "a * 3"), submit("broken"))
        world.model_will(edit("calc.py", "a * 3", "a * 2"), edit(*FIX), submit("mended"))
        await world.settle()
        await world.stop()
        monkeypatch.setenv("OVERLORD_HOME", str(world.root / "home"))
        monkeypatch.setenv("COLUMNS", "200")
        _, text = overlord("job", "brief", "1")
        assert "-- from evaluation 1" in text
        assert "-- from earlier session" in text
        _, text = overlord("history", "--detail", "1")
        assert "\nPhase implement\n" in text
        code, text = overlord("job", "export", "1", "--to", str(tmp_path / "job"))
        assert code == 0, text
        assert not (tmp_path / "job" / "final.json").exists(), "it has not ended"
        assert "sent back: " in (tmp_path / "job" / "README.md").read_text()
