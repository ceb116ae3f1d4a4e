"""`overlord skills validate`: needs no home and no settings, says what is wrong with each file as it was named."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Overlord
from tests.cli.test_main import program

GOOD = "name: good\ndescription: b\nversion: '1.0.0'\ntriggers: {keywords: [good]}\ninstructions: Do it.\n"
BAD = (
    "name: bad\ndescription: b\nversion: '1.0.0'\ntriggers: {keywords: [bad]}\ninstructions: |\n  rm -rf ~\n"
)
ODD = "name: odd\ndescription: b\nversion: '1.0.0'\ntriggers: {keywords: [odd]}\ninstructions: |\n  eval \"$x\"\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "skills"
    place.mkdir()
    for name, text in {"good": GOOD, "bad": BAD, "odd": ODD}.items():
        (place / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return place


def test_json_is_one_line_for_each_file_as_it_was_given(folder: Path, overlord: Overlord) -> None:
    (folder / "latin.yaml").write_bytes(b"\xff")
    (folder / "huge.yaml").write_text("#" * 70_000)
    names = ["good", "./skills/../skills/bad", "odd", "latin", "huge", "missing"]
    paths = [name if "/" in name else f"skills/{name}" for name in names]
    said = overlord("skills", "validate", *(f"{path}.yaml" for path in paths), "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["file"], row["verdict"]) for row in rows] == [
        ("skills/good.yaml", "accept"),
        ("./skills/../skills/bad.yaml", "reject"),
        ("skills/odd.yaml", "flag"),
        ("skills/latin.yaml", "reject"),
        ("skills/huge.yaml", "reject"),
        ("skills/missing.yaml", "reject"),
    ]
    assert said.code == 1
    assert [(item["rule"], item["line"]) for item in rows[1]["findings"]] == [("skill/destructive", 6)]
    assert all(row["findings"][0]["message"] for row in rows[1:])
    assert set(rows[0]) == {"file", "verdict", "findings"}


def test_people_get_a_table_and_a_folder_stands_for_its_skills(folder: Path, overlord: Overlord) -> None:
    said = overlord("skills", "validate", "skills")
    assert "skills/bad.yaml:6" in said.out
    assert "3 files: 1 accepted, 1 flagged for a person to look at, 1 rejected." in said.out
    assert said.code == 1


def test_flags_alone_are_no_failure(folder: Path, overlord: Overlord) -> None:
    assert overlord("skills", "validate", "skills/odd.yaml", "skills/good.yaml").code == 0


def test_a_folder_without_skills_is_no_pass(tmp_path: Path, overlord: Overlord) -> None:
    (tmp_path / "notes.txt").write_text("One.")
    said = overlord("skills", "validate", str(tmp_path), "--json")
    [finding] = json.loads(said.out)["findings"]
    assert (said.code, finding["message"]) == (1, "There are no skill files in it.")


def test_what_lies_in_a_folder_and_is_read_by_nobody_is_pointed_out(folder: Path, overlord: Overlord) -> None:
    (folder / "bad.yaml").unlink()
    (folder / "more").mkdir()
    (folder / "same.yml").write_text(GOOD)
    said = overlord("skills", "validate", "skills", "skills/same.yml", "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    told = [(row["file"], row["verdict"], [item["rule"] for item in row["findings"]]) for row in rows]
    assert told == [
        ("skills/good.yaml", "reject", ["skill/name-conflict", "skill/trigger-conflict"]),
        ("skills/more", "flag", ["skill/misplaced"]),
        ("skills/odd.yaml", "flag", ["skill/dynamic-code"]),
        (
            "skills/same.yml",
            "reject",
            ["skill/name-conflict", "skill/trigger-conflict", "skill/misplaced"],
        ),
    ]


def test_a_file_that_is_named_in_two_ways_is_in_no_conflict_with_itself(
    folder: Path, overlord: Overlord
) -> None:
    names = ["skills/good.yaml", "./skills/good.yaml", str(folder / "good.yaml")]
    said = overlord("skills", "validate", *names, "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["file"], row["verdict"]) for row in rows] == [(name, "accept") for name in names]


def test_a_pipe_is_not_waited_for(folder: Path, overlord: Overlord) -> None:
    os.mkfifo(folder / "pipe.yaml")
    said = overlord("skills", "validate", "skills/pipe.yaml", "--json")
    assert json.loads(said.out)["findings"][0]["message"] == "It is no regular file."


def test_it_needs_no_home_and_no_sound_settings(folder: Path) -> None:
    done = program(
        "skills",
        "validate",
        str(folder / "good.yaml"),
        "--json",
        OVERLORD_HOME="/nowhere",
        OVERLORD_RUNNER="none",
    )
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "accept")


def test_without_a_path_it_says_how(overlord: Overlord) -> None:
    assert overlord("skills", "validate").code == 2
