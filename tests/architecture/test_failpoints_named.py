"""Whatever lasts has a named point: every commit, and every act of a port that changes something outside."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.git.mirrors import GitMirrors
from overlord.adapters.github.forge import GitHubForge
from overlord.adapters.process.runner import ProcessRunner
from overlord.adapters.slack.chat import SlackChat
from overlord.failpoints import Failpoint
from overlord.ports.chat import Chat
from overlord.ports.forge import Forge
from overlord.ports.git import Git
from overlord.ports.runner import Runner
from tests.architecture.test_imports import ROOT, modules

WRITERS = {"write": 0, "take_over": 0, "Transaction": 0, "write_beside": 1}
"""What commits, and which of its arguments names the point."""
OWN = "overlord/store/database.py"
"""The writers themselves: they pass on what they are given."""
COMMITS = {"overlord/store/commit.py", "overlord/store/schema/migrations.py"}
"""Each raises the schema by a step of its own, or commits what was named."""
LOOKS: dict[type[object], set[str]] = {
    Forge: {
        *("repository", "remote", "activity", "issues_labelled", "issues_since", "issue", "labelling", "edited_at"),
        *("may_write", "comments_since", "comments", "pulls_from", "pull", "reviews", "review_comments"),
        *("checks_of", "check_log", "login", "open_pulls", "pull_files", "folder", "blob", "renew_sign_in"),
        *("sub_issues", "blocked_by"),
    },
    Git: {
        *("branch_head", "branch_heads", "session_tree", "excess", "merge_base", "tree_of", "changes", "diff", "patch", "sizes", "read_file"),
        *("listing", "read_files", "occurrences", "remote_head", "mirrors"),
    },
    Runner: {"find", "sessions", "logs", "ground", "has_layer", "downloads", "follow", "close", "agent_version"},
    Chat: {"identity", "find", "person", "group"},
}  # fmt: skip
"""What of each port changes nothing that somebody else sees; all the rest is done between two moments of a point."""
TABLE = "_FAILS["
"""A table of points, by the state a draft is in."""


def unnamed(source: str) -> Iterator[str]:
    """The commits whose point is neither a member of `Failpoint` nor an argument that is one."""
    for function in _functions(ast.parse(source)):
        given = {
            a.arg for a in _arguments(function) if a.annotation and ast.unparse(a.annotation) == "Failpoint"
        }
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func).rpartition(".")[2]
            at = WRITERS.get(name)
            if at is None or len(call.args) < at + 2 or not _commits(call):
                continue
            point = ast.unparse(call.args[at])
            if not point.startswith("Failpoint.") and point not in given and not point.startswith(TABLE):
                yield f"{point} in line {call.lineno}"


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*function.args.args, *function.args.kwonlyargs]


def _commits(call: ast.Call) -> bool:
    """Whether it is the database that is written to, and not a file or a descriptor."""
    whose = ast.unparse(call.func)
    return whose != "os.write" and not any(word in whose for word in ("transcripts", "drafts.", "survey."))


@pytest.mark.parametrize(
    "line",
    [
        "await parts.database.write('anything', act)",
        "await self._database.write(name, act)",
        "write_beside(path, other, act)",
        "Transaction(f'{name}', act, fence)",
    ],
)
def test_a_commit_without_a_point_is_seen(line: str) -> None:
    assert list(unnamed(f"async def claim(parts, name, point: Failpoint):\n    {line}\n"))


def test_every_commit_names_its_point() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): list(unnamed(path.read_text(encoding="utf-8")))
        for path in modules("overlord")
    }
    assert {name: lines for name, lines in found.items() if lines and name != OWN} == {}


def test_nothing_commits_beside_the_one_way() -> None:
    commits = {path for path in modules("overlord") if _says_commit(path)}
    assert {path.relative_to(ROOT).as_posix() for path in commits} == COMMITS


def _says_commit(path: Path) -> bool:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    return "COMMIT" in texts or any(name.endswith("connection.commit") for name in called)


@pytest.mark.parametrize(
    ("port", "adapter"),
    [
        (Forge, GitHubForge),
        (Git, GitMirrors),
        (Runner, DockerRunner),
        (Runner, ProcessRunner),
        (Chat, SlackChat),
    ],
    ids=lambda given: given.__name__,
)
def test_every_act_of_a_port_is_at_a_point(port: type[object], adapter: type[object]) -> None:
    asked = {name for name, _ in inspect.getmembers(port, inspect.isfunction) if not name.startswith("_")}
    acts = {name for name in asked if isinstance(_point(adapter, name), Failpoint)}
    assert asked - acts == LOOKS[port]


def _point(adapter: type[object], name: str) -> object:
    return getattr(adapter, name).__dict__.get("outward")
