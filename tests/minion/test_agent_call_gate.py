"""The hook that says before a call of an agent's own tools whether its role allows it, run as an agent runs it."""

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from minion.agents.agent import Permissions
from minion.agents.configuration.call_gate import hook_command, refusal, to_json
from tests.minion.agents_given import NARROW, READER, UNRESTRICTED


def refused(permissions: Permissions, name: str, text: str) -> str:
    call = {"tool_name": name, "tool_input": {"command": text}, "cwd": "/work/tree"}
    return refusal(json.loads(to_json(permissions)), call)


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def add(name: str) -> str:
    return patch(f"*** Add File: {name}", "+x")


def run(permissions_file: Path, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        hook_command(permissions_file),
        shell=True,
        input=stdin,
        capture_output=True,
        cwd=permissions_file.parent,
        env={"PATH": "/usr/bin:/bin"},
        check=True,
    )


@pytest.mark.parametrize("name", ["apply_patch", "Bash"])
def test_a_patch_may_write_what_the_role_may_write(name: str) -> None:
    for path in ("src/a.py", "docs/a/b.md", "/work/tree/src/a.py", "./src/../src/a.py"):
        assert refused(replace(NARROW, commands=None), name, add(path)) == ""
    for path in ("calc.py", "src/fixed/a.py", ".git/config", "../a", "src/../calc.py", "/etc/passwd"):
        assert "Nothing was written" in refused(NARROW, name, add(path))
    assert "src/fixed/a.py is closed" in refused(NARROW, name, add("src/fixed/a.py"))
    assert "src/**, docs" in refused(NARROW, name, add("calc.py"))


def test_every_file_of_a_patch_counts() -> None:
    moved = patch("*** Update File: src/a.py", "*** Move to: calc.py")
    removed = patch("*** Add File: src/b.py", "+x", "*** Delete File: calc.py")
    assert "calc.py" in refused(NARROW, "apply_patch", moved)
    assert "calc.py" in refused(NARROW, "apply_patch", removed)


def test_an_unrestricted_role_writes_any_file_but_closed_ones() -> None:
    assert refused(UNRESTRICTED, "apply_patch", add("a/b.py")) == ""
    assert ".git/hooks/x is closed" in refused(UNRESTRICTED, "apply_patch", add(".git/hooks/x"))
    assert refused(UNRESTRICTED, "Bash", "make all; evil") == ""


def test_a_line_starts_the_programs_of_the_role() -> None:
    assert refused(NARROW, "Bash", "cat a | head && pytest -q") == ""
    assert "The shell may start in this session: pytest, ruff" in refused(NARROW, "Bash", "pytest; make")
    assert "'make'" in refused(NARROW, "Bash", f"apply_patch <<'EOF'\n{add('src/a.py')}\nEOF\nmake")
    assert refused(NARROW, "Bash", f"apply_patch <<'EOF'\n{add('src/a.py')}\nEOF\n") == ""


def test_a_reader_changes_nothing_and_reads() -> None:
    assert "changes no file" in refused(READER, "apply_patch", add("src/a.py"))
    assert refused(READER, "Bash", "grep -rn add .") == ""
    assert refused(READER, "Bash", "python -c 1") != ""


def test_tools_of_servers_are_not_its_business() -> None:
    assert refused(READER, "mcp__overlord__ask_question", add("calc.py")) == ""


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"tool_name": 7},
        {"tool_name": ["Bash"], "tool_input": []},
        {"tool_name": "Bash", "tool_input": {"command": 7}},
        {"tool_name": "apply_patch", "tool_input": None},
    ],
)
def test_a_call_that_cannot_be_read_is_let_through(call: dict[str, Any]) -> None:
    assert refusal(asdict(NARROW), call) == ""


def test_it_runs_as_a_program_of_its_own_and_reads_its_file_anew(tmp_path: Path) -> None:
    place = tmp_path / "a place" / "permissions.json"
    place.parent.mkdir()
    place.write_text(to_json(NARROW))
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": "make"}}).encode()
    answer = json.loads(run(place, call).stdout)["hookSpecificOutput"]
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "deny")
    assert "'make'" in answer["permissionDecisionReason"]
    place.write_text(to_json(UNRESTRICTED))
    assert run(place, call).stdout == b""


@pytest.mark.parametrize("stdin", [b"", b"no JSON", b"[" * 200_000, b"[]", b"\xff"])
def test_garbage_is_let_through(tmp_path: Path, stdin: bytes) -> None:
    place = tmp_path / "permissions.json"
    place.write_text(to_json(NARROW))
    assert run(place, stdin).stdout == b""
    place.write_text("no JSON")
    assert run(place, stdin).stdout == b""
