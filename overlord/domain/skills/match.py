"""Which skills a session is offered: those whose triggers fit its issue, the best fitting first, within a budget.

Titles and texts of issues are other people's words: they can bring a skill up, and never change what it says.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from minion.protocol import Issue
from overlord.domain.skills.file import Skill
from overlord.domain.skills.record import SkillAtBase
from overlord.domain.skills.review import SkillReview
from overlord.domain.skills.verdict import SkillVerdict

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
"""Scripts in which a word is not parted from the next one."""
_LABEL, _FILE, _KEYWORD = 100, 10, 1
_GENERAL = 0.5
"""Of a skill that says nothing of when it is offered: less than of any that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The skills of a session, and the files that should have been among those to choose from."""

    offered: tuple[Skill, ...] = ()
    left_out: tuple[str, ...] = ()
    """One sentence for each, which names the file."""
    at_base: tuple[SkillAtBase, ...] | None = None
    """All that could be chosen from; None where nobody looked."""


def choose(
    reviews: Sequence[SkillReview], issue: Issue, files: Collection[str], *, most: int, most_chars: int
) -> Chosen:
    """Pick from a repository's skills. `files` are those the issue names or a revision is about."""
    left_out = [
        f"{review.file} is not read: {review.why}"
        for review in reviews
        if review.verdict is SkillVerdict.REJECT
    ]
    sound = [
        (fit(review.skill, issue, files), review.file, review.skill)
        for review in reviews
        if review.skill is not None and review.verdict is not SkillVerdict.REJECT
    ]
    offered: list[Skill] = []
    room = most_chars
    for score, file, skill in sorted(sound, key=lambda item: (-item[0], item[1])):
        size = len(skill.name) + len(skill.description) + len(skill.text)
        if score and (len(offered) == most or size > room):
            left_out.append(
                f"{file} fits, and is over the budget of {most} skills and {most_chars:,} characters"
            )
        elif score:
            offered.append(skill)
            room -= size
    return Chosen(offered=tuple(offered), left_out=tuple(left_out), at_base=at_base_of(reviews))


def at_base_of(reviews: Sequence[SkillReview]) -> tuple[SkillAtBase, ...]:
    """The skills that sessions can choose from: those of a repository that the judge does not reject."""
    return tuple(
        SkillAtBase.read(review.skill, review.file)
        for review in reviews
        if review.skill is not None and review.verdict is not SkillVerdict.REJECT
    )


def fit(skill: Skill, issue: Issue, files: Collection[str]) -> float:
    """How well a skill's triggers fit: a label counts more than a file, a file more than a word; 0 when none does."""
    triggers = skill.triggers
    if skill.is_general:
        return _GENERAL
    labels = {label.casefold() for label in issue.labels}
    text = f"{issue.title}\n{issue.body}".casefold()
    score: float = _LABEL * sum(label.casefold() in labels for label in triggers.labels)
    score += _KEYWORD * sum(_mentions(text, keyword.casefold()) for keyword in triggers.keywords)
    if triggers.file_patterns and files:
        spec = GitIgnoreSpec.from_lines(f"/{pattern}" for pattern in triggers.file_patterns)
        score += _FILE * sum(1 for _ in spec.match_files(files))
    return score


def _mentions(text: str, keyword: str) -> bool:
    """Whether a text has a keyword as whole words."""
    words = r"\s+".join(map(re.escape, keyword.split()))
    before = "" if _UNSPACED.match(keyword[0]) or not keyword[0].isalnum() else r"(?<!\w)"
    after = "" if _UNSPACED.match(keyword[-1]) or not keyword[-1].isalnum() else r"(?!\w)"
    return re.search(f"{before}{words}{after}", text) is not None
