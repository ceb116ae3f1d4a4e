"""Block Kit as Slack publishes it: which blocks there are, what each must hold and how much of it. Pure.

Known are the blocks and elements that Overlord uses; another one is refused, as is a field nobody knows. A fault is
worded as Slack words it, with a pointer to where it stands.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

MOST_MESSAGE_BLOCKS = 50
MOST_VIEW_BLOCKS = 100
MOST_MESSAGE_TEXT = 40_000
ADDRESSES = frozenset({"http", "https", "mailto"})
PERSON = re.compile(r"[UW][A-Z0-9]{1,40}")

Check = Callable[[Any, str], Iterator[str]]
"""Looks at one value that stands at a pointer; gives every fault."""


def message_faults(blocks: Any) -> list[str]:
    """What is wrong with the blocks of a message; empty when Slack would take them."""
    if blocks == []:
        return []
    known = array(kind_of(MESSAGE_BLOCKS), MOST_MESSAGE_BLOCKS)
    return [*known(blocks, "/blocks"), *_doubled_blocks(blocks, "/blocks")]


def view_faults(view: Any) -> list[str]:
    """What is wrong with a modal; empty when Slack would open it."""
    faults = list(VIEW(view, "/view"))
    if not isinstance(view, Mapping):
        return faults
    blocks = view.get("blocks")
    faults += _doubled_blocks(blocks, "/view/blocks")
    if any(block.get("type") == "input" for block in _records(blocks)) and "submit" not in view:
        faults.append(_fault("missing required field: submit", "/view"))
    return faults


def home_faults(view: Any) -> list[str]:
    """What is wrong with a Home tab; empty when Slack would show it."""
    faults = list(HOME(view, "/view"))
    if isinstance(view, Mapping):
        faults += _doubled_blocks(view.get("blocks"), "/view/blocks")
    return faults


def text_fault(text: str) -> bool:
    """Whether the plain text of a message is more than Slack takes."""
    return len(text) > MOST_MESSAGE_TEXT


def _fault(words: str, pointer: str) -> str:
    return f"[ERROR] {words} [json-pointer:{pointer}]"


# Single values


def string(most: int, *, least: int = 1) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield _fault("must provide a string", at)
        elif len(value) < least:
            yield _fault(f"must be more than {least - 1} characters", at)
        elif len(value) > most:
            yield _fault(f"must be less than {most + 1} characters", at)

    return check


def one_of(*words: str) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        if value not in words:
            yield _fault("must be a valid enum value", at)

    return check


def whole(least: int, most: int) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield _fault("must provide a number", at)
        elif not least <= value <= most:
            yield _fault(f"must be between {least} and {most}", at)

    return check


def boolean(value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield _fault("must provide a boolean", at)


def address(value: Any, at: str) -> Iterator[str]:
    faults = list(string(3000)(value, at))
    yield from faults
    if not faults and not _is_address(value):
        yield _fault("must be a valid URL", at)


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ADDRESSES and bool(parts.netloc or parts.path) and not re.search(r"\s", value)


def person(value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, str) or not PERSON.fullmatch(value):
        yield _fault("must be a valid user", at)


# Collections


def array(check: Check, most: int, *, least: int = 1) -> Check:
    def check_all(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield _fault("must provide an array", at)
            return
        if len(value) < least:
            yield _fault(f"no fewer than {least} items allowed", at)
        if len(value) > most:
            yield _fault(f"no more than {most} items allowed", at)
        for index, item in enumerate(value):
            yield from check(item, f"{at}/{index}")

    return check_all


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these fields and no other."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check]

    def __call__(self, value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, Mapping):
            yield _fault("must provide an object", at)
            return
        known = {**self.required, **self.optional}
        for name, item in value.items():
            if name in known:
                yield from known[name](item, f"{at}/{name}")
            else:
                yield _fault(f"invalid additional property: {name}", at)
        for name in self.required:
            if name not in value:
                yield _fault(f"missing required field: {name}", at)


def kind_of(known: Mapping[str, Check]) -> Check:
    """An object that says by its `type` what it is."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, Mapping):
            yield _fault("must provide an object", at)
        elif "type" not in value:
            yield _fault("missing required field: type", at)
        elif not isinstance(value["type"], str) or value["type"] not in known:
            yield _fault(f"unsupported type: {value['type']}", at)
        else:
            yield from known[value["type"]](
                {name: item for name, item in value.items() if name != "type"}, at
            )

    return check


def each(*checks: Check) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        for one in checks:
            yield from one(value, at)

    return check


def _records(blocks: Any) -> Sequence[Mapping[str, Any]]:
    return [block for block in blocks if isinstance(block, Mapping)] if isinstance(blocks, list) else []


def _doubled(items: Any, name: str, at: str) -> Iterator[str]:
    met: set[str] = set()
    for index, item in enumerate(items if isinstance(items, list) else ()):
        word = item.get(name) if isinstance(item, Mapping) else None
        if not isinstance(word, str):
            continue
        if word in met:
            yield _fault(f"`{name}` must be unique", f"{at}/{index}/{name}")
        met.add(word)


def _doubled_blocks(blocks: Any, at: str) -> list[str]:
    return list(_doubled(blocks, "block_id", at))


def _unique_actions(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _doubled(value.get("elements"), "action_id", f"{at}/elements")


def _text_or_fields(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, Mapping) and "text" not in value and "fields" not in value:
        yield _fault("must define either `text` or `fields`", at)


def _fits_most(value: Any, at: str) -> Iterator[str]:
    """A text field is filled with no more than it takes."""
    if not isinstance(value, Mapping):
        return
    initial, most = value.get("initial_value"), value.get("max_length")
    if isinstance(initial, str) and isinstance(most, int) and len(initial) > most:
        yield _fault(f"must be less than {most + 1} characters", f"{at}/initial_value")


# Text


def plain(most: int) -> Check:
    return kind_of({"plain_text": Record({"text": string(most)}, {"emoji": boolean})})


def text(most: int) -> Check:
    return kind_of(
        {
            "plain_text": Record({"text": string(most)}, {"emoji": boolean}),
            "mrkdwn": Record({"text": string(most)}, {"verbatim": boolean}),
        }
    )


STYLE = Record({}, dict.fromkeys(("bold", "italic", "strike", "code", "underline"), boolean))
PERSON_STYLE = Record(
    {}, dict.fromkeys(("bold", "italic", "strike", "highlight", "client_highlight", "unlink"), boolean)
)
SPANS: Mapping[str, Check] = {
    "text": Record({"text": string(MOST_MESSAGE_TEXT)}, {"style": STYLE}),
    "link": Record({"url": address}, {"text": string(MOST_MESSAGE_TEXT), "unsafe": boolean, "style": STYLE}),
    "user": Record({"user_id": person}, {"style": PERSON_STYLE}),
    "broadcast": Record({"range": one_of("here", "channel", "everyone")}, {"style": STYLE}),
    "date": Record(
        {"timestamp": whole(0, 2**33), "format": string(200)},
        {"fallback": string(MOST_MESSAGE_TEXT), "url": address, "style": STYLE},
    ),
    "emoji": Record({"name": string(100)}, {"unicode": string(100), "style": STYLE}),
}
MOST_SPANS = 10_000
"""No number is published; a message's text is bounded by its length."""
_SPANS = array(kind_of(SPANS), MOST_SPANS)
_VERBATIM = array(kind_of({name: SPANS[name] for name in ("text", "link")}), MOST_SPANS)
_BORDER = whole(0, 1)
SECTION_OF_TEXT = Record({"elements": _SPANS}, {})
RICH: Mapping[str, Check] = {
    "rich_text_section": SECTION_OF_TEXT,
    "rich_text_list": Record(
        {
            "elements": array(kind_of({"rich_text_section": SECTION_OF_TEXT}), MOST_SPANS),
            "style": one_of("bullet", "ordered"),
        },
        {"indent": whole(0, 8), "offset": whole(0, 10_000), "border": _BORDER},
    ),
    "rich_text_quote": Record({"elements": _SPANS}, {"border": _BORDER}),
    "rich_text_preformatted": Record({"elements": _VERBATIM}, {"border": _BORDER, "language": string(50)}),
}

# Elements

STYLES = one_of("primary", "danger")
CONFIRM = Record(
    {"title": plain(100), "text": plain(300), "confirm": plain(30), "deny": plain(30)}, {"style": STYLES}
)
BUTTON = Record(
    {"text": plain(75)},
    {
        "action_id": string(255),
        "value": string(2000),
        "url": address,
        "style": STYLES,
        "confirm": CONFIRM,
        "accessibility_label": string(75),
    },
)
TEXT_INPUT = each(
    Record(
        {},
        {
            "action_id": string(255),
            "initial_value": string(3000, least=0),
            "multiline": boolean,
            "min_length": whole(0, 3000),
            "max_length": whole(1, 3000),
            "focus_on_load": boolean,
            "placeholder": plain(150),
        },
    ),
    _fits_most,
)

# Blocks

BLOCK_ID: Mapping[str, Check] = {"block_id": string(255)}
BLOCKS: Mapping[str, Check] = {
    "header": Record({"text": plain(150)}, BLOCK_ID),
    "section": each(
        Record(
            {},
            {
                **BLOCK_ID,
                "text": text(3000),
                "fields": array(text(2000), 10),
                "accessory": kind_of({"button": BUTTON}),
                "expand": boolean,
            },
        ),
        _text_or_fields,
    ),
    "rich_text": Record({"elements": array(kind_of(RICH), MOST_SPANS)}, BLOCK_ID),
    "context": Record({"elements": array(text(3000), 10)}, BLOCK_ID),
    "divider": Record({}, BLOCK_ID),
    "actions": each(Record({"elements": array(kind_of({"button": BUTTON}), 25)}, BLOCK_ID), _unique_actions),
}
MESSAGE_BLOCKS = BLOCKS
VIEW_BLOCKS: Mapping[str, Check] = {
    **BLOCKS,
    "input": Record(
        {"label": plain(2000), "element": kind_of({"plain_text_input": TEXT_INPUT})},
        {**BLOCK_ID, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
}
VIEW = kind_of(
    {
        "modal": Record(
            {"title": plain(24), "blocks": array(kind_of(VIEW_BLOCKS), MOST_VIEW_BLOCKS)},
            {
                "submit": plain(24),
                "close": plain(24),
                "private_metadata": string(3000, least=0),
                "callback_id": string(255),
                "external_id": string(255),
                "clear_on_close": boolean,
                "notify_on_close": boolean,
            },
        )
    }
)
HOME = kind_of(
    {
        "home": Record(
            {"blocks": array(kind_of(BLOCKS), MOST_VIEW_BLOCKS)},
            {
                "private_metadata": string(3000, least=0),
                "callback_id": string(255),
                "external_id": string(255),
            },
        )
    }
)
