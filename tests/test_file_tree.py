"""Files that people and programs write to at the same time: whole or not at all, and through no link."""

import os
from pathlib import Path

import pytest

from overlord.file_tree import FileTree, UnreadableFileError, digest_of


@pytest.fixture
def tree(tmp_path: Path) -> FileTree:
    (tmp_path / "home").mkdir()
    return FileTree(tmp_path / "home")


def test_a_file_is_written_read_and_taken_away(tree: FileTree) -> None:
    assert (tree.read("a/b/c.md", most=9), tree.mark("a/b/c.md")) == (None, "")
    tree.put("a/b/c.md", b"one")
    first = tree.mark("a/b/c.md")
    tree.put("a/b/c.md", b"two!")
    assert tree.read("a/b/c.md", most=4) == b"two!"
    assert "" != tree.mark("a/b/c.md") != first
    assert [path.name for path in (tree.root / "a/b").iterdir()] == ["c.md"]
    assert (tree.root / "a/b/c.md").stat().st_mode & 0o077 == 0
    tree.remove("a/b/c.md")
    tree.remove("a/b/c.md")
    assert tree.read("a/b/c.md", most=4) is None


def test_what_somebody_wrote_meanwhile_is_left(tree: FileTree) -> None:
    tree.put("plan.md", b"theirs")
    for expected in ("", digest_of(b"ours")):
        with pytest.raises(UnreadableFileError, match="somebody wrote to it meanwhile"):
            tree.put("plan.md", b"new", expected=expected)
    assert tree.read("plan.md", most=99) == b"theirs"
    tree.put("plan.md", b"new", expected=digest_of(b"theirs"))
    tree.put("other.md", b"new", expected="")
    assert sorted(path.name for path in tree.root.iterdir()) == ["other.md", "plan.md"]


def test_no_link_is_followed(tree: FileTree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s3cret")
    (tree.root / "link.md").symlink_to(outside / "secret")
    (tree.root / "folder").symlink_to(outside)
    for path in ("link.md", "folder/secret", "folder/new"):
        with pytest.raises(UnreadableFileError):
            tree.put(path, b"owned")
        with pytest.raises(UnreadableFileError):
            tree.read(path, most=99)
        with pytest.raises(UnreadableFileError):
            tree.remove(path)
    assert (outside / "secret").read_text() == "s3cret"
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (tree.root / "link.md").is_symlink()


def test_what_is_no_plain_file_or_too_large_is_a_sentence(tree: FileTree) -> None:
    (tree.root / "folder.md").mkdir()
    os.mkfifo(tree.root / "pipe.md")
    (tree.root / "large.md").write_bytes(b"x" * 2048)
    (tree.root / "file").write_bytes(b"")
    for path, said in (
        ("folder.md", "it is no plain file"),
        ("pipe.md", "it is no plain file"),
        ("large.md", "it is larger than 1 kB"),
        ("file/below.md", "remove it"),
    ):
        with pytest.raises(UnreadableFileError, match=said):
            tree.read(path, most=1024)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "a\0b"])
def test_a_path_stays_below(tree: FileTree, path: str) -> None:
    with pytest.raises(UnreadableFileError):
        tree.put(path, b"owned")
    with pytest.raises(UnreadableFileError):
        tree.read(path, most=9)
