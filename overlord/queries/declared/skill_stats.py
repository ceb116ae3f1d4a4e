"""How jobs go that load a skill as it is now, beside the repository's others since the first of them."""

from overlord.domain.chat.lines import listed
from overlord.domain.interface import Interface
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Note, Table, View
from overlord.queries.declared.skills import MEANS, NONE, KnownSkill, OfSkills, known_skills, percent
from overlord.queries.look import Look
from overlord.queries.query import Query

_COLUMNS = ("name", "version", "repository", "offered", "loaded", "went well", "others", "")


def _read(look: Look, arguments: OfSkills) -> tuple[KnownSkill, ...]:
    return known_skills(look, arguments.space)


def _view(_look: Look, found: tuple[KnownSkill, ...]) -> View:
    rows = tuple(
        (
            (Bold(item.skill.name),),
            (item.skill.version,),
            (item.skill.space,),
            (str(item.standing.offered),),
            (str(item.standing.loaded),),
            (f"{item.standing.well} of {item.standing.ended} ({percent(item.standing.rate)})",),
            (f"{item.standing.others_well} of {item.standing.others} ({percent(item.standing.baseline)})",),
            ("worse" if item.standing.is_worse else "",),
        )
        for item in found
    )
    return View(
        summary="Skills in figures", parts=(listed(Table(_COLUMNS, rows), NONE), Note(MEANS)), has_title=True
    )


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfSkills,
    usage="skill-stats",
    means="the figures behind `skills`",
    position=19,
    terminal="skills stats",
    gaps={
        Interface.CHAT: "`skills` has what matters of it, in a table that fits",
        Interface.MCP: "`skills` has what matters of it",
    },
)
