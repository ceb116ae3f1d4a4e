"""What answers where the forge should, and is no git: nothing is concluded from it, and nothing is forgotten for it."""

from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName
from overlord.domain.launch import Remote
from overlord.errors import GitFailed
from overlord.home import Home
from tests.adapters.far_end import saying, served_as_files
from tests.plumbing import commit, run

NAME = RepositoryName("acme/calc")
SMART = "application/x-git-upload-pack-advertisement"
ANSWERS = {
    "nothing": ("text/html", b""),
    "a-line": ("application/json", b'{"message":"ok"}'),
    "a-page": ("text/html", b"<html>\n<body>Sign in</body>\n"),
    "nothing-of-gits-kind": (SMART, b""),
    "a-line-of-gits-kind": (SMART, b"<html>Sign in</html>"),
    "half-an-answer": (SMART, b"001e# service=git-upload-pack\n0000"),
}


@pytest.fixture
def far(tmp_path: Path) -> Path:
    place = tmp_path / "far.git"
    run(place, "init", "--quiet", "--bare", "--initial-branch=main", str(place))
    return place


@pytest.fixture
def git(tmp_path: Path) -> GitMirrors:
    (tmp_path / "home").mkdir()
    return GitMirrors(Home(tmp_path / "home"))


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_is_no_gits_is_a_failure_and_no_empty_repository(
    answer: str, far: Path, git: GitMirrors, tmp_path: Path
) -> None:
    base = commit(far, "main", {"a": "1"})
    commit(far, "minion/issue-1", {"a": "2"}, parent=base)
    await git.refresh_mirror(NAME, Remote(url=str(far)), branches=["main"])
    mirror = Home(tmp_path / "home").mirror(NAME)
    before = run(mirror, "for-each-ref")
    with saying(*ANSWERS[answer]) as url:
        remote = Remote(url=f"{url}/acme/calc.git")
        for branches in (["main"], ["main", "minion/issue-1"], ["gone"]):
            with pytest.raises(GitFailed):
                await git.refresh_mirror(NAME, remote, branches=branches)
        with pytest.raises(GitFailed):
            await git.refresh_mirror(RepositoryName("acme/new"), remote, branches=["main"])
        with pytest.raises(GitFailed):
            await git.remote_head(NAME, remote, "main")
        with pytest.raises(GitFailed):
            await git.push(NAME, remote, sha=base, branch="minion/issue-2", expected=None)
    assert run(mirror, "for-each-ref") == before


async def test_an_empty_repository_is_one(far: Path, git: GitMirrors) -> None:
    await git.refresh_mirror(NAME, Remote(url=str(far)), branches=["main"])
    assert await git.branch_head(NAME, "main") is None
    assert await git.remote_head(NAME, Remote(url=str(far)), "main") is None


async def test_a_branch_that_is_not_there_is_not_there_on_a_server_that_only_knows_files(
    far: Path, git: GitMirrors, tmp_path: Path
) -> None:
    head = commit(far, "main", {"a": "1"})
    run(far, "update-server-info")
    with served_as_files(tmp_path) as url:
        remote = Remote(url=f"{url}/far.git")
        await git.refresh_mirror(NAME, remote, branches=["main"])
        assert await git.remote_head(NAME, remote, "other") is None
        assert await git.remote_head(NAME, remote, "main") == head
