"""What the registry keeps of a skill."""

import pytest

from overlord.domain.skills.file import parse_skill
from overlord.domain.skills.record import SkillAtBase, SkillStatistics

PATH = ".nebulus/skills/order.yaml"
TEXT = "name: order\ndescription: Keeps order.\nversion: '1.0.0'\ntriggers: {keywords: [order]}\ninstructions: Sort.\n"


def test_another_text_has_another_digest_even_where_the_version_stays() -> None:
    first = SkillAtBase.read(parse_skill(TEXT.encode(), PATH), PATH)
    assert (first.name, first.version, first.path) == ("order", "1.0.0", PATH)
    assert SkillAtBase.read(parse_skill(TEXT.encode() + b"# a note\n", PATH), PATH) == first
    other = SkillAtBase.read(parse_skill(TEXT.replace("Sort.", "Sort well.").encode(), PATH), PATH)
    assert other.digest != first.digest and other.version == first.version


def standing(ended: int, well: int, others: int, others_well: int) -> SkillStatistics:
    return SkillStatistics(
        offered=ended, loaded=ended, ended=ended, well=well, others=others, others_well=others_well
    )


@pytest.mark.parametrize(
    ("figures", "is_worse"),
    [
        ((5, 0, 5, 5), True),
        ((4, 0, 50, 50), False),  # too few of its own
        ((50, 0, 4, 4), False),  # too few others
        ((5, 3, 5, 5), False),  # it may be chance
        ((500, 405, 500, 500), False),  # no chance, and not 20 points
        ((500, 400, 500, 500), True),
        ((6, 6, 6, 0), False),  # better
        ((5, 0, 5, 0), False),
    ],
)
def test_a_skill_does_worse_by_enough_jobs_enough_points_and_not_by_chance(
    figures: tuple[int, int, int, int], is_worse: bool
) -> None:
    assert standing(*figures).is_worse is is_worse


def test_a_standing_is_told_with_its_figures() -> None:
    assert standing(0, 0, 3, 1).sentence == "no job that loaded it has ended yet"
    assert standing(5, 0, 5, 5).sentence == "0 of 5 jobs went well, beside 5 of 5 others, which is worse"
    assert standing(1, 1, 0, 0).sentence == "1 of 1 job went well, beside no others yet"
    assert (standing(3, 2, 0, 0).rate, standing(3, 2, 0, 0).baseline) == (66, None)
