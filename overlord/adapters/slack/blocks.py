"""Block Kit: what Overlord says, as blocks of `slack_sdk.models`, which holds them against the limits Slack publishes.

Words go into `rich_text` and `plain_text` alone, which Slack does not parse: no text becomes a mention, a link or a
format, only the spans that are. What is too long is cut and says so; buttons are always kept.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import (
    ActionsBlock,
    ButtonElement,
    ConfirmObject,
    ContextBlock,
    DividerBlock,
    HeaderBlock,
    InputBlock,
    PlainTextInputElement,
    PlainTextObject,
    RichTextBlock,
    RichTextElement,
    RichTextElementParts,
    RichTextListElement,
    RichTextPreformattedElement,
    RichTextQuoteElement,
    RichTextSectionElement,
)
from slack_sdk.models.blocks import Block as Model
from slack_sdk.models.views import View as SlackView

from overlord.adapters.slack.blocks_text import cut, cut_to_end, escaped, escaped_length, one_line, title
from overlord.domain.text.plain import count
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.graph import Graph
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mark, Mention, Moment, Pull, Span
from overlord.domain.view.sparkline import chart_spans
from overlord.domain.view.view import (
    Action,
    Actions,
    Bullets,
    Button,
    Buttons,
    Chart,
    Fields,
    Heading,
    Note,
    Outline,
    Output,
    Paragraph,
    Part,
    Quote,
    Rule,
    Table,
    View,
)
from overlord.errors import ChatRefused

Block = dict[str, Any]
"""A piece of JSON for Slack."""

MESSAGE_BLOCKS, VIEW_BLOCKS = 50, 100
ROW_BUTTONS = 25
ALL_BYTES = 12_000
"""Of a message's blocks as JSON. Slack's limit is published for text alone, and counts what is around it:
`msg_blocks_too_long` comes at about 13,200 (slackapi/bolt-js issues 2509 and 2867)."""
HOME_BYTES = 60_000
"""Of a view; Slack says 250 kB."""
NOTE_BYTES = 150
"""What the note that parts are left out takes."""
SHARES_CHARS = (3000, 1500, 600, 200)
"""How long one text may be, and to what it is cut where the message has no more room."""
QUOTE_CHARS, OUTPUT_CHARS, POINT_CHARS = 1200, 2500, 600
POINTS, SPANS = 50, 100
HEADER_CHARS, LABEL_CHARS, VALUE_CHARS, URL_CHARS = 150, 75, 2000, 3000
CONFIRM_CHARS, CONFIRM_LABEL_CHARS, CONFIRM_TITLE_CHARS = 300, 30, 100
WINDOW_CHARS, WINDOW_VALUE_CHARS = 24, 3000
FIELD_CHARS, FIELD_LABEL_CHARS = 3000, 2000
SUMMARY_CHARS = 1000
NOTHING = "(nothing)"
USER = re.compile(r"[UW][A-Z0-9]{2,31}")


def message_payload(message: View) -> Block:
    """`text` and `blocks` of a message. `text` is what notifications show, and Slack parses it: it is escaped."""
    blocks = _blocks(message.parts, MESSAGE_BLOCKS) or [_rich(_section([_text_element(NOTHING)]))]
    return {"text": escaped(title(message.summary, SUMMARY_CHARS)) or NOTHING, "blocks": blocks}


def view_payload(form: Form) -> Block:
    """A form as a modal. A field's name is its input's `action_id`; `value` comes back as `private_metadata`."""
    inputs = [_input(field) for field in form.fields]
    above = [part for part in form.parts if not isinstance(part, Buttons)]
    return _dict(
        SlackView(
            type="modal",
            callback_id=form.action,
            private_metadata=_opaque(form.value, WINDOW_VALUE_CHARS),
            title=_plain_text(title(form.title, WINDOW_CHARS) or "Overlord"),
            submit=_plain_text(title(form.submit, WINDOW_CHARS) or "Submit"),
            close=_plain_text("Cancel"),
            blocks=[*_blocks(above, VIEW_BLOCKS - len(inputs)), *inputs],
        )
    )


def home_payload(message: View) -> Block:
    """What somebody's Home tab shows."""
    blocks = _blocks(message.parts, VIEW_BLOCKS, most_bytes=HOME_BYTES)
    return _dict(SlackView(type="home", blocks=blocks or [_rich(_section([_text_element(NOTHING)]))]))


def weight(blocks: Sequence[Block]) -> int:
    """How much of a message's room blocks take: bytes of JSON, with Slack's three signs escaped."""
    return len(escaped(json.dumps(blocks, ensure_ascii=False, separators=(",", ":"))).encode())


def _blocks(parts: Sequence[Part], most: int, *, most_bytes: int = ALL_BYTES) -> list[Block]:
    """Every row of buttons, and of the other parts as many as there is room for, from the first on."""
    rows = [_rows(part) if isinstance(part, Buttons) else [] for part in parts]
    texts = [[] if isinstance(part, Buttons) else _versions(part) for part in parts]
    kept = list(chain.from_iterable(rows))
    room = _Room(
        bytes_left=most_bytes - NOTE_BYTES - weight(kept),
        blocks_left=most - len(kept),
        to_come=sum(bool(versions) for versions in texts),
    )
    shown: list[Block] = []
    for row, versions in zip(rows, texts, strict=True):
        shown.extend(row or room.put(versions))
    # More rows than a message has blocks, nobody makes; a message that Slack takes is still better than none.
    return shown[:most]


@dataclass(slots=True, kw_only=True)
class _Room:
    """What buttons leave to the other parts. Once one of them has no room, those after it have none either."""

    bytes_left: int
    blocks_left: int
    to_come: int
    is_over: bool = False

    def put(self, versions: Sequence[Block]) -> Sequence[Block]:
        """The longest version there is room for, or once the note that something is missing."""
        if self.is_over or not versions:
            return ()
        self.to_come -= 1
        # The last block there is goes to the last part, or to the note.
        if self.blocks_left > 1 or (self.blocks_left == 1 and not self.to_come):
            for block in versions:
                if (taken := weight([block])) <= self.bytes_left:
                    self.bytes_left, self.blocks_left = self.bytes_left - taken, self.blocks_left - 1
                    return (block,)
        self.is_over = True
        left_out = self.to_come + 1
        words = f"{count(left_out, 'more part')} {'is' if left_out == 1 else 'are'} left out"
        return (_context_block(words),) if self.blocks_left > 0 else ()


def _versions(part: Part) -> list[Block]:
    """A part as a block: as long as it may be, then shorter and shorter; none for a part without words."""
    versions = (_block(part, chars) for chars in SHARES_CHARS)
    return [block for block in versions if block is not None]


def _block(part: Part, chars: int) -> Block | None:
    match part:
        case Heading(text):
            words = title(text, min(chars, HEADER_CHARS))
            return _dict(HeaderBlock(text=_plain_text(words))) if words else None
        case Note(text):
            words = cut(text, chars).strip()
            return _context_block(words) if words else None
        case Paragraph(spans):
            elements = _elements(spans, chars)
            return _rich(_section(elements)) if elements else None
        case Quote(text):
            words = cut(text.strip(), min(chars, QUOTE_CHARS)) or NOTHING
            return _rich(RichTextQuoteElement(elements=[_text_element(words)]))
        case Output(text):
            words = cut_to_end(text.strip("\r\n").rstrip(), min(chars, OUTPUT_CHARS)) or NOTHING
            return _rich(RichTextPreformattedElement(elements=[_text_element(words)]))
        case Bullets() | Outline() | Fields() | Table() | Actions():
            points = _points_of(part)
            return _outline(points, chars) if points else None
        case Graph():
            return _outline([((text,),) for text in part.sentences()], chars) if part.drawn else None
        case Chart():
            return _rich(_section(_elements(chart_spans(part), chars, in_line=True)))
        case Rule() | Buttons():
            return _dict(DividerBlock())


def _row_spans(row: Sequence[Sequence[Span]]) -> list[Span]:
    """A row of a table in one line: a message has no room for columns."""
    cells = [cell for cell in row if cell]
    return [span for index, cell in enumerate(cells) for span in ((" · ", *cell) if index else cell)]


def _action_spans(action: Action) -> list[Span]:
    return [
        Bold(action.label),
        "  ",
        Command(action.ref),
        f"  {action.consequence}" if action.consequence else "",
    ]


def _points_of(part: Bullets | Outline | Fields | Table | Actions) -> Sequence[Sequence[Sequence[Span]]]:
    """A list's points, each with its lines."""
    match part:
        case Bullets(items):
            return [(item,) for item in items]
        case Outline(points):
            return points
        case Fields(fields):
            return [((Bold(name), ": ", *spans),) for name, spans in fields]
        case Table(_, rows):
            return [(_row_spans(row),) for row in rows]
        case Actions(actions):
            return [(_action_spans(action),) for action in actions]


def _outline(points: Sequence[Sequence[Sequence[Span]]], chars: int) -> Block:
    """A list of points, some with lines below; a point without words is there all the same, since somebody may count them."""
    sections: list[RichTextElement] = []
    for index, point in enumerate(points):
        if index == POINTS or (chars <= 0 and sections):
            sections.append(_section([_text_element(f"{len(points) - index:,} more")]))
            break
        elements: list[RichTextElement] = []
        for line in point:
            made = _elements(line, min(chars, POINT_CHARS), in_line=True) or [_text_element(NOTHING)]
            chars -= sum(escaped_length(_words(element, else_="")) for element in made)
            elements += [*([_text_element("\n")] if elements else []), *made]
        sections.append(_section(elements))
    return _rich(RichTextListElement(style="bullet", elements=sections))


def _elements(spans: Iterable[Span], chars: int, *, in_line: bool = False) -> list[RichTextElement]:
    """Spans as elements of rich text, as many as have room; nothing if there is no word in them."""
    elements: list[RichTextElement] = []
    for span in spans:
        if len(elements) == SPANS or chars <= 0:
            elements.append(_text_element("…"))
            break
        element = _element(span, chars, in_line=in_line or not isinstance(span, str))
        if element:
            chars -= escaped_length(_words(element, else_="@somebody"))
            elements.append(element)
    return elements if any(_words(element, else_="@").strip() for element in elements) else []


def _words(element: RichTextElement, *, else_: str) -> str:
    """What an element shows as it is written here; of a person or a moment everybody sees their own."""
    words: str = getattr(element, "text", else_)
    return words


def _element(span: Span, chars: int, *, in_line: bool) -> RichTextElement | None:
    match span:
        case Mention(user) if USER.fullmatch(user):
            return RichTextElementParts.User(user_id=str(user))
        case Moment(at, with_day):
            form = "{date_short_pretty} {time}" if with_day else "{time}"
            return RichTextElementParts.Date(timestamp=at, format=form, fallback=span.words)
        case Link(url, text) if _is_address(url):
            words = title(text, chars)
            return RichTextElementParts.Link(url=url, text=words if words.strip("…") else cut(url, chars))
    text, style = _plainly(span)
    words = cut(one_line(text) if in_line else text, chars)
    if not words:
        return None
    return _text_element(words, style)


def _plainly(span: Span) -> tuple[str, str]:
    """The words of a span, and how they look."""
    match span:
        case Bold(text):
            return text, "bold"
        case Code(text):
            return text, "code"
        case Link(url, text):
            return text or url, ""
        case Mention(user):
            return user, ""
        case Moment():
            return span.words, ""
        case Mark(sign):
            return f"{sign} ", ""
        case Issue(space, number) | Pull(space, number):
            return f"{space}#{number}", "code"
        case Command(ref):
            return " ".join(("/overlord", ref.name, *ref.arguments)), "code"
    return span, ""


def _rows(part: Buttons) -> list[Block]:
    """Buttons as rows of as many as one may have. One that only leads to what is no address is none."""
    buttons = [button for button in part.buttons if not button.url or _is_address(button.url)]
    rows: list[Block] = []
    for start in range(0, len(buttons), ROW_BUTTONS):
        row = buttons[start : start + ROW_BUTTONS]
        taken = [button.action for button in row]
        elements = [
            _button(button, f"{button.action}:{index}" if button.action in taken[:index] else button.action)
            for index, button in enumerate(row)
        ]
        rows.append(_dict(ActionsBlock(elements=elements)))
    return rows


def _button(button: Button, action_id: str) -> ButtonElement:
    label, style = title(button.label, LABEL_CHARS) or "…", str(button.style) if button.style else None
    if button.url:
        return ButtonElement(text=_plain_text(label), action_id=action_id, style=style, url=button.url)
    question = cut(button.confirm, CONFIRM_CHARS).strip()
    confirm = ConfirmObject(
        title=_plain_text(title(label, CONFIRM_TITLE_CHARS)),
        text=_plain_text(question),
        confirm=_plain_text(title(label, CONFIRM_LABEL_CHARS)),
        deny=_plain_text("Cancel"),
        style=style,
    )
    return ButtonElement(
        text=_plain_text(label),
        action_id=action_id,
        style=style,
        value=_opaque(button.value, VALUE_CHARS) if button.value else None,
        confirm=confirm if question else None,
    )


def _input(field: FormField) -> Block:
    most = min(max(field.most, 1), FIELD_CHARS)
    initial = cut(field.initial if field.is_long else one_line(field.initial), most, escapes={})
    hint = title(field.hint, FIELD_LABEL_CHARS)
    return _dict(
        InputBlock(
            label=_plain_text(title(field.label, FIELD_LABEL_CHARS) or field.name),
            element=PlainTextInputElement(
                action_id=field.name,
                multiline=field.is_long,
                max_length=most,
                initial_value=initial or None,
            ),
            optional=field.is_optional,
            hint=_plain_text(hint) if hint else None,
        )
    )


def _opaque(value: str, limit: int) -> str:
    """What comes back as it went: half of it would be worth nothing."""
    if len(value) > limit:
        raise ValueError(f"a value that comes back has {len(value)} characters, Slack keeps {limit}")
    return value


def _is_address(url: str) -> bool:
    """Whether this is an address of the web, of a length that Slack takes."""
    return escaped_length(url) <= URL_CHARS and Link(url, "").is_address


def _rich(element: RichTextElement) -> Block:
    return _dict(RichTextBlock(elements=[element]))


def _section(elements: Sequence[RichTextElement]) -> RichTextSectionElement:
    return RichTextSectionElement(elements=elements)


def _text_element(text: str, style: str = "") -> RichTextElement:
    looks = RichTextElementParts.TextStyle(**{style: True}) if style else None
    return RichTextElementParts.Text(text=text, style=looks)


def _plain_text(text: str) -> PlainTextObject:
    return PlainTextObject(text=text, emoji=False)


def _context_block(text: str) -> Block:
    return _dict(ContextBlock(elements=[_plain_text(text)]))


def _dict(model: Model | SlackView) -> Block:
    """As JSON, held against Slack's limits by the library. What breaks one is a defect of ours: everything was cut before.

    Raises ChatRefused then, as when Slack itself says no.
    """
    try:
        return dict(model.to_dict())
    except SlackObjectFormationError as error:
        raise ChatRefused(f"Slack takes no such block: {error}") from None
