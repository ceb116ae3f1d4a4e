"""Block Kit's published limits: each holds at the limit and is refused one beyond, with a pointer to where it stands."""

from collections.abc import Callable
from typing import Any

import pytest

from overlord.embedded.chat.block_kit import message_faults, view_faults
from overlord.embedded.chat.block_text import named, plain

Json = dict[str, Any]


def words(count: int) -> Json:
    return {"type": "plain_text", "text": "x" * count}


def marked(count: int) -> Json:
    return {"type": "mrkdwn", "text": "x" * count}


def button(**more: Any) -> Json:
    return {"type": "button", "text": words(4), **more}


def actions(*elements: Json, **more: Any) -> Json:
    return {"type": "actions", "elements": list(elements), **more}


def confirm(**more: Any) -> Json:
    return {"title": words(1), "text": words(1), "confirm": words(1), "deny": words(1), **more}


def rich(*elements: Json) -> Json:
    return {"type": "rich_text", "elements": list(elements)}


def section_of(*spans: Json) -> Json:
    return {"type": "rich_text_section", "elements": list(spans)}


def field(**more: Any) -> Json:
    return {"type": "input", "label": words(1), "element": {"type": "plain_text_input"}, **more}


def typing(**more: Any) -> Json:
    return field(element={"type": "plain_text_input", **more})


def view(*blocks: Json, **more: Any) -> Json:
    return {"type": "modal", "title": words(1), "submit": words(1), "blocks": list(blocks), **more}


SPAN: Json = {"type": "text", "text": "x"}
DIVIDER: Json = {"type": "divider"}
BLOCK_LIMITS: list[tuple[str, int, Callable[[int], Json], str]] = [
    ("header", 150, lambda n: {"type": "header", "text": words(n)}, "/blocks/0/text/text"),
    ("section text", 3000, lambda n: {"type": "section", "text": marked(n)}, "/blocks/0/text/text"),
    ("section fields", 10, lambda n: {"type": "section", "fields": [marked(1)] * n}, "/blocks/0/fields"),
    ("a field", 2000, lambda n: {"type": "section", "fields": [marked(n)]}, "/blocks/0/fields/0/text"),
    ("context", 10, lambda n: {"type": "context", "elements": [words(1)] * n}, "/blocks/0/elements"),
    ("actions", 25, lambda n: actions(*[button()] * n), "/blocks/0/elements"),
    ("button text", 75, lambda n: actions(button(text=words(n))), "/blocks/0/elements/0/text/text"),
    ("button value", 2000, lambda n: actions(button(value="x" * n)), "/blocks/0/elements/0/value"),
    (
        "button url",
        3000,
        lambda n: actions(button(url="https://x/" + "y" * (n - 10))),
        "/blocks/0/elements/0/url",
    ),
    ("action_id", 255, lambda n: actions(button(action_id="x" * n)), "/blocks/0/elements/0/action_id"),
    (
        "confirm title",
        100,
        lambda n: actions(button(confirm=confirm(title=words(n)))),
        "/blocks/0/elements/0/confirm/title/text",
    ),
    (
        "confirm text",
        300,
        lambda n: actions(button(confirm=confirm(text=words(n)))),
        "/blocks/0/elements/0/confirm/text/text",
    ),
    (
        "confirm deny",
        30,
        lambda n: actions(button(confirm=confirm(deny=words(n)))),
        "/blocks/0/elements/0/confirm/deny/text",
    ),
    ("block_id", 255, lambda n: {"type": "divider", "block_id": "x" * n}, "/blocks/0/block_id"),
]
VIEW_LIMITS: list[tuple[str, int, Callable[[int], Json], str]] = [
    ("title", 24, lambda n: view(DIVIDER, title=words(n)), "/view/title/text"),
    ("submit", 24, lambda n: view(DIVIDER, submit=words(n)), "/view/submit/text"),
    ("close", 24, lambda n: view(DIVIDER, close=words(n)), "/view/close/text"),
    ("metadata", 3000, lambda n: view(DIVIDER, private_metadata="x" * n), "/view/private_metadata"),
    ("callback", 255, lambda n: view(DIVIDER, callback_id="x" * n), "/view/callback_id"),
    ("blocks", 100, lambda n: view(*[DIVIDER] * n), "/view/blocks"),
    ("label", 2000, lambda n: view(field(label=words(n))), "/view/blocks/0/label/text"),
    ("hint", 2000, lambda n: view(field(hint=words(n))), "/view/blocks/0/hint/text"),
    (
        "placeholder",
        150,
        lambda n: view(typing(placeholder=words(n))),
        "/view/blocks/0/element/placeholder/text",
    ),
    ("max_length", 3000, lambda n: view(typing(max_length=n)), "/view/blocks/0/element/max_length"),
]


@pytest.mark.parametrize(
    ("most", "block", "pointer"), [row[1:] for row in BLOCK_LIMITS], ids=[row[0] for row in BLOCK_LIMITS]
)
def test_a_block_holds_what_is_published_and_no_more(
    most: int, block: Callable[[int], Json], pointer: str
) -> None:
    assert message_faults([block(most)]) == []
    [fault] = message_faults([block(most + 1)])
    assert fault.startswith("[ERROR] ") and fault.endswith(f" [json-pointer:{pointer}]")


@pytest.mark.parametrize(
    ("most", "modal", "pointer"), [row[1:] for row in VIEW_LIMITS], ids=[row[0] for row in VIEW_LIMITS]
)
def test_a_modal_holds_what_is_published_and_no_more(
    most: int, modal: Callable[[int], Json], pointer: str
) -> None:
    assert view_faults(modal(most)) == []
    [fault] = view_faults(modal(most + 1))
    assert fault.endswith(f" [json-pointer:{pointer}]")


def test_a_message_has_fifty_blocks_at_most() -> None:
    assert message_faults([DIVIDER] * 50) == []
    assert message_faults([DIVIDER] * 51) == ["[ERROR] no more than 50 items allowed [json-pointer:/blocks]"]


@pytest.mark.parametrize(
    ("blocks", "fault"),
    [
        ("words", "must provide an array [json-pointer:/blocks]"),
        ([{"type": "header", "text": 7}], "must provide an object [json-pointer:/blocks/0/text]"),
        (
            [{"type": "header", "text": {"type": "plain_text", "text": 7}}],
            "must provide a string [json-pointer:/blocks/0/text/text]",
        ),
        (
            [{"type": "header", "text": {**words(1), "emoji": "no"}}],
            "must provide a boolean [json-pointer:/blocks/0/text/emoji]",
        ),
        (
            [rich({"type": "rich_text_quote", "elements": [SPAN], "border": True})],
            "must provide a number [json-pointer:/blocks/0/elements/0/border]",
        ),
        (
            [rich({"type": "rich_text_quote", "elements": [SPAN], "border": 2})],
            "must be between 0 and 1 [json-pointer:/blocks/0/elements/0/border]",
        ),
        (
            [actions(button(confirm="sure?"))],
            "must provide an object [json-pointer:/blocks/0/elements/0/confirm]",
        ),
        (
            [actions(button(url="https://[x"))],
            "must be a valid URL [json-pointer:/blocks/0/elements/0/url]",
        ),
        ([[]], "must provide an object [json-pointer:/blocks/0]"),
        ([{}], "missing required field: type [json-pointer:/blocks/0]"),
        ([{"type": "video"}], "unsupported type: video [json-pointer:/blocks/0]"),
        ([field()], "unsupported type: input [json-pointer:/blocks/0]"),
        ([{"type": "divider", "txt": 1}], "invalid additional property: txt [json-pointer:/blocks/0]"),
        ([{"type": "header"}], "missing required field: text [json-pointer:/blocks/0]"),
        ([{"type": "header", "text": "words"}], "must provide an object [json-pointer:/blocks/0/text]"),
        (
            [{"type": "header", "text": marked(1)}],
            "unsupported type: mrkdwn [json-pointer:/blocks/0/text]",
        ),
        (
            [{"type": "header", "text": words(0)}],
            "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
        ),
        (
            [{"type": "section", "text": {"type": "mrkdwn", "text": "x", "emoji": True}}],
            "invalid additional property: emoji [json-pointer:/blocks/0/text]",
        ),
        ([{"type": "section"}], "must define either `text` or `fields` [json-pointer:/blocks/0]"),
        ([actions()], "no fewer than 1 items allowed [json-pointer:/blocks/0/elements]"),
        (
            [actions(button(style="default"))],
            "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]",
        ),
        (
            [actions(button(url="javascript:alert(1)"))],
            "must be a valid URL [json-pointer:/blocks/0/elements/0/url]",
        ),
        (
            [actions(button(action_id="a"), button(action_id="a"))],
            "`action_id` must be unique [json-pointer:/blocks/0/elements/1/action_id]",
        ),
        (
            [{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}],
            "`block_id` must be unique [json-pointer:/blocks/1/block_id]",
        ),
        (
            [rich(section_of({"type": "text", "text": ""}))],
            "must be more than 0 characters [json-pointer:/blocks/0/elements/0/elements/0/text]",
        ),
        (
            [rich(section_of({"type": "text", "text": "x", "style": {"loud": True}}))],
            "invalid additional property: loud [json-pointer:/blocks/0/elements/0/elements/0/style]",
        ),
        (
            [rich(section_of({"type": "user", "user_id": "alice"}))],
            "must be a valid user [json-pointer:/blocks/0/elements/0/elements/0/user_id]",
        ),
        (
            [rich({"type": "rich_text_preformatted", "elements": [{"type": "user", "user_id": "U1"}]})],
            "unsupported type: user [json-pointer:/blocks/0/elements/0/elements/0]",
        ),
    ],
)
def test_what_slack_does_not_know_is_refused_with_its_place(blocks: Any, fault: str) -> None:
    assert message_faults(blocks) == [f"[ERROR] {fault}"]


def test_a_modal_with_a_field_can_be_sent_off() -> None:
    modal = view(field())
    del modal["submit"]
    assert view_faults(modal) == ["[ERROR] missing required field: submit [json-pointer:/view]"]
    assert view_faults([]) == ["[ERROR] must provide an object [json-pointer:/view]"]
    assert view_faults({"type": "modal"}) == [
        "[ERROR] missing required field: title [json-pointer:/view]",
        "[ERROR] missing required field: blocks [json-pointer:/view]",
    ]


def test_a_field_begins_with_no_more_than_it_takes() -> None:
    assert view_faults(view(typing(initial_value="abc", max_length=3))) == []
    assert view_faults(view(typing(initial_value="abcd", max_length=3))) == [
        "[ERROR] must be less than 4 characters [json-pointer:/view/blocks/0/element/initial_value]"
    ]


FULL: list[Json] = [
    {"type": "header", "text": words(3)},
    {"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; b"}, "fields": [words(1)]},
    {"type": "section", "text": words(2), "accessory": button(action_id="more")},
    rich(
        section_of(
            {"type": "text", "text": "see ", "style": {"bold": True}},
            {"type": "link", "url": "https://example.org/1"},
            {"type": "text", "text": " or "},
            {"type": "link", "url": "https://example.org", "text": "this"},
            {"type": "user", "user_id": "U1"},
            {"type": "broadcast", "range": "here"},
            {"type": "emoji", "name": "wave"},
        ),
        {
            "type": "rich_text_list",
            "style": "ordered",
            "indent": 1,
            "elements": [section_of({"type": "text", "text": "one"})],
        },
        {
            "type": "rich_text_list",
            "style": "bullet",
            "elements": [section_of({"type": "text", "text": "two"})],
        },
        {"type": "rich_text_quote", "elements": [{"type": "text", "text": "said\nso"}]},
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "$ make"}], "border": 1},
    ),
    DIVIDER,
    {"type": "context", "elements": [words(1), marked(1)]},
    actions(button(style="primary", confirm=confirm(style="danger")), button(value="v")),
]


def test_what_is_fit_is_read_in_order() -> None:
    assert message_faults(FULL) == []
    assert plain(FULL).split("\n") == [
        "xxx",
        "a < b",
        "x",
        "xx",
        "[xxxx]",
        "see https://example.org/1 or this@U1@here:wave:",
        "1. one",
        "• two",
        "> said",
        "> so",
        "$ make",
        "---",
        "x x",
        "[xxxx] [xxxx]",
    ]


def test_fields_are_read_with_what_helps_to_fill_them_in() -> None:
    assert plain([field(label=words(3), hint=words(2))]) == "xxx\nxx"


def test_what_has_no_name_gets_one_and_what_has_keeps_it() -> None:
    first, second, *_ = named([actions(button(action_id="stop"), button()), {**DIVIDER, "block_id": "mine"}])
    assert second["block_id"] == "mine"
    assert first["block_id"]
    assert [bool(element["action_id"]) for element in first["elements"]] == [True, True]
    assert first["elements"][0]["action_id"] == "stop"
    assert message_faults([first, second]) == []
