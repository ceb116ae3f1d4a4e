"""Codex: what starts it, what its configuration says, and what its events say."""

import json
import tomllib
from dataclasses import replace
from typing import Any

from inline_snapshot import snapshot

from minion.agents.agent import Program, SaidKind
from minion.agents.codex import Codex
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
    return tomllib.loads(program.files[".codex/config.toml"])


def test_a_prompt_is_its_standard_input_and_all_else_is_configuration() -> None:
    program = Codex().program(given(), "Fix it.")
    assert program.stdin == "Fix it."
    assert program.environment == {"CODEX_HOME": "/work/agent/.codex"}
    assert program.arguments == snapshot(
        [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--ignore-rules",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            "-",
        ]
    )
    assert not program.tree_files


def test_it_is_resumed_by_its_thread_and_further_arguments_come_last() -> None:
    choice = AgentChoice(name="codex", program="codex", arguments=("--strict-config",))
    program = Codex().program(given(choice=choice), "Go on.", resume="thread-1")
    assert program.arguments[:2] == ["exec", "resume"]
    assert program.arguments[-3:] == ["thread-1", "-", "--strict-config"]


def test_its_configuration_is_read_back_as_it_was_meant() -> None:
    found = config(Codex().program(given(), "Fix it."))
    assert found["developer_instructions"] == given().rules
    assert found["model_providers"]["overlord"]["base_url"] == "http://127.0.0.1:1/v1"
    assert found["model_providers"]["overlord"]["wire_api"] == "responses"
    assert (found["model"], found["model_context_window"]) == ("small", 100_000)
    assert found["project_doc_max_bytes"] == 0
    assert found["projects"] == {"/work/tree": {"trust_level": "untrusted"}}
    assert found["web_search"] == "disabled"
    assert not found["check_for_update_on_startup"]
    assert {found[name]["enabled"] for name in ("agents", "analytics", "feedback")} == {False}
    assert set(found["features"].values()) == {False}


def test_half_a_surrogate_pair_in_the_rules_spoils_no_configuration() -> None:
    found = config(Codex().program(given(rules="a \ud800 b"), "Fix it."))
    assert found["developer_instructions"] == "a ? b"


def test_servers_are_approved_and_ours_may_wait_for_people() -> None:
    found = config(Codex().program(given(servers=(OURS, OTHER)), "Fix it."))["mcp_servers"]
    assert found == snapshot(
        {
            "overlord": {
                "url": "http://127.0.0.1:1/mcp",
                "http_headers": {"Authorization": "Bearer session-token"},
                "tool_timeout_sec": 604800,
                "default_tools_approval_mode": "approve",
            },
            "docs": {
                "command": "docs-server",
                "args": ["--stdio"],
                "env": {"A": "1"},
                "enabled_tools": ["find"],
                "default_tools_approval_mode": "approve",
            },
        }
    )


def test_every_call_is_asked_for_with_the_permissions_of_the_role() -> None:
    for permissions in (NARROW, READER):
        program = Codex().program(given(permissions), "Fix it.")
        [rule] = config(program)["hooks"]["PreToolUse"]
        assert rule["matcher"] == "*"
        assert rule["hooks"][0]["command"].endswith("/work/agent/.codex/permissions.json")
        kept = json.loads(program.files[".codex/permissions.json"])
        assert kept["writable"] == list(permissions.writable)
        assert kept["commands"] == list(permissions.commands or ())
        assert kept["is_reader"] is permissions.is_reader


def test_what_it_said_is_understood() -> None:
    assert heard(Codex(), "codex.jsonl") == snapshot(
        [
            (SaidKind.SESSION, "thread-1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "run cat calc.py && ls sub", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "edit /work/tree/calc.py, /work/tree/new.py", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "run echo hi > out.txt; env | grep -c PATH; exit 3", False),
            (SaidKind.TURN, "", False),
            (SaidKind.ACTION, "call overlord ask_question", False),
            (
                SaidKind.TEXT,
                """\
done
OVERLORD_EVENT {"type":"PHASE_COMPLETE"}\
""",
                False,
            ),
            (SaidKind.RESULT, "", False),
            (SaidKind.SESSION, "thread-1", False),
            (SaidKind.TURN, "", False),
            (SaidKind.TEXT, "second answer", False),
            (SaidKind.RESULT, "", False),
            (SaidKind.SESSION, "thread-2", False),
            (SaidKind.TURN, "", False),
            (
                SaidKind.ERROR,
                "unexpected status 402 Payment Required: The budget of this session is spent, url: http://127.0.0.1:1/v1/responses",
                False,
            ),
            (
                SaidKind.RESULT,
                "unexpected status 402 Payment Required: The budget of this session is spent, url: http://127.0.0.1:1/v1/responses",
                True,
            ),
        ]
    )


def test_whatever_comes_nothing_is_raised() -> None:
    said = heard_of(Codex(), GARBAGE)
    assert {piece.kind for piece in said} <= {SaidKind.TURN, SaidKind.ACTION, SaidKind.RESULT}
    assert all(len(piece.text) <= 200 for piece in said)


def test_a_program_keeps_nothing_of_the_one_before() -> None:
    agent = Codex()
    first = agent.program(given(), "Fix it.")
    agent.program(replace(given(), model="other"), "Go on.", resume="thread-1")
    assert agent.program(given(), "Fix it.") == first
