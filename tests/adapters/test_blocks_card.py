"""A whole card and a whole form, as Slack gets them."""

from inline_snapshot import snapshot

from overlord.adapters.slack.blocks import message_payload, view_payload
from overlord.domain.identifiers import UserId
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.span import Bold, Code, Link, Mention
from overlord.domain.view.view import (
    ActionId,
    Bullets,
    Button,
    Buttons,
    ButtonStyle,
    Heading,
    Note,
    Output,
    Paragraph,
    Quote,
    Rule,
    View,
)
from overlord.embedded.chat.block_kit import message_faults, view_faults
from overlord.embedded.chat.block_text import plain


def test_a_card_in_full() -> None:
    card = View(
        summary="Job 7 needs a decision <now>",
        parts=(
            Heading("Job 7: may it change setup.py?"),
            Paragraph(
                (Bold("acme/calc"), " ", Link("https://github.com/acme/calc/issues/42", "#42"), ", asked by ",
                 Mention(UserId("U012AB3CD")), ": scope ", Code("src/**"))
            ),
            Bullets((("3 files changed",), ("tests ", Bold("pass")))),
            Quote("Please <!channel> merge\nnow"),
            Output("1 failed, 3 passed"),
            Rule(),
            Buttons(
                (
                    Button(label="Once", action=ActionId("scope-once"), value="n0nce", style=ButtonStyle.PRIMARY),
                    Button(label="Refuse", action=ActionId("refuse"), value="n1", style=ButtonStyle.DANGER,
                           confirm="Refuse it for good?"),
                    Button(label="Evidence", action=ActionId("evidence"), url="https://github.com/acme/calc/pull/7"),
                )
            ),
            Note("Expires in 3 days"),
        ),
    )  # fmt: skip
    payload = message_payload(card)
    assert message_faults(payload["blocks"]) == []
    assert payload == snapshot(
        {
            "text": "Job 7 needs a decision &lt;now&gt;",
            "blocks": [
                {
                    "type": "header",
                    "text": {"type": "plain_text", "text": "Job 7: may it change setup.py?", "emoji": False},
                },
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_section",
                            "elements": [
                                {"type": "text", "text": "acme/calc", "style": {"bold": True}},
                                {"type": "text", "text": " "},
                                {
                                    "type": "link",
                                    "url": "https://github.com/acme/calc/issues/42",
                                    "text": "#42",
                                },
                                {"type": "text", "text": ", asked by "},
                                {"type": "user", "user_id": "U012AB3CD"},
                                {"type": "text", "text": ": scope "},
                                {"type": "text", "text": "src/**", "style": {"code": True}},
                            ],
                        }
                    ],
                },
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_list",
                            "style": "bullet",
                            "elements": [
                                {
                                    "type": "rich_text_section",
                                    "elements": [{"type": "text", "text": "3 files changed"}],
                                },
                                {
                                    "type": "rich_text_section",
                                    "elements": [
                                        {"type": "text", "text": "tests "},
                                        {"type": "text", "text": "pass", "style": {"bold": True}},
                                    ],
                                },
                            ],
                        }
                    ],
                },
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_quote",
                            "elements": [
                                {
                                    "type": "text",
                                    "text": """\
Please <!channel> merge
now\
""",
                                }
                            ],
                        }
                    ],
                },
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_preformatted",
                            "elements": [{"type": "text", "text": "1 failed, 3 passed"}],
                        }
                    ],
                },
                {"type": "divider"},
                {
                    "type": "actions",
                    "elements": [
                        {
                            "type": "button",
                            "action_id": "scope-once",
                            "text": {"type": "plain_text", "text": "Once", "emoji": False},
                            "style": "primary",
                            "value": "n0nce",
                        },
                        {
                            "type": "button",
                            "action_id": "refuse",
                            "text": {"type": "plain_text", "text": "Refuse", "emoji": False},
                            "style": "danger",
                            "value": "n1",
                            "confirm": {
                                "title": {"type": "plain_text", "text": "Refuse", "emoji": False},
                                "text": {"type": "plain_text", "text": "Refuse it for good?", "emoji": False},
                                "confirm": {"type": "plain_text", "text": "Refuse", "emoji": False},
                                "deny": {"type": "plain_text", "text": "Cancel", "emoji": False},
                                "style": "danger",
                            },
                        },
                        {
                            "type": "button",
                            "action_id": "evidence",
                            "text": {"type": "plain_text", "text": "Evidence", "emoji": False},
                            "url": "https://github.com/acme/calc/pull/7",
                        },
                    ],
                },
                {
                    "type": "context",
                    "elements": [{"type": "plain_text", "text": "Expires in 3 days", "emoji": False}],
                },
            ],
        }
    )
    assert plain(payload["blocks"]) == snapshot("""\
Job 7: may it change setup.py?
acme/calc #42, asked by @U012AB3CD: scope src/**
• 3 files changed
• tests pass
> Please <!channel> merge
> now
1 failed, 3 passed
---
[Once] [Refuse] [Evidence]
Expires in 3 days\
""")


def test_a_form_in_full() -> None:
    form = Form(
        action=ActionId("answer"),
        value="n0nce",
        title="Answer the question of job 7",
        submit="Answer",
        parts=(Quote("Which database?"),),
        fields=(
            FormField(name="answer", label="Your answer", hint="In your own words", is_long=True),
            FormField(name="remember", label="Remember as", initial="db", is_optional=True, most=80),
        ),
    )
    view = view_payload(form)
    assert view_faults(view) == []
    assert view == snapshot(
        {
            "type": "modal",
            "callback_id": "answer",
            "private_metadata": "n0nce",
            "title": {"type": "plain_text", "text": "Answer the question of…", "emoji": False},
            "submit": {"type": "plain_text", "text": "Answer", "emoji": False},
            "close": {"type": "plain_text", "text": "Cancel", "emoji": False},
            "blocks": [
                {
                    "type": "rich_text",
                    "elements": [
                        {"type": "rich_text_quote", "elements": [{"type": "text", "text": "Which database?"}]}
                    ],
                },
                {
                    "type": "input",
                    "label": {"type": "plain_text", "text": "Your answer", "emoji": False},
                    "element": {
                        "type": "plain_text_input",
                        "action_id": "answer",
                        "multiline": True,
                        "max_length": 2000,
                    },
                    "optional": False,
                    "hint": {"type": "plain_text", "text": "In your own words", "emoji": False},
                },
                {
                    "type": "input",
                    "label": {"type": "plain_text", "text": "Remember as", "emoji": False},
                    "element": {
                        "type": "plain_text_input",
                        "action_id": "remember",
                        "multiline": False,
                        "max_length": 80,
                        "initial_value": "db",
                    },
                    "optional": True,
                },
            ],
        }
    )
