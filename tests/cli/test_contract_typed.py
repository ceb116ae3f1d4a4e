"""`overlord contract …`: what is typed, what a terminal of 80 columns and a program get, and how it ends."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.home import Home
from overlord.store import jobs, sessions
from overlord.store.contracts import job_contracts
from tests.architecture import query_schemas
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import harmful, nothing
from tests.contracts import CREW, crew
from tests.plumbing import Files, commit, run
from tests.records import NOW, REPO
from tests.stored import claim, prepare

LOOKS = (("show",), ("explain", "src/api/x.py"), ("graph",))


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A contract beside a checkout."""
    path = tmp_path / "crew.yaml"
    path.write_text(CREW)
    return str(path)


def mirrored(home: Home, branch: str, files: Files, *, parent: str | None = None) -> Sha:
    """A commit in the daemon's mirror."""
    mirror = home.mirror(REPO)
    if not mirror.exists():
        mirror.mkdir(parents=True)
        run(mirror, "init", "--quiet", "--bare")
    return commit(mirror, branch, files, parent=parent)


# Show, explain, graph


def test_a_contract_is_shown(overlord: Overlord, file: str) -> None:
    shown = overlord("contract", "show", "--file", file)
    assert shown.code == 0 and shown.out.startswith("Contract crew\nRead from the given contract.\n")
    for said in (
        "src/api/**, package.json, Makefile",
        "pytest, ruff",
        "plan->red",
        "done: red, blocked: ship",
    ):
        assert said in shown.out
    assert "architect: works in plan; verified by diff_non_empty; exhausted: ask" in shown.out


@pytest.mark.parametrize("words", LOOKS)
def test_it_fits_80_columns(home: Home, file: str, words: tuple[str, ...]) -> None:
    """As a program of its own: how wide a terminal is, is found out when it starts."""
    environment = {**os.environ, "OVERLORD_HOME": str(home.root), "COLUMNS": "80", "TTY_COMPATIBLE": "1"}
    typed = [sys.executable, "-m", "overlord", "contract", *words, "--file", file]
    shown = subprocess.run(
        typed, env={**environment, "NO_COLOR": "1"}, capture_output=True, text=True, check=True
    )
    lines = shown.stdout.splitlines()
    assert lines and max(len(re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip()) for line in lines) <= 80


@pytest.mark.parametrize("words", LOOKS)
def test_it_is_json_as_published(overlord: Overlord, file: str, words: tuple[str, ...]) -> None:
    said = overlord("contract", *words, "--file", file, "--json")
    name = "contract" if words[0] == "show" else f"contract-{words[0]}"
    Draft202012Validator(query_schemas.schema(name)).validate(json.loads(said.out))


def test_what_is_printed_as_yaml_is_the_contract(overlord: Overlord, file: str) -> None:
    assert load_contract(overlord("contract", "show", "--file", file, "--yaml").out, "printed") == crew()
    assert overlord("contract", "show", "--yaml", "--json").code == 2


def test_the_only_repository_is_meant_and_the_built_in_ones_have_names(overlord: Overlord) -> None:
    assert overlord("contract", "show").out.startswith("Contract default, for acme/calc\n")
    assert overlord("contract", "show", "calc").out.startswith("Contract default, for acme/calc\n")
    found = overlord("contract", "show", "--built-in", "approve-scope")
    assert "Read from the built-in contract approve-scope." in found.out
    missing = overlord("contract", "show", "--built-in", "none-such")
    assert missing.code == 4 and "default" in missing.err
    assert overlord("contract", "show", "acme/none").code == 4


def test_two_contracts_are_not_one(overlord: Overlord, file: str) -> None:
    assert overlord("contract", "show", REPO, "--file", file).code == 5


def test_a_path_is_explained(overlord: Overlord, file: str) -> None:
    found = json.loads(overlord("contract", "explain", "./src/api/x.py", "--file", file, "--json").out)
    assert (found["path"], found["writers"], found["idle"]) == ("src/api/x.py", ["backend"], ["auditor"])
    shown = overlord("contract", "explain", ".env", "--file", file).out
    assert "No role may write .env." in shown and "secret_paths: .env*" in shown
    assert overlord("contract", "explain", "two words.txt", "--file", file).code == 0
    for path in ("../x", "/", "src/../../x", "a\x1b[2Jb"):
        assert overlord("contract", "explain", path, "--file", file).code == 2


def test_a_graph_is_written_as_a_drawing(overlord: Overlord, file: str, tmp_path: Path) -> None:
    drawing = tmp_path / "crew.svg"
    assert overlord("contract", "graph", "--file", file, "--svg", str(drawing)).code == 0
    assert "plan_approval" in drawing.read_text() and drawing.read_text().startswith("<?xml")
    nowhere = overlord("contract", "graph", "--file", file, "--svg", str(tmp_path / "no" / "x.svg"))
    assert nowhere.code == 5 and "cannot be written" in nowhere.err


def test_what_a_repository_has_at_base_goes_before_the_settings(overlord: Overlord, filled: Filled) -> None:
    home = filled(nothing)
    head = mirrored(home, "main", {".nebulus/contract/contract.yaml": CREW})
    shown = overlord("contract", "show", REPO).out
    assert f"Contract crew, for acme/calc\nRead from .nebulus/contract at {head[:7]}.\n" in shown
    mirrored(home, "main", {".nebulus/contract/contract.yaml": "version: 2\n"}, parent=head)
    broken = overlord("contract", "show", REPO)
    assert broken.code == 3 and ".nebulus/contract" in broken.err


def test_a_mirror_without_a_contract_changes_nothing(overlord: Overlord, filled: Filled) -> None:
    mirrored(filled(nothing), "main", {"calc.py": "x"})
    assert "the built-in contract default, as the settings say" in overlord("contract", "show", REPO).out


def test_a_job_has_the_contract_it_keeps(overlord: Overlord, filled: Filled) -> None:
    def keeps(connection: sqlite3.Connection) -> None:
        job_contracts.keep(connection, claim(connection).id, crew(), "the built-in contract crew", at=NOW)
        claim(connection, 8)

    filled(keeps)
    shown = overlord("contract", "show", "--job", "1").out
    assert "Read from the built-in contract crew, kept by job 1." in shown
    assert "job 2 keeps none of its own yet" in overlord("contract", "show", "--job", "2").out
    assert "Read from the built-in contract crew" in overlord("contract", "graph", "--job", "#7").out
    assert overlord("contract", "show", "--job", "9").code == 4
    assert overlord("contract", "show", "--job", "x").code == 2


# Check


def test_a_good_contract_ends_with_nought(overlord: Overlord, file: str) -> None:
    said = overlord("contract", "check", file)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"{file}: contract crew has 5 roles, 4 phases, 2 gates. It breaks no rule.\n"
    found = json.loads(overlord("contract", "check", file, "--json").out)
    assert (found["name"], found["problems"]) == ("crew", [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CREW.replace("lifetime: {hours: 24, usd: 20}\n", ""), "lifetime"),
        (CREW.replace("actors: [tester]", "actors: [nobody]"), "nobody"),
        ("a: [", "cannot be read as YAML"),
        ("", ""),
        ("- a list\n", ""),
    ],
)
def test_a_bad_contract_ends_with_one_and_says_why(
    overlord: Overlord, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    shown = overlord("contract", "check", str(path))
    assert shown.code == 1 and said in shown.out
    found = overlord("contract", "check", str(path), "--json")
    assert found.code == 1 and json.loads(found.out)["problems"][0]["message"]


def test_every_problem_is_told_with_its_line_and_what_to_do(overlord: Overlord, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(CREW.replace(", exhausted: ask", "").replace("verification: [diff_non_empty], ", ""))
    lines = overlord("contract", "check", str(path)).out.splitlines()
    assert f"{path}:8 rule 3.1 roles.tester: role tester has no verification" in lines
    assert "  fix: write `verification: [diff_non_empty]`, or another criterion" in lines
    found = json.loads(overlord("contract", "check", str(path), "--json").out)["problems"]
    assert {item["rule"] for item in found} == {"3.1", "4.2"} and lines[
        -1
    ] == f"{path}: {len(found)} problems."


def checkout(place: Path, files: dict[str, str]) -> Path:
    for name, text in {".git/HEAD": "ref: refs/heads/main\n", **files}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def test_a_checkouts_contract_is_found_from_any_folder_in_it(
    overlord: Overlord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = checkout(tmp_path / "code", {".nebulus/contract/contract.yaml": CREW, "src/x.py": ""})
    assert overlord("contract", "check", str(place / "src")).code == 0
    monkeypatch.chdir(place / "src")
    assert overlord("contract", "check").code == 0
    monkeypatch.chdir(checkout(tmp_path / "other", {"src/x.py": ""}))
    assert overlord("contract", "check").code == 4
    assert overlord("contract", "check", str(tmp_path / "nowhere")).code == 4


def test_a_contract_may_be_two_files(overlord: Overlord, tmp_path: Path) -> None:
    team, _, phases = CREW.partition("phases:\n")
    pair = {".nebulus/contract/team.yaml": team, ".nebulus/contract/phases.yaml": f"phases:\n{phases}"}
    assert overlord("contract", "check", str(checkout(tmp_path / "two", pair))).code == 0
    half = checkout(tmp_path / "half", {".nebulus/contract/team.yaml": team})
    assert overlord("contract", "check", str(half)).code == 1
    both = checkout(tmp_path / "both", {**pair, ".nebulus/contract/contract.yaml": CREW})
    assert "keep it in one of the files" in overlord("contract", "check", str(both)).out
    twice = checkout(tmp_path / "twice", {**pair, ".nebulus/contract/phases.yaml": CREW})
    assert "keep it in one of the files" in overlord("contract", "check", str(twice)).out


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * 1_000_001])
def test_what_is_no_text_or_too_long_is_a_sentence(
    overlord: Overlord, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    assert overlord("contract", "check", str(path)).code == 1
    assert overlord("contract", "show", "--file", str(path)).code == 3
    assert overlord("contract", "show", "--file", str(tmp_path / "none.yaml")).code == 4
    path.write_text("")
    assert overlord("contract", "show", "--file", str(path)).code == 3, "an empty file is no contract"


# Try


def ended(changes: dict[int, tuple[Sha, Sha]]) -> Callable[[sqlite3.Connection], None]:
    """Jobs of an hour, with a session of 61 turns in the first, and these commits."""

    def fill(connection: sqlite3.Connection) -> None:
        for number in (1, 2, 3):
            job = claim(connection, number)
            session = prepare(connection, job)
            sessions.mark(connection, session.id, turn=61 if number == 1 else 5)
            sessions.end(connection, session, at=NOW + timedelta(minutes=9), ending="exited")
            if number in changes:
                base, head = changes[number]
                jobs.repair(connection, job.id, base_sha=base, head_sha=head)
            if number < 3:
                later = NOW + timedelta(hours=number)
                jobs.move(connection, job.id, EventName.STOPPED, at=later, data={"reason": "x"})

    return fill


def test_a_contract_is_held_over_the_jobs_that_ended(
    overlord: Overlord, filled: Filled, home: Home, file: str
) -> None:
    base = mirrored(home, "main", {"calc.py": "x"})
    head = mirrored(home, "work", {"calc.py": "y", "src/api/a.py": "z", ".env": "K=1"}, parent=base)
    filled(ended({1: (base, head), 2: (base, Sha("d" * 40))}))
    found = json.loads(overlord("contract", "try", "--file", file, "--json").out)
    second, first = found["jobs"]
    assert [item["path"] for item in first["refused"]] == [".env", "calc.py"] and first["files"] == 3
    assert first["stopped"] == ["j1-work-1 took 61 turns; its largest budget has 60"]
    assert first["gates"] == ["plan_approval", "merge"]
    assert (second["files"], second["refused"], second["stopped"]) == (None, [], [])
    summed = {name: found[name] for name in ("questions", "refused", "stopped", "without_diff")}
    assert summed == {"questions": 4, "refused": 2, "stopped": 1, "without_diff": 1}
    shown = overlord("contract", "try", "--file", file).out
    assert shown.startswith("Contract crew held over 2 jobs\n")
    assert "its diff is not there any more" in shown
    assert "Together: gates would have asked 4 times, 2 files refused, 1 job stopped" in shown
    only = json.loads(overlord("contract", "try", REPO, "--last", "1", "--built-in", "default", "--json").out)
    assert [item["job"] for item in only["jobs"]] == [2] and only["contract"] == "default"


def test_without_a_job_that_ended_there_is_nothing_to_try(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    assert "No job has ended yet." in overlord("contract", "try").out
    assert overlord("contract", "try", "--last", "0").code == 2
    assert overlord("contract", "try", "acme/none").code == 4


def test_hostile_names_of_files_do_nothing(overlord: Overlord, filled: Filled, home: Home, file: str) -> None:
    base = mirrored(home, "main", {"calc.py": "x"})
    head = mirrored(home, "work", {"x\x1b[2J\u202e.py": "y"}, parent=base)
    filled(ended({1: (base, head)}))
    for form in ((), ("--json",)):
        assert harmful(overlord("contract", "try", "--file", file, *form).out) == []


# Experience


def test_what_happened_under_a_contract_is_told(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    assert "No job of this repository has worked yet." in overlord("contract", "experience").out

    def state(connection: sqlite3.Connection) -> None:
        for number in (1, 2):
            job = claim(connection, number)
            jobs.note(
                connection,
                job.id,
                EventName.CONTRACT_TAKEN,
                at=NOW,
                data={"contract": "crew", "phase": "plan"},
            )
            jobs.note(connection, job.id, EventName.GATE_REACHED, at=NOW, data={"gate": "plan_approval"})
            given: dict[str, Json] = {"gate": "plan_approval", "verb": "approve"}
            jobs.note(connection, job.id, EventName.DECISION_ANSWERED, at=NOW, data=given)
            jobs.note(connection, job.id, EventName.SCOPE_WIDENED, at=NOW, data={"patterns": ["docs/**"]})

    filled(state)
    shown = overlord("contract", "experience", REPO)
    assert shown.code == 0 and shown.out.startswith("Experience of 2 jobs of acme/calc\n2 jobs: 2 not over. Contracts: crew (2).")  # fmt: skip
    assert "plan_approval: never refused in 2." in shown.out
    assert "docs/** for a role that is not known, 2 times." in shown.out
    found = json.loads(overlord("contract", "experience", "--json").out)
    assert found["experience"]["gates"] == [{"name": "plan_approval", "asked": 2, "approved": 2, "rejected": 0, "reused": 0}]  # fmt: skip
    Draft202012Validator(query_schemas.schema("contract-experience")).validate(found)
    assert overlord("contract", "experience", "acme/none").code == 4


def test_experience_is_of_one_repository(
    overlord: Overlord, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(nothing)
    monkeypatch.setenv("OVERLORD_REPOS", "acme/calc,acme/web")
    refused = overlord("contract", "experience")
    assert refused.code == 5 and "say which repository" in refused.err
