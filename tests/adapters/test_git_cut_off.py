"""A mirror whose making a power cut has undone in part is made anew: what git writes there first may not have come to the disk."""

from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName
from overlord.domain.launch import Remote
from overlord.home import Home
from tests.plumbing import commit, run

NAME = RepositoryName("acme/calc")


@pytest.mark.parametrize("lost", ["HEAD", "config"])
@pytest.mark.parametrize("left", [b"", None], ids=["empty", "gone"])
async def test_a_mirror_that_is_no_repository_is_made_anew(
    tmp_path: Path, lost: str, left: bytes | None
) -> None:
    far = tmp_path / "far.git"
    run(far, "init", "--quiet", "--bare", "--initial-branch=main", str(far))
    base = commit(far, "main", {"calc.py": "x = 1\n"})
    home = Home(tmp_path / "home")
    home.root.mkdir()
    await GitMirrors(home).refresh_mirror(NAME, Remote(url=str(far)))
    file = home.mirror(NAME) / lost
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    git = GitMirrors(home)
    await git.refresh_mirror(NAME, Remote(url=str(far)))
    assert await git.branch_head(NAME, "main") == base
    assert await git.read_file(NAME, base, "calc.py") == b"x = 1\n"
