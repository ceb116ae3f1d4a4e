"""What a session pushed is measured before anything reads it whole."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.git.content import listing
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.errors import GitFailed
from overlord.home import Home
from tests.plumbing import Files, bomb, commit, nested, run

NAME = RepositoryName("acme/calc")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-1"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Ground:
    """An external service with `main`, and a session that began with it."""

    def __init__(self, root: Path) -> None:
        self.far = root / "far.git"
        run(self.far, "init", "--quiet", "--bare", "--initial-branch=main", str(self.far))
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = GitMirrors(self.home)
        self.quarantine = self.home.session_repository(SESSION)
        self.base = Sha("")

    async def begin(self, base: Sha) -> None:
        self.base = base
        await self.git.refresh_mirror(NAME, Remote(url=str(self.far)))
        await self.git.prepare_session(NAME, SESSION, {"main": base, BRANCH: base}, BRANCH)

    async def excess(self, head: Sha) -> str:
        tree = Sha(run(self.quarantine, "rev-parse", f"{head}^{{tree}}"))
        return await self.git.excess(SESSION, tree=tree, parent=self.base)

    def work(self, files: Files) -> Sha:
        return commit(self.quarantine, BRANCH, files, parent=self.base)


@pytest.fixture
async def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path)
    await made.begin(commit(made.far, "main", {f"d{number}/f": f"{number}\n" for number in range(40)}))
    return made


async def test_ordinary_work_is_not_too_large(ground: Ground) -> None:
    lib = ("160000", ground.base.encode())
    assert await ground.excess(ground.work({"new": "x", "d1/f": "y", "d2/f": ("", b""), "lib": lib})) == ""
    assert await ground.excess(ground.work({f"d{number}": ("", b"") for number in range(39)})) == ""


async def test_trees_that_name_themselves_list_ten_million_files_and_are_measured_at_once(
    ground: Ground,
) -> None:
    head = bomb(ground.quarantine, BRANCH, levels=7)
    assert await ground.excess(head) == "it makes the list of files longer by 10,000,000 bytes or more"


async def test_directories_without_files_count_too(ground: Ground) -> None:
    head = bomb(ground.quarantine, BRANCH, levels=7, leaf="")
    assert await ground.excess(head) == "it makes the list of files longer by 10,000,000 bytes or more"


@pytest.mark.parametrize(
    ("depth", "said"),
    [
        (1000, ""),
        (2100, "the path of a file in it has more than 4,096 bytes"),
        (30_000, "it makes the list of files longer by 10,000,000 bytes or more"),
    ],
)
@pytest.mark.parametrize("leaf", ["x", ""])
async def test_directories_may_not_lie_too_deep(ground: Ground, depth: int, said: str, leaf: str) -> None:
    assert await ground.excess(nested(ground.quarantine, BRANCH, depth, leaf=leaf)) == said


async def test_a_list_may_be_as_long_as_it_was_and_some(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(listing), "MOST_MORE_BYTES", 1000)
    assert len(run(ground.quarantine, "ls-tree", "-r", ground.base)) > 1000
    assert await ground.excess(ground.work({"new": "x"})) == "", "what was there before is longer than that"
    head = ground.work({f"new{number}": "x" for number in range(20)})
    assert await ground.excess(head) == "it makes the list of files longer by 1,000 bytes or more"
    monkeypatch.setitem(vars(listing), "MOST_MORE_BYTES", 2000)
    assert await ground.excess(head) == ""
    monkeypatch.setitem(vars(listing), "MOST_LISTED_BYTES", 5000)
    assert "longer" in await ground.excess(head), "nothing is accepted that is not read afterwards"


async def test_a_large_file_counts_as_often_as_it_is_named(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(listing), "MOST_CHANGED_BYTES", 10_000)
    large = "x" * 2_000
    assert await ground.excess(ground.work({f"n{number}": large for number in range(5)})) == ""
    head = ground.work({f"n{number}": large for number in range(6)})
    assert await ground.excess(head) == "the files it changes have more than 10,000 bytes together"
    instead: Files = {f"d{number}/f": ("", b"") for number in range(6)}
    head = ground.work({**instead, **{f"d{number}": large for number in range(6)}})
    assert "together" in await ground.excess(head), "in the place of a directory too"


async def test_a_commit_people_pushed_that_lists_without_end_is_a_failure_and_has_no_ready_files(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = bomb(ground.far, "main", levels=4)
    await ground.git.refresh_mirror(NAME, Remote(url=str(ground.far)))
    monkeypatch.setitem(vars(listing), "MOST_LISTED_BYTES", 100_000)
    with pytest.raises(GitFailed, match="is longer than 100,000 bytes"):
        await ground.git.listing(NAME, base)
    with pytest.raises(GitFailed, match="is longer than 100,000 bytes"):
        await ground.git.sizes(NAME, base)
    assert await ground.git.ready_copy(NAME, base) is None
