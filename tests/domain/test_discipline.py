"""The discipline pages: each has laws, an output contract and rules, and whoever uses one takes the sections that are theirs."""

import pytest

from overlord.config_files import config_directory, packaged
from overlord.domain.disciplines.catalog import KINDS
from overlord.domain.knowledge.discipline import (
    A_TASK,
    AS_A_TOOL,
    LAWS,
    NAMES,
    OUTPUT_CONTRACT,
    RULES,
    WORKED,
    read_discipline,
)

PAGE = """# Review

You read a change.

## Laws

1. Read
   every file.
2. Name the line.

## Output contract

One JSON object.

## Rules

1. Begin with the tests.
"""


def page(name: str) -> str:
    return packaged(f"prompts/disciplines/{name}.md")


@pytest.mark.parametrize("name", NAMES)
def test_each_page_has_its_parts(name: str) -> None:
    found = read_discipline(name, page(name))
    assert len(found.laws) == 3
    assert len(found.rules) >= 4
    assert found.sections[OUTPUT_CONTRACT]
    assert found.title.lower().replace(" ", "-") == name
    assert found.text().split() == page(name).split()


def test_every_page_of_a_discipline_is_named() -> None:
    files = {entry.name for entry in (config_directory() / "prompts" / "disciplines").iterdir()}
    assert files == {*(f"{name}.md" for name in NAMES), "lead.md"}


def test_there_are_twelve_pages() -> None:
    assert len(set(NAMES)) == 12
    assert {kind.page for kind in KINDS.values()} < set(WORKED)


@pytest.mark.parametrize("name", WORKED)
def test_a_page_that_a_model_works_by_says_how_the_result_is_handed_over(name: str) -> None:
    told = read_discipline(name, page(name)).sections[AS_A_TOOL]
    assert told.startswith("End with `give_result`:")
    fields = [line.split("`")[1] for line in told.splitlines() if line.startswith("- `")]
    assert fields == ["status", "message", "file_path", "runner_output"]


def test_a_page_is_read_in_parts() -> None:
    found = read_discipline("review", PAGE)
    assert (found.title, found.opening) == ("Review", "You read a change.")
    assert found.laws == ("Read every file.", "Name the line.")
    assert found.rules == ("Begin with the tests.",)
    assert found.sections[OUTPUT_CONTRACT] == "One JSON object."
    assert found.text(RULES) == "# Review\n\nYou read a change.\n\n## Rules\n\n1. Begin with the tests."


@pytest.mark.parametrize(
    ("left_out", "lacks"),
    [
        ("## Laws", LAWS),
        ("## Output contract", OUTPUT_CONTRACT),
        ("## Rules", RULES),
        ("You read a change.", "opening"),
        ("# Review\n", "title"),
        ("1. Begin with the tests.", RULES),
        ("1. ", "numbered lists"),
    ],
)
def test_a_page_that_lacks_a_part_is_refused(left_out: str, lacks: str) -> None:
    with pytest.raises(ValueError, match=lacks):
        read_discipline("review", PAGE.replace(left_out, ""))


def test_a_lead_is_told_how_a_task_is_specified_and_not_what_a_file_holds() -> None:
    told = read_discipline("specification", page("specification")).text(LAWS, A_TASK, RULES)
    assert "Acceptance criteria" in told
    assert "Problem statement" not in told


def test_a_specification_has_the_sections_that_people_expect() -> None:
    contract = read_discipline("specification", page("specification")).sections[OUTPUT_CONTRACT]
    headings = ("Problem statement", "Success criteria", "Constraints", "Out of scope", "Technical approach")
    places = [contract.index(f"**{heading}**") for heading in (*headings, "Risks")]
    assert places == sorted(places)
