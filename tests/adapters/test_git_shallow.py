"""A mirror that began with a part of the history: everything after works as over a whole one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Extent
from overlord.errors import GitFailed, PushRejected
from overlord.home import Home
from tests.adapters.far_end import served_as_files
from tests.plumbing import Files, commit, run

NAME = RepositoryName("Acme/Calc")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-7"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DEPTH = 3


class Ground:
    """An external service with ten commits, and an Overlord's git that begins with three of them."""

    def __init__(self, root: Path) -> None:
        self.far = root / "far.git"
        run(self.far, "init", "--quiet", "--bare", "--initial-branch=main", str(self.far))
        self.commits: list[Sha] = []
        for number in range(10):
            self.push({"n": str(number), f"f{number}": "x\n"})
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = GitMirrors(self.home, extent=lambda _: Extent(history_depth=DEPTH))
        self.mirror = self.home.mirror(NAME)
        self.remote = Remote(url=str(self.far))

    def push(self, files: Files) -> Sha:
        parent = self.commits[-1] if self.commits else None
        self.commits.append(commit(self.far, "main", files, parent=parent))
        return self.commits[-1]

    async def refresh(self, *commits: Sha) -> None:
        await self.git.refresh_mirror(NAME, self.remote, branches=["main"], commits=commits)

    def history(self, repository: Path | None = None, head: str = "main") -> list[str]:
        return run(repository or self.mirror, "log", "--format=%H", head).split()

    async def work(self, base: Sha, files: Files, *, head: Sha | None = None) -> Sha:
        """A session on top of base, and the commit that is made of its work."""
        await self.git.remove_session(SESSION)
        await self.git.prepare_session(NAME, SESSION, {"main": base, BRANCH: head or base}, BRANCH)
        commit(self.home.session_repository(SESSION), BRANCH, files, parent=head or base)
        tree = await self.git.session_tree(SESSION, BRANCH)
        assert tree is not None
        return await self.git.canonical_commit(
            NAME, SESSION, tree=tree, parent=head or base, message="m", at=AT
        )

    async def changed(self, base: Sha, head: Sha) -> list[str]:
        return [change.path for change in await self.git.changes(NAME, base, head)]


@pytest.fixture
async def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path)
    await made.refresh()
    return made


async def test_the_first_fetch_takes_a_part_and_later_ones_go_on_from_there(ground: Ground) -> None:
    assert ground.history() == ground.commits[:-4:-1]
    for number in range(5):
        ground.push({"n": f"later {number}"})
    await ground.refresh()
    assert ground.history() == ground.commits[:-9:-1]


async def test_without_a_depth_all_is_fetched(ground: Ground, tmp_path: Path) -> None:
    whole = GitMirrors(Home(tmp_path / "whole"))
    await whole.refresh_mirror(NAME, ground.remote, branches=["main"])
    assert ground.history(Home(tmp_path / "whole").mirror(NAME)) == ground.commits[::-1]


async def test_work_is_made_judged_and_pushed_over_it(ground: Ground) -> None:
    base = ground.commits[-1]
    head = await ground.work(base, {"x": "1"})
    assert await ground.changed(base, head) == ["x"]
    await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=None)
    assert ground.history(ground.far, BRANCH) == [head, *ground.commits[::-1]]
    after = await ground.work(base, {"y": "2"}, head=head)
    assert sorted(await ground.changed(base, after)) == ["x", "y"]
    with pytest.raises(PushRejected):
        await ground.git.push(NAME, ground.remote, sha=after, branch=BRANCH, expected=base)
    await ground.git.push(NAME, ground.remote, sha=after, branch=BRANCH, expected=head)
    await ground.refresh()
    assert await ground.git.branch_head(NAME, BRANCH) == after


async def test_a_session_and_its_ready_copy_end_where_their_own_history_does(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    other = ground.commits[2]
    for number in range(5):
        other = commit(ground.far, "minion/issue-1", {"fix": f"{number}"}, parent=other)
    await ground.refresh()
    assert len((ground.mirror / "shallow").read_text().split()) == 2
    base = ground.commits[-1]
    await ground.work(base, {"x": "1"})
    place = await ground.git.ready_copy(NAME, base)
    assert place is not None
    quarantine = ground.home.session_repository(SESSION)
    for repository, head in ((quarantine, "main"), (place / "repo.git", base)):
        assert ground.history(repository, head) == ground.commits[:-4:-1]
        assert (repository / "shallow").read_text().split() == [ground.commits[-3]]
        run(repository, "fsck", "--full")
    assert other not in run(quarantine, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")


async def test_a_copy_of_a_later_commit_is_made_on_top_of_the_one_before(ground: Ground) -> None:
    first = await ground.git.ready_copy(NAME, ground.commits[-1])
    base = ground.push({"n": "next"})
    await ground.refresh()
    second = await ground.git.ready_copy(NAME, base)
    assert first is not None and second is not None
    packs = [
        {file.stat().st_ino for file in (copy / "repo.git/objects/pack").iterdir()}
        for copy in (first, second)
    ]
    assert packs[0] < packs[1]
    assert ground.history(second / "repo.git", base) == ground.commits[:-5:-1]


async def test_a_base_that_is_forced_to_before_the_boundary_is_followed(ground: Ground) -> None:
    await ground.git.ready_copy(NAME, ground.commits[-1])
    early = ground.commits[2]
    run(ground.far, "update-ref", "refs/heads/main", early)
    await ground.refresh()
    assert await ground.git.branch_head(NAME, "main") == early
    head = await ground.work(early, {"x": "1"})
    assert await ground.changed(early, head) == ["x"]
    await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=None)
    assert ground.history(ground.far, BRANCH) == [head, *ground.commits[2::-1]]


async def test_a_base_that_is_forced_to_another_history_is_followed(ground: Ground) -> None:
    base = ground.commits[-1]
    await ground.git.ready_copy(NAME, base)
    other = commit(ground.far, "main", {"all": "new"})
    await ground.refresh()
    assert await ground.git.branch_head(NAME, "main") == other
    assert await ground.changed(base, await ground.work(base, {"x": "1"})) == ["x"]
    assert await ground.changed(other, await ground.work(other, {"x": "1"})) == ["x"]


async def test_a_job_whose_base_is_older_than_what_was_fetched_gets_all_of_the_history(
    ground: Ground,
) -> None:
    early = ground.commits[1]
    with pytest.raises(GitFailed):
        await ground.git.ready_copy(NAME, early)
    await ground.refresh(early)
    assert ground.history() == ground.commits[::-1]
    assert await ground.changed(early, await ground.work(early, {"x": "1"})) == ["x"]
    await ground.refresh(early)


async def test_a_session_that_began_before_all_was_fetched_is_taken_in_after(ground: Ground) -> None:
    base = ground.commits[-1]
    await ground.git.prepare_session(NAME, SESSION, {"main": base, BRANCH: base}, BRANCH)
    await ground.refresh(ground.commits[0])
    commit(ground.home.session_repository(SESSION), BRANCH, {"x": "1"}, parent=base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=base, message="m", at=AT)
    assert ground.history(head=head) == [head, *ground.commits[::-1]]


async def test_a_base_without_commits_yet_is_fetched_in_part_once_there_are_some(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    run(ground.far, "branch", "-m", "main", "trunk")
    await ground.refresh()
    run(ground.far, "branch", "-m", "trunk", "main")
    await ground.refresh()
    assert ground.history() == ground.commits[:-4:-1]


async def test_a_server_that_gives_no_part_is_asked_for_all(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    run(ground.far, "update-server-info")
    with served_as_files(tmp_path) as url:
        remote = Remote(url=f"{url}/far.git")
        await ground.git.refresh_mirror(NAME, remote, branches=["main"])
    assert ground.history() == ground.commits[::-1]
    assert await ground.changed(ground.commits[-1], await ground.work(ground.commits[-1], {"x": "1"})) == [
        "x"
    ]


async def test_a_failure_of_another_kind_is_no_reason_to_ask_for_all(ground: Ground, tmp_path: Path) -> None:
    git = GitMirrors(Home(tmp_path / "other"), extent=lambda _: Extent(history_depth=DEPTH))
    with pytest.raises(GitFailed, match="does not appear to be a git repository"):
        await git.refresh_mirror(NAME, Remote(url=str(tmp_path / "nowhere")), branches=["main"])
