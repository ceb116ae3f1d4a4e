"""Bringing the base branch into a job's work, in the bare mirror: nothing is checked out and nothing of a tree runs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.domain.scope.check import Merge
from overlord.errors import GitFailed
from overlord.home import Home
from tests.plumbing import DELETED, Files, commit, run

NAME = RepositoryName("acme/calc")
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BASE: Files = {"calc.py": "one\ntwo\nthree\nfour\nfive\n", "docs/a.md": "a\n", "gone.txt": "x\n"}


class Sides:
    """A mirror in which two branches left the same commit."""

    def __init__(self, root: Path) -> None:
        self.far = root / "far.git"
        run(self.far, "init", "--quiet", "--bare", "--initial-branch=main", str(self.far))
        self.base = commit(self.far, "main", BASE)
        home = Home(root / "home")
        home.root.mkdir()
        self.git, self.mirror = GitMirrors(home), home.mirror(NAME)

    async def merge(self, ours: Files, theirs: Files) -> tuple[Sha, Sha, Merge]:
        head = commit(self.far, "minion/issue-1", ours, parent=self.base)
        other = commit(self.far, "main", theirs, parent=self.base)
        await self.git.refresh_mirror(NAME, Remote(url=str(self.far)))
        return head, other, await self.git.merge(NAME, head, other, message="Bring it in", at=AT)

    async def show(self, merge: Merge, path: str) -> str:
        return (await self.git.read_file(NAME, Sha(merge.commit), path) or b"").decode()


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(tmp_path)


async def test_both_sides_are_in_the_commit_and_both_are_its_parents(sides: Sides) -> None:
    head, other, merge = await sides.merge(
        {"calc.py": "one\ntwo\nthree\nfour\n5\n", "new.py": "n\n"},
        {"calc.py": "1\ntwo\nthree\nfour\nfive\n", "gone.txt": DELETED},
    )
    assert merge.conflicts == ()
    assert await sides.show(merge, "calc.py") == "1\ntwo\nthree\nfour\n5\n"
    assert (
        run(sides.mirror, "log", "-1", "--format=%P %an %s", merge.commit)
        == f"{head} {other} Overlord Bring it in"
    )
    changed = [change.path for change in await sides.git.changes(NAME, other, Sha(merge.commit))]
    assert changed == ["calc.py", "new.py"], "against its new base it is our change alone"
    assert await sides.git.merge(NAME, head, other, message="Bring it in", at=AT) == merge
    assert await sides.git.merge_base(NAME, Sha(merge.commit), other) == other


async def test_what_both_changed_is_named_and_holds_both_between_marks(sides: Sides) -> None:
    name = "an odd\nname.md"
    _, _, merge = await sides.merge(
        {"calc.py": "ours\n", "docs/a.md": DELETED, name: "ours\n"},
        {"calc.py": "theirs\n", "docs/a.md": "b\n", name: "theirs\n"},
    )
    assert sorted(merge.conflicts) == sorted(["calc.py", "docs/a.md", name])
    text = await sides.show(merge, "calc.py")
    assert text.index("<<<<<<<") < text.index("ours") < text.index("=======") < text.index("theirs")


async def test_a_driver_that_the_repository_names_does_not_run(sides: Sides, tmp_path: Path) -> None:
    attributes: Files = {".gitattributes": "calc.py merge=evil\n"}
    sides.base = commit(sides.far, "main", {**BASE, **attributes})
    run(sides.far, "config", "merge.evil.driver", f"touch {tmp_path}/ran; true")
    _, _, merge = await sides.merge(
        {"calc.py": "ours\n", **attributes}, {"calc.py": "theirs\n", **attributes}
    )
    assert merge.conflicts == ("calc.py",)
    assert not (tmp_path / "ran").exists()


async def test_histories_that_have_nothing_in_common_are_no_merge(sides: Sides) -> None:
    run(sides.far, "update-ref", "-d", "refs/heads/main")
    other = commit(sides.far, "main", {"else.py": "x\n"})
    run(sides.far, "update-ref", "refs/heads/minion/issue-1", sides.base)
    await sides.git.refresh_mirror(NAME, Remote(url=str(sides.far)))
    assert await sides.git.merge_base(NAME, sides.base, other) is None
    with pytest.raises(GitFailed, match="unrelated histories"):
        await sides.git.merge(NAME, sides.base, other, message="m", at=AT)
