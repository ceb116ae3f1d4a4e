"""Have a skill's file deleted: as a draft, which is then approved like any other."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.argument import SkillArgument, SkillRef, WordsArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.right import Right
from overlord.verbs.skill import retire_skill
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """Which skill, and why."""

    skill: Annotated[SkillRef, SkillArgument()]
    reason: Annotated[str, WordsArgument()] = ""


def _retire(context: Context, arguments: Retire) -> Done:
    space = context.skill_space(arguments.skill)
    name, why = arguments.skill.name, arguments.reason
    draft = retire_skill(context.connection, space, name, by=context.person, reason=why, at=context.at)
    then = hint("once it is judged, ", CommandRef("approve", (draft.label,)), " has it done")
    return Done(text=f"Draft {draft.label} would retire {draft.name} of {space}", hint=then)


VERB = Verb(
    arguments=Retire,
    act=_retire,
    space=lambda context, arguments: context.skill_space(arguments.skill),
    right=Right.APPROVER,
    usage="retire say-why",
    means="draft that a skill goes; `retire owner/repo say-why` where several have it",
    position=9,
    failpoint=Failpoint.DRAFT_DECIDED,
    terminal="skills retire",
    gaps={Interface.MCP: "which skills there are, a person decides"},
)
