"""Skills: instructions that come with the brief and are read only when they are wanted."""

from minion.errors import ToolError
from minion.session import Session
from minion.tools.tool import Parameter, Tool


def list_skills(session: Session) -> str:
    lines = [f"{skill.name}: {skill.description}" for skill in session.brief.skills]
    return "\n".join(lines) or "This session has no skills."


def use_skill(session: Session, *, name: str) -> str:
    for skill in session.brief.skills:
        if skill.name == name:
            return skill.instructions
    known = ", ".join(skill.name for skill in session.brief.skills) or "none"
    raise ToolError(f"There is no skill {name!r}. Known: {known}.")


TOOLS = (
    Tool(name="list_skills", meaning="List the skills of this session.", run=list_skills),
    Tool(
        name="use_skill",
        meaning="Load a skill's instructions.",
        run=use_skill,
        parameters=(Parameter(name="name", meaning="The skill's name.", required=True),),
    ),
)
