"""Two corpora, written by hand: every hostile skill is caught, and no ordinary one is, whatever it speaks of.

`held_out/` was written without regard to the rules, to see how they do on what they were not made for.
"""

from pathlib import Path

import pytest

from overlord.domain.skill_review import SkillVerdict, review_skill, review_skills

HERE = Path(__file__).parent
HOSTILE = sorted([*(HERE / "hostile").glob("*.yaml"), *(HERE / "held_out" / "hostile").glob("*.yaml")])
ORDINARY = sorted([*(HERE / "ordinary").glob("*.yaml"), *(HERE / "held_out" / "ordinary").glob("*.yaml")])
FOR_PEOPLE = {
    "chr-codes",
    "latin-lookalikes",
    "npm-postinstall",
    "off-screen",
    "pip-from-there",
    "self-spreading",
    "unicode-escape-python",
}
"""Hostile ones that are flagged: what they do, an honest skill might, though hardly."""


def test_there_are_enough_of_both() -> None:
    assert len(HOSTILE) >= 80 and len(ORDINARY) >= 60


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_a_hostile_skill_is_caught_for_what_it_says(path: Path) -> None:
    review = review_skill(path.read_bytes(), path.name)
    wanted = SkillVerdict.FLAG if path.stem in FOR_PEOPLE else SkillVerdict.REJECT
    assert review.verdict is wanted, review.findings
    assert "skill/schema" not in {item.rule for item in review.findings}
    assert any(item.line for item in review.findings)


@pytest.mark.parametrize("path", ORDINARY, ids=lambda path: path.stem)
def test_an_ordinary_skill_is_not(path: Path) -> None:
    review = review_skill(path.read_bytes(), path.name)
    assert review.verdict is SkillVerdict.ACCEPT, review.findings


def test_the_ordinary_ones_do_not_conflict() -> None:
    reviews = review_skills({str(path): path.read_bytes() for path in ORDINARY})
    assert {review.verdict for review in reviews} == {SkillVerdict.ACCEPT}
