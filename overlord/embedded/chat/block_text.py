"""Blocks as people see them: their texts in order, their buttons; and the names Slack gives to those without one. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

Json = dict[str, Any]


def plain(blocks: Sequence[Json]) -> str:
    """Every text in order; a button as `[label]`, a mention as `@U…`."""
    return "\n".join(line for block in blocks for line in _LINES[block["type"]](block))


def buttons(blocks: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Every button, with the block it stands in."""
    for block in blocks:
        for element in _elements(block):
            yield block.get("block_id", ""), element


def named(blocks: Iterable[Json]) -> tuple[Json, ...]:
    """The blocks, each with a `block_id` and each button with an `action_id`."""
    return tuple(_with_block_id(block) for block in blocks)


def unescaped(text: str) -> str:
    """A text as it is read: Slack's three entities stand for themselves."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _name() -> str:
    return uuid4().hex[:5]


def _with_block_id(block: Json) -> Json:
    block = {**block, "block_id": block.get("block_id") or _name()}
    if block["type"] == "actions":
        block["elements"] = [_with_action(element) for element in block["elements"]]
    if block["type"] == "input":
        block["element"] = _with_action(block["element"])
    if "accessory" in block:
        block["accessory"] = _with_action(block["accessory"])
    return block


def _with_action(element: Json) -> Json:
    return {**element, "action_id": element.get("action_id") or _name()}


def _elements(block: Json) -> list[Json]:
    if block["type"] == "actions":
        return list(block["elements"])
    return [block["accessory"]] if "accessory" in block else []


# Lines


def _unescaped_text(composition: Json) -> str:
    text = str(composition["text"])
    return unescaped(text) if composition["type"] == "mrkdwn" else text


def _header(block: Json) -> Iterator[str]:
    yield _unescaped_text(block["text"])


def _section(block: Json) -> Iterator[str]:
    if "text" in block:
        yield _unescaped_text(block["text"])
    for item in block.get("fields", ()):
        yield _unescaped_text(item)
    yield from _actions(block)


def _context(block: Json) -> Iterator[str]:
    yield " ".join(_unescaped_text(element) for element in block["elements"])


def _actions(block: Json) -> Iterator[str]:
    labels = [f"[{element['text']['text']}]" for element in _elements(block)]
    if labels:
        yield " ".join(labels)


def _divider(_block: Json) -> Iterator[str]:
    yield "---"


def _input(block: Json) -> Iterator[str]:
    yield _unescaped_text(block["label"])
    if "hint" in block:
        yield _unescaped_text(block["hint"])


def _rich_text(block: Json) -> Iterator[str]:
    for part in block["elements"]:
        if part["type"] == "rich_text_list":
            ordered = part["style"] == "ordered"
            for number, item in enumerate(part["elements"], 1):
                yield f"{f'{number}.' if ordered else '•'} {_spans(item['elements'])}"
        elif part["type"] == "rich_text_quote":
            yield from (f"> {line}" for line in _spans(part["elements"]).split("\n"))
        else:
            yield _spans(part["elements"])


def _spans(elements: Sequence[Json]) -> str:
    return "".join(_span(element) for element in elements)


def _span(element: Json) -> str:
    match element["type"]:
        case "link":
            return str(element.get("text") or element["url"])
        case "user":
            return f"@{element['user_id']}"
        case "broadcast":
            return f"@{element['range']}"
        case "date":
            return str(element.get("fallback") or element["timestamp"])
        case "emoji":
            return f":{element['name']}:"
        case _:
            return str(element["text"])


_LINES = {
    "header": _header,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "divider": _divider,
    "input": _input,
    "rich_text": _rich_text,
}
