"""A session's repository: base's history, its own branch, and nothing that could be had by knowing its name."""

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.errors import GitFailed, PushRejected
from overlord.home import Home
from tests.plumbing import DELETED, Files, commit, run

NAME = RepositoryName("Acme/Calc")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-7"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CANARY = "canary-0123456789"


class Ground:
    """An external service with `main`, and Overlord's git."""

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.far = root / "far.git"
        run(self.far, "init", "--quiet", "--bare", "--initial-branch=main", str(self.far))
        self.base = commit(self.far, "main", {"calc.py": "x = 1\n", "docs/a.md": "a\n"})
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = GitMirrors(self.home)
        self.mirror = self.home.mirror(NAME)
        self.quarantine = self.home.session_repository(SESSION)

    async def refresh(self) -> None:
        await self.git.refresh_mirror(NAME, Remote(url=str(self.far)))

    async def prepare(self, base: Sha | None = None, head: Sha | None = None) -> None:
        base = base or self.base
        await self.git.prepare_session(NAME, SESSION, {"main": base, BRANCH: head or base}, BRANCH)

    def objects(self) -> set[str]:
        listed = run(
            self.quarantine, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"
        )
        return set(listed.split())


@pytest.fixture
async def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path)
    await made.refresh()
    return made


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def on_top_of(ground: Ground, parent: Sha) -> tuple[str, str]:
    """Push a commit whose parent the client does not have but knows by name; the commit, and what was said to it."""
    client = ground.far.parent / "client.git"
    run(client, "init", "--quiet", "--bare", str(client))
    run(client, "fetch", "--quiet", str(ground.quarantine), "+refs/heads/*:refs/heads/*")
    tree = run(client, "rev-parse", "main^{tree}")
    text = (
        f"tree {tree}\nparent {parent}\nauthor m <m@x> 1 +0000\ncommitter m <m@x> 1 +0000\n\nmine\n".encode()
    )
    made = run(client, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
    place = client / "one"
    stem = run(client, "pack-objects", "--quiet", str(place), stdin=f"{made}\n".encode())
    sent = packet(f"{ground.base} {made} refs/heads/{BRANCH}\0 report-status") + b"0000"
    sent += Path(f"{place}-{stem}.pack").read_bytes()
    said = run(ground.quarantine, "receive-pack", "--stateless-rpc", str(ground.quarantine), stdin=sent)
    return made, said


async def test_another_branch_cannot_be_had_by_pushing_on_top_of_it(ground: Ground) -> None:
    secret = commit(ground.far, "secret", {"fix": CANARY}, parent=ground.base)
    await ground.refresh()
    await ground.prepare()
    _, said = on_top_of(ground, secret)
    assert f"ng refs/heads/{BRANCH}" in said
    assert run(ground.quarantine, "rev-parse", BRANCH) == ground.base
    made, said = on_top_of(ground, ground.base)
    assert f"ok refs/heads/{BRANCH}" in said
    assert run(ground.quarantine, "rev-parse", BRANCH) == made


async def test_a_sessions_repository_borrows_nothing_and_holds_no_other_history(ground: Ground) -> None:
    secret = commit(ground.far, "secret", {"fix": CANARY}, parent=ground.base)
    later = commit(ground.far, "main", {"calc.py": "x = 2\n"}, parent=ground.base)
    await ground.refresh()
    await ground.git.ready_copy(NAME, later)
    await ground.prepare()
    assert not (ground.quarantine / "objects" / "info" / "alternates").exists()
    assert ground.base in ground.objects()
    assert not {secret, later, run(ground.far, "rev-parse", f"{secret}:fix")} & ground.objects()


async def test_a_revision_has_the_head_it_goes_on_from_and_not_what_others_made(ground: Ground) -> None:
    await ground.prepare()
    commit(ground.quarantine, BRANCH, {"x": "mine"}, parent=ground.base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=ground.base, message="m", at=AT)
    other = commit(ground.mirror, "minion/issue-8", {"y": "theirs"}, parent=ground.base)
    await ground.git.remove_session(SESSION)
    await ground.prepare(head=head)
    assert await ground.git.session_tree(SESSION, BRANCH) == tree
    assert other not in ground.objects()


async def test_work_on_a_base_that_was_forced_away_is_still_taken_in(ground: Ground) -> None:
    await ground.prepare()
    commit(ground.far, "main", {"all": "new"})
    await ground.refresh()
    commit(ground.quarantine, BRANCH, {"x": "1"}, parent=ground.base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=ground.base, message="m", at=AT)
    assert [change.path for change in await ground.git.changes(NAME, ground.base, head)] == ["x"]


async def test_what_a_session_has_is_its_own_when_the_ready_copy_is_gone(ground: Ground) -> None:
    await ground.prepare()
    shutil.rmtree(ground.home.ready(NAME))
    assert await ground.git.session_tree(SESSION, BRANCH) == await ground.git.tree_of(NAME, ground.base)
    run(ground.quarantine, "fsck", "--full")


# What git would refuse, and was there before.

REFUSED = '[submodule "../../x"]\n\tpath = x\n\turl = -u./payload\n'


async def test_its_branches_are_those_that_git_lists(ground: Ground) -> None:
    refs = {"main": ground.base, "a/b": ground.base, "zoë": ground.base, BRANCH: ground.base}
    await ground.git.prepare_session(NAME, SESSION, refs, BRANCH)
    listed = run(ground.quarantine, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)")
    assert dict(line.split() for line in listed.splitlines()) == refs
    run(ground.quarantine, "pack-refs", "--all")
    assert run(ground.quarantine, "fsck", "--strict") == ""


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a\nb", "a..b", ".a", "a/.b", "a.lock", "a.lock/b", "-a", "/a", "a/", "a//b", "@", "a@{b"],
)
async def test_what_git_takes_for_no_name_of_a_branch_is_refused(ground: Ground, name: str) -> None:
    with pytest.raises(GitFailed, match="is no name of a branch"):
        await ground.git.prepare_session(NAME, SESSION, {name: ground.base, BRANCH: ground.base}, BRANCH)


async def test_a_branch_named_as_the_beginning_of_another_is_refused(ground: Ground) -> None:
    with pytest.raises(GitFailed, match="refs/heads/minion exists"):
        await ground.git.prepare_session(NAME, SESSION, {"minion": ground.base, BRANCH: ground.base}, BRANCH)


@pytest.mark.parametrize("place", ["", "vendor/lib/"])
async def test_a_base_whose_gitmodules_git_refuses_can_be_worked_on(tmp_path: Path, place: str) -> None:
    """Also in a home with a space and a comma in its path, which git would take for the end of a file's."""
    ground = Ground(tmp_path / "my home, old")
    base = commit(ground.far, "main", {f"{place}.gitmodules": REFUSED}, parent=ground.base)
    await ground.refresh()
    await ground.prepare(base)
    assert taken_in(ground, commit_beside(ground, {f"{place}x": "1"}, base))
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=base, message="m", at=AT)
    assert [change.path for change in await ground.git.changes(NAME, base, head)] == [f"{place}x"]


@pytest.mark.parametrize("known", [False, True])
async def test_a_gitmodules_that_git_refuses_is_not_taken_in_from_a_session(
    ground: Ground, known: bool
) -> None:
    base = commit(ground.far, "main", {".gitmodules": REFUSED if known else "\n"}, parent=ground.base)
    await ground.refresh()
    await ground.prepare(base)
    said = pushed(ground, commit_beside(ground, {".gitmodules": f"# mine\n{REFUSED}"}, base))
    assert "gitmodulesName: disallowed submodule name: ../../x" in said
    assert run(ground.quarantine, "rev-parse", BRANCH) == base


def commit_beside(ground: Ground, files: Files, parent: Sha) -> tuple[Path, Sha]:
    """A commit in a clone of the session's own."""
    client = ground.far.parent / "client.git"
    run(client, "init", "--quiet", "--bare", str(client))
    run(client, "fetch", "--quiet", str(ground.quarantine), "+refs/heads/*:refs/heads/*")
    return client, commit(client, BRANCH, files, parent=parent)


def pushed(ground: Ground, made: tuple[Path, Sha]) -> str:
    """What a push of it is told."""
    client, head = made
    words = ("push", str(ground.quarantine), f"{head}:refs/heads/{BRANCH}")
    command = ["git", f"--git-dir={client}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def taken_in(ground: Ground, made: tuple[Path, Sha]) -> bool:
    said = pushed(ground, made)
    assert run(ground.quarantine, "rev-parse", BRANCH) == made[1], said
    return True


# The mirror.


async def test_a_mirror_of_one_branch_has_that_and_the_minions_own(ground: Ground, tmp_path: Path) -> None:
    for branch in ("topic", "main2", "minion/issue-1", "minion/issue-2"):
        commit(ground.far, branch, {"x": branch}, parent=ground.base)
    git, remote = GitMirrors(Home(tmp_path / "other")), Remote(url=str(ground.far))
    for _ in range(2):
        await git.refresh_mirror(NAME, remote, branches=["main"])
        seen = {
            b
            for b in ("main", "main2", "topic", "minion/issue-1", "minion/issue-2")
            if await git.branch_head(NAME, b)
        }
        assert seen == {"main", "minion/issue-1", "minion/issue-2"}
    run(ground.far, "update-ref", "-d", "refs/heads/minion/issue-2")
    run(ground.far, "branch", "-m", "main", "trunk")
    await git.refresh_mirror(NAME, remote, branches=["main", "trunk"])
    seen = {
        b for b in ("main", "trunk", "minion/issue-1", "minion/issue-2") if await git.branch_head(NAME, b)
    }
    assert seen == {"trunk", "minion/issue-1"}
    await git.refresh_mirror(NAME, remote, branches=["main"])
    assert await git.branch_head(NAME, "main") is None


async def test_an_empty_repository_has_no_base_branch_to_mirror(ground: Ground, tmp_path: Path) -> None:
    empty = tmp_path / "empty.git"
    run(empty, "init", "--quiet", "--bare", str(empty))
    name = RepositoryName("acme/empty")
    await ground.git.refresh_mirror(name, Remote(url=str(empty)), branches=["main"])
    assert await ground.git.branch_head(name, "main") is None


# Odd names and branches.


async def test_a_name_that_is_no_text_is_taken_out_by_how_it_is_shown(ground: Ground) -> None:
    await ground.prepare()
    files: Files = {b"a\xff": "out\n", b"d\xe9p/b": "out\n", "calc.py": "kept = True\n", "docs/a.md": DELETED}
    commit(ground.quarantine, BRANCH, files, parent=ground.base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=ground.base, message="m", at=AT)
    paths = [change.path for change in await ground.git.changes(NAME, ground.base, head)]
    dropped = [path for path in paths if path != "calc.py"]
    assert dropped == ["a\\xff", "docs/a.md", "d\\xe9p/b"]
    made = await ground.git.drop(
        NAME, head, base=ground.base, paths=dropped, parent=ground.base, message="m", at=AT
    )
    assert [change.path for change in await ground.git.changes(NAME, ground.base, made)] == ["calc.py"]


async def test_a_name_at_base_that_is_no_text_is_put_back(ground: Ground) -> None:
    base = commit(ground.far, "main", {b"a\xff": "as it was\n"}, parent=ground.base)
    await ground.refresh()
    await ground.prepare(base)
    commit(ground.quarantine, BRANCH, {b"a\xff": DELETED, "x": "1"}, parent=base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=base, message="m", at=AT)
    made = await ground.git.drop(NAME, head, base=base, paths=["a\\xff"], parent=base, message="m", at=AT)
    assert [change.path for change in await ground.git.changes(NAME, base, made)] == ["x"]


async def test_a_branch_that_is_in_the_way_of_ours_is_said(ground: Ground) -> None:
    commit(ground.far, "minion", {"x": "1"})
    await ground.refresh()
    await ground.prepare()
    remote = Remote(url=str(ground.far))
    with pytest.raises(
        PushRejected, match="has a branch called minion, and git keeps no branch minion/… beside it"
    ):
        await ground.git.push(NAME, remote, sha=ground.base, branch=BRANCH, expected=None)
