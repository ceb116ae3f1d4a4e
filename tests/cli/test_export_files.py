"""How an exported job is written: names that stay inside, nothing replaced, and what an interruption leaves."""

import json
from pathlib import Path

import pytest

from overlord.entrypoints.export.names import Names, safe_name, safe_path
from overlord.entrypoints.export.writing import Bundle, check_free, write_files
from overlord.errors import Refused


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        ("plan.md", "plan.md"),
        ("../../etc/passwd", "_/_/etc/passwd"),
        ("/etc//passwd", "etc/passwd"),
        ("..", "_"),
        (".bashrc", "_bashrc"),
        ("-rf", "_rf"),
        ("", "_"),
        ("a\0b\nc\\d", "a_b_c_d"),
        ("\u202egnp.exe", "_gnp.exe"),
        ("é.md", "_.md"),
        ("a/" * 30 + "b", "a/" * 11 + "_".join(["a"] * 19 + ["b"])),
    ],
)
def test_a_path_of_others_stays_below_its_directory(path: str, safe: str) -> None:
    assert safe_path(path) == safe


def test_a_name_is_cut_where_a_file_system_would_not_take_it() -> None:
    assert len(safe_name("x" * 5000)) == 100


def test_names_that_come_to_the_same_are_numbered_also_where_one_is_a_directory() -> None:
    names = Names()
    assert [names.take(path) for path in ("a.md", "A.md", "a.md/b", "c/d", "c", "c/D", "README")] == [
        "a.md",
        "A-2.md",
        "a-3.md/b",
        "c/d",
        "c-2",
        "c/D-2",
        "README",
    ]


def test_what_an_interruption_left_is_said_and_nothing_is_written_over(tmp_path: Path) -> None:
    place = tmp_path / "job"
    with pytest.raises(Refused, match="cannot be written"):
        write_files(place, Bundle(files={"a": b"1", "a/b": b"2", "c": b"3"}), job=7)
    assert json.loads((place / "unfinished.json").read_text()) == {"job": 7, "files": 3}
    assert not (place / "manifest.json").exists()
    with pytest.raises(Refused, match="an export that was interrupted, with 2 files; remove it"):
        check_free(place)


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(Refused, match="is no directory"):
        write_files(tmp_path / "link", Bundle(files={"a": b"1"}), job=7)
    assert list((tmp_path / "there").iterdir()) == []


def test_what_is_written_is_its_owners_alone(tmp_path: Path) -> None:
    write_files(tmp_path / "deep" / "job", Bundle(files={"a/b": b"1"}), job=7)
    file = tmp_path / "deep" / "job" / "a" / "b"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
