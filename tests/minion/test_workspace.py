"""The clone and its saves: always a step forward, whatever commands did to it."""

import os
import subprocess
from pathlib import Path

import pytest

from minion.errors import GitFailed
from minion.git import Git, failure
from minion.session import Session
from minion.workspace.workspace import Workspace
from tests.minion.conftest import make_session
from tests.minion.session_api import BRANCH, git, make_brief, make_repository


@pytest.fixture
def workspace(session: Session) -> Workspace:
    return session.workspace


@pytest.fixture
def far(tmp_path: Path) -> Path:
    return tmp_path / "far" / "repo.git"


def session_git() -> Git:
    return Git(os.environ["PATH"])


def shell(root: Path, command: str) -> None:
    subprocess.run(["bash", "-ec", command], cwd=root, check=True, capture_output=True)


def test_a_save_commits_everything_but_leftovers_under_our_name(workspace: Workspace, far: Path) -> None:
    (workspace.root / "new.txt").write_text("new")
    (workspace.root / "calc.py").unlink()
    for leftover in ("__pycache__/a.cpython-311.pyc", ".pytest_cache/x", "old.pyc"):
        (workspace.root / leftover).parent.mkdir(exist_ok=True)
        (workspace.root / leftover).touch()
    assert set(workspace.changed(workspace.snapshot())) == {"new.txt", "calc.py"}
    workspace.save("All of it\n\nand why")
    assert git(far, "ls-tree", "-r", "--name-only", BRANCH) == "new.txt"
    told = git(far, "log", "-1", "--format=%an <%ae>|%cn|%s", BRANCH)
    assert told == "Overlord Minion <minion@overlord.invalid>|Overlord Minion|All of it"
    assert workspace.head == git(far, "rev-parse", BRANCH)


@pytest.mark.parametrize("odd", ["\0", "\x1b[2J", "\r\n" * 50_000])
def test_whatever_the_message_holds_the_work_is_pushed(workspace: Workspace, far: Path, odd: str) -> None:
    (workspace.root / "new.txt").write_text("new")
    workspace.save(f"Done{odd}and told")
    assert git(far, "log", "-1", "--format=%s", BRANCH).startswith("Done")


def test_a_save_without_a_change_pushes_nothing(workspace: Workspace, far: Path) -> None:
    workspace.save("nothing")
    assert workspace.head is None
    assert git(far, "branch", "--list", BRANCH) == ""


def test_saves_follow_each_other_and_the_clones_own_history_stays_as_it_is(
    workspace: Workspace, far: Path
) -> None:
    for text in ("one", "two", "two"):
        (workspace.root / "new.txt").write_text(text)
        workspace.save(text)
    assert git(far, "log", "--format=%s", BRANCH).split() == ["two", "one", "seed"]
    assert git(workspace.root, "log", "--format=%s") == "seed"


@pytest.mark.parametrize(
    "damage",
    [
        "git commit -qam mine; git reset -q --hard HEAD~1; echo x > new.txt",
        "git checkout -q --orphan other; echo x > new.txt; git add new.txt",
        "echo x > new.txt; echo garbage > .git/index",
        "echo x > new.txt; rm .git/index; touch .git/index.lock",
        "echo x > new.txt; printf '#!/bin/sh\\nexit 1' > hook; chmod +x hook; mkdir -p .git/hooks; mv hook .git/hooks/pre-push; cp .git/hooks/pre-push .git/hooks/pre-commit; git config core.hooksPath .git/hooks",
        "git config user.email evil@example.invalid; git config commit.gpgsign true; git config remote.origin.url /nowhere; echo x > new.txt",
        "echo new.txt > .gitignore; echo x > new.txt; git add -f new.txt",
    ],
)  # fmt: skip
def test_whatever_a_command_did_the_tree_is_pushed(workspace: Workspace, far: Path, damage: str) -> None:
    (workspace.root / "calc.py").write_text("x = 1\n")
    workspace.save("first")
    shell(workspace.root, damage)
    workspace.save("second")
    assert git(far, "show", f"{BRANCH}:new.txt") == "x"
    assert git(far, "log", "-1", "--format=%ae", BRANCH) == "minion@overlord.invalid"


def test_an_edit_of_the_same_size_within_the_same_second_is_seen(workspace: Workspace) -> None:
    shell(workspace.root, "git config core.trustctime false")
    file, index = workspace.root / "calc.py", workspace.root / ".git/index"
    os.utime(file, (1_000_000_000, 1_000_000_000))
    shell(workspace.root, "git update-index --refresh")
    file.write_text("def add(a, b):\n    return a + b\n")
    for place in (file, index):
        os.utime(place, (1_000_000_000, 1_000_000_000))
    assert workspace.changed(workspace.snapshot()) == ("calc.py",)


def test_names_of_any_bytes_are_saved(workspace: Workspace, far: Path) -> None:
    (workspace.root / "naïve name\n.txt").write_text("x")
    assert workspace.changed(workspace.snapshot()) == ("naïve name\n.txt",)
    workspace.save("names")
    assert git(far, "show", f"{BRANCH}:naïve name\n.txt") == "x"


def test_a_repository_that_is_gone_fails_the_save_but_not_the_rescue(workspace: Workspace) -> None:
    (workspace.root / "new.txt").write_text("x")
    shell(workspace.root, "rm -rf .git")
    workspace.rescue("in progress")
    with pytest.raises(GitFailed, match="not a git repository"):
        workspace.save("done")


def test_a_rescue_keeps_what_it_can(workspace: Workspace, far: Path) -> None:
    (workspace.root / "new.txt").write_text("x")
    shell(workspace.root, "git init -q broken")
    with pytest.raises(GitFailed, match="broken: a git repository of its own inside this one"):
        workspace.save("done")
    workspace.rescue("in progress")
    assert git(far, "show", f"{BRANCH}:new.txt") == "x"


@pytest.mark.parametrize("at_base", [False, True])
def test_a_repository_inside_is_named_and_never_saved(workspace: Workspace, far: Path, at_base: bool) -> None:
    if at_base:
        (workspace.root / "vendor").mkdir()
        (workspace.root / "vendor" / "file").write_text("ours")
        workspace.save("before")
    (workspace.root / "new.txt").write_text("x")
    shell(
        workspace.root,
        "mkdir -p vendor; cd vendor; git init -q .; git commit -q --allow-empty -m inner; echo y > inner",
    )
    with pytest.raises(GitFailed, match=r"vendor: a git repository of its own .* Delete its \.git"):
        workspace.snapshot()
    workspace.rescue("in progress")
    assert git(far, "show", f"{BRANCH}:new.txt") == "x"
    assert "160000" not in git(far, "ls-tree", "-r", BRANCH)
    shell(workspace.root, "rm -rf vendor/.git")
    workspace.save("done")
    assert git(far, "show", f"{BRANCH}:vendor/inner") == "y"


def test_a_submodule_that_was_moved_is_named_and_put_back(tmp_path: Path) -> None:
    repository, _ = make_repository(tmp_path / "far", {"x": "1"})
    seed = tmp_path / "far" / "seed"
    git(seed, "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},m")
    git(seed, "commit", "--quiet", "-m", "a submodule")
    git(seed, "push", "--quiet", str(repository), "HEAD:main")
    base = git(seed, "rev-parse", "HEAD")
    home = tmp_path / "again"
    home.mkdir()
    workspace = Workspace(home, str(repository), make_brief(base, base), session_git(), patience_s=0)
    workspace.begin()
    workspace.wait()
    shell(workspace.root, "cd m; git init -q .; git commit -q --allow-empty -m inner")
    with pytest.raises(GitFailed, match="put a submodule back as it was"):
        workspace.save("done")
    (workspace.root / "x").write_text("2")
    workspace.rescue("in progress")
    assert git(home / "workspace", "rev-parse", f"{workspace.head}:m") == "a" * 40
    shell(workspace.root, "rm -rf m; mkdir m")
    assert workspace.changed(workspace.snapshot()) == ("x",)


def test_a_directory_that_became_a_link_to_nowhere_and_links_in_circles_are_saved(
    workspace: Workspace, far: Path
) -> None:
    shell(workspace.root, "ln -s b a; ln -s a b; ln -s . here; ln -s /nowhere gone")
    workspace.save("links")
    listed = git(far, "ls-tree", "-r", BRANCH).splitlines()
    assert [line.split("\t")[1] for line in listed if line.startswith("120000")] == ["a", "b", "gone", "here"]


def test_a_save_goes_on_top_of_what_was_pushed_beside_it_and_never_forces(
    workspace: Workspace, far: Path
) -> None:
    (workspace.root / "new.txt").write_text("in progress")
    workspace.save("in progress")
    seed = far.parent / "seed"
    git(seed, "fetch", "--quiet", str(far), BRANCH)
    git(seed, "checkout", "--quiet", "FETCH_HEAD")
    (seed / "theirs.txt").write_text("x")
    git(seed, "add", "theirs.txt")
    git(seed, "commit", "--quiet", "-m", "another clone")
    git(seed, "push", "--quiet", str(far), f"HEAD:refs/heads/{BRANCH}")
    (workspace.root / "new.txt").write_text("x")
    workspace.save("done")
    assert git(far, "log", "--format=%s", BRANCH).splitlines() == [
        "done",
        "another clone",
        "in progress",
        "seed",
    ]
    assert git(far, "ls-tree", "-r", "--name-only", BRANCH).split() == ["calc.py", "new.txt"]
    assert workspace.head == git(far, "rev-parse", BRANCH)


def test_what_a_command_pushed_and_took_back_is_not_what_is_saved(workspace: Workspace, far: Path) -> None:
    git(far, "config", "receive.denyNonFastForwards", "true")
    (workspace.root / "calc.py").write_text("x = 1\n")
    workspace.save("saved")
    push = f"git add -A; git commit -qm mine; git push -q {far} HEAD:refs/heads/{BRANCH}"
    shell(
        workspace.root,
        f"git fetch -q {far} {BRANCH}; git reset -q --soft FETCH_HEAD; echo y > calc.py; {push}",
    )
    assert git(far, "show", f"{BRANCH}:calc.py") == "y"
    (workspace.root / "calc.py").write_text("x = 1\n")
    workspace.save("done")
    assert git(far, "show", f"{BRANCH}:calc.py") == "x = 1"
    assert git(far, "log", "--format=%s", BRANCH).split() == ["done", "mine", "saved", "seed"]
    before = git(far, "rev-parse", BRANCH)
    workspace.save("again")
    assert git(far, "rev-parse", BRANCH) == before, "the branch holds it already"


def test_a_clone_that_fails_says_why(tmp_path: Path) -> None:
    workspace = Workspace(
        tmp_path, str(tmp_path / "none.git"), make_brief(), Git("/usr/bin:/bin"), patience_s=0
    )
    workspace.begin()
    with pytest.raises(GitFailed, match=r"git clone: .*does not exist"):
        workspace.wait()
    assert not workspace.is_ready
    workspace = Workspace(tmp_path, "x", make_brief(), Git("/nowhere"), patience_s=0)
    workspace.begin()
    with pytest.raises(GitFailed, match="No such file or directory: 'git'"):
        workspace.wait()


@pytest.mark.parametrize(
    ("said", "transient"),
    [
        ("fatal: unable to access 'x': Failed to connect to 127.0.0.1 port 1: Connection refused", True),
        ("error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503", True),
        ("fatal: the remote end hung up unexpectedly", True),
        ("error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413", False),
        (" ! [remote rejected] a -> b (hook declined)\nerror: failed; the remote end hung up", False),
        ("fatal: not a git repository", False),
    ],
)
def test_only_a_cut_way_to_the_door_is_worth_another_try(said: str, transient: bool) -> None:
    assert failure("push", said).transient is transient


def test_a_repository_with_a_file_that_is_not_utf8_is_cloned(tmp_path: Path) -> None:
    session = make_session(tmp_path, {"latin.txt": b"caf\xe9"})
    assert (session.workspace.root / "latin.txt").read_bytes() == b"caf\xe9"
