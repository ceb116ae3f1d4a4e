"""The job's plan and secret files in a session's working copy, and what a save makes of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minion.errors import GitFailed, ToolError
from minion.native.model import ToolCall
from minion.protocol import Outcome, PlanFile, Scope, Terms
from minion.session import Session
from minion.tools.registry import perform
from tests.minion.conftest import make_session
from tests.minion.session_api import SessionApi, call, done, git

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    ".env": "TOKEN=canary\n",
    "keys/a/id": "canary\n",
    "src/.env": "SHOWN=1\n",
    ".gitignore": "plan/\n",
}
PLAN = (
    PlanFile(path="plan/acceptance.md", text="# Acceptance\nIt adds.\n"),
    PlanFile(path="plan/more/notes.md", text="n"),
)
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")
WRITES_PLAN = Scope(patterns=("*.py", "plan/**"))
READS_PLAN = Scope(patterns=("*.py", "**"))


def terms(**more: Any) -> Terms:
    return Terms(contract="crew", phase="build", **more)


def use(session: Session, name: str, **arguments: Any) -> str:
    return str(perform(session, ToolCall(id="1", name=name, arguments=arguments)))


def refused(session: Session, name: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as error:
        use(session, name, **arguments)
    return str(error.value)


def saved(session: Session) -> dict[str, str]:
    root = session.workspace.root
    tree = session.workspace.snapshot()
    return {
        name: git(root, "show", f"{tree}:{name}")
        for name in git(root, "ls-tree", "-r", "--name-only", tree).splitlines()
    }


@pytest.mark.parametrize(
    "scope", [READS_PLAN, Scope.unrestricted(), Scope(patterns=("plans/**", "a/plan/**"))]
)
def test_a_plan_is_read_and_not_written_where_the_scope_does_not_name_it(
    tmp_path: Path, scope: Scope
) -> None:
    session = make_session(tmp_path, FILES, terms=terms(plan=PLAN), scope=scope)
    root = session.workspace.root
    assert "It adds." in use(session, "read_file", path="plan/acceptance.md")
    assert (root / "plan/acceptance.md").stat().st_mode & 0o777 == 0o444
    for path in ("plan/acceptance.md", "plan/new.md", "./x/../plan/new.md"):
        assert "of the job's plan, which this session reads" in refused(
            session, "write_file", path=path, content="x"
        )
    assert session.territory.outside(["plan/new.md"]) == ["plan/new.md"]
    assert git(root, "status", "--porcelain") == ""


def test_a_plan_that_is_not_to_be_written_is_no_part_of_the_work(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=terms(plan=PLAN), scope=READS_PLAN)
    force = "chmod -R u+w plan; echo x > plan/acceptance.md; echo y > plan/new.md; git add -f plan; git commit -qam mine"
    session_api.will(call("run_command", command=force), EDIT, done())
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert set(session_api.files()) == set(FILES)
    assert "a + b" in session_api.files()["calc.py"]


def test_a_plan_that_may_be_written_is_pushed_whole(make_door: MakeDoor, run: Run) -> None:
    """Also where the repository ignores such a directory, and with what was removed left out."""
    session_api = make_door(FILES, terms=terms(plan=PLAN, criteria=("diff_non_empty",)), scope=WRITES_PLAN)
    session_api.will(
        call("edit_file", path="plan/acceptance.md", old="It adds.", new="It adds twice."),
        call("write_file", path="plan/delegation.yaml", content="a: b\n"),
        call("run_command", command="rm -r plan/more"),
        done(),
    )
    assert run(session_api) == 0
    assert session_api.report.turns == 4, "changed files of the plan are a change"
    plan = {name: text for name, text in session_api.files().items() if name.startswith("plan/")}
    assert plan == {"plan/acceptance.md": "# Acceptance\nIt adds twice.", "plan/delegation.yaml": "a: b"}


def test_a_plan_as_it_was_is_no_change(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=terms(plan=PLAN), scope=WRITES_PLAN)
    workspace = session.workspace
    assert workspace.changed(workspace.snapshot()) == ()
    (workspace.root / "plan/acceptance.md").unlink()
    (workspace.root / "plan/link").symlink_to("nowhere")
    (workspace.root / "calc.py").write_text("")
    assert workspace.changed(workspace.snapshot()) == ("calc.py", "plan/acceptance.md", "plan/link")


def test_a_plan_without_files_is_written_by_whoever_may(tmp_path: Path) -> None:
    named = make_session(tmp_path / "named", FILES, terms=terms(), scope=WRITES_PLAN)
    told = make_session(tmp_path / "told", FILES, terms=terms(plan_outputs=("plan/**",)))
    for session in (named, told):
        use(session, "write_file", path="plan/a.md", content="x")
        assert saved(session)["plan/a.md"] == "x"


def test_one_file_of_a_plan_may_be_opened_alone(tmp_path: Path) -> None:
    scope = Scope(patterns=("plan/more/**",))
    session = make_session(tmp_path, FILES, terms=terms(plan=PLAN), scope=scope)
    use(session, "write_file", path="plan/more/notes.md", content="x")
    assert "of the job's plan" in refused(session, "write_file", path="plan/acceptance.md", content="x")
    assert saved(session)["plan/acceptance.md"] == "# Acceptance\nIt adds."


def test_a_repository_with_its_own_plan_is_not_used_with_one(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="has its own plan/"):
        make_session(tmp_path, {"plan/a": "b"}, terms=terms(plan=PLAN))
    session = make_session(tmp_path / "other", {"plan/a": "b"}, terms=terms())
    assert use(session, "write_file", path="plan/a", content="c").startswith("Replaced")


@pytest.mark.parametrize(
    "path", ["plan", "a.md", "plan/../a.md", "/plan/a", "plan//a", "plan/a\0b", "../plan/a"]
)
def test_a_plan_is_laid_below_its_directory_alone(tmp_path: Path, path: str) -> None:
    with pytest.raises(GitFailed, match="is no place for a file of the plan"):
        make_session(tmp_path, FILES, terms=terms(plan=(PlanFile(path=path, text="x"),)))


SECRET = terms(secret_paths=(".env*", "keys/**"))


def test_secret_files_are_not_in_the_working_copy(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=SECRET)
    root = session.workspace.root
    assert not (root / ".env").exists()
    assert not (root / "keys").exists()
    assert (root / "src/.env").exists(), "patterns are read from the root, as a scope's are"
    assert git(root, "status", "--porcelain") == ""
    assert saved(session)[".env"] == "TOKEN=canary"
    assert session.workspace.changed(session.workspace.snapshot()) == ()


@pytest.mark.parametrize("program", ["rg", "git"])
def test_no_tool_shows_a_secret_file_that_came_back(tmp_path: Path, program: str) -> None:
    session = make_session(tmp_path, FILES, terms=SECRET)
    if program == "git":
        path = tmp_path / "path"
        path.mkdir()
        (path / "git").symlink_to(str(shutil.which("git")))
        session.command_environment = {**session.command_environment, "PATH": str(path)}
    root = session.workspace.root
    git(root, "checkout", "HEAD", "--", ".")
    for name in (".env", ".env.local", "keys/a/id"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("canary\n")
    (root / "open.txt").write_text("canary\n")
    (root / "link").symlink_to(".env")
    assert use(session, "search_files", pattern="canary") == "open.txt:1:canary"
    assert use(session, "search_files", pattern="canary", glob="*") == "open.txt:1:canary"
    assert use(session, "glob_files", pattern="*env*") == "src/.env"
    assert "env" not in use(session, "list_directory").replace("link -> .env", "")
    assert use(session, "list_directory", path="keys", depth=2) == "(the directory is empty)"
    for hidden in (".env", "keys/a/id", "link", "src/../.env"):
        for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
            said = refused(session, tool, path=hidden, **more)
            assert "kept from this session by its contract" in said


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "git checkout HEAD -- .env; echo x > .env",
        "echo x > .env; git add -f .env; git commit -qm mine",
        "git rm -q --cached .env; git commit -qam mine",
        "mkdir .env; echo x > .env/a",
        "echo x > keys; git add keys",
        "rm .git/index",
        "git update-index --no-skip-worktree .env; git add --all; git commit -qm gone",
        "git rm -rq --cached keys; git clean -fdxq; rm -rf keys .env",
    ],
)
def test_a_save_has_secret_files_as_they_were(make_door: MakeDoor, run: Run, command: str) -> None:
    session_api = make_door(FILES, terms=SECRET)
    session_api.will(EDIT, call("run_command", command=command), done(), done())
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    files = session_api.files()
    assert (files[".env"], files["keys/a/id"]) == ("TOKEN=canary", "canary")
    assert "a + b" in files["calc.py"]


def test_a_new_file_where_secrets_are_is_said_to_be_outside(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=SECRET)
    (session.workspace.root / ".env.local").write_text("x")
    said = refused(session, "task_complete", summary="s")
    assert "outside your scope and the work will be sent back for them: .env.local" in said


def test_a_secret_link_and_a_secret_program_come_back_as_they_were(tmp_path: Path) -> None:
    far = tmp_path / "far"
    session = make_session(tmp_path, {"a": "b"})
    root = session.workspace.root
    (root / ".env").symlink_to("a")
    (root / ".envrc").write_text("x")
    (root / ".envrc").chmod(0o755)
    git(root, "add", "--all")
    git(root, "commit", "-qm", "links")
    git(root, "push", "-q", str(far / "repo.git"), "HEAD:refs/heads/main")
    head = git(root, "rev-parse", "HEAD")
    other = make_session_at(tmp_path / "second", far / "repo.git", head)
    assert not os.path.lexists(other.workspace.root / ".env")
    assert (other.workspace.root / "a").read_text() == "b"
    tree = other.workspace.snapshot()
    assert tree == git(root, "rev-parse", "HEAD^{tree}")


def make_session_at(home: Path, repository: Path, head: str) -> Session:
    from minion.git import Git
    from minion.interrupt import Interrupts
    from minion.session_api import SessionApi as Wire
    from minion.shell import command_environment, search_path
    from minion.workspace.scope import Territory
    from minion.workspace.workspace import Workspace
    from tests.minion.session_api import make_brief

    home.mkdir()
    told = make_brief(head, head, terms=SECRET)
    workspace = Workspace(home, str(repository), told, Git(search_path(os.environ["PATH"])), patience_s=0)
    workspace.begin()
    workspace.wait()
    return Session(
        brief=told,
        session_api=Wire(home / "nowhere", patience_s=0),
        territory=Territory(workspace.root, told.scope, contract_files=workspace.contract_files),
        workspace=workspace,
        command_environment=command_environment({"PATH": os.environ["PATH"]}, home),
        interrupts=Interrupts(),
    )
