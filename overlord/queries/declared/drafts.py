"""Skills that are drafted and wait for a person, or are on their way."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import drafts_table, listed
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.skills.draft import DraftState, SkillDraft
from overlord.domain.skills.verdict import SkillVerdict
from overlord.domain.text.plain import count
from overlord.domain.view.view import Action, Actions, View
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.skills import drafts


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDrafts:
    """Which of them."""

    all: Annotated[bool, FlagArgument(help="The last hundred, whatever became of them.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDraft:
    """A draft, what the judge says of it, and what an answer to it is bound to."""

    draft: SkillDraft
    verdict: SkillVerdict
    digest: str


def shown(draft: SkillDraft) -> ShownDraft:
    return ShownDraft(draft=draft, verdict=draft.verdict, digest=draft.digest)


def _read(look: Look, arguments: OfDrafts) -> tuple[ShownDraft, ...]:
    read = drafts.newest if arguments.all else drafts.unfinished
    return tuple(map(shown, read(look.connection)))


def _view(look: Look, found: tuple[ShownDraft, ...]) -> View:
    waiting = [item.draft for item in found if item.draft.state is DraftState.WAITING]
    text = f"{count(len(waiting), 'draft')} waiting for a person"
    table = drafts_table([item.draft for item in found], look.at)
    shown = tuple(Action("See one, whole", CommandRef("draft", (item.label,))) for item in waiting[:1])
    return View(
        summary=text,
        parts=(
            listed(table, "Nothing is drafted."),
            Actions(shown),
        ),
        has_title=True,
    )


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfDrafts,
    usage="drafts",
    means="skills that are drafted, and wait for a person or are under way",
    position=15,
    terminal="skills drafts",
)
