"""Space: what a repository is worked on by, and its contract with its graph."""

from dataclasses import dataclass

from overlord.domain.contracts.graph_layout import graph_of
from overlord.domain.contracts.outline import outline_of
from overlord.domain.view.view import Heading, Paragraph, View
from overlord.errors import ContractError, ExternalServiceError, SettingsError
from overlord.queries.contract_choice import of_space
from overlord.queries.contract_view import gates_table, phases_table, read_at, roles_table
from overlord.queries.declared.space import OfSpace
from overlord.queries.look import Look
from overlord.queries.registry import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePage:
    """What a space's page shows."""

    settings: View
    contract: View


def space(look: Look, name: str) -> SpacePage:
    """Raises NotFound."""
    question = Question(name="space", arguments=OfSpace(repository=name))
    return SpacePage(settings=question.view(look), contract=_contract(look, look.space(name)))


def _contract(look: Look, name: str) -> View:
    """Its graph and tables; where it cannot be read, why."""
    try:
        found = of_space(look, name)
    except (ContractError, SettingsError, ExternalServiceError) as error:
        said = (Heading("Contract"), Paragraph((f"It cannot be shown: {error}.",)))
        return View(summary="Contract", parts=said)
    outline = outline_of(found.contract)
    text = f"Contract {outline.name}"
    return View(
        summary=text,
        parts=(
            Heading(text),
            Paragraph((*read_at(found.source), f" A job takes {outline.lifetime} at most.")),
            graph_of(found.contract),
            Heading("Roles"),
            roles_table(outline),
            Heading("Phases"),
            phases_table(outline),
            *((Heading("Gates"), gates_table(outline)) if outline.gates else ()),
        ),
    )
