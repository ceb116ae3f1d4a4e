"""Everything a repository is worked on by, and where each value is said."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import words
from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.conversation.look_argument import RepositoryArgument
from overlord.domain.inquiry import SpaceValue
from overlord.domain.view.span import Bold, Command
from overlord.domain.view.view import Heading, Paragraph, Part, Table, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Query

DEFAULT = "default"
"""What a value's source is that nobody said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSpace:
    """A repository."""

    repository: Annotated[str, RepositoryArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSettings:
    """What one repository is worked on by."""

    name: str
    values: tuple[SpaceValue, ...]
    untested: UntestedPolicy | None


def _read(look: Look, arguments: OfSpace) -> SpaceSettings:
    name = look.space(arguments.repository)
    values, untested = overview.space_values(look.settings, name), overview.untested(look.connection, name)
    return SpaceSettings(name=name, values=values, untested=untested)


def _view(_look: Look, found: SpaceSettings) -> View:
    """What somebody said of it before what is so by default."""
    text = f"What {found.name} is worked on by"
    said = [item for item in found.values if item.source != DEFAULT]
    parts: list[Part] = [Heading(text)]
    if found.untested is not None:
        again = Command(CommandRef("space tests", (found.name, "--ask-again")))
        what = f"It has no tests: {words(found.untested.describe(), 300)}; "
        parts.append(Paragraph((what, again, " takes that back.")))
    parts.append(Paragraph(("Differs from the default:" if said else "Nothing differs from the default.",)))
    if said:
        rows = tuple(((Bold(item.key),), (words(item.value, 500),), (words(item.source),)) for item in said)
        parts.append(Table(("setting", "value", "from"), rows))
    others = [item for item in found.values if item.source == DEFAULT]
    defaults = tuple(((Bold(item.key),), (words(item.value, 500),)) for item in others)
    parts += [Paragraph(("As by default:",)), Table(("setting", "value"), defaults)]
    return View(summary=text, parts=tuple(parts))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfSpace,
    usage="space owner/repo",
    means="what a repository is worked on by",
    position=8,
    terminal="space show",
    needs_state=False,
    has_runs=False,
)
