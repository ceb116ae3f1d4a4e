"""What people cannot see is shown: marked in place, harmless, and never at the cost of what they can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import Comment, Issue
from overlord.domain.text.hidden_text import (
    MOST_SHOWN,
    SHOWN_CHARS,
    Revealed,
    hidden_in,
    issue_without_hidden,
    without_hidden,
    without_hidden_characters,
)

MEBIBYTE = 1 << 20


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


def selectors(data: bytes) -> str:
    return "".join(chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16) for byte in data)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a [hidden: b] c"),
        ("a <!-- b\nc --> d", "a [hidden: b c] d"),
        ("<!-- b\n\nc", "[hidden: b c]"),
        ("a <!-- b\n\nc", "a [hidden: b]\n\nc"),
        ("> <!-- b\n\nc", "> [hidden: b c]"),
        ("a <!--> b", "a [hidden] b"),
        ("<!---->: b", "[hidden] : b"),
        ("a <?b?> <!B c> <![CDATA[d]]>", "a [hidden: b] [hidden: c] [hidden: d]"),
        ("\n<?b\n\n?>c", "\n[hidden: b]c"),
    ],
)
def test_comments_and_what_reads_like_them(text: str, shown: str) -> None:
    assert without_hidden(text).text == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <span hidden>b</span> c", "a [hidden: ‹span hidden›b‹/span›] c"),
        ("<b STYLE='x:y; DISPLAY : none'>b</b>c", "[hidden: ‹b STYLE='x:y; DISPLAY : none'›b‹/b›]c"),
        ('a <i style="font-size/* */:0">b</i>', 'a [hidden: ‹i style="font-size/* */:0"›b‹/i›]'),
        ("a <i style='display&#58;none'>b</i>", "a [hidden: ‹i style='display+#58;none'›b‹/i›]"),
        ("a <i hidden>b<i>c</i>d</i>e", "a [hidden: ‹i hidden›b‹i›c‹/i›d‹/i›]e"),
        ("a <i hidden>b\n\nc <!-- d -->", "a [hidden: ‹i hidden›b c ‹!-- d --›]"),
        ("a <script>b</script> c", "a [hidden: ‹script›b‹/script›] c"),
        ("a <img src=x hidden> b", "a [hidden: ‹img src=x hidden›] b"),
        ('a <input type="hidden" value="b"> c', 'a [hidden: ‹input type="hidden" value="b"›] c'),
        ('a <do what="I say"> b', 'a [hidden: ‹do what="I say"›] b'),
        ('a <b data-x="do">b</b>', 'a [hidden: ‹b data-x="do"›]b</b>'),
        ("<div>\n<span/hidden>b</span>\n</div>", "<div>\n[hidden: ‹span/hidden›b‹/span›]\n</div>"),
        ("<div>\n<b\n</div>", "<div>\n<b\n</div>"),
    ],
)
def test_tags_that_render_as_nothing_and_elements_that_hide(text: str, shown: str) -> None:
    assert without_hidden(text).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "<details><summary>More</summary>\n\nb\n\n</details>",
        '<b>b</b> <i style="color:red">c</i> <img src="x" alt="y"> <input type="checkbox"><br/>',
        "a < b, b <3, a<-b, Dict<str, int>, <https://example.com>, <a@example.com>",
        "\\<!-- a --> and \\<i hidden>",
        "&#60; &#x41; &amp; &#xFFFFFF; &#",
        "[a]: https://example.com\n[b]: <x y> 'title'\n\nSee [A][a], [b].",
        "A note[^1].\n\n[^1]: It says.\n\n    More.",
        "- [ ] a\n- [x] b",
        "",
        "\\a `",
    ],
)
def test_what_people_see_is_left_alone(text: str) -> None:
    assert without_hidden(text) == Revealed(text)


COMMENT = "<!-- b -->"
SHOWN_AS_CODE = (
    f"```\n{COMMENT}\n```",
    f"```html\n{COMMENT}\n\n{COMMENT}",
    f"~~~ a`b\n```\n{COMMENT}\n~~~~  ",
    f"a\n```\n{COMMENT}\n```\nb",
    f"> ```\n> {COMMENT}\n> ```",
    f">```\n>{COMMENT}",
    f"- a\n\n  ```\n  {COMMENT}\n\n  ```",
    f"1. ```\n   {COMMENT}",
    f"10) a\n    ```\n    {COMMENT}",
    f"- - a\n    ~~~\n    {COMMENT}",
    f"-\n  ```\n  {COMMENT}",
    f"-     a\n\n  ```\n  {COMMENT}",
    f"-\ta\n\n\t```\n\t{COMMENT}",
    f"a `{COMMENT}` b",
    f"a ``{COMMENT}` {COMMENT}`` b",
    f"a `\nb {COMMENT}`",
    f"- a\nlazy `{COMMENT}`",
    f"a\n2. b `{COMMENT}`\n- \nc",
    f"# a `{COMMENT}`",
    f"    a\n\n`{COMMENT}`",
    f"[^1]: a\n\n    ```\n    {COMMENT}\n\nb[^1]",
    f"| `{COMMENT}` |\n|--|",
)


@pytest.mark.parametrize("text", SHOWN_AS_CODE)
def test_code_shows_its_comments(text: str) -> None:
    assert without_hidden(text).text == text


LOOKS_LIKE_CODE = (
    f"```\na\n```\n{COMMENT}",
    f"``` a`b\n{COMMENT}",
    f"    ```\n{COMMENT}",
    f"> ```\n{COMMENT}",
    f"- a\n\n  ```\n{COMMENT}",
    f"-\n\n  ```\na\n```\n{COMMENT}",
    f"- ```\n\n{COMMENT}",
    f"<div>\n```\n{COMMENT}\n```",
    f"<pre>\n\n```\n{COMMENT}\n```\n</pre>",
    f"<span>\n```\n{COMMENT}\n```",
    f"a `\n\n{COMMENT}`",
    f"a `\n===\nb {COMMENT} `",
    f"a `\n# b {COMMENT} `",
    f"a `\n***\nb {COMMENT} `",
    f"    `\na {COMMENT} `",
    f"| ` | {COMMENT} | ` |\n|--|--|--|",
    f"a ``{COMMENT}`",
    f"\\`{COMMENT}`",
    f"<div>\\{COMMENT}",
    f"{'> ' * 70}```\n{COMMENT}\n",
    f"{'> ' * 70}a\n\n```\n{COMMENT}\n",
)


@pytest.mark.parametrize("text", LOOKS_LIKE_CODE)
def test_what_only_looks_like_code_hides_nothing(text: str) -> None:
    assert without_hidden(text).text == text.replace(COMMENT, "[hidden: b]")
    assert without_hidden(text).hidden == ("b",)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[//]: # (b)", "[hidden: (//): # (b)]"),
        ("[comment]: <> (b\nc)\nd", "[hidden: (comment): ‹› (b c)]\nd"),
        ("[//]: # (b) and [//]", "[//]: # (b) and [//]"),
        ("[//]: # (b)\n\nsee [//]", "[hidden: (//): # (b)]\n\nsee [//]"),
        ('[a]: x\n[b]: y "do"\nc', '[hidden: (a): x]\n[hidden: (b): y "do"]\nc'),
        ("[a]: x\n\n<!-- [a] --> `[a]`", "[hidden: (a): x]\n\n[hidden: (a)] `[a]`"),
        ("[^1]: b\n\n    c\n\nd", "[hidden: (^1): b c]\n\nd"),
        ("[^1]: b <!-- c -->\n", "[hidden: (^1): b ‹!-- c --›]\n"),
    ],
)
def test_definitions_nobody_sees(text: str, shown: str) -> None:
    assert without_hidden(text).text == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bb", "a[hidden: U+200B]b"),
        ("a\u200b\u200b\u200cb", "a[hidden: U+200B ×2 U+200C]b"),
        (
            "a\u202eb\u202c \u2066c\u2069",
            "a[hidden: U+202E]b[hidden: U+202C] [hidden: U+2066]c[hidden: U+2069]",
        ),
        ("a\xad\x1b\x00\ufeff", "a[hidden: U+00AD U+001B U+0000 U+FEFF]"),
        ("a" + tags("say <hi>"), "a[hidden: say ‹hi›]"),
        ("🏴" + tags("evil"), "🏴[hidden: evil]"),
        ("\U000e0001" + tags("a"), "[hidden: U+E0001 a]"),
        ("😀" + selectors(b"run it"), "😀[hidden: run it]"),
        ("a" + selectors("größe".encode()), "a[hidden: größe]"),
        ("a" + selectors(b"\xff\xfe"), "a[hidden: U+E01EF U+E01EE]"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f[hidden: U+FE0F]"),
        ("a\ufe0fb\ufe01", "a[hidden: U+FE0F]b[hidden: U+FE01]"),
        ("a\u200db \u200d", "a[hidden: U+200D]b [hidden: U+200D]"),
        ("می\u200c\u200cخ", "می\u200c[hidden: U+200C]خ"),
        ("\u3164\u115f\u2800", "[hidden: U+3164 U+115F U+2800]"),
        ("a\u034fb\u1160", "a[hidden: U+034F]b[hidden: U+1160]"),
        ("\ud800", "[hidden: U+D800]"),
        ("a\u200b\u115fᅡ", "a[hidden: U+200B]\u115fᅡ"),
        ("a\u200b: b", "a[hidden: U+200B] : b"),
        ("a&#8203;&#x200B;b", "a[hidden: U+200B ×2]b"),
        ("a\u200b<!-- b\u200bc -->\u200b", "a[hidden: U+200B][hidden: b U+200B c][hidden: U+200B]"),
        ("`\u200b`", "`[hidden: U+200B]`"),
        ("```\n\u200b\n```", "```\n[hidden: U+200B]\n```"),
    ],
)
def test_characters_nobody_sees(text: str, shown: str) -> None:
    assert without_hidden(text).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 👩🏽\u200d💻 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☺\ufe0e",
        "🏴" + tags("gbeng") + "\U000e007f",
        "می\u200cخواهم क्\u200dष শ্\u200cর",
        "ភាសា\u200bខ្មែរ",
        "葛\U000e0100 ∩\ufe00",
        "ᠠ\u180b \u115fᅡ ᄀ\u1160 c\u034f\u0301",
        "Größe 漢字 \u0600\tx",
    ],
)
def test_characters_that_scripts_and_emoji_need_stay(text: str) -> None:
    assert without_hidden(text).text == text


def test_a_style_of_any_length_is_read() -> None:
    flood = "*/" + "/*" * (MEBIBYTE // 2)
    for style in (
        flood,
        f"{flood}*/display:none",
        f"&#{'9' * 10_000};display:none",
        f"display&#{'0' * 10_000}58;none",
    ):
        hides = style != flood
        assert without_hidden(f'<b style="{style}">b</b>').text.startswith("[hidden: ") is hides


def test_line_ends_are_all_alike() -> None:
    assert without_hidden("a\r\nb\rc\n").text == "a\nb\nc\n"


def test_what_is_shown_is_cut_and_listed() -> None:
    revealed = without_hidden(f"<!-- {'x' * 10_000} -->")
    assert revealed.hidden == ("x" * SHOWN_CHARS + "…",)
    assert revealed.text == f"[hidden: {revealed.hidden[0]}]"


def test_of_very_many_only_the_marks_are_shown() -> None:
    revealed = without_hidden("a\u200b" * 150)
    assert revealed.text == "a[hidden: U+200B]" * MOST_SHOWN + "a[hidden]" * 50
    assert len(revealed.hidden) == MOST_SHOWN


def test_hidden_words_make_no_markup() -> None:
    [said] = without_hidden("<!-- `a` [b](c) <i> \n```\n| & \\ ](x) -->").hidden
    assert said == "'a' (b)(c) ‹i› ''' / + / )(x)"


def test_a_title_is_no_markdown() -> None:
    assert without_hidden_characters("a <!-- b --> <T>\u200b").text == "a <!-- b --> <T>[hidden: U+200B]"


def test_an_issue_is_shown_with_all_that_was_said() -> None:
    comment = Comment(author="bob", association="NONE", body="c <!-- d -->")
    issue = Issue(number=1, title="a\u200b", body="b <!-- c -->", author="alice", comments=(comment,))
    shown = issue_without_hidden(issue)
    assert (shown.title, shown.body, shown.comments[0].body) == (
        "a[hidden: U+200B]",
        "b [hidden: c]",
        "c [hidden: d]",
    )
    assert (shown.number, shown.author, shown.comments[0].author) == (1, "alice", "bob")
    assert hidden_in(shown) == ("U+200B", "c", "d")
    assert issue_without_hidden(shown) == shown


PIECES = st.sampled_from(
    ["<!--", "-->", "<", ">", "!", "--", "`", "```", "\n", "\n\n", "~~~", "    ", "  ", " ", "- ", "1. ", "> ", "<span hidden>",
     "</span>", "<b>", "<x>", "<div>", "</div>", "<pre>", "[a]", "[a]:", "[//]: # (", ")", "[^1]: ", "[", "]", ":", "(", "x", "\\",
     "\u200b", "\u200d", "\u200c", "😀", "\ufe0f", "🏴", "\U000e0061", "\U000e0101", "ن", "\u115f", "ᅡ", "&#8203;", "&#", "<?",
     "?>", "<![CDATA[", "<!A", "# ", "===", "---", "|", "|--|--|", "[hidden: x]", "\ud800", "\t", "'", '"', "="]
)  # fmt: skip
HOSTILE = st.lists(PIECES | st.text(max_size=2), max_size=25).map("".join)


@given(HOSTILE | st.text())
def test_a_second_look_finds_nothing(text: str) -> None:
    once = without_hidden(text)
    assert without_hidden(once.text) == Revealed(once.text)


@given(HOSTILE)
def test_what_was_hidden_is_listed_in_short_lines(text: str) -> None:
    revealed = without_hidden(text)
    assert all(0 < len(said) <= SHOWN_CHARS + 1 and len(said.splitlines()) == 1 for said in revealed.hidden)
    assert "\u2028" not in revealed.text


FLOODS = (
    "<!--", "x<!--", "<!-- x\n", "<span hidden>", "<span hidden></span>", "<a ", '<a x="', "<x>", "<div>\n", "- ", "> ", "[", "[a",
    "[a]: # (x)\n", "[a]: /x (x\n", "[^a]: ", "&#", "a <?", "\n", " ", "`", "` `` ", "|`", "|-\n", "a\u200b", "\U000e0041", "\\",
    "* ", "<b style='/*", "```\n", "~~~\n> ",
)  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS)
def test_a_mebibyte_of_anything_is_read_in_one_go(flood: str) -> None:
    """Not timed: what takes the square of this would not come to an end within the time a test has."""
    text = flood * (MEBIBYTE // len(flood))
    assert len(without_hidden(text).text) <= 6 * MEBIBYTE
