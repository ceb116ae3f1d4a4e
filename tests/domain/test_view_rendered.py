"""One view in four renderings: each part and span in each, and nobody's words ever more than words."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from inline_snapshot import snapshot
from markdown_it import MarkdownIt

from overlord.adapters.slack.blocks import message_payload
from overlord.command_ref import CommandRef
from overlord.domain.identifiers import UserId
from overlord.domain.view.graph import EdgeKind, Graph, GraphEdge, GraphNode, NodeKind
from overlord.domain.view.html import html
from overlord.domain.view.markdown import markdown
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mark, Mention, Moment, Pull, Span
from overlord.domain.view.view import (
    Action,
    ActionId,
    Actions,
    Bullets,
    Button,
    Buttons,
    Chart,
    ChartKind,
    Fields,
    Heading,
    Note,
    Outline,
    Output,
    Paragraph,
    Quote,
    Rule,
    Table,
    View,
)

HOSTILE = "@bob closes #1 GH-2 https://evil.example <script>x</script> ](javascript:x) `c` **b** | \x1b[2J\u202e\n# now"


def word(ref: CommandRef) -> str:
    return " ".join(("/overlord", ref.name, *ref.arguments))


def a_graph(text: str) -> Graph:
    """A step, a decision and an ending, with this text wherever somebody's can stand."""
    nodes = (
        GraphNode(id="a", name=text, kind=NodeKind.PHASE, detail=text),
        GraphNode(id="b", name=text, kind=NodeKind.GATE, detail=text, layer=1),
        GraphNode(id="c", name=text, kind=NodeKind.ENDING, layer=2),
    )
    edges = (
        GraphEdge(source="a", target="b", label=text),
        GraphEdge(source="b", target="c", label=text),
        GraphEdge(source="b", target="a", label=text, kind=EdgeKind.REJECT),
    )
    return Graph(text, nodes, edges)


def a_view(text: str) -> View:
    """Every part and span, with this text wherever somebody's can stand."""
    spans = (
        *(text, " ", Bold(text), " ", Code(text), " ", Link("https://example.org/a", text), " "),
        *(Mention(UserId("U12345")), " ", Moment(1772442000, day=True), " ", Mark("✅")),
        *(Issue("acme/calc", 7), " ", Pull("acme/calc", 9), " ", Command(CommandRef("why", ("7",)))),
    )
    action = Action(text, CommandRef("answer", ("5", text)), text)
    return View(
        summary="A title",
        has_title=True,
        parts=(
            *(Heading(text), Paragraph(spans), Bullets((spans, (text,))), Quote(text), Output(text)),
            Outline((((text,), spans, (text,)), (spans,))),
            *(Note(text), Rule(), Fields(((text, (text,)),)), Table((text, "two"), (((text,), spans),))),
            *(Chart(text, text, ((text, 1.0), ("b", None), ("c", 3.0))),),
            *(Chart(text, text, (("a", 1.0), (text, 3.0)), ChartKind.LINE),),
            *(a_graph(text),),
            *(Actions((action,)), Buttons((Button(action=ActionId("press"), label=text, value=text),))),
        ),
    )


def test_a_view_in_markdown() -> None:
    assert markdown(a_view("words"), word) == snapshot("""\
### A title

### words

words **words** `words` [words](https://example.org/a) U12345 2 Mar 09:00 UTC ✅ `acme/calc#7` `acme/calc#9` `/overlord why 7`

- words **words** `words` [words](https://example.org/a) U12345 2 Mar 09:00 UTC ✅ `acme/calc#7` `acme/calc#9` `/overlord why 7`
- words

> words

```text
words
```

- words
  - words **words** `words` [words](https://example.org/a) U12345 2 Mar 09:00 UTC ✅ `acme/calc#7` `acme/calc#9` `/overlord why 7`
  - words
- words **words** `words` [words](https://example.org/a) U12345 2 Mar 09:00 UTC ✅ `acme/calc#7` `acme/calc#9` `/overlord why 7`

words

---

- **words:** words

| words | two |
|---|---|
| words | words **words** `words` [words](https://example.org/a) U12345 2 Mar 09:00 UTC ✅ `acme/calc#7` `acme/calc#9` `/overlord why 7` |

**words** ▃·█ min 1, max 3 words

**words** ▁█ min 1, max 3 words

```text
┌────────────────────────┐
│ words                  │
│ words                  │
└────────────────────────┘
  │ words
  ▼
  ◇ words: words
  ├╌ words ╌▷ words
  │ words
  ▼
  ● words
```

- words: `/overlord answer 5 words` words\
""")


def test_a_view_in_html() -> None:
    assert html(a_view("words"), word) == snapshot("""\
<h2>A title</h2>
<h2>words</h2>
<p>words <strong>words</strong> <code>words</code> <a href="https://example.org/a" rel="noreferrer">words</a> @U12345 <time datetime="2026-03-02T09:00:00+00:00">2 Mar 09:00 UTC</time> ✅ <code>acme/calc#7</code> <code>acme/calc#9</code> <code>/overlord why 7</code></p>
<ul><li>words <strong>words</strong> <code>words</code> <a href="https://example.org/a" rel="noreferrer">words</a> @U12345 <time datetime="2026-03-02T09:00:00+00:00">2 Mar 09:00 UTC</time> ✅ <code>acme/calc#7</code> <code>acme/calc#9</code> <code>/overlord why 7</code></li><li>words</li></ul>
<blockquote>words</blockquote>
<pre>words</pre>
<ul><li>words<ul><li>words <strong>words</strong> <code>words</code> <a href="https://example.org/a" rel="noreferrer">words</a> @U12345 <time datetime="2026-03-02T09:00:00+00:00">2 Mar 09:00 UTC</time> ✅ <code>acme/calc#7</code> <code>acme/calc#9</code> <code>/overlord why 7</code></li><li>words</li></ul></li><li>words <strong>words</strong> <code>words</code> <a href="https://example.org/a" rel="noreferrer">words</a> @U12345 <time datetime="2026-03-02T09:00:00+00:00">2 Mar 09:00 UTC</time> ✅ <code>acme/calc#7</code> <code>acme/calc#9</code> <code>/overlord why 7</code></li></ul>
<p><small>words</small></p>
<hr>
<dl><dt>words</dt><dd>words</dd></dl>
<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th scope="col">words</th><th scope="col">two</th></tr></thead><tbody><tr><td>words</td><td>words <strong>words</strong> <code>words</code> <a href="https://example.org/a" rel="noreferrer">words</a> @U12345 <time datetime="2026-03-02T09:00:00+00:00">2 Mar 09:00 UTC</time> ✅ <code>acme/calc#7</code> <code>acme/calc#9</code> <code>/overlord why 7</code></td></tr></tbody></table></div>
<figure class="chart"><svg viewBox="0 0 640 180" role="img" aria-label="words: words: 1 words, b: none, c: 3 words"><line class="axis" x1="70" y1="150" x2="630" y2="150"/><text class="axis" x="64" y="16" text-anchor="end">3</text><text class="axis" x="64" y="154" text-anchor="end">0</text><text class="axis" x="70" y="170">words</text><text class="axis" x="630" y="170" text-anchor="end">c</text><rect class="bar" x="88.7" y="104.0" width="149.3" height="46.0"><title>words: 1 words</title></rect><rect class="bar" x="462.0" y="12.0" width="149.3" height="138.0"><title>c: 3 words</title></rect></svg><figcaption>words: min 1, max 3 words</figcaption></figure>
<figure class="chart"><svg viewBox="0 0 640 180" role="img" aria-label="words: a: 1 words, words: 3 words"><line class="axis" x1="70" y1="150" x2="630" y2="150"/><text class="axis" x="64" y="16" text-anchor="end">3</text><text class="axis" x="64" y="154" text-anchor="end">1</text><text class="axis" x="70" y="170">a</text><text class="axis" x="630" y="170" text-anchor="end">words</text><polyline class="line" fill="none" points="210.0,150.0 490.0,12.0"/><circle class="line" cx="210.0" cy="150.0" r="2.5"><title>a: 1 words</title></circle><circle class="line" cx="490.0" cy="12.0" r="2.5"><title>words: 3 words</title></circle></svg><figcaption>words: min 1, max 3 words</figcaption></figure>
<figure class="graph"><div class="scroll" tabindex="0" role="region" aria-label="words"><svg viewBox="0 0 316 256" width="316" height="256" role="img" aria-label="words: phase words leads on words to gate words; gate words leads on words to ending words; gate words leads on words to phase words"><title>words</title><desc>phase words leads on words to gate words; gate words leads on words to ending words; gate words leads on words to phase words</desc><path class="edge" d="M116 60C116 82 116 82 116 99"/><polygon class="arrow" points="116,104 111,94 121,94"/><text class="label" x="122" y="85">words</text><path class="edge" d="M116 152C116 174 116 174 116 191"/><polygon class="arrow" points="116,196 111,186 121,186"/><text class="label" x="122" y="177">words</text><path class="edge reject" d="M220 128H304V26H225"/><polygon class="arrow" points="220,26 230,21 230,31"/><text class="label" x="226" y="140">words</text><g><title>words: words</title><rect class="phase" x="12" y="12" width="208" height="48" rx="6"/><text class="name" x="116" y="32" text-anchor="middle">words</text><text class="detail" x="116" y="49" text-anchor="middle">words</text></g><g><title>words: words</title><polygon class="gate" points="12,128 28,104 204,104 220,128 204,152 28,152"/><text class="name" x="116" y="124" text-anchor="middle">◇ words</text><text class="detail" x="116" y="141" text-anchor="middle">words</text></g><g><title>words</title><rect class="ending" x="12" y="196" width="208" height="48" rx="24"/><text class="name" x="116" y="224" text-anchor="middle">words</text></g></svg></div><figcaption>words</figcaption></figure>
<ul><li>words: <code>/overlord answer 5 words</code> words</li></ul>
<p><button name="press" value="words">words</button></p>\
""")


def test_hostile_words_do_nothing_in_markdown() -> None:
    shown = markdown(a_view(HOSTILE), word)
    outside = re.sub(r"(?m)^(`{3,})text\n.*?\n\1$", "", shown, flags=re.DOTALL)
    outside = re.sub(r"`[^`\n]*`", "", outside)
    assert not re.search(r"@bob|closes #1|GH-2|https://evil|<script|\]\(javascript|\x1b|\u202e", outside)
    assert "\n# now" not in outside
    assert [line.count("|") for line in outside.splitlines() if line.startswith("|")] == [3, 3, 3]


@pytest.mark.parametrize(
    "begins",
    [
        "```",
        "~~~~",
        "# now",
        "- a",
        "+ a",
        "* a",
        "> a",
        "1. a",
        "2) a",
        "[x]: https://e",
        "[ ] a",
        "---",
        "***",
        "===",
    ],
)
def test_words_at_the_start_of_a_line_make_no_other_block_of_it(begins: str) -> None:
    def blocks(text: str) -> list[str]:
        parts = (
            *(Paragraph((text,)), Paragraph((text, Code("x"))), Bullets(((text,),)), Note(f" {text}")),
            *(Actions((Action(text, CommandRef("why"), ""),)), Table((text,), (((text,),),))),
        )
        shown = MarkdownIt("commonmark").enable("table").parse(markdown(View(summary="", parts=parts), word))
        return [token.type for token in shown]

    assert blocks(begins) == blocks("words")


@pytest.mark.parametrize(
    ("spans", "acts"),
    [
        (("see @", "bob"), "@bob"),
        (("see @", Mention(UserId("U1"))), "@U1"),
        (("closes #", "1"), "#1"),
        (("GH-", Moment(1772442000, day=True)), "GH-2"),
        (("https:", "//evil.example"), "://"),
        (("www", ".evil.example"), "www."),
        (("look!", Link("https://example.org/a", "here")), "!["),
        (("a\\", Code("x")), "\\`"),
        (("a ` b", Code("x")), "a `"),
        (("[a]", "(javascript:x)"), "]("),
        (("&#6", "4;bob"), "&#64;"),
        ((Bold("a ` b"), Code("x")), "a `"),
        (("closes ", Pull("acme/calc", 9)), "closes #"),
        (("evil/repo", Pull("acme/calc", 9)), "repo#"),
        (("[a]", Pull("acme/calc", 9)), "]("),
        ((Pull("acme/calc", 9), "9"), "#99"),
    ],
    ids=str,
)
def test_words_that_stand_in_two_spans_make_nothing_together(spans: tuple[Span, ...], acts: str) -> None:
    view = View(summary="", parts=(Paragraph(spans),))
    assert acts not in markdown(view, word)
    assert acts not in markdown(view, word, space="acme/calc")


def test_a_pull_request_of_the_repository_where_a_comment_is_written_is_a_reference() -> None:
    pulls = (Pull("acme/calc", 9), " ", Pull("acme/other", 9), " ", Issue("acme/calc", 7))
    view = View(summary="", parts=(Paragraph(pulls),))
    assert markdown(view, word, space="acme/calc") == "(#9) `acme/other#9` `acme/calc#7`"
    assert markdown(view, word) == "`acme/calc#9` `acme/other#9` `acme/calc#7`"


class Elements(HTMLParser):
    """The elements and attributes of a fragment."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))


def elements(text: str) -> list[tuple[str, tuple[str, ...]]]:
    parser = Elements()
    parser.feed(html(a_view(text), word))
    return parser.seen


@pytest.mark.parametrize("text", [HOSTILE, '"><img src=x onerror=y>', "&lt;b&gt; <!-- ", "' onclick='x"])
def test_hostile_words_do_nothing_in_html(text: str) -> None:
    assert elements(text) == elements("words")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "https://a/)[x](b", "//evil"])
def test_what_is_no_address_is_no_link(url: str) -> None:
    view = View(summary="", parts=(Paragraph((Link(url, "here"),)),))
    assert "](" not in markdown(view, word) or url.startswith("https://a")
    assert "javascript" not in html(view, word) and "data:" not in html(view, word)
    if url.startswith("https://a"):
        assert markdown(view, word) == "here"


def test_the_chat_shows_every_part_within_its_limits() -> None:
    view = a_view("words " * 900)
    blocks: list[dict[str, Any]] = message_payload(replace(view, parts=view.parts[:-1]))["blocks"]
    assert len(blocks) <= 50 and len(str(blocks)) < 40_000
