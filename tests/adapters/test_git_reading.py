"""Many files read at a commit in one go."""

import shutil
from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName
from overlord.domain.launch import Remote
from overlord.errors import GitFailed
from overlord.home import Home
from tests.plumbing import Files, commit, run

NAME = RepositoryName("acme/calc")


async def test_files_are_read_and_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    run(far, "init", "--quiet", "--bare", str(far))
    files: Files = {
        "a b.txt": b"spaces\n",
        "no-newline": b"x",
        "empty": b"",
        "deep/é.toml": b"\x00\n\n",
        "long": b"y" * 50,
    }
    base = commit(far, "main", files)
    mirrors = GitMirrors(Home(tmp_path / "home"))
    await mirrors.refresh_mirror(NAME, Remote(url=str(far)))
    asked = [
        "a b.txt",
        "missing",
        "deep",
        "no-newline",
        "line\nbreak",
        "empty",
        "deep/é.toml",
        "long",
        "of blob 7",
    ]
    found = await mirrors.read_files(NAME, base, asked, limit_bytes=20)
    assert found == {**files, "long": b"y" * 20}
    assert await mirrors.read_files(NAME, base, []) == {}


async def test_what_a_commit_holds_is_asked_once_and_a_commit_that_is_not_there_is_no_empty_one(
    tmp_path: Path,
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    run(far, "init", "--quiet", "--bare", str(far))
    mirrors, remote = GitMirrors(Home(tmp_path / "home")), Remote(url=str(far))
    commit(far, "other", {"b": b"2"})
    await mirrors.refresh_mirror(NAME, remote)
    base = commit(far, "main", {"a": b"1"})
    with pytest.raises(GitFailed, match="not in the mirror"):
        await mirrors.read_files(NAME, base, ["a"])
    await mirrors.refresh_mirror(NAME, remote)
    assert await mirrors.read_files(NAME, base, ["a"]) == {"a": b"1"}
    assert list(await mirrors.listing(NAME, base)) == ["a"]
    shutil.rmtree(tmp_path / "home")
    assert await mirrors.read_files(NAME, base, ["a"]) == {"a": b"1"}
    assert list(await mirrors.listing(NAME, base)) == ["a"]
