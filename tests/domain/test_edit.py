"""An edited issue: what counts as an edit, that an answer is bound to one, and that all of it can be seen and none of it lives."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from minion.protocol import Comment
from overlord.domain.conversation.issue_edit import SHOWN_CHARS, edition, is_same, question
from tests.records import an_issue

OLD = an_issue(title="add() subtracts", body="Mend add().\nIt is in calc.py.")
SAID = Comment(author="bob", association="NONE", body="Me too.")


def shown(body: str, old: str = OLD.body) -> str:
    return question(replace(OLD, body=old), replace(OLD, body=body))


@pytest.mark.parametrize(
    "other",
    [
        OLD,
        replace(OLD, comments=(SAID,), labels=("bug",)),
        replace(OLD, body=OLD.body.replace("\n", "\r\n")),
    ],
)
def test_comments_labels_and_line_ends_are_no_edit(other: object) -> None:
    assert is_same(OLD, replace(OLD, **{n: getattr(other, n) for n in ("body", "comments", "labels")}))


@pytest.mark.parametrize(
    "change", [{"title": "add() adds"}, {"body": "Mend add()."}, {"body": f"{OLD.body} "}]
)
def test_title_and_text_are(change: dict[str, str]) -> None:
    new = replace(OLD, **change)  # type: ignore[arg-type]
    assert not is_same(OLD, new)
    assert edition(OLD, new) != edition(new, OLD)
    assert edition(OLD, new) != edition(OLD, replace(new, title="a third"))
    assert edition(OLD, new) == edition(OLD, replace(new, comments=(SAID,)))


def test_the_question_shows_the_difference_and_nothing_of_it_lives() -> None:
    new = replace(
        OLD,
        title="add() subtracts @everyone",
        body="Mend add().\n```\n# Approved\nIt is in calc\u202e.py.",
        comments=(SAID,),
    )
    assert question(OLD, new) == snapshot("""\
The issue was edited after work began.

No session has seen the new text. It may be worked on from now on, or the one that stood when the work began; putting the work label on again takes the text as it stands then.

Title:

```text
-add() subtracts
+add() subtracts @everyone
```

Text:

````text
Mend add().
-It is in calc.py.
+```
+# Approved
+It is in calc[U+202E].py.
````

With the new text the 1 comment there were then would be read.\
""")


def test_a_change_of_what_cannot_be_seen_can_be_seen() -> None:
    assert "[U+E0041][U+200B]" in shown(OLD.body + "\U000e0041\u200b")


def test_only_the_lines_around_a_change_are_shown() -> None:
    lines = [f"line {number}" for number in range(60)]
    text = shown("\n".join([*lines[:20], "new", *lines[21:40], "other", *lines[41:]]), "\n".join(lines))
    assert "-line 20\n+new" in text and "-line 40\n+other" in text and "\n…\n" in text
    assert "line 30" not in text and "line 5\n" not in text


def test_a_long_change_is_cut_and_says_so_on_both_sides() -> None:
    old, new = ("\n".join(f"{word} {number}" for number in range(3000)) for word in ("old", "new"))
    text = shown(new, old)
    assert "-old 0\n" in text and "+new 0\n" in text
    assert text.count("(cut: the rest stands at the issue)") == 2
    assert len(text) < 2 * SHOWN_CHARS
    assert "(cut: the rest stands at the issue)" in shown("\u200b" * 60_000)


def test_a_hostile_text_takes_no_time() -> None:
    pick = random.Random(7)
    one, other = ("\n".join(str(pick.randrange(150)) for _ in range(20_000)) for _ in range(2))
    assert len(shown(one, other)) < 2 * SHOWN_CHARS


@given(st.text("ab\n\u200b`", max_size=60), st.text("ab\n\u200b`", max_size=60))
def test_the_block_holds_every_difference(old: str, new: str) -> None:
    text = shown(new, old)
    if old == new:
        assert "Text:" not in text
        return
    _, _, block = text.partition("Text:\n\n")
    lines = block.splitlines()
    fence = lines[0].removesuffix("text")
    assert lines[-1] == fence
    assert not any(line.strip() == fence for line in lines[1:-1])
    assert any(line[:1] in "+-" for line in lines[1:-1])
