"""Which files an issue names: by path, by a name of their own, or by a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import Comment, Issue
from overlord.domain.scope.named_files import MOST_NAMED, files_named_in, named_files

PATHS = frozenset(
    {"src/app.py", "src/util.py", "tests/util.py", "README.md", "docs/a b.md", "Makefile", "src/Makefile", ".env.example", "a.txt"}
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Fix src/app.py.", ["src/app.py"]),
        ("`src/app.py`, (src/util.py)", ["src/app.py", "src/util.py"]),
        ("see ./src/app.py and /README.md", ["src/app.py", "README.md"]),
        ("src/app.py:12: error; src/util.py:3:5; src/util.py#L3-L5", ["src/app.py", "src/util.py"]),
        ("**src/app.py**", ["src/app.py"]),
        ('File "src/app.py", line 3', ["src/app.py"]),
        ("app.py crashes", ["src/app.py"]),
        ("util.py crashes", []),
        ("the app and the Makefile", ["Makefile"]),
        ("`docs/a b.md`", ["docs/a b.md"]),
        ("copy .env.example", [".env.example"]),
        ("https://github.com/o/r/blob/main/src/app.py#L10", ["src/app.py"]),
        ("[x](https://github.com/o/r/blob/feature/x/docs/a%20b.md?plain=1)", ["docs/a b.md"]),
        ("https://example.com/src/app.py", []),
        ("other/app.py src/App.py ../src/app.py src/", []),
        ("first README.md, then `src/app.py`, README.md", ["README.md", "src/app.py"]),
        ("x" * 5000, []),
        ("", []),
    ],
)
def test_what_a_text_names(text: str, named: list[str]) -> None:
    assert named_files([text], PATHS) == tuple(named)


def test_title_text_and_comments_are_read_in_this_order() -> None:
    comment = Comment(author="b", association="NONE", body="and a.txt, src/app.py")
    issue = Issue(number=1, title="Mend src/app.py", body="See `README.md`", author="a", comments=(comment,))
    assert files_named_in(issue, PATHS) == ("src/app.py", "README.md", "a.txt")


def test_no_more_than_so_many() -> None:
    paths = [f"f{number}.py" for number in range(100_000)]
    assert named_files([" ".join(paths)], dict.fromkeys(paths)) == tuple(paths[:MOST_NAMED])


WORDS = st.sampled_from(
    [*PATHS, "`", ":12", "#L1", "https://h/o/r/blob/", "/", ".", "..", " ", "\n", "%", "[", "x"]
)


@given(st.lists(WORDS | st.text(max_size=3), max_size=20).map("".join))
def test_only_files_there_are_are_named_and_each_once(text: str) -> None:
    named = named_files([text, text], PATHS)
    assert set(named) <= PATHS
    assert len(named) == len(set(named))
