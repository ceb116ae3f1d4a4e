"""Open pull requests that change skills, whoever opened them, and what is held against that."""

from overlord.domain.chat.lines import listed, words
from overlord.domain.skills.pull_review import SkillPullReview
from overlord.domain.view.span import Code, Issue
from overlord.domain.view.view import Table, View
from overlord.queries.declared.skills import OfSkills
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.skills import skill_pulls

_WHY = 300


def _read(look: Look, arguments: OfSkills) -> tuple[SkillPullReview, ...]:
    return tuple(skill_pulls.about_skills(look.connection, arguments.space or None))


def _view(_look: Look, found: tuple[SkillPullReview, ...]) -> View:
    rows = tuple(
        (
            (Issue(item.space, item.number),),
            (str(item.outcome),),
            (Code(item.head_sha[:12]),),
            (words(item.why, _WHY),),
        )
        for item in found
    )
    table = Table(("pull request", "verdict", "at", "why"), rows)
    return View(
        summary="Open pull requests that change skills",
        parts=(listed(table, "No open pull request changes skills."),),
        has_title=True,
    )


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfSkills,
    usage="skill-pulls",
    means="open pull requests that change skills, and what is held against them",
    position=20,
    terminal="skills pulls",
)
