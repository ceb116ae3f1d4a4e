"""Configuration of agents in a working copy: written through no link, never part of the work, and what stood there comes back."""

import os
from pathlib import Path

import pytest

from minion.agents.output import FLOOD_BYTES, LONGEST_LINE, Lines
from minion.agents.permissions import permissions_of
from minion.agents.program_files import LaidFiles, find_program, write_files
from minion.errors import AgentFailed
from minion.loopback import Exchange, Traffic
from minion.protocol import AgentChoice, Consultation, ConsultationKind, PlanFile, Scope, ScopeMode, Terms
from tests.minion.conftest import make_session
from tests.minion.session_api import git, make_brief


def laid_in(root: Path, *names: str) -> LaidFiles:
    laid = LaidFiles(root, root.parent / "aside")
    laid.lay(dict.fromkeys(names, "ours"))
    return laid


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / ".git" / "info").mkdir(parents=True)
    return root


def test_files_go_and_leave_no_directory(root: Path) -> None:
    laid = laid_in(root, ".agent/rules/role.md")
    assert (root / ".agent/rules/role.md").read_text() == "ours"
    assert (root / ".git/info/exclude").read_text() == "/.agent/rules/role.md\n"
    laid.remove()
    assert not (root / ".agent").exists()


def test_no_link_is_followed_and_what_was_there_comes_back(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "cli.json").write_text("theirs")
    (root / ".agent").symlink_to(outside)
    (root / "rules.md").symlink_to(outside / "cli.json")
    (root / "config").mkdir()
    (root / "config" / "kept").write_text("kept")
    laid = laid_in(root, ".agent/cli.json", "rules.md", "config")
    assert [(root / name).read_text() for name in (".agent/cli.json", "rules.md", "config")] == ["ours"] * 3
    assert (outside / "cli.json").read_text() == "theirs"
    laid.remove()
    assert (root / ".agent").readlink() == outside
    assert (root / "rules.md").readlink() == outside / "cli.json"
    assert (root / "config" / "kept").read_text() == "kept"
    assert (outside / "cli.json").read_text() == "theirs"


def test_a_link_the_program_left_is_not_followed_when_files_go(root: Path, tmp_path: Path) -> None:
    laid = laid_in(root, ".agent/cli.json")
    (tmp_path / "cli.json").write_text("theirs")
    os.unlink(root / ".agent/cli.json")
    (root / ".agent").rmdir()
    (root / ".agent").symlink_to(tmp_path)
    laid.remove()
    assert (tmp_path / "cli.json").read_text() == "theirs"


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../out", "a/../../out", ".git/config", ".GIT/hooks/x", "", "a\0b"]
)
def test_places_outside_are_refused(root: Path, name: str) -> None:
    with pytest.raises(AgentFailed, match="no place"):
        laid_in(root, name)
    assert not (root / ".git/config").exists()


def test_configuration_at_home_replaces_what_an_agent_left_there(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / ".agent").symlink_to(tmp_path / "away")
    write_files(tmp_path, {".agent/config": "1"})
    write_files(tmp_path, {".agent/config": "2"})
    assert (tmp_path / ".agent/config").read_text() == "2"
    assert list((tmp_path / "away").iterdir()) == []


def test_a_save_has_what_is_set_aside_as_it_was(tmp_path: Path) -> None:
    """Whatever the agent does to it: stages it, commits it, changes what git leaves out."""
    files = {"calc.py": "1\n", ".agent/cli.json": "theirs\n", "linked": "x\n"}
    session = make_session(tmp_path, files)
    workspace = session.workspace
    names = (".agent/cli.json", ".agent/role.md", "linked")
    laid = laid_in(workspace.root, *names)
    workspace.set_aside = laid.names
    (workspace.root / "calc.py").write_text("2\n")
    (workspace.root / ".git/info/exclude").write_text("")
    git(workspace.root, "add", "--all", "--force")
    git(workspace.root, "commit", "--quiet", "-m", "all of it")
    assert workspace.changed(workspace.snapshot()) == ("calc.py",)
    laid.remove()
    assert workspace.changed(workspace.snapshot()) == ("calc.py",)
    assert (workspace.root / ".agent/cli.json").read_text() == "theirs\n"


def test_a_missing_program_is_named_with_what_installs_it() -> None:
    choice = AgentChoice(name="codex", program="codex")
    with pytest.raises(AgentFailed, match=r"there is no codex in /opt/agents/codex/bin.*--agents codex"):
        find_program(choice, ["codex"], "/nowhere")


def test_a_program_is_found_by_its_newest_name(tmp_path: Path) -> None:
    for name in ("agent", "cursor-agent"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    choice = AgentChoice(name="c", program="cursor", arguments=("-x",))
    assert find_program(choice, ["agent", "cursor-agent"], str(tmp_path)) == (str(tmp_path / "agent"),)
    own = AgentChoice(name="c", program="cursor", command=("cursor-agent", "--flag"))
    assert find_program(own, ["agent"], str(tmp_path)) == (str(tmp_path / "cursor-agent"), "--flag")


def test_permissions_follow_the_scope() -> None:
    brief = make_brief()
    found = permissions_of(brief, Scope(patterns=("/src/**", "docs"), without=("src/gen/**",)))
    assert found.writable == ("src/**", "docs")
    assert found.closed == (".git/**", ".nebulus/**", ".github/workflows/**", "src/gen/**")
    assert (found.secret, found.commands, found.is_reader) == ((), None, False)
    assert permissions_of(brief, Scope.unrestricted()).writable == ("**",)
    named = permissions_of(brief, Scope(patterns=(".github/workflows/ci.yml",)))
    assert ".github/workflows/**" not in named.closed
    exact = permissions_of(brief, Scope(mode=ScopeMode.EXPLICIT, patterns=("a[1].py",)))
    assert exact.writable == (r"a\[1\].py",)
    skill = permissions_of(brief, Scope(mode=ScopeMode.SKILL, patterns=(".nebulus/skills/x.yaml",)))
    assert ".nebulus/**" not in skill.closed


def test_permissions_follow_the_contract() -> None:
    plan = (PlanFile(path="plan/a.md", text=""), PlanFile(path="plan/b.md", text=""))
    terms = Terms(contract="c", phase="p", commands=("git",), secret_paths=(".env",), plan=plan)

    def refusal(path: str) -> str:
        return "closed" if path.startswith("plan/") else ""

    brief = make_brief(terms=terms)
    found = permissions_of(brief, Scope(patterns=("src",)), refusal)
    assert found.closed[-2:] == ("plan/**", ".env")
    assert (found.secret, found.commands) == ((".env",), ("git",))
    reader = Consultation(kind=ConsultationKind.GATE, question="q", facts="f", choices=("a",))
    asked = permissions_of(make_brief(terms=Terms(contract="c", phase="p", consultation=reader)), brief.scope)
    assert (asked.is_reader, asked.writable) == (True, ())
    silent = Terms(contract="c", phase="p", tools=("read_file", "edit_file"))
    assert permissions_of(make_brief(terms=silent), brief.scope).commands == ()


def test_long_lines_are_cut_and_control_characters_go() -> None:
    lines = Lines(clock=lambda: 0.0)
    first, second = lines.add(b"x" * (LONGEST_LINE + 5) + b"\n\x1b[31mred\x00\xff\n\n \ntail")
    assert (len(first), second) == (LONGEST_LINE, "red�")
    assert lines.dropped_bytes == 5
    assert list(lines.end()) == ["tail"]


def test_a_flood_is_let_go_but_for_what_may_be_an_event() -> None:
    lines = Lines(clock=lambda: 0.0)
    list(lines.add(b"\n" * (FLOOD_BYTES + 1)))
    found = list(lines.add(b'noise\n{"type": 1}\nOVERLORD_EVENT {}\nmore\n'))
    assert found == ['{"type": 1}', "OVERLORD_EVENT {}"]
    assert lines.dropped_bytes == 9


def test_traffic_tells_a_model_that_is_waited_for_and_what_it_said() -> None:
    traffic = Traffic()
    exchange = Exchange(traffic)
    exchange.sent(b"GET /session/repo.git HTTP/1.1\r\n")
    exchange.came_back(b"HTTP/1.1 404 Not Found\r\n")
    assert (traffic.model_requests, traffic.model_status) == (0, 0)
    exchange.sent(b"POST /v1/messages HTTP/1.1\r\n")
    exchange.sent(b"POST /v1/ is only its body")
    assert traffic.awaited
    exchange.came_back(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert traffic.awaited
    exchange.came_back(b"HTTP/1.1 402 Payment Required\r\n")
    exchange.came_back(b"HTTP/1.1 200 is only its body")
    assert (traffic.model_requests, traffic.model_status, traffic.awaited) == (1, 402, set())
    exchange.sent(b"POST /v1beta/models/x:streamGenerateContent HTTP/1.1\r\n")
    exchange.ended()
    assert (traffic.model_requests, traffic.awaited) == (2, set())
