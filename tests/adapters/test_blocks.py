"""What Overlord says as Slack's blocks: whatever anybody wrote, Slack takes it, and nothing in it acts."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overlord.adapters.slack.blocks import (
    ALL_BYTES,
    MESSAGE_BLOCKS,
    SUMMARY_CHARS,
    VALUE_CHARS,
    message_payload,
    view_payload,
    weight,
)
from overlord.adapters.slack.blocks_text import CUT, cut, cut_to_end
from overlord.domain.identifiers import UserId
from overlord.domain.text.plain import length, visible
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.span import Bold, Code, Link, Mention, Span
from overlord.domain.view.view import (
    ActionId,
    Bullets,
    Button,
    Buttons,
    ButtonStyle,
    Chart,
    ChartKind,
    Heading,
    Note,
    Outline,
    Output,
    Paragraph,
    Part,
    Quote,
    Rule,
    View,
)
from overlord.embedded.chat.block_kit import message_faults, text_fault, view_faults
from overlord.embedded.chat.block_text import plain

PIECES = st.sampled_from(
    ["<!channel>", "<!here>", "<@U012AB3CD>", "<#C012AB3CD>", "<https://evil.example|ok>", "@channel", "@here", "&lt;", "&",
     "*", "_", "~", "`", "```", ">", "\n", "\r\n", "\t", " ", "https://evil.example", ":tada:", "\u202e", "\u200b",
     "\U000e0041", "\ud800", "\x1b[31m", "\x00", "\u2028", "e\u0301", "👩🏽‍💻", "🇩🇪", "\u0301" * 60, "a", "long " * 100]
)  # fmt: skip
HOSTILE = st.lists(PIECES | st.text(max_size=5), max_size=10).map("".join)
URLS = st.sampled_from(
    ["https://github.com/o/r/pull/7", "http://127.0.0.1:1/x", "javascript:alert(1)", "slack://open", "https://",
     "https://a b", "https://x\n.example", "//evil.example", "", "https://[::1", "https://h/" + "x" * 3000]
)  # fmt: skip
ACTIONS = st.sampled_from(["stop", "retry", "approve", "open"]).map(ActionId)
SPANS: st.SearchStrategy[Span] = st.one_of(
    HOSTILE,
    st.builds(Bold, HOSTILE),
    st.builds(Code, HOSTILE),
    st.builds(Link, URLS, HOSTILE),
    st.builds(
        Mention, st.sampled_from(["U012AB3CD", "W1", "W12345", "!channel", "U1> <!here", ""]).map(UserId)
    ),
)
BUTTONS = st.builds(
    Button,
    action=ACTIONS,
    label=HOSTILE,
    value=st.text(max_size=40),
    url=st.just("") | URLS,
    style=st.sampled_from(ButtonStyle),
    confirm=st.just("") | HOSTILE,
)
WORDS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Heading, HOSTILE),
    st.builds(Paragraph, st.lists(SPANS, max_size=6).map(tuple)),
    st.builds(Bullets, st.lists(st.lists(SPANS, max_size=3).map(tuple), max_size=8).map(tuple)),
    st.builds(
        Outline,
        st.lists(
            st.lists(st.lists(SPANS, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple), max_size=8
        ).map(tuple),
    ),
    st.builds(Quote, HOSTILE),
    st.builds(Output, HOSTILE),
    st.builds(Note, HOSTILE),
    st.builds(
        Chart,
        HOSTILE,
        HOSTILE,
        st.lists(st.tuples(HOSTILE, st.none() | st.floats(-1e12, 1e12)), max_size=90).map(tuple),
        st.sampled_from(ChartKind),
    ),
    st.just(Rule()),
)
PARTS = WORDS | st.builds(Buttons, st.lists(BUTTONS, max_size=4).map(tuple))
FEW = st.lists(PARTS, max_size=10).map(tuple)
MESSAGES = st.builds(View, summary=HOSTILE, parts=FEW | FEW.map(lambda parts: parts * 6))
FIELDS = st.builds(
    FormField,
    name=st.sampled_from(["reason", "answer"]),
    label=HOSTILE,
    hint=HOSTILE,
    initial=HOSTILE,
    is_long=st.booleans(),
    is_optional=st.booleans(),
    most=st.integers(-5, 5000),
)
FORMS = st.builds(
    Form,
    action=ACTIONS,
    value=st.text(max_size=40),
    title=HOSTILE,
    submit=HOSTILE,
    fields=st.lists(FIELDS, min_size=1, max_size=4).map(tuple),
    parts=st.lists(PARTS, max_size=10).map(tuple),
)
ACTING = {"user", "link", "broadcast", "emoji", "usergroup", "channel", "date", "mrkdwn", "image"}
"""Types of elements that tell people, lead somewhere or are parsed."""


def records(value: object) -> Iterator[dict[str, Any]]:
    """Every object within a payload."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from records(item)
    elif isinstance(value, list):
        for item in value:
            yield from records(item)


def spans(message: View) -> list[Span]:
    paragraphs = [part.spans for part in message.parts if isinstance(part, Paragraph)]
    items = [item for part in message.parts if isinstance(part, Bullets) for item in part.items]
    lines = [
        line for part in message.parts if isinstance(part, Outline) for point in part.points for line in point
    ]
    return [span for group in [*paragraphs, *items, *lines] for span in group]


def blocks(*parts: Part) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = message_payload(View(summary="A job", parts=parts))["blocks"]
    assert message_faults(found) == []
    return found


def button(label: str = "Stop", **more: Any) -> Button:
    return Button(action=more.pop("action", ActionId("stop")), label=label, **more)


@given(MESSAGES)
@example(View(summary="", parts=()))
@example(View(summary="\u200b", parts=(Paragraph(("\u200b",)), Quote(""), Output("\n"), Heading(" "))))
def test_slack_takes_whatever_is_said(message: View) -> None:
    payload = message_payload(message)
    assert message_faults(payload["blocks"]) == []
    assert payload["blocks"]
    assert payload["text"].strip()
    assert not text_fault(payload["text"])
    assert json.dumps(payload, ensure_ascii=False).encode()


@given(FORMS)
def test_slack_opens_whatever_is_asked(form: Form) -> None:
    view = view_payload(form)
    assert view_faults(view) == []
    assert [block["type"] for block in view["blocks"]].count("input") == len(form.fields)
    assert "actions" not in {block["type"] for block in view["blocks"]}


@given(MESSAGES)
def test_only_spans_tell_people_or_lead_anywhere(message: View) -> None:
    payload = message_payload(message)
    acting = [record for record in records(payload["blocks"]) if record.get("type") in ACTING]
    mentioned = {span.user for span in spans(message) if isinstance(span, Mention)}
    linked = {span.url for span in spans(message) if isinstance(span, Link)}
    assert {record["type"] for record in acting} <= {"user", "link"}
    assert {record["user_id"] for record in acting if record["type"] == "user"} <= mentioned
    assert {record["url"] for record in acting if record["type"] == "link"} <= linked
    addresses = [record["url"] for record in records(payload["blocks"]) if "url" in record]
    assert [url for url in addresses if not re.match(r"https?://[^/\s]", url)] == []
    assert not re.search(r"[<>]|&(?!amp;|lt;|gt;)", payload["text"])
    assert not [record for record in records(payload["blocks"]) if record.get("emoji")]


@given(MESSAGES)
def test_nothing_invisible_is_sent(message: View) -> None:
    payload = message_payload(message)
    texts = [record["text"] for record in records(payload) if isinstance(record.get("text"), str)]
    assert [text for text in texts if visible(text) != text] == []


@given(MESSAGES)
def test_buttons_are_always_kept_and_told_apart(message: View) -> None:
    made = [block for block in message_payload(message)["blocks"] if block["type"] == "actions"]
    shown = [element for block in made for element in block["elements"]]
    asked = [one for part in message.parts if isinstance(part, Buttons) for one in part.buttons]
    pressed = [one for one in asked if not one.url]
    assert [(e["action_id"].partition(":")[0], e.get("value", "")) for e in shown if "url" not in e] == [
        (one.action, one.value) for one in pressed
    ]
    for block in made:
        ids = [element["action_id"] for element in block["elements"]]
        assert len(set(ids)) == len(ids)


@given(MESSAGES)
def test_a_message_is_no_heavier_than_slack_takes(message: View) -> None:
    made = message_payload(message)["blocks"]
    rows = [block for block in made if block["type"] == "actions"]
    assert weight(made) <= max(ALL_BYTES, weight(rows) + 200)


SIGNS = st.text(st.sampled_from("&<>aé👍 "), max_size=3000) | st.sampled_from(
    ["&" * 9000, "<b>" * 3000, "a & b " * 900]
)
LONGEST = {"header": 150, "button": 75}


@given(SIGNS)
def test_what_slack_escapes_fits_its_limits_and_no_entity_is_cut(text: str) -> None:
    parts = (Heading(text), Paragraph((text,)), Quote(text), Output(text), Bullets(((text,),)), Note(text))
    said = View(summary=text, parts=(*parts, Buttons((button(label=text),))))
    payload = message_payload(said)
    assert length(payload["text"]) <= SUMMARY_CHARS
    assert re.fullmatch(r"(?:[^&<>]|&(?:amp|lt|gt);)*", payload["text"])
    assert (
        text.replace(" ", "").startswith(html.unescape(payload["text"]).rstrip(CUT).replace(" ", ""))
        or not text.strip()
    )
    for block in payload["blocks"]:
        shown = html.escape(plain([block]), quote=False) if block["type"] != "actions" else ""
        assert length(shown) <= LONGEST.get(block["type"], 3000) + 2, block["type"]
        for element in block.get("elements", ()):
            if element["type"] == "button":
                assert length(html.escape(element["text"]["text"], quote=False)) <= LONGEST["button"]
    escaped_json = html.escape(json.dumps(payload["blocks"], ensure_ascii=False), quote=False)
    assert len(escaped_json.encode()) <= 13_000


def test_what_a_field_begins_with_is_not_cut_for_signs() -> None:
    text = "a < b && c > d\n" * 120
    field = FormField(name="a", label="l", initial=text, is_long=True)
    view = view_payload(Form(action=ActionId("x"), value="v", title="t", submit="s", fields=(field,)))
    assert view["blocks"][-1]["element"]["initial_value"] == text


@given(HOSTILE, st.integers(0, 200))
@example("e\u0301" * 200, 11)
@example("👩🏽" * 100, 10)
@example("🇩🇪" * 100, 10)
@example("a" + "\u0301" * 500, 50)
@example("<&>" * 100, 7)
def test_a_cut_says_so_and_keeps_letters_whole(text: str, limit: int) -> None:
    for made, source in ((cut(text, limit), text), (cut_to_end(text, limit), text)):
        assert length(html.escape(made, quote=False)) <= limit
        whole = visible(source)
        assert made == whole or CUT in made or limit == 0
    beginning = cut(text, limit)
    if beginning.endswith(CUT) and beginning != visible(text):
        assert visible(text).startswith(beginning.removesuffix(CUT))


def test_a_cut_is_between_letters() -> None:
    assert cut("cafe\u0301s", 6) == "cafe\u0301s"
    assert cut("cafe\u0301s and bars", 5) == "caf…"
    assert cut("👍🏽👍🏽", 6) == "👍🏽…"
    assert cut("🇩🇪🇫🇷🇪🇸", 7) == "🇩🇪…"
    assert cut_to_end("cafe\u0301s", 2) == "…s"
    assert cut_to_end("first\nlast", 5) == "…last"


def test_what_is_too_long_is_cut_and_says_so() -> None:
    [header, paragraph, quote, output, note] = blocks(
        Heading("h" * 500),
        Paragraph(("p" * 5000,)),
        Quote("q" * 5000),
        Output("o" * 5000 + "end"),
        Note("n" * 5000),
    )
    shown = [plain([block]) for block in (header, paragraph, quote, output, note)]
    assert [len(text) for text in shown] == [150, 3000, 1202, 2500, 3000]
    assert [text[-1] for text in shown[:3]] == [CUT] * 3
    assert (shown[3][0], shown[3][-3:], shown[4][-1]) == (CUT, "end", CUT)


def test_a_message_with_too_many_parts_says_how_many_are_left_out() -> None:
    made = blocks(*[Note(str(number)) for number in range(80)], Buttons((button(),)), Buttons((button(),)))
    assert len(made) == MESSAGE_BLOCKS
    assert plain(made).split("\n")[-4:] == ["46", "33 more parts are left out", "[Stop]", "[Stop]"]


def test_a_message_that_just_fits_has_nothing_left_out() -> None:
    made = blocks(*[Note(str(number)) for number in range(49)], Buttons((button(),)), Paragraph(()))
    assert plain(made).split("\n")[-2:] == ["48", "[Stop]"]


def test_a_message_with_too_many_words_is_cut_and_keeps_its_buttons() -> None:
    made = blocks(*[Paragraph(("w" * 2900,)) for _ in range(9)], Buttons((button(),)))
    assert weight(made) <= ALL_BYTES
    texts = plain(made).split("\n")
    assert [len(text) for text in texts[:5]] == [2900, 2900, 2900, 1500, 600]
    assert texts[-2:] == ["3 more parts are left out", "[Stop]"]


def test_what_buttons_give_back_takes_room_too() -> None:
    heavy = Buttons(tuple(button(value="v" * VALUE_CHARS) for _ in range(4)))
    made = blocks(*[Quote("q" * 1200) for _ in range(5)], heavy)
    assert weight(made) <= ALL_BYTES
    assert len(made[-1]["elements"]) == 4


def test_a_wide_text_takes_as_much_room_as_its_bytes() -> None:
    made = blocks(*[Quote("界" * 1200) for _ in range(5)])
    assert weight(made) <= ALL_BYTES
    assert plain(made).endswith("are left out") or plain(made).endswith("is left out")


def test_buttons_beyond_a_row_go_into_the_next() -> None:
    made = blocks(Buttons(tuple(button(str(number)) for number in range(30))))
    assert [len(row["elements"]) for row in made] == [25, 5]
    assert [element["action_id"] for element in made[1]["elements"]] == [
        "stop",
        "stop:1",
        "stop:2",
        "stop:3",
        "stop:4",
    ]


def test_a_message_of_nothing_but_buttons_has_no_room_for_words() -> None:
    rows = [Buttons((button(),)) for _ in range(60)]
    made = blocks(Note("words"), *rows)
    assert {block["type"] for block in made} == {"actions"}
    assert len(made) == MESSAGE_BLOCKS


def test_a_long_list_says_how_many_more_there_are() -> None:
    [made] = blocks(Bullets(tuple((f"point {number}",) for number in range(60))))
    assert plain([made]).split("\n")[-2:] == ["• point 49", "• 10 more"]


def test_points_stay_on_lines_of_their_own() -> None:
    [made] = blocks(Bullets((("a\n• forged\u2028b",), ("",))))
    assert plain([made]) == "• a • forged b\n• (nothing)"


def test_a_link_to_no_address_of_the_web_is_text() -> None:
    [made] = blocks(Paragraph((Link("javascript:alert(1)", "evidence"), " ", Link("ftp://x/y", ""))))
    assert plain([made]) == "evidence ftp://x/y"
    assert {record["type"] for record in records(made["elements"][0]["elements"])} == {"text"}
    assert blocks(Buttons((button(url="slack://x"),)), Note("n")) == blocks(Note("n"))


def test_a_mention_of_nobody_is_text() -> None:
    [made] = blocks(Paragraph((Mention(UserId("<!channel>")),)))
    assert [record["type"] for record in made["elements"][0]["elements"]] == ["text"]


def test_texts_without_words() -> None:
    assert blocks(Heading("\u200b"), Paragraph((" ", Bold(""))), Note("\n"), Bullets(())) == blocks()
    assert plain(blocks()) == "(nothing)"
    assert plain(blocks(Quote(""), Output(" "))) == "> (nothing)\n(nothing)"
    assert plain(blocks(Buttons((button(" "),)))) == "[…]"
    assert plain(blocks(Paragraph((Link("https://x.example/", "\u200b"),)))) == "https://x.example/"


def test_many_spans_are_not_counted_for_ever() -> None:
    [made] = blocks(Paragraph(tuple("ab" for _ in range(200))))
    assert len(made["elements"][0]["elements"]) == 101


def test_half_of_a_value_is_never_sent() -> None:
    with pytest.raises(ValueError, match="comes back"):
        blocks(Buttons((button(value="v" * (VALUE_CHARS + 1)),)))


def test_a_notification_has_its_markup_taken_away() -> None:
    payload = message_payload(View(summary="a <!channel> &\n<https://x|y>", parts=()))
    assert payload["text"] == "a &lt;!channel&gt; &amp; &lt;https://x|y&gt;"
