"""A diff is read with the list of changes, or not at all."""

from pathlib import Path

import pytest

from overlord.domain.changes.diff import Line, is_cut, parse_diff
from tests.domain.differ import Repository, edit, together


def test_lines_have_their_numbers_and_blocks() -> None:
    changes, diff = together(edit("a.py", "one\ntwo\nthree\n", "one\n2\n3\nthree\nfour\n"))
    [file] = parse_diff(changes, diff) or ()
    assert list(file.removed) == [Line("-", "two", 2)]
    assert list(file.added) == [Line("+", "2", 2), Line("+", "3", 3), Line("+", "four", 5)]
    assert [(len(removed), len(added)) for removed, added in file.hunks[0].blocks] == [(1, 2), (0, 1)]
    assert file.text == diff


def test_real_git_in_every_shape(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    long = "".join(f"line {number}\n" for number in range(60))
    base = repository.commit(
        {
            'ä\n"b".txt': "x\n",
            "deep/moved.txt": long,
            "gone.txt": "bye\n",
            "link": "a file\n",
            "picture": b"\0\1",
            "photo": b"\0\1",
            "no-newline": "end",
            "many.txt": long,
        }
    )
    head = repository.commit(
        {
            'ä\n"b".txt': "diff --git a/x b/x\n@@ -1 +1 @@\n+y\n-z\n\\ No newline at end of file\n[cut: the diff is longer than 1 bytes]\n",
            "deep/moved.txt": None,
            "deeper/moved.txt": long.replace("line 7\n", "line seven\r\nand \u2028 more\n"),
            "gone.txt": None,
            "link": Path("picture"),
            "picture": b"\0\2",
            "photo": Path("picture"),
            "no-newline": "other end",
            "many.txt": long.replace("line 3\n", "").replace("line 50\n", "50\n50\n"),
            "empty": "",
        }
    )
    repository.git("update-index", "--chmod=+x", "many.txt")
    changes, diff = repository.between(base, head)
    files = parse_diff(changes, diff)
    assert files is not None
    assert "".join(file.text for file in files) == diff
    by_path = {file.change.path: file for file in files}
    assert by_path["deeper/moved.txt"].change.old_path == "deep/moved.txt"
    assert [line.text for line in by_path["deeper/moved.txt"].added] == ["line seven\r", "and \u2028 more"]
    assert by_path["link"].change.status == "T"
    assert [line.text for line in by_path["link"].removed] == ["a file"]
    assert [line.text for line in by_path["link"].added] == ["picture"]
    assert [line.text for line in by_path["no-newline"].added] == ["other end"]
    assert len(by_path["many.txt"].hunks) == 2
    assert not by_path["empty"].hunks
    assert not by_path["picture"].hunks
    assert not is_cut(diff)


@pytest.mark.parametrize(
    "damage",
    [
        lambda diff: diff[:-1],
        lambda diff: diff.replace("+2\n", ""),
        lambda diff: diff.replace("+2\n", "?2\n"),
        lambda diff: diff.replace("+2\n", "+2\n+3\n"),
        lambda diff: diff.replace("-1,3 +1,3", "-1,2 +1,3"),
        lambda diff: diff.replace("@@ -1,3", "@@ nonsense"),
        lambda diff: diff[: diff.index(" three")],
        lambda diff: f"{diff}diff --git a/b b/b\n",
        lambda diff: f"{diff}[cut: the diff is longer than 9 bytes]\n",
        lambda diff: f"garbage\n{diff}",
        lambda diff: "",
    ],
)
def test_a_text_that_does_not_fit_is_no_diff(damage: object) -> None:
    changes, diff = together(edit("a.py", "one\ntwo\nthree\n", "one\n2\nthree\n"))
    assert parse_diff(changes, diff) is not None
    assert callable(damage)
    assert parse_diff(changes, damage(diff)) is None


def test_lines_of_another_change_are_noticed() -> None:
    changes, diff = together(edit("a.py", "1\n", "2\n"), edit("b.py", "1\n", "2\n3\n"))
    assert parse_diff(changes[::-1], diff) is None


def test_a_missing_newline_in_the_middle_of_a_hunk() -> None:
    changes, _ = together(edit("a", "x\n", "y\n"))
    text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n"
    [file] = parse_diff(changes, text) or ()
    assert [line.sign for line in file.hunks[0].lines] == ["-", "+"]


def test_what_was_cut_says_so() -> None:
    _, diff = together(edit("a.py", "1\n", "2\n"))
    assert is_cut(f"{diff[:-3]}\n[cut: the diff is longer than 12 bytes]\n")
    assert not is_cut(diff)
