"""OpenCode: what starts it, what its permissions say, and what its events say."""

import json
from typing import Any

from inline_snapshot import snapshot

from minion.agents.agent import Program, SaidKind
from minion.agents.opencode import OpenCode
from minion.protocol import AgentChoice
from tests.minion.agents_given import (
    GARBAGE,
    NARROW,
    OTHER,
    OURS,
    READER,
    given,
    heard,
    heard_of,
)


def config(program: Program) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(program.files[".config/opencode/opencode.json"])
    return found


def permission(program: Program) -> dict[str, Any]:
    found: dict[str, Any] = config(program)["permission"]
    return found


def test_a_prompt_is_its_standard_input_and_all_else_is_configuration() -> None:
    program = OpenCode().program(given(), "Fix it.")
    assert program.stdin == "Fix it."
    assert program.arguments == snapshot(
        ["run", "--pure", "--format", "json", "--model", "overlord/small", "--title", "engineer"]
    )
    assert program.environment["OPENCODE_DISABLE_PROJECT_CONFIG"] == "true"
    assert program.files[".config/opencode/AGENTS.md"] == given().rules
    assert not program.tree_files
    found = config(program)
    provider = found["provider"]["overlord"]
    assert provider["options"] == {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "none", "timeout": False}
    assert provider["models"]["small"]["limit"] == {"context": 100_000, "output": 25_000}
    assert (found["share"], found["autoupdate"], found["snapshot"]) == ("disabled", False, False)
    assert found["agent"] == {"build": {"steps": 40}}


def test_it_is_resumed_by_its_session_and_further_arguments_come_last() -> None:
    choice = AgentChoice(name="opencode", program="opencode", arguments=("--thinking",))
    program = OpenCode().program(given(choice=choice), "Go on.", resume="ses_1")
    assert program.arguments[-3:] == ["--session", "ses_1", "--thinking"]


def test_an_unrestricted_role_is_kept_from_what_is_always_closed() -> None:
    assert permission(OpenCode().program(given(), "Fix it.")) == snapshot(
        {
            "*": "allow",
            "edit": {
                "*": "allow",
                "../*": "deny",
                ".git/*": "deny",
                ".nebulus/*": "deny",
                "private/*": "deny",
            },
            "read": {"*": "allow", "private/*": "deny"},
            "bash": "allow",
            "webfetch": "deny",
            "websearch": "deny",
            "codesearch": "deny",
            "question": "deny",
            "plan_enter": "deny",
            "plan_exit": "deny",
        }
    )


def test_a_narrow_role_may_write_its_files_and_start_its_programs() -> None:
    found = permission(OpenCode().program(given(NARROW), "Fix it."))
    assert found["edit"] == snapshot(
        {
            "*": "deny",
            "src/*": "allow",
            "docs": "allow",
            "docs/*": "allow",
            "../*": "deny",
            ".git/*": "deny",
            "src/fixed/*": "deny",
        }
    )
    assert list(found["bash"].items())[:5] == snapshot(
        [("*", "deny"), ("pytest", "allow"), ("pytest *", "allow"), ("ruff", "allow"), ("ruff *", "allow")]
    )
    assert found["bash"]["cat *"] == "allow"


def test_a_pattern_that_names_any_directory_also_means_the_root() -> None:
    narrow = NARROW.__class__(
        writable=("**/*.md", "a\\[1\\].py", "*"), closed=("*",), secret=(), commands=None
    )
    found = permission(OpenCode().program(given(narrow), "Fix it."))
    assert list(found["edit"].items()) == snapshot(
        [
            ("*/*.md", "allow"),
            ("*/*.md/*", "allow"),
            ("*.md", "allow"),
            ("*.md/*", "allow"),
            ("a[1].py", "allow"),
            ("a[1].py/*", "allow"),
            ("../*", "deny"),
            ("*", "deny"),
        ]
    )


def test_a_reader_edits_nothing_and_has_no_shell() -> None:
    found = permission(OpenCode().program(given(READER), "Look."))
    assert found["edit"] == {"*": "deny"}
    assert found["bash"] == {"*": "deny"}


def test_a_server_offers_the_tools_that_were_chosen() -> None:
    program = OpenCode().program(given(servers=(OURS, OTHER)), "Fix it.")
    assert config(program)["mcp"] == snapshot(
        {
            "overlord": {
                "type": "remote",
                "url": "http://127.0.0.1:1/mcp",
                "headers": {"Authorization": "Bearer session-token"},
                "oauth": False,
                "timeout": 604800000,
            },
            "docs": {
                "type": "local",
                "command": ["docs-server", "--stdio"],
                "environment": {"A": "1"},
                "timeout": 604800000,
            },
        }
    )
    rules = list(permission(program).items())[-2:]
    assert rules == [("docs_*", "deny"), ("docs_find", "allow")]


def test_what_it_said_is_understood() -> None:
    assert heard(OpenCode(), "opencode.jsonl") == snapshot(
        [
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "read calc.py", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "edit calc.py", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "edit src/deep/er/a.py", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "edit /work/tree/src/closed/a.py (refused or failed)", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "read /work/tree/secret.env (refused or failed)", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "run python3 -c 'print(1)'", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "run make all (refused or failed)", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "second_other", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "invalid Invalid Tool", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "overlord_ask_question", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "todowrite 1 todos", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "grep (refused or failed)", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "task d", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.TEXT, "done", False),
            (SaidKind.SESSION, "ses_1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.TEXT, "second answer", False),
            (SaidKind.ERROR, "The budget of this session is spent", False),
        ]
    )


def test_whatever_comes_nothing_is_raised() -> None:
    said = heard_of(OpenCode(), GARBAGE)
    assert {piece.kind for piece in said} <= {
        SaidKind.TURN,
        SaidKind.ACTION,
        SaidKind.ERROR,
        SaidKind.TEXT,
    }
    assert all(len(piece.text) <= 200 for piece in said if piece.kind is SaidKind.ACTION)
