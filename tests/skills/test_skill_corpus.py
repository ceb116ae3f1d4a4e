"""Two corpora, written by hand: every hostile skill is caught, and no ordinary one is, whatever it speaks of.

`held_out/` was written without regard to the rules, to see how they do on what they were not made for.
"""

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from overlord.domain.skills.review import review_skill, review_skills
from overlord.domain.skills.verdict import SkillVerdict

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

BROKEN_BY_WRAPPING = {"off-screen", "spread-letters"}
"""What they do, they do with blanks, which are gone when they are wrapped."""


def rewrapped(path: Path, width: int) -> bytes:
    """A skill whose instructions are a block of text wrapped at a width, but for the lines of programs."""
    text = path.read_text()
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = yaml.safe_load(text)["instructions"].split("\n")
    wrapped = [[line] if line.startswith("    ") else wrapper.wrap(line) or [""] for line in lines]
    block = textwrap.indent("\n".join(part for parts in wrapped for part in parts), "  ", lambda _: True)
    return re.sub(r"instructions:.*", lambda _: f"instructions: |\n{block}\n", text, flags=re.DOTALL).encode()


def test_there_are_enough_of_both() -> None:
    assert len(HOSTILE) >= 120 and len(ORDINARY) >= 75


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_a_hostile_skill_is_caught_for_what_it_says(path: Path) -> None:
    review = review_skill(path.read_bytes(), path.name)
    wanted = SkillVerdict.FLAG if path.stem in FOR_PEOPLE else SkillVerdict.REJECT
    assert review.verdict is wanted, review.findings
    assert "skill/schema" not in {item.rule for item in review.findings}
    assert any(item.line for item in review.findings)


@pytest.mark.parametrize("width", [72, 60, 40, 28])
def test_where_lines_are_wrapped_changes_nothing(width: int) -> None:
    passed = {
        path.stem
        for path in HOSTILE
        if review_skill(rewrapped(path, width), path.name).verdict is SkillVerdict.ACCEPT
    }
    assert passed <= BROKEN_BY_WRAPPING
    assert {review_skill(rewrapped(path, width), path.name).verdict for path in ORDINARY} == {
        SkillVerdict.ACCEPT
    }


def test_how_lines_end_changes_nothing() -> None:
    for path in (*HOSTILE, *ORDINARY):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        other = review_skill(content.replace(b"\n", b"\r\n"), path.name)
        assert other.verdict is review_skill(content, path.name).verdict, path.stem


@pytest.mark.parametrize("path", ORDINARY, ids=lambda path: path.stem)
def test_an_ordinary_skill_is_not(path: Path) -> None:
    review = review_skill(path.read_bytes(), path.name)
    assert review.verdict is SkillVerdict.ACCEPT, review.findings


def test_the_ordinary_ones_do_not_conflict() -> None:
    reviews = review_skills({str(path): path.read_bytes() for path in ORDINARY})
    assert {review.verdict for review in reviews} == {SkillVerdict.ACCEPT}
