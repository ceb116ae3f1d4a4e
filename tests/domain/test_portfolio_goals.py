"""Goals as people write them: what is one, what is hidden, and how much of a file is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.portfolio.files.goals import MOST_CHARS, MOST_GOALS, MOST_TROUBLES, Goal, read_overview
from overlord.domain.portfolio.priority import Priority

FILE = """# Calculator

What it is for.

## Goals

- Add numbers [priority: high] [paths: src/api/**, tests/**]
  So that sums are right.

  - with tests
- ~~Subtract~~
- [x] Multiply
- [ ] Divide
1. A numbered one

## Later

- Not a goal
"""


def titles(text: str) -> list[str]:
    return [goal.title for goal in read_overview(text).goals]


def test_the_items_of_the_section_are_goals() -> None:
    found = read_overview(FILE)
    assert found.troubles == ()
    assert found.goals == (
        Goal(
            title="Add numbers",
            text="So that sums are right.\n\n- with tests",
            priority=Priority.HIGH,
            paths=("src/api/**", "tests/**"),
        ),
        Goal(title="Subtract", is_done=True),
        Goal(title="Multiply", is_done=True),
        Goal(title="Divide"),
        Goal(title="A numbered one"),
    )


def test_without_the_section_there_are_none() -> None:
    assert titles("- one\n\n# Goals\n\n- two\n\n### Goals\n\n- three\n\n```\n## Goals\n- four\n```\n") == []
    assert titles("##  goals:\n- one\r\n- two\r\n") == ["one", "two"]


def test_a_goal_is_known_by_its_title_however_it_is_written() -> None:
    assert Goal(title="Add  Numbers").key == Goal(title="add numbers", text="more").key
    assert Goal(title="Add numbers").key != Goal(title="Add words").key


@pytest.mark.parametrize(
    ("text", "wanted", "told"),
    [
        ("- seen\n\n<!--\n- unseen\n-->\n- too", ["seen", "too"], "words that nobody sees"),
        ("- seen <!-- and do harm -->", ["seen"], "do harm"),
        ("- se\u200ben", ["seen"], "words that nobody sees"),
        ("- \u202eneseen", ["neseen"], "words that nobody sees"),
        ("<details>\n\n- unseen\n\n</details>\n\n- seen", ["seen"], "goals inside <details> are not read"),
        ('<div style="color:white">\n\n- unseen\n\n</div>\n\n- seen', ["seen"], "inside <div>"),
        ("<span hidden>\n\n- unseen\n\n</span>\n\n- seen", ["seen"], "words that nobody sees"),
        ('- <font color="white">unseen</font>\n- seen', ["seen"], "it has HTML in it"),
        ("- seen\n  <b>not</b>\n- other", ["other"], "it has HTML in it"),
        ("- keep `<b>` in tables", ["keep `<b>` in tables"], None),
        ("- [paths: ../x] climb\n- seen", ["seen"], "its paths have to be patterns"),
        ("- [priority: now] soon", ["soon"], "urgent, high, normal, low"),
        ("- twice\n- Twice", ["twice"], "is there twice: the first counts"),
        (f"- {'x' * 300}", ["x" * 200], "is cut"),
        ("- \n- [ ]\n-", [], None),
    ],
)
def test_what_people_do_not_see_is_no_goal_and_is_told(
    text: str, wanted: list[str], told: str | None
) -> None:
    found = read_overview(f"## Goals\n\n{text}\n")
    assert [goal.title for goal in found.goals] == wanted
    assert (told is None) == (not found.troubles)
    assert told is None or told in " ".join(found.troubles)


def test_however_many_there_are_some_are_read() -> None:
    found = read_overview("## Goals\n" + "".join(f"- goal {number}\n" for number in range(10_000)))
    assert len(found.goals) == MOST_GOALS
    assert found.troubles == (f"it has more than {MOST_GOALS} goals: the first {MOST_GOALS} are read",)


def test_a_file_that_is_too_large_is_not_read() -> None:
    found = read_overview("## Goals\n- one\n" + "x" * MOST_CHARS)
    assert found.goals == ()
    assert "keep goals here, and move the rest" in found.troubles[0]


@pytest.mark.parametrize(
    "text",
    [
        "- " * 60_000,
        "> " * 60_000,
        "".join(f"{'  ' * depth}- x\n" for depth in range(400)),
        "<div>\n\n" * 20_000,
        "- ~~" * 40_000,
        "- [priority:" * 20_000,
        "- `" * 60_000,
        f"- {'`' * 60_000}<b{'` ' * 60_000}",
        "<!--" * 40_000,
    ],
)
def test_hostile_text_is_read_in_bounds(text: str) -> None:
    found = read_overview(f"## Goals\n\n{text}\n")
    assert len(found.goals) <= MOST_GOALS
    assert len(found.troubles) <= MOST_TROUBLES + 1


@given(st.text(alphabet=st.sampled_from("- *#1.[]()~<>!`\n\t xabGoals:/\u200b\u202e"), max_size=300))
def test_it_never_raises_and_no_goal_holds_what_is_unseen(text: str) -> None:
    for goal in read_overview(f"## Goals\n{text}").goals:
        assert goal.title
        assert "\u200b" not in goal.title + goal.text
        assert "\u202e" not in goal.title + goal.text


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("a `<b>` c", ("a `<b>` c",)),
        ("``a ` <b>`` c", ("``a ` <b>`` c",)),
        ("a ` <b> `` c", ()),
        ("`a` <b> `c`", ()),
    ],
)
def test_what_stands_in_code_is_no_markup(line: str, kept: tuple[str, ...]) -> None:
    assert tuple(goal.title for goal in read_overview(f"## Goals\n\n- {line}\n").goals) == kept


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# calc\n\nIt adds.\n", "it has no section “## Goals”, so there is nothing in it to work on"),
        ("# Goals\n\n- add\n", "it has no section “## Goals”, so there is nothing in it to work on"),
        (
            "## Goals\n\n- add [priority: hgih]\n",
            "“hgih” is no priority; there are urgent, high, normal, low",
        ),
        ("## Goals\n\n- add [path: src/**]\n", "which is read as its words: write [paths: …]"),
    ],
)
def test_what_is_written_almost_right_is_told(text: str, says: str) -> None:
    assert says in " ".join(read_overview(text).troubles)


@pytest.mark.parametrize(
    "text", ["", "## Goals\n", "Goals\n-----\n\n- add\n", "## goals: ##\n- add [see: #4]\n"]
)
def test_a_section_without_goals_is_no_trouble(text: str) -> None:
    assert read_overview(text).troubles == ()
