"""Whatever issues, models, repositories and people say, it stands in the chat as words: nobody is called, nothing is linked or
formatted that Overlord did not mean, Slack takes every message, and no secret is in one."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from overlord.domain.job import JobState
from overlord.domain.text.plain import visible
from overlord.embedded.chat.record import Message
from overlord.embedded.play import blocked, call, edit, run, say, submit
from overlord.embedded.reviewer import REVIEW
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.pressing import asked, questions
from tests.quick import made_quick_talk
from tests.world import DEADLINE_S, FIX, REPO

HOSTILE = (
    "<!channel> <!here> <!everyone> <@U0BYSTAND> @channel @here <#C00000003> <!subteam^S00000001> "
    "<https://evil.invalid|https://github.com> https://evil.invalid/x?y=1 *bold* _it_ ~gone~ `code` ```fence``` &lt;!channel&gt; :tada: "
    "\u200bzero\u200dwidth\u2060 \u202egnp.exe\u202c \u2066iso\u2069 \x1b[31mred\x1b[0m\x07\x00 \U000e0041tag é🏳️‍🌈"
)
SHOWN = "<!channel> <!here> <!everyone> <@U0BYSTAND>"
"""What is left of it for people to read, letter by letter."""
TOKEN = "ghp_" + "a1B2c3D4" * 5
ASKED = ("why #1", "status", "queue", "history", "cost", "cost #1", "decisions", "briefing", "help")
CALLS = {"broadcast", "emoji", "usergroup", "channel", "color", "team"}
FORMATS = ("{time}", "{date_short_pretty} {time}")
SAYS = ("chat.postMessage", "chat.update", "chat.postEphemeral", "response", "views.open", "views.publish")


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


def pieces(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in some JSON."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from pieces(item)


def said(talk: Talk) -> list[dict[str, Any]]:
    """All that Overlord has sent: posts, edits, answers, forms."""
    return [dict(seen.arguments) for seen in talk.chat.requests if seen.method in SAYS]


def check_harmless(talk: Talk) -> None:
    """Nothing that was sent can do more than be read, and all of it was taken."""
    refused = [(seen.method, seen.error) for seen in talk.chat.requests if seen.error]
    assert refused == []
    assert said(talk)
    for seen in talk.chat.requests:
        if seen.method in ("chat.postMessage", "response"):
            assert (seen.arguments["unfurl_links"], seen.arguments["unfurl_media"]) == (False, False)
        if seen.method in ("chat.postMessage", "chat.update", "chat.postEphemeral"):
            assert (seen.arguments["parse"], seen.arguments["link_names"]) == ("none", False)
    for sent in said(talk):
        assert not re.search("[<>]", sent.get("text", "")), "notifications are parsed by Slack"
        for piece in pieces(sent):
            check_piece(talk, piece)


def check_piece(talk: Talk, piece: dict[str, Any]) -> None:
    """One object of a message or a form."""
    assert piece.get("type") not in CALLS, piece
    assert piece.get("type") != "user" or piece["user_id"] == talk.alice, (
        "who answered is named, and nobody else"
    )
    assert piece.get("type") != "mrkdwn", piece
    if piece.get("type") == "date":
        assert set(piece) == {"type", "timestamp", "format", "fallback"}, piece
        assert piece["format"] in FORMATS, piece
        assert re.fullmatch(r"(\d+ [A-Z][a-z]{2} )?\d\d:\d\d UTC", piece["fallback"]), piece
    if "url" in piece:
        assert piece["url"].startswith(f"{talk.world.forge_url}/{REPO}/"), piece
        label = piece["text"] if isinstance(piece["text"], str) else piece["text"]["text"]
        assert re.fullmatch(rf"{REPO}#\d+|pull request #\d+|PR #\d+|Open PR", label), piece
    for name, text in piece.items():
        if isinstance(text, str) and name in ("text", "initial_value"):
            assert visible(text) == text, piece
            assert piece.get("emoji") is not True, piece


def leads_on(message: Message) -> bool:
    """Whether there is a way to the whole of it: a link, or a button that shows it."""
    has_link = any(piece.get("type") == "link" for piece in pieces(list(message.blocks)))
    return has_link or any(button.url or button.label == "Show evidence" for button in message.buttons)


async def ask_everything(talk: Talk) -> str:
    """Look at all there is to see."""
    return "\n".join([await talk.command(command) for command in ASKED])


async def test_an_issue_and_a_minions_reason_are_only_words(talk: Talk) -> None:
    await talk.world.issue(HOSTILE[:256], HOSTILE)
    talk.world.model_will(blocked(HOSTILE))
    await talk.world.settle()
    card = talk.card("Blocker 1")
    assert SHOWN in card.plain and "*bold* _it_ ~gone~" in card.plain
    assert SHOWN in talk.card("✋").plain
    assert SHOWN in await ask_everything(talk)
    assert "Stopped job 1" in await talk.command(f"stop #1 {HOSTILE}")
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert "<!channel>" in talk.card("⏹️").plain
    check_harmless(talk)


async def test_a_question_its_options_and_the_reply_are_only_words(talk: Talk) -> None:
    await talk.world.issue(HOSTILE[:256], HOSTILE)
    ask = call("ask_question", question=HOSTILE, options=[HOSTILE, "<!here>", "*", "\u200b"])
    talk.world.model_will(ask, edit(*FIX), submit(HOSTILE.replace("\x00", "")))
    await talk.world.make_due()
    await talk.world.until(lambda: questions(talk))
    [card] = questions(talk)
    assert SHOWN in card.plain
    assert "<!here>" in talk.buttons(card)
    pressed = await talk.chat.click(talk.alice, card.ts, "In words …")
    assert pressed.acked
    await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
    await talk.chat.submit(talk.chat.open_views(talk.alice)[0], {"Your answer": HOSTILE}, talk.alice)
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    [card] = questions(talk)
    assert card.plain.count(SHOWN) >= 2, "what was asked, and what was answered"
    await ask_everything(talk)
    check_harmless(talk)


async def test_a_reply_in_the_thread_is_only_words(talk: Talk) -> None:
    card = await asked(talk)
    await talk.chat.say(talk.alice, HOSTILE, thread=card.thread_ts)
    await talk.chat.arrived()
    await talk.world.settle()
    [card] = questions(talk)
    assert f"> {SHOWN}" in card.plain
    heard = next(m["content"] for m in talk.world.minion_heard() if m["role"] == "tool")
    assert SHOWN in heard
    check_harmless(talk)


async def test_the_names_of_files_are_only_words() -> None:
    async with made_quick_talk(spaces={REPO: {"scope": ["calc.py"]}}) as talk:
        await talk.world.issue("add() subtracts")
        names = ["<!channel>", "*b*", "`x`", "<@U0BYSTAND>", "a\tb", "bidi\u202egnp", "new\nline", "n" * 200]
        script = "import sys; [open(name, 'w').write('x') for name in " + ascii(names) + "]"
        raw = "open(b'\\xff\\xfe', 'w').write('x')"
        talk.world.model_will(edit(*FIX), run(f"python3 - <<'E'\n{script}\n{raw}\nE"), submit(), submit())
        await talk.world.settle()
        [decision] = await talk.world.decisions()
        assert len(decision.patterns) >= len(names)
        assert "<!channel>" in talk.card("Approval 1").plain
        await talk.press(talk.card("✋"), "Show evidence")
        await ask_everything(talk)
        check_harmless(talk)


async def test_a_reviewers_findings_are_only_words(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    finding = {"rule": "security", "file": "calc.py", "line": 2, "message": HOSTILE, "evidence": HOSTILE}
    finding |= {"suggestion": HOSTILE, "systemic": False}
    talk.world.model_will(
        say(json.dumps({"files_reviewed": ["calc.py"], "findings": [finding]})), when=REVIEW
    )
    talk.world.model_will(edit(*FIX), submit())
    await talk.world.settle()
    card = talk.card("Decision 1")
    assert "<!channel>" in card.plain
    await talk.press(talk.card("✋"), "Show evidence")
    await ask_everything(talk)
    check_harmless(talk)


async def test_what_is_far_too_long_is_cut_and_leads_to_the_whole(talk: Talk) -> None:
    await talk.world.issue("<!channel> " * 20, "x" * 60_000)
    talk.world.model_will(blocked("<@U0BYSTAND> " * 8_000))
    await talk.world.settle()
    cards = [talk.card("Blocker 1"), talk.card("✋")]
    for card in cards:
        assert "…" in card.plain and leads_on(card)
        assert talk.buttons(card), "buttons are never cut"
    assert len(await ask_everything(talk)) < 40_000
    assert "too long" in await talk.command("why " + "#" * 39_000)
    check_harmless(talk)


async def test_a_question_of_a_hundred_thousand_characters_can_be_answered(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    ask = call("ask_question", question="<!here> " * 12_500, options=["o" * 100_000, "p" * 3000])
    talk.world.model_will(ask, edit(*FIX), submit())
    await talk.world.make_due()
    await talk.world.until(lambda: questions(talk))
    [card] = questions(talk)
    assert "…" in card.plain and leads_on(card)
    assert "In words …" in talk.buttons(card)
    await talk.chat.say(talk.alice, "y" * 30_000, thread=card.thread_ts)
    await talk.chat.arrived()
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    check_harmless(talk)


async def test_what_is_no_text_at_all_stops_nobody(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I need the password"))
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.WAITING
    ts = talk.card("Blocker 1").ts
    talk.chat.deliveries.ack_timeout_s = 0.3  # whether it is acknowledged is not asked here
    await talk.chat.command(talk.alice, "why \ud800#1")
    await talk.chat.click_with(talk.alice, ts, "press", "\udfff")
    talk.chat.deliveries.ack_timeout_s = DEADLINE_S
    await talk.world.settle()
    assert "Job 1" in await talk.command("why #1"), "the next one is heard"
    check_harmless(talk)


@pytest.mark.parametrize("text", [HOSTILE, f"answer 1 {HOSTILE}", f"work on {HOSTILE}", f"pause {HOSTILE}"])
async def test_what_is_not_understood_is_not_said_again(talk: Talk, text: str) -> None:
    await talk.world.settle()
    answered = await talk.command(text)
    assert answered and "channel" not in answered and "evil" not in answered
    mention = await talk.chat.mention(talk.alice, text)
    await talk.chat.arrived()
    await talk.world.settle()
    [reply] = talk.chat.messages(thread=mention.ts)
    assert "channel" not in reply.plain and "evil" not in reply.plain
    check_harmless(talk)


async def test_secrets_are_in_no_message(talk: Talk) -> None:
    secrets = [TOKEN, talk.chat.bot_token, talk.chat.app_token, talk.world.forge.token, talk.world.model.key]
    words = " ".join(secrets)
    await talk.world.issue("add() subtracts", words)
    talk.world.model_will(blocked(f"I need {words}"))
    await talk.world.settle()
    assert "I need [redacted]" in talk.card("Blocker 1").plain
    await ask_everything(talk)
    await talk.command("stop #1")
    everything = json.dumps(said(talk))
    assert [secret for secret in secrets if secret in everything] == []
    check_harmless(talk)
