"""What of a text becomes a draft, and what of a draft a session is told."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minion.native.prompt import ISSUE_CHARS
from overlord.adapters.slack.blocks import message_payload
from overlord.domain.chat.card import Place
from overlord.domain.chat.draft_card import draft_card, fits_form, fits_message, issue_body
from overlord.domain.skills.draft import DraftKind, DraftState, SkillDraft
from overlord.domain.skills.drafting import MOST_TEXT, Unwritten, Written, read_text
from overlord.domain.text.hidden_text import without_hidden
from tests.drafting import PATH, skill
from tests.records import NOW, REPO

DRAFT = SkillDraft(
    id=3,
    space=REPO,
    kind=DraftKind.NEW,
    requested_by="cli:alice",
    requested_at=NOW,
    state=DraftState.WAITING,
    name="say-why",
    path=PATH,
    text=skill(),
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (skill(text="x" * MOST_TEXT), "longer than 36,000 characters"),
        (skill(text="One.\rTwo."), "a carriage return within a line"),
        (skill(text="Say\u00ad why."), "characters that nobody sees"),
        (skill(text="Say\u2028why."), "characters that nobody sees"),
        (skill(text="Say \ud800."), "no text in UTF-8"),
    ],
)
def test_what_no_session_could_write_as_it_is_is_no_draft(text: str, why: str) -> None:
    found = read_text(text, DRAFT)
    assert isinstance(found, Unwritten) and why in found.reason


@pytest.mark.parametrize(
    "said", ["", "\U0001f468\u200d\U0001f469 and na\u00efve", "```\n  # <!-- seen -->\n  ```"]
)
def test_what_becomes_a_draft_is_told_word_for_word(said: str) -> None:
    text = skill(text=f"Say why. {said}")
    assert read_text(text, DRAFT) == Written(name="say-why", text=text)
    assert text in without_hidden(issue_body(replace(DRAFT, text=text, said="<" * 500))).text


def test_the_longest_text_has_room_in_what_a_session_is_told() -> None:
    longest = replace(
        DRAFT, text="x" * MOST_TEXT, said="<" * 500, decided_by=f"cli:{'a' * 100}", key="k" * 16
    )
    assert len(issue_body(longest)) < ISSUE_CHARS


def _shown(draft: SkillDraft) -> list[str]:
    blocks = message_payload(draft_card(draft, Place(), lambda verb, _: verb))["blocks"]
    rich = [element for block in blocks if block["type"] == "rich_text" for element in block["elements"]]
    return [item["elements"][0]["text"] for item in rich if item["type"] == "rich_text_preformatted"]


@given(st.text(min_size=1, max_size=12), st.integers(min_value=1, max_value=300))
@example("0000000&", 208)
def test_a_text_that_is_said_to_fit_is_shown_whole(piece: str, times: int) -> None:
    draft = replace(DRAFT, text=f"name: x\n{piece * times}.\n")
    assert _shown(draft) == ([draft.text.rstrip()] if fits_message(draft) else [])


@pytest.mark.parametrize(
    ("text", "message", "form"), [("x" * 2400, True, True), ("\U0001f600" * 1600, False, False)]
)
def test_characters_are_counted_as_the_chats_clients_do(text: str, message: bool, form: bool) -> None:
    draft = replace(DRAFT, text=text)
    assert (fits_message(draft), fits_form(draft)) == (message, form)
