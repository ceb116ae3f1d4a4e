"""What the registry keeps of a skill."""

from overlord.domain.skill import parse_skill
from overlord.domain.skill_record import SkillAtBase

PATH = ".nebulus/skills/order.yaml"
TEXT = "name: order\ndescription: Keeps order.\nversion: '1.0.0'\ntriggers: {keywords: [order]}\ninstructions: Sort.\n"


def test_another_text_has_another_digest_even_where_the_version_stays() -> None:
    first = SkillAtBase.read(parse_skill(TEXT.encode(), PATH), PATH)
    assert (first.name, first.version, first.path) == ("order", "1.0.0", PATH)
    assert SkillAtBase.read(parse_skill(TEXT.encode() + b"# a note\n", PATH), PATH) == first
    other = SkillAtBase.read(parse_skill(TEXT.replace("Sort.", "Sort well.").encode(), PATH), PATH)
    assert other.digest != first.digest and other.version == first.version
