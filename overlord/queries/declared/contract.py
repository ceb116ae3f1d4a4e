"""A contract as people read it: its roles with what each may write, its phases in order, its gates.

Without an argument, that of the only repository, or the one that counts where nothing else is said. What a repository has in
`.nebulus/contract/` at base goes before what the settings name, as far as this machine has fetched it.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from overlord.domain.contracts.outline import ContractOutline, outline_of
from overlord.domain.conversation.contract_argument import (
    ContractTextArgument,
    JobOptionArgument,
    RepositoryPlaceArgument,
)
from overlord.domain.conversation.look_argument import NamedArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import Target
from overlord.domain.view.view import Heading, Paragraph, View
from overlord.queries.contract_choice import choose
from overlord.queries.contract_view import read_at, tables
from overlord.queries.look import Look
from overlord.queries.query import Query

CHAT = "a contract's tables have no room in a chat: the page shows it, and its graph"
BUILT_IN = "A contract that comes with Overlord, by its name."


@dataclass(frozen=True, slots=True, kw_only=True)
class OfContract:
    """A contract."""

    job: Annotated[Target | None, JobOptionArgument()] = None
    built_in: Annotated[str, NamedArgument(name="built-in", help=BUILT_IN)] = ""
    file: Annotated[str, ContractTextArgument()] = ""
    repository: Annotated[str, RepositoryPlaceArgument()] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractShown:
    """A contract, and where it was read."""

    source: str
    space: str
    contract: ContractOutline


def _read(look: Look, arguments: OfContract) -> ContractShown:
    found = choose(
        look,
        repository=arguments.repository,
        job=arguments.job,
        built_in=arguments.built_in,
        text=arguments.file,
    )
    return ContractShown(source=found.source, space=found.space, contract=outline_of(found.contract))


def _view(_look: Look, found: ContractShown) -> View:
    of = f", for {found.space}" if found.space else ""
    text = f"Contract {found.contract.name}{of}"
    return View(
        summary=text, parts=(Heading(text), Paragraph(read_at(found.source)), *tables(found.contract))
    )


def _yaml(data: Any) -> str:
    return str(data["contract"]["yaml"])


QUERY = Query(
    read=_read,
    view=_view,
    yaml=_yaml,
    arguments=OfContract,
    usage="contract owner/repo",
    means="a contract: roles, phases, gates",
    position=30,
    terminal="contract show",
    needs_state=False,
    has_runs=False,
    gaps={Interface.CHAT: CHAT},
)
