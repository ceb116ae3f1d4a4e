"""Which skills an issue brings up, and in what order."""

import pytest

from minion.protocol import Issue
from overlord.domain.skills.match import choose
from overlord.domain.skills.review import review_skills


def offered(
    triggers: dict[str, str],
    title: str = "",
    *,
    labels: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    most: int = 9,
    chars: int = 9_000,
) -> tuple[list[str], tuple[str, ...]]:
    contents = {
        f"{name}.yaml": (
            f"name: {name}\ndescription: b\nversion: '1.0.0'\ntriggers: {said}\ninstructions: {'x' * 1_000}\n"
        ).encode()
        for name, said in triggers.items()
    }
    issue = Issue(number=1, title=title, body="", author="ada", labels=labels)
    chosen = choose(review_skills(contents), issue, files, most=most, most_chars=chars)
    return [skill.name for skill in chosen.offered], chosen.left_out


@pytest.mark.parametrize(
    ("keyword", "title", "fits"),
    [
        ("flaky", "A FLAKY test", True),
        ("flaky", "flakyness", False),
        ("merge conflict", "a merge\n conflict again", True),
        ("c++", "the C++ part", True),
        (".net", "on .NET 9", True),
        ("文档", "更新文档说明", True),
        ("перевод", "нужен перевод строк", True),
        ("перевод", "переводчик", False),
        ("a.b", "axb", False),
    ],
)
def test_a_keyword_is_found_as_whole_words(keyword: str, title: str, fits: bool) -> None:
    assert offered({"it": f"{{keywords: ['{keyword}']}}"}, title)[0] == (["it"] if fits else [])


def test_a_label_comes_before_a_file_and_a_file_before_words() -> None:
    triggers = {
        "word": "{keywords: [slow, query]}",
        "file": "{file_patterns: ['db/**']}",
        "label": "{labels: [Performance]}",
        "none": "{labels: [docs], file_patterns: ['web/*'], keywords: [fast]}",
    }
    found = offered(triggers, "slow query", labels=("performance",), files=("db/a/b.sql",))
    assert found == (["label", "file", "word"], ())


def test_what_is_over_the_budget_is_told() -> None:
    triggers = {"a": "{keywords: [slow]}", "b": "{keywords: [slow, er]}"}
    names, left_out = offered(triggers, "slow", chars=1_500)
    assert names == ["a"]
    assert left_out == ("b.yaml fits, and is over the budget of 9 skills and 1,500 characters",)
