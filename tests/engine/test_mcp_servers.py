"""Which MCP servers a session is offered, by the settings and by what its contract's role may use."""

import pytest

from minion.protocol import ConsultationKind
from overlord.config_files import packaged
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.turn import Turn
from overlord.engine.contracts.mcp_servers import offered
from overlord.settings.agents import McpSettings

SERVERS = {
    "docs": McpSettings(url="https://docs.example", tools=("search", "read")),
    "local": McpSettings(command=("tool-server",)),
}


def turn(*tools: str) -> Turn:
    contract = load_contract(packaged("contracts/default.yaml"), "the built-in contract")
    name = next(iter(contract.roles))
    role = contract.roles[name].model_copy(update={"tools": tools})
    changed = contract.model_copy(update={"roles": {**contract.roles, name: role}, "version": 2})
    return Turn(contract=changed, phase_name=next(iter(contract.phases)), role_name=name)


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((), {"docs": ("search", "read"), "local": ()}),
        (("read_file",), {}),
        (("mcp__docs",), {"docs": ("search", "read")}),
        (
            ("read_file", "mcp__docs__read", "mcp__local__a", "mcp__local__b"),
            {"docs": ("read",), "local": ("a", "b")},
        ),
        (("mcp__docs__write", "mcp__doc", "mcp__docs2__read"), {}),
    ],
)
def test_a_contract_that_lists_tools_names_those_of_servers(
    tools: tuple[str, ...], expected: dict[str, tuple[str, ...]]
) -> None:
    assert {server.name: server.tools for server in offered(SERVERS, turn(*tools), None)} == expected


def test_a_consultation_is_offered_none() -> None:
    asked = Asked(kind=ConsultationKind.RESOLUTION, role="architect", about="developer", why="stuck")
    assert offered(SERVERS, turn(), asked) == ()
