"""A contract's graph: its phases and gates, and where each outcome leads.

Text here; `--svg FILE` writes a drawing.
"""

from dataclasses import dataclass

from overlord.domain.contracts.graph_layout import graph_of
from overlord.domain.interface import Interface
from overlord.domain.view.graph import Graph
from overlord.domain.view.view import Heading, Paragraph, View
from overlord.queries.contract_choice import choose
from overlord.queries.contract_view import read_at
from overlord.queries.declared.contract import CHAT, OfContract
from overlord.queries.look import Look
from overlord.queries.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractGraph:
    """A contract's graph, and where the contract was read."""

    name: str
    source: str
    space: str
    graph: Graph


def _read(look: Look, arguments: OfContract) -> ContractGraph:
    found = choose(
        look,
        repository=arguments.repository,
        job=arguments.job,
        built_in=arguments.built_in,
        text=arguments.file,
    )
    graph = graph_of(found.contract)
    return ContractGraph(name=found.contract.name, source=found.source, space=found.space, graph=graph)


def _view(_look: Look, found: ContractGraph) -> View:
    text = f"Contract {found.name}: phases and gates"
    return View(summary=text, parts=(Heading(text), Paragraph(read_at(found.source)), found.graph))


QUERY = Query(
    read=_read,
    view=_view,
    has_graph=True,
    arguments=OfContract,
    usage="contract-graph owner/repo",
    means="a contract's phases and gates, as a graph",
    position=32,
    terminal="contract graph",
    needs_state=False,
    has_runs=False,
    gaps={
        Interface.CHAT: CHAT,
        Interface.MCP: "`contract` has the same phases in words",
    },
)
