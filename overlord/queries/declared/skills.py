"""The skills that were seen at each repository's base when a job began there, and how the work goes that loads them."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.chat.lines import listed, since
from overlord.domain.conversation.look_argument import SpaceOptionArgument
from overlord.domain.skills.record import SkillRecord, SkillStatistics
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Note, Table, View
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.skills import skill_uses, skills

_COLUMNS = ("name", "version", "origin", "at base", "repository", "loaded", "went well", "others", "since")
NONE = "No repository's base had a skill yet when a job began there."
MEANS = "A job went well that was merged and for which nobody had to be asked on the way."


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSkills:
    """Which of them."""

    space: Annotated[str, SpaceOptionArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSkill:
    """A skill, and how the jobs went that loaded it."""

    skill: SkillRecord
    standing: SkillStatistics


def known_skills(look: Look, space: str) -> tuple[KnownSkill, ...]:
    """Those of one repository, or of all."""
    found = skills.all_of(look.connection, space or None)
    return tuple(
        KnownSkill(skill=item, standing=skill_uses.statistics(look.connection, item)) for item in found
    )


def percent(rate: int | None) -> str:
    return "–" if rate is None else f"{rate} %"


def _read(look: Look, arguments: OfSkills) -> tuple[KnownSkill, ...]:
    return known_skills(look, arguments.space)


def _view(look: Look, found: tuple[KnownSkill, ...]) -> View:
    rows = tuple(
        (
            (Bold(item.skill.name),),
            (item.skill.version,),
            (str(item.skill.origin),),
            (str(item.skill.state),),
            (item.skill.space,),
            (f"{item.standing.loaded} of {item.standing.offered}",),
            (f"{percent(item.standing.rate)}{', worse' if item.standing.is_worse else ''}",),
            (percent(item.standing.baseline),),
            (since(item.skill.changed_at, look.at),),
        )
        for item in found
    )
    text = f"{count(len(found), 'skill')} seen at base"
    note = (Note(MEANS),) if found else ()
    return View(summary=text, parts=(listed(Table(_COLUMNS, rows), NONE), *note), has_title=True)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfSkills,
    usage="skills",
    means="the skills there are, and how work goes that loads them",
    position=17,
    terminal="skills list",
)
