"""`overlord skills list|show|stats|pulls`: the skills each repository has, where they come from, how the work goes that loads
them, and the open pull requests that change them."""

from typing import Annotated

import typer

from overlord.domain.skills.record import SkillRecord, SkillStatistics
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import age, as_json, line, show_text, table
from overlord.errors import Refused
from overlord.store.skills import skill_pulls, skill_uses, skills

Space = Annotated[str, typer.Option("--space", help="Only this repository, as owner/name.", metavar="SPACE")]


def show(name: str, space: Space = "", json: Json = False, _repo: Repo = "") -> None:
    """One skill, with how the jobs went that loaded it."""
    found = [item for item in _read_skills(space) if item[0].name == name]
    if not found:
        raise Refused(f"no skill of the name {name!r} was seen; `overlord skills list` names them")
    if json:
        as_json([{"skill": skill, "standing": statistics} for skill, statistics in found])
        return
    for skill, statistics in found:
        show_text(
            f"{skill.name} {skill.version}, {skill.origin}, in {skill.space}: {line(skill.description)}"
        )
        show_text(f"{skill.path}, {skill.state} · first seen {age(skill.first_seen_at)} ago")
        show_text(f"{statistics.sentence}\n")


def stats(space: Space = "", json: Json = False, _repo: Repo = "") -> None:
    """How jobs go that load a skill as it is now, beside the repository's others since the first of them."""
    found = _read_skills(space)
    if json:
        as_json([{"skill": skill, "standing": statistics} for skill, statistics in found])
        return
    rows = [
        (
            skill.name,
            skill.version,
            skill.space,
            str(statistics.offered),
            str(statistics.loaded),
            f"{statistics.well} of {statistics.ended} ({percent(statistics.rate)})",
            f"{statistics.others_well} of {statistics.others} ({percent(statistics.baseline)})",
            "worse" if statistics.is_worse else "",
        )
        for skill, statistics in found
    ]
    if rows:
        table(("name", "version", "repository", "offered", "loaded", "went well", "others", ""), rows)
    show_text("A job went well that was merged and for which nobody had to be asked on the way.")


def pulls(space: Space = "", json: Json = False, _repo: Repo = "") -> None:
    """Open pull requests that change skills, whoever opened them, and what is held against that."""
    with state.reading() as connection:
        found = skill_pulls.about_skills(connection, space or None)
    if json:
        as_json(found)
    elif not found:
        show_text("No open pull request changes skills.")
    else:
        rows = [(f"{item.space}#{item.number}", item.outcome, item.head_sha[:12], item.why) for item in found]
        table(("pull request", "verdict", "at", "why"), rows)


def _read_skills(space: str) -> list[tuple[SkillRecord, SkillStatistics]]:
    with state.reading() as connection:
        known = skills.all_of(connection, space or None)
        return [(skill, skill_uses.statistics(connection, skill)) for skill in known]


def percent(rate: int | None) -> str:
    return "–" if rate is None else f"{rate} %"
