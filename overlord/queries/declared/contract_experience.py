"""What happened under a repository's contract: gates that never refused, scopes that were widened, roles that ran out of budget.

It is read from the ledger of the last jobs, so that who changes a contract changes what has shown itself. No model is asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from overlord.domain.bootstrap.experience import (
    Experience,
    as_markdown,
    experience,
)
from overlord.domain.chat.markdown import parts_of
from overlord.domain.conversation.contract_argument import RepositoryPlaceArgument
from overlord.domain.text.plain import count
from overlord.domain.view.view import Heading, Note, Part, View
from overlord.errors import Refused
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.bootstrap import experience_facts
from overlord.store.bootstrap.experience_facts import MOST_JOBS

_HOW = f"Read from what the ledger has of the last {MOST_JOBS} jobs, without those that proposed a contract."


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRepository:
    """A repository."""

    repository: Annotated[str, RepositoryPlaceArgument()] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractExperienced:
    """What happened under the contracts of a repository."""

    space: str
    experience: Experience
    markdown: str
    """The same in words."""


def _read(look: Look, arguments: OfRepository) -> ContractExperienced:
    repositories = look.settings.repositories
    named = arguments.repository or (repositories[0] if len(repositories) == 1 else "")
    if not named:
        raise Refused("say which repository: each has experience of its own")
    space = look.space(named)
    found = experience(experience_facts.of_space(look.connection, space))
    return ContractExperienced(space=space, experience=found, markdown=as_markdown(found))


def _view(_look: Look, found: ContractExperienced) -> View:
    text = f"Experience of {count(found.experience.jobs, 'job')} of {found.space}"
    return View(summary=text, parts=(Heading(text), *_parts(found)))


def _parts(found: ContractExperienced) -> Iterator[Part]:
    yield from parts_of(found.markdown)
    if found.experience.jobs:
        yield Note(_HOW)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfRepository,
    usage="contract-experience owner/repo",
    means="what happened under a repository's contract",
    position=34,
    terminal="contract experience",
    has_runs=False,
)
