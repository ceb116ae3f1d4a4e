"""Git on repositories of our own: mirrors follow the forge, sessions see what they may, hostile trees change nothing."""

import asyncio
import os
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.scope.check import Change
from overlord.errors import GitFailed, PushRefused, PushRejected
from overlord.home import Home
from tests.plumbing import DELETED, Files, commit, plant, run

NAME = RepositoryName("Acme/Calc")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-7"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CANARY = "canary-0123456789"
ABSENT = Sha("f" * 40)


@dataclass
class Ground:
    """An external service with one branch, and an Overlord's git beside it."""

    home: Home
    git: GitMirrors
    far: Path
    base: Sha

    @property
    def remote(self) -> Remote:
        return Remote(url=str(self.far))

    @property
    def mirror(self) -> Path:
        return self.home.mirror(NAME)

    @property
    def quarantine(self) -> Path:
        return self.home.session_repository(SESSION)

    async def refresh(self) -> None:
        await self.git.refresh_mirror(NAME, self.remote)

    async def prepare(self) -> None:
        await self.git.prepare_session(NAME, SESSION, {"main": self.base, BRANCH: self.base}, BRANCH)

    async def canonical(self, message: str = "Add a file") -> Sha:
        tree = await self.git.session_tree(SESSION, BRANCH)
        assert tree is not None
        return await self.git.canonical_commit(
            NAME, SESSION, tree=tree, parent=self.base, message=message, at=AT
        )

    async def submit(self, files: Files) -> Sha:
        """What a session pushed, as the canonical commit it becomes."""
        await self.prepare()
        commit(self.quarantine, BRANCH, files, parent=self.base)
        return await self.canonical()

    async def changes(self, files: Files) -> dict[str, Change]:
        head = await self.submit(files)
        found = await self.git.changes(NAME, self.base, head)
        assert len({change.path for change in found}) == len(found)
        return {change.path: change for change in found}


BASE: Files = {
    "README.md": "# calc\n",
    "calc.py": "def add(a, b):\n    return a - b\n" * 5,
    "run.sh": ("100755", b"#!/bin/sh\n"),
    "docs/a.md": "a\n",
}


@pytest.fixture
async def ground(tmp_path: Path) -> Ground:
    far = tmp_path / "far.git"
    run(far, "init", "--quiet", "--bare", "--initial-branch=main", str(far))
    base = commit(far, "main", BASE)
    home = Home(tmp_path / "home")
    home.root.mkdir()
    made = Ground(home=home, git=GitMirrors(home), far=far, base=base)
    await made.refresh()
    return made


# The mirror.


async def test_a_mirror_follows_its_branches(ground: Ground) -> None:
    other = commit(ground.far, "topic", {"x": "1"}, parent=ground.base)
    assert await ground.git.branch_head(NAME, "topic") is None
    await ground.refresh()
    assert await ground.git.branch_head(NAME, "topic") == other
    forced = commit(ground.far, "topic", {"y": "2"})
    await ground.refresh()
    assert await ground.git.branch_head(NAME, "topic") == forced
    run(ground.far, "update-ref", "-d", "refs/heads/topic")
    await ground.refresh()
    assert await ground.git.branch_head(NAME, "topic") is None
    assert await ground.git.branch_head(NAME, "main") == ground.base


async def test_a_branch_that_became_a_directory_of_branches_is_followed(ground: Ground) -> None:
    commit(ground.far, "topic", {"x": "1"})
    await ground.refresh()
    run(ground.far, "update-ref", "-d", "refs/heads/topic")
    below = commit(ground.far, "topic/one", {"x": "2"})
    await ground.refresh()
    assert await ground.git.branch_head(NAME, "topic/one") == below


async def test_only_branches_are_mirrored(ground: Ground) -> None:
    secret = commit(ground.far, "gone", {"x": "1"})
    run(ground.far, "update-ref", "refs/tags/v1", secret)
    run(ground.far, "update-ref", "refs/pull/3/head", secret)
    run(ground.far, "update-ref", "-d", "refs/heads/gone")
    await ground.refresh()
    assert run(ground.mirror, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


async def test_a_repository_without_commits_has_no_branch(ground: Ground, tmp_path: Path) -> None:
    empty = tmp_path / "empty.git"
    run(empty, "init", "--quiet", "--bare", str(empty))
    name = RepositoryName("acme/empty")
    await ground.git.refresh_mirror(name, Remote(url=str(empty)))
    assert await ground.git.branch_head(name, "main") is None


async def test_a_mirror_that_was_never_made_has_no_branch(ground: Ground) -> None:
    assert await ground.git.branch_head(RepositoryName("acme/never"), "main") is None


async def test_two_refreshes_at_once_are_one_after_the_other(ground: Ground) -> None:
    head = commit(ground.far, "topic", {"x": "1"})
    await asyncio.gather(*(ground.refresh() for _ in range(4)))
    assert await ground.git.branch_head(NAME, "topic") == head


async def test_a_far_end_that_is_gone_is_a_failure_with_its_last_words(ground: Ground) -> None:
    ground.far.rename(ground.far.with_name("moved.git"))
    with pytest.raises(GitFailed, match=r"git fetch failed: .*does not appear to be a git repository"):
        await ground.refresh()
    assert await ground.git.branch_head(NAME, "main") == ground.base


async def test_a_repository_that_cannot_be_read_is_a_failure_and_not_an_absent_branch(ground: Ground) -> None:
    (ground.mirror / "config").write_text("[core\n")
    with pytest.raises(GitFailed, match="bad config"):
        await ground.git.branch_head(NAME, "main")


async def test_a_missing_git_is_a_failure_and_not_an_absent_branch(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await ground.prepare()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match=r"git cannot be started: .*; install git"):
        await ground.git.session_tree(SESSION, BRANCH)


# A session's repository.


async def test_a_session_sees_its_branches_and_nothing_else(ground: Ground) -> None:
    commit(ground.far, "secret", {"fix": "the answer"}, parent=ground.base)
    await ground.refresh()
    await ground.prepare()
    refs = run(ground.quarantine, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    assert refs == [f"refs/heads/main {ground.base}", f"refs/heads/{BRANCH} {ground.base}"]
    assert run(ground.quarantine, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert not (ground.quarantine / "hooks").exists()


async def test_preparing_again_leaves_what_was_pushed(ground: Ground) -> None:
    await ground.prepare()
    pushed = commit(ground.quarantine, BRANCH, {"x": "1"}, parent=ground.base)
    await ground.prepare()
    assert run(ground.quarantine, "rev-parse", f"refs/heads/{BRANCH}") == pushed


async def test_what_was_prepared_by_half_is_made_anew(ground: Ground) -> None:
    await ground.prepare()
    (ground.quarantine / "ready").unlink()
    (ground.quarantine / "HEAD").unlink()
    await ground.prepare()
    assert await ground.git.session_tree(SESSION, BRANCH) == await ground.git.tree_of(NAME, ground.base)


async def test_a_removed_session_has_no_tree_and_can_be_removed_again(ground: Ground) -> None:
    await ground.prepare()
    await ground.git.remove_session(SESSION)
    await ground.git.remove_session(SESSION)
    assert await ground.git.session_tree(SESSION, BRANCH) is None
    assert not ground.home.session(SESSION).exists()


async def test_a_branch_nobody_pushed_has_no_tree(ground: Ground) -> None:
    await ground.prepare()
    assert await ground.git.session_tree(SESSION, "minion/other") is None


# The canonical commit.


async def test_a_canonical_commit_is_ours_and_the_same_every_time(ground: Ground) -> None:
    await ground.prepare()
    commit(ground.quarantine, BRANCH, {"x": "1"}, parent=ground.base)
    first = await ground.canonical("Add x\n\nIssue 7.")
    assert await ground.canonical("Add x\n\nIssue 7.") == first
    assert run(ground.mirror, "cat-file", "commit", first).splitlines()[1:] == [
        f"parent {ground.base}",
        "author Overlord <overlord@users.noreply.github.com> 1772442000 +0000",
        "committer Overlord <overlord@users.noreply.github.com> 1772442000 +0000",
        "",
        "Add x",
        "",
        "Issue 7.",
    ]
    assert await ground.git.read_file(NAME, first, "x") == b"1"


async def test_a_sessions_own_commits_never_leave_quarantine(ground: Ground) -> None:
    await ground.prepare()
    hidden = commit(ground.quarantine, BRANCH, {"secret.txt": CANARY}, parent=ground.base)
    pushed = commit(ground.quarantine, BRANCH, {"secret.txt": DELETED, "x": "1"}, parent=hidden)
    head = await ground.canonical()
    objects = run(
        ground.mirror, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"
    ).splitlines()
    assert head in objects
    assert hidden not in objects
    assert pushed not in objects
    assert run(ground.quarantine, "rev-parse", f"{hidden}:secret.txt") not in objects


async def test_a_commit_that_is_not_in_the_mirror_is_named(ground: Ground) -> None:
    with pytest.raises(GitFailed, match=f"commit {ABSENT} is not in the mirror of Acme/Calc"):
        await ground.git.tree_of(NAME, ABSENT)


async def test_a_refresh_keeps_canonical_commits(ground: Ground) -> None:
    head = await ground.submit({"x": "1"})
    await ground.refresh()
    assert await ground.git.read_file(NAME, head, "x") == b"1"


@pytest.mark.parametrize("path", [".git/config", ".GIT/hooks/x", "a/.git/config", "git~1/x", ".gitmodules"])
async def test_a_hostile_tree_does_not_come_into_the_mirror(ground: Ground, path: str) -> None:
    await ground.prepare()
    hostile = {".gitmodules": ("100644", b'[submodule "../../x"]\n\tpath = x\n\turl = -u./payload\n')}
    raw = hostile.get(path, ("100644", b"[core]\n"))
    commit(ground.quarantine, BRANCH, {"x": "1"}, parent=ground.base)
    plant(ground.quarantine, BRANCH, path, raw[1])
    with pytest.raises(GitFailed, match="git fetch failed"):
        await ground.canonical()


# Reading a change.


async def test_every_kind_of_change_is_told(ground: Ground) -> None:
    found = await ground.changes(
        {
            "README.md": "# calc\n\nAdds.\n",
            "docs/a.md": DELETED,
            "run.sh": ("100644", b"#!/bin/sh\n"),
            "new.py": "x = 1\n",
            "image.png": ("100644", bytes(range(256))),
            "link": ("120000", b"../../etc/passwd"),
            "module": ("160000", ABSENT.encode()),
        }
    )
    assert found == {
        "README.md": Change(path="README.md", status="M", old_mode="100644", new_mode="100644", added=2),
        "docs/a.md": Change(path="docs/a.md", status="D", old_mode="100644", removed=1),
        "run.sh": Change(path="run.sh", status="M", old_mode="100755", new_mode="100644"),
        "new.py": Change(path="new.py", status="A", new_mode="100644", added=1),
        "image.png": Change(path="image.png", status="A", new_mode="100644", binary=True),
        "link": Change(path="link", status="A", new_mode="120000", added=1),
        "module": Change(path="module", status="A", new_mode="160000", added=1),
    }


async def test_a_rename_has_both_its_ends(ground: Ground) -> None:
    content = "def add(a, b):\n    return a - b\n" * 5
    found = await ground.changes({"calc.py": DELETED, "src/sum.py": content + "# moved\n"})
    moved = Change(
        path="src/sum.py", old_path="calc.py", status="R", old_mode="100644", new_mode="100644", added=1
    )
    assert found == {"src/sum.py": moved}


async def test_a_file_that_became_a_link_is_told(ground: Ground) -> None:
    [change] = (await ground.changes({"README.md": ("120000", b"/etc/passwd")})).values()
    assert (change.status, change.old_mode, change.new_mode) == ("T", "100644", "120000")


@pytest.mark.parametrize(
    "path",
    [
        "a b",
        "a\nb",
        "a\tb",
        'a"b',
        "a\\b",
        "'",
        ":100644",
        "-rf",
        "--",
        "größe/漢字",
        " ",
        "a\x1b[31m",
        "3\t4\tx",
        "*",
        "a => b",
        "{a => b}/c",
    ],
)
async def test_odd_names_are_told_as_they_are(ground: Ground, path: str) -> None:
    found = await ground.changes({path: "1\n", "plain": "2\n"})
    assert set(found) == {path, "plain"}
    assert found[path] == Change(path=path, status="A", new_mode="100644", added=1)


async def test_an_odd_name_is_told_when_it_is_renamed_too(ground: Ground) -> None:
    content = "def add(a, b):\n    return a - b\n" * 5
    [change] = (await ground.changes({"calc.py": DELETED, "3\t4\tx\ny": content})).values()
    assert (change.status, change.old_path, change.path) == ("R", "calc.py", "3\t4\tx\ny")


async def test_a_name_that_is_no_text_is_written_out(ground: Ground) -> None:
    assert set(await ground.changes({b"a\xff.py": "1\n"})) == {"a\\xff.py"}


async def test_two_names_that_read_the_same_are_two_changes(ground: Ground) -> None:
    head = await ground.submit({b"a\xff": ("120000", b"/etc/passwd"), b"a\\xff": "harmless\n"})
    found = await ground.git.changes(NAME, ground.base, head)
    assert sorted((change.path, change.new_mode) for change in found) == [
        ("a\\xff", "100644"),
        ("a\\xff", "120000"),
    ]


async def test_no_change_is_no_change(ground: Ground) -> None:
    assert await ground.git.changes(NAME, ground.base, ground.base) == []


async def test_sizes_are_those_of_the_files(ground: Ground) -> None:
    head = await ground.submit(
        {"a\nb c": "12345", "link": ("120000", b"x"), "module": ("160000", ABSENT.encode()), "empty": ""}
    )
    sizes = await ground.git.sizes(NAME, head)
    assert {path: sizes.get(path) for path in ("a\nb c", "link", "module", "empty", "README.md")} == {
        "a\nb c": 5,
        "link": 1,
        "module": None,
        "empty": 0,
        "README.md": 7,
    }


async def test_the_diff_is_whole_or_says_that_it_is_cut(ground: Ground) -> None:
    head = await ground.submit({"new.py": "x = 1\n" * 1000})
    whole = await ground.git.diff(NAME, ground.base, head, limit_bytes=100_000)
    assert whole.startswith("diff --git a/new.py b/new.py\n")
    assert whole.count("+x = 1\n") == 1000
    cut = await ground.git.diff(NAME, ground.base, head, limit_bytes=500)
    assert cut == whole[:500] + "\n[cut: the diff is longer than 500 bytes]\n"
    assert await ground.git.diff(NAME, ground.base, head, limit_bytes=len(whole)) == whole


async def test_a_diff_that_cannot_be_made_is_a_failure_and_not_an_empty_diff(ground: Ground) -> None:
    with pytest.raises(GitFailed, match="git diff failed"):
        await ground.git.diff(NAME, ground.base, ABSENT, limit_bytes=1000)
    with pytest.raises(GitFailed, match="git diff failed"):
        await ground.git.changes(NAME, ground.base, ABSENT)


async def test_a_file_is_read_at_a_commit_and_nothing_else_is(ground: Ground) -> None:
    head = await ground.submit(
        {"bytes": bytes(range(256)), "link": ("120000", b"README.md"), "module": ("160000", ABSENT.encode())}
    )
    read = ground.git.read_file
    assert await read(NAME, head, "bytes") == bytes(range(256))
    assert await read(NAME, head, "README.md") == b"# calc\n"
    assert await read(NAME, ground.base, "bytes") is None
    assert await read(NAME, head, "docs") is None
    assert await read(NAME, head, "module") is None
    assert await read(NAME, head, "missing/too") is None


# What a repository or an environment says changes nothing.

HIDING = "* -diff -text filter=evil diff=evil merge=evil export-ignore\n*.py binary\n"


async def test_attributes_of_a_tree_hide_nothing(ground: Ground) -> None:
    commit(ground.far, "master", {".gitattributes": HIDING}, parent=None)
    await ground.refresh()
    run(ground.mirror, "symbolic-ref", "HEAD", "refs/heads/master")
    head = await ground.submit({".gitattributes": HIDING, "docs/.gitattributes": HIDING, "new.py": "x = 1\n"})
    found = {change.path: change for change in await ground.git.changes(NAME, ground.base, head)}
    assert found["new.py"] == Change(path="new.py", status="A", new_mode="100644", added=1)
    assert "+x = 1" in await ground.git.diff(NAME, ground.base, head, limit_bytes=10_000)


async def test_a_repository_cannot_have_its_submodules_ignored(ground: Ground) -> None:
    modules = '[submodule "m"]\n\tpath = m\n\turl = https://example.invalid/m\n\tignore = all\n'
    first = commit(
        ground.far, "main", {".gitmodules": modules, "m": ("160000", b"a" * 40)}, parent=ground.base
    )
    await ground.refresh()
    run(ground.mirror, "symbolic-ref", "HEAD", "refs/heads/main")
    moved = replace(ground, base=first)
    [change] = (await moved.changes({"m": ("160000", b"b" * 40)})).values()
    assert (change.path, change.new_mode) == ("m", "160000")


async def test_a_users_configuration_and_environment_have_no_effect(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".gitconfig").write_text(
        "[diff]\n\texternal = false\n\tnoprefix = true\n\tignoreSubmodules = all\n[core]\n\tquotePath = true\n"
        f'[url "file:///nowhere"]\n\tinsteadOf = {ground.far.parent}\n[user]\n\tname = {CANARY}\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    for name in (
        "GIT_DIR",
        "GIT_EXTERNAL_DIFF",
        "GIT_OBJECT_DIRECTORY",
        "GIT_AUTHOR_NAME",
        "GIT_SSH_COMMAND",
    ):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=0")
    head = await ground.submit({"new.py": "x = 1\n"})
    await ground.refresh()
    assert "diff --git a/new.py b/new.py" in await ground.git.diff(
        NAME, ground.base, head, limit_bytes=10_000
    )
    assert CANARY not in run(ground.mirror, "cat-file", "commit", head)


async def test_hooks_never_run(ground: Ground, tmp_path: Path) -> None:
    mark = tmp_path / "a hook ran"
    head = await ground.submit({"x": "1"})
    for repository in (ground.mirror, ground.quarantine):
        for hook in ("pre-push", "post-update", "reference-transaction", "post-checkout", "pre-auto-gc"):
            script = repository / "hooks" / hook
            script.parent.mkdir(exist_ok=True)
            script.write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
            script.chmod(0o755)
    await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=None)
    await ground.canonical()
    await ground.refresh()
    assert not mark.exists()


# Taking changes out.


async def test_dropped_paths_are_as_they_were_at_base(ground: Ground) -> None:
    head = await ground.submit(
        {
            "calc.py": "kept = True\n",
            "new\nfile": "x",
            "README.md": DELETED,
            "docs/a.md": ("120000", b"x"),
            "run.sh": "y",
            ":(glob)*": "z",
        }
    )
    dropped = ("new\nfile", "README.md", "docs/a.md", "run.sh", ":(glob)*")

    async def drop() -> Sha:
        return await ground.git.drop(
            NAME, head, base=ground.base, paths=dropped, parent=ground.base, message="m", at=AT
        )

    made = await drop()
    assert await drop() == made
    assert [change.path for change in await ground.git.changes(NAME, ground.base, made)] == ["calc.py"]
    await ground.refresh()
    assert await ground.git.read_file(NAME, made, "calc.py") == b"kept = True\n"


async def test_a_file_that_became_a_directory_is_put_back(ground: Ground) -> None:
    head = await ground.submit({"README.md": DELETED, "README.md/inner": "x", "calc.py": "kept = True\n"})
    paths = ("README.md", "README.md/inner")
    made = await ground.git.drop(
        NAME, head, base=ground.base, paths=paths, parent=ground.base, message="m", at=AT
    )
    assert [change.path for change in await ground.git.changes(NAME, ground.base, made)] == ["calc.py"]


# The one push.


@pytest.mark.parametrize(
    "branch",
    ["main", "master", "minion", "minion/", "minion/../main", "minion/-x", "minion/a b", "refs/heads/minion/a",
     "minion/a/b", "minion/a:main", "minion/a\n", "+minion/a", "minion/issue-7^{}", "Minion/issue-7", "minion/a*"],
)  # fmt: skip
async def test_nothing_but_a_minions_branch_is_pushed(ground: Ground, branch: str) -> None:
    with pytest.raises(GitFailed, match="Overlord pushes to minion/… only"):
        await ground.git.push(NAME, ground.remote, sha=ground.base, branch=branch, expected=None)
    assert run(ground.far, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


async def test_a_branch_is_pushed_once_and_moved_from_where_it_was(ground: Ground) -> None:
    git, remote = ground.git, ground.remote
    first = await ground.submit({"x": "1"})
    assert await git.remote_head(NAME, remote, BRANCH) is None
    await git.push(NAME, remote, sha=first, branch=BRANCH, expected=None)
    assert await git.remote_head(NAME, remote, BRANCH) == first
    commit(ground.quarantine, BRANCH, {"x": "2"}, parent=ground.base)
    second = await ground.canonical()
    await git.push(NAME, remote, sha=second, branch=BRANCH, expected=first)
    assert await git.remote_head(NAME, remote, BRANCH) == second
    assert await git.remote_head(NAME, remote, "issue-7") is None


async def test_a_push_that_was_done_before_may_be_repeated(ground: Ground) -> None:
    head = await ground.submit({"x": "1"})
    await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=None)
    await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=head)
    assert await ground.git.remote_head(NAME, ground.remote, BRANCH) == head


async def test_a_branch_somebody_else_moved_is_left_alone(ground: Ground) -> None:
    head = await ground.submit({"x": "1"})
    theirs = commit(ground.far, BRANCH, {"x": "theirs"}, parent=ground.base)
    for expected in (None, ground.base):
        with pytest.raises(PushRejected, match="minion/issue-7 at the forge is not where Overlord left it"):
            await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=expected)
    assert run(ground.far, "rev-parse", f"refs/heads/{BRANCH}") == theirs


async def test_a_branch_somebody_deleted_is_not_made_again(ground: Ground) -> None:
    head = await ground.submit({"x": "1"})
    with pytest.raises(PushRejected):
        await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=ground.base)


async def test_a_far_end_that_declines_is_a_refusal_with_its_words(ground: Ground) -> None:
    head = await ground.submit({"x": "1"})
    hook = ground.far / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH013: push declined due to a rule' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(PushRefused, match="minion/issue-7: GH013: push declined due to a rule") as failed:
        await ground.git.push(NAME, ground.remote, sha=head, branch=BRANCH, expected=None)
    assert failed.value.words == "GH013: push declined due to a rule\n(pre-receive hook declined)"


async def test_a_push_to_a_far_end_that_is_gone_is_no_rejection(ground: Ground) -> None:
    head = await ground.submit({"x": "1"})
    gone = Remote(url=str(ground.far) + "-gone")
    with pytest.raises(GitFailed) as failed:
        await ground.git.push(NAME, gone, sha=head, branch=BRANCH, expected=None)
    assert not isinstance(failed.value, PushRejected)


async def test_a_credential_is_in_no_argument_list_no_environment_and_no_exception(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, fake, real = tmp_path / "seen", tmp_path / "bin" / "git", shutil.which("git")
    fake.parent.mkdir()
    fake.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{seen}'\nenv >> '{seen}'\n{real} config --list >> '{tmp_path}/told'\n"
        + "echo 'fatal: the external service says no' >&2\nexit 128\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    remote = Remote(url="https://forge.example/acme/calc.git", authorization=f"Basic {CANARY}")
    assert CANARY not in repr(remote)
    calls = (
        ground.git.refresh_mirror(NAME, remote),
        ground.git.push(NAME, remote, sha=ground.base, branch=BRANCH, expected=None),
        ground.git.remote_head(NAME, remote, BRANCH),
    )
    for call in calls:
        with pytest.raises(GitFailed) as failed:
            await call
        assert CANARY not in str(failed.value)
        assert CANARY not in repr(failed.value.__context__)
    assert "ls-remote" in seen.read_text()
    assert CANARY not in seen.read_text()
    header = f"http.{remote.url}.extraheader=Authorization: Basic {CANARY}"
    told = {
        line
        for line in (tmp_path / "told").read_text().splitlines()
        if "extraheader" in line or "followredirects" in line
    }
    assert header in told, "git reads it all the same"
    assert told == {header, "http.followredirects=false"}, "and to no other host"
