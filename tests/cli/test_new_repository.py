"""An empty folder becomes a repository, in that folder and nowhere else; documents keep their names, wherever they lie."""

import asyncio
import os
from pathlib import Path

import pytest

from overlord.entrypoints.local.init.new_repository import start_repository
from overlord.errors import Refused
from tests.local import git


@pytest.mark.parametrize("is_relative", [False, True])
def test_an_empty_folder_becomes_a_repository_with_a_first_commit(
    tmp_path: Path, *, is_relative: bool
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    made = asyncio.run(start_repository(Path(os.path.relpath(folder)) if is_relative else folder))
    assert made.root == folder
    assert [entry.name for entry in folder.iterdir()] == [".git"]
    assert git(folder, "rev-parse", "--is-bare-repository", "--abbrev-ref", "HEAD") == "false\nmain"
    assert git(folder, "log", "--format=%s") == "Start"
    (folder / "a.txt").write_text("a\n")
    assert git(folder, "status", "--short") == "?? a.txt"


def test_a_folder_with_something_in_it_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(Refused, match=f"{tmp_path} is in no git repository and not empty"):
        asyncio.run(start_repository(tmp_path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
