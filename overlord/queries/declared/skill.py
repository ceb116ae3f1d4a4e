"""One skill, with how the jobs went that loaded it."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef, hint
from overlord.domain.chat.lines import since, words
from overlord.domain.conversation.argument import SkillArgument, SkillRef
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Paragraph, Part, View
from overlord.errors import Refused
from overlord.queries.declared.skills import KnownSkill, known_skills
from overlord.queries.look import Look
from overlord.queries.query import Query

_DESCRIPTION = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSkill:
    """A skill's name, and the repository where only one's is meant."""

    skill: Annotated[SkillRef, SkillArgument()]


def _read(look: Look, arguments: OfSkill) -> tuple[KnownSkill, ...]:
    name = arguments.skill.name
    found = tuple(item for item in known_skills(look, arguments.skill.space or "") if item.skill.name == name)
    if not found:
        raise Refused(
            f"no skill of the name {name!r} was seen", hint=hint(CommandRef("skills"), " names them")
        )
    return found


def _view(look: Look, found: tuple[KnownSkill, ...]) -> View:
    parts: list[Part] = []
    for item in found:
        skill = item.skill
        where = (
            f" {skill.version}, {skill.origin}, in {skill.space}: {words(skill.description, _DESCRIPTION)}"
        )
        seen = f"{skill.path}, {skill.state} · first seen {since(skill.first_seen_at, look.at)} ago"
        parts += [
            Paragraph((Bold(skill.name), where)),
            Paragraph((seen,)),
            Paragraph((item.standing.sentence,)),
        ]
    return View(summary=f"Skill {found[0].skill.name}", parts=tuple(parts), has_title=True)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfSkill,
    usage="skill say-why",
    means="one skill, with how the work goes that loads it",
    position=18,
    terminal="skills show",
)
