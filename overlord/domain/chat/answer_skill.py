"""The answer in a chat to what skills there are: `/overlord skills`."""

from collections.abc import Sequence

from overlord.domain.skills.record import SkillRecord, SkillStatistics
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Span
from overlord.domain.view.view import Bullets, Heading, Note, Paragraph, Part, View

MOST_SHOWN = 20


def skills_message(found: Sequence[tuple[SkillRecord, SkillStatistics]]) -> View:
    """The skills at base of every repository, and how the jobs went that loaded them."""
    text = f"{count(len(found), 'skill')} at base"
    parts: list[Part] = [Heading(text)]
    if found:
        more = len(found) - MOST_SHOWN
        items: list[tuple[Span, ...]] = [_line(*item) for item in found[:MOST_SHOWN]]
        parts.append(
            Bullets(
                (
                    *items,
                    *([(f"and {more} more: on the command line, overlord skills list",)] if more > 0 else []),
                )
            )
        )
        parts.append(Note("A job went well that was merged and for which nobody had to be asked on the way."))
    else:
        parts.append(Paragraph(("No repository's base had one yet when a job began there.",)))
    return View(summary=text, parts=tuple(parts))


def _line(skill: SkillRecord, statistics: SkillStatistics) -> tuple[Span, ...]:
    return (
        Bold(f"{skill.name} {skill.version}"),
        f" in {skill.space}, {skill.origin}: loaded by {statistics.loaded} of {count(statistics.offered, 'job')}; {statistics.sentence}",
    )
