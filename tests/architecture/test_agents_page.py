"""The page on coding agents says of each what it declares, and names every key, type and field that there is."""

import re

from minion.agents.acp.conversation import AcpConversation
from minion.agents.agent import Capabilities
from minion.agents.registry import AGENTS, agent_of
from minion.agents.sentinel import QUESTION_KINDS, Sentinel, SentinelKind, read_sentinel
from minion.protocol import ACP
from overlord.domain.wires.wire import Wire
from overlord.engine.sessions.agent_choice import SPEAKS, UNKNOWN_WIRE
from overlord.engine.sessions.guidance import FILES
from tests.architecture.test_imports import ROOT

PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
COLUMNS = {
    "events": "structured_events",
    "refused before a call": "permission_before_call",
    "usage": "usage",
    "resumed": "resume",
    "MCP": "mcp",
}


def table(first: str) -> list[list[str]]:
    """The cells of the table that begins so, its head first."""
    _, found, rest = PAGE.partition(f"\n| {first} |")
    assert found, f"there is no table that begins with {first}"
    rows = f"| {first} |{rest}".partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in [rows[0], *rows[2:]]]


def test_the_table_of_agents_says_what_each_of_them_declares() -> None:
    head, *rows = table("agent | events")
    assert head[1:] == list(COLUMNS)
    declared: dict[str, Capabilities] = {name: agent_of(name).capabilities for name in AGENTS}
    declared[ACP] = AcpConversation.capabilities
    assert {row[0].strip("`"): row[1:] for row in rows} == {
        name: ["yes" if getattr(can, field) else "no" for field in COLUMNS.values()]
        for name, can in declared.items()
    }


def test_the_wires_of_agents_are_those_they_are_answered_over() -> None:
    _, *rows = table("agent | its image")
    found = {row[0].strip("`").partition(":")[0]: row[2] for row in rows}
    assert found.keys() == {*AGENTS, ACP}
    for name, wire in found.items():
        if name not in UNKNOWN_WIRE:
            assert wire == f"`{SPEAKS.get(name, Wire.CHAT)}`", name


def test_every_type_and_field_of_a_sentinel_line_is_there() -> None:
    _, *rows = table("`type`")
    told = {row[0].strip("`"): re.findall(r"`([a-z_]+)`", row[1]) for row in rows}
    assert told.keys() == set(SentinelKind)
    for kind, (first, *_) in told.items():
        assert read_sentinel(f'OVERLORD_EVENT {{"type":"{kind}","{first}":"x"}}') == Sentinel(
            kind=SentinelKind(kind), text="x"
        )
    fields = {name for names in told.values() for name in names}
    lists = {"replies", "learnings", "follow_ups", "options", "patterns"}
    texts = {"summary", "outcome", "reason", "context", "event", "impact", "question", "kind"}
    assert {*lists, *texts, *QUESTION_KINDS} - fields == set()
    example = re.search(r"^OVERLORD_EVENT .*$", PAGE, re.MULTILINE)
    assert example is not None and read_sentinel(example[0]).kind is SentinelKind.PHASE_COMPLETE


def test_the_instructions_of_repositories_are_named() -> None:
    assert [name for name in FILES if f"`{name}`" not in PAGE] == []
