"""What people type in a chat, as they type it, and what is not understood: told with what to type, never with their words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.conversation.command import (
    MOST_CHARS,
    USAGES,
    ChatCommand,
    ChatCommandError,
    ChatVerb,
    Span,
    chat_command,
)
from overlord.domain.text.reference import IssueRef, JobRef

V = ChatVerb
ISSUE, THEIRS, JOB = IssueRef(number=42), IssueRef(number=42, space="acme/calc"), JobRef(number=7)


@pytest.mark.parametrize(
    "text",
    [
        "work on acme/calc#42",
        "work acme/calc#42",
        "  Work   ON  acme/calc#42. ",
        "/work on `acme/calc#42`",
        "work on https://github.com/acme/calc/issues/42",
        "work on https://github.com/acme/calc/issues/42#issuecomment-1",
        "work on <https://github.com/acme/calc/issues/42>",
        "work on <https://github.com/acme/calc/issues/42|github.com/acme/calc/issues/42>",
        "work on <https://github.com/acme/calc/issues/42|acme/other#7>",
        "work on <https://git.example.org:8443/acme/calc/issues/42?a=1&amp;b=2|that>",
        "work on “acme/calc#42”",
        "work\u00a0on\u00a0acme/calc#42",
        "work on acme/calc\u200b#42",
        "\twork\non\r\nacme/calc#42",
    ],
)
def test_an_issue_is_named_in_many_ways(text: str) -> None:
    assert chat_command(text) == ChatCommand(verb=V.WORK, target=THEIRS)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ChatCommand(verb=V.HELP)),
        ("   ", ChatCommand(verb=V.HELP)),
        ("help me please", ChatCommand(verb=V.HELP)),
        ("work on #42", ChatCommand(verb=V.WORK, target=ISSUE)),
        ("stop 7", ChatCommand(verb=V.STOP, target=JOB)),
        ("stop job 7", ChatCommand(verb=V.STOP, target=JOB)),
        ("stop #42 not needed, thanks", ChatCommand(verb=V.STOP, target=ISSUE, text="not needed, thanks")),
        ("retry #42", ChatCommand(verb=V.RETRY, target=ISSUE)),
        ("why 7?", ChatCommand(verb=V.WHY, target=JOB)),
        ("why https://github.com/acme/calc/pull/42/files", ChatCommand(verb=V.WHY, target=THEIRS)),
        ("pause", ChatCommand(verb=V.PAUSE)),
        ("pause everything", ChatCommand(verb=V.PAUSE)),
        ("pause ALL lunch", ChatCommand(verb=V.PAUSE, text="lunch")),
        ("pause acme/calc", ChatCommand(verb=V.PAUSE, space="acme/calc")),
        ("pause calc a release", ChatCommand(verb=V.PAUSE, space="calc", text="a release")),
        (
            "pause <https://github.com/acme/calc.git|acme/calc>",
            ChatCommand(verb=V.PAUSE, space="acme/calc"),
        ),
        ("pause https://github.com/acme/calc.git", ChatCommand(verb=V.PAUSE, space="acme/calc")),
        ("resume", ChatCommand(verb=V.RESUME)),
        ("resume acme/calc", ChatCommand(verb=V.RESUME, space="acme/calc")),
        ("cost", ChatCommand(verb=V.COST)),
        ("cost today", ChatCommand(verb=V.COST)),
        ("Cost Week", ChatCommand(verb=V.COST, span=Span.WEEK)),
        ("cost job 7", ChatCommand(verb=V.COST, span=Span.JOB, target=JOB)),
        ("cost job #42", ChatCommand(verb=V.COST, span=Span.JOB, target=ISSUE)),
        ("cost #42", ChatCommand(verb=V.COST, span=Span.JOB, target=ISSUE)),
        ("scope #42 +src/**", ChatCommand(verb=V.SCOPE, target=ISSUE, patterns=("src/**",))),
        (
            "scope 7 `+src/**` +'docs/a.md' +<http://README.md|README.md> +src/<http://main.py|main.py>",
            ChatCommand(
                verb=V.SCOPE, target=JOB, patterns=("src/**", "docs/a.md", "README.md", "src/main.py")
            ),
        ),
        ("scope 7 +src/?", ChatCommand(verb=V.SCOPE, target=JOB, patterns=("src/?",))),
        ("approve 5", ChatCommand(verb=V.APPROVE, decision=5)),
        ("approve decision #5 looks good", ChatCommand(verb=V.APPROVE, decision=5, text="looks good")),
        ("retire say-why", ChatCommand(verb=V.RETIRE, skill="say-why")),
        (
            "retire acme/calc say-why nobody needs it",
            ChatCommand(verb=V.RETIRE, space="acme/calc", skill="say-why", text="nobody needs it"),
        ),
        ("reject 5: too risky", ChatCommand(verb=V.REJECT, decision=5, text="too risky")),
        ("answer 5 use the second one", ChatCommand(verb=V.ANSWER, decision=5, text="use the second one")),
        (
            "answer 5 ask <@U123|bob>, <#C9|dev>, <!subteam^S1|@team> or <!channel>; a &lt; b &amp;&amp; c\n\n  twice",
            ChatCommand(
                verb=V.ANSWER,
                decision=5,
                text="ask @bob, #dev, @team or @channel; a < b && c\n\n  twice",
            ),
        ),
        ("answer 5 it’s “one”", ChatCommand(verb=V.ANSWER, decision=5, text='it\'s "one"')),
        *(
            (str(verb), ChatCommand(verb=verb))
            for verb in (V.STATUS, V.QUEUE, V.HISTORY, V.DECISIONS, V.BRIEF)
        ),
    ],
)
def test_what_people_type_is_understood(text: str, wanted: ChatCommand) -> None:
    assert chat_command(text) == wanted


@pytest.mark.parametrize(
    ("text", "said", "example"),
    [
        ("destroy everything", "do not know", "help"),
        ("stat", "Did you mean this", "status"),
        ("desicions", "Did you mean this", "decisions"),
        ("status now", "takes nothing after it", "status"),
        ("work", "Say which issue", "work on #42"),
        ("work on 42", "Say which issue", "work on #42"),
        ("work on #42 and #43", "Say which issue", "work on #42"),
        ("work on #", "Say which issue", "work on #42"),
        ("work on #0x10", "Say which issue", "work on #42"),
        ("work on #9999999999999999999999", "Say which issue", "work on #42"),
        ("work on #４２", "Say which issue", "work on #42"),
        ("work on ../..#1", "Say which issue", "work on #42"),
        ("work on https://github.com/acme/calc", "Say which issue", "work on #42"),
        ("work on https://a:b@evil/acme/calc/issues/1", "Say which issue", "work on #42"),
        ("stop", "Say which", "stop 7"),
        ("stop it", "Say which", "stop owner/repo#42"),
        ("why -7", "Say which", "why 7"),
        ("retry 7 now", "takes nothing after", "retry #42"),
        ("pause <!channel>", "Say what", "pause everything"),
        ("pause a/b/c", "Say what", "pause everything"),
        ("pause acme/..", "Say what", "pause everything"),
        ("pause -acme/calc", "Say what", "pause everything"),
        ("resume acme/calc now", "takes nothing after", "resume owner/repo"),
        ("cost yesterday", "Say of what", "cost week"),
        ("cost job", "Say of what", "cost job 7"),
        ("cost week job", "Say of what", "cost week"),
        ("scope", "Say which", "scope 7 +src/**"),
        ("scope #42", "each with a plus", "scope #42 +src/** +README.md"),
        ("scope #42 src/**", "each with a plus", "scope #42 +src/** +README.md"),
        ("scope #42 +src -docs", "each with a plus", "scope #42 +src/** +README.md"),
        ("scope #42 +../etc", "none that a scope can have", "scope #42 +src/**"),
        ("scope #42 +", "none that a scope can have", "scope #42 +src/**"),
        ("scope #42 " + " ".join(f"+d{number}" for number in range(21)), "at most 20", "scope #42 +src/**"),
        ("approve", "Say which decision", "approve 5"),
        ("reject it", "Say which decision", "reject 5 too risky"),
        ("answer 5", "Say what the answer is", "answer 5 use the second one"),
        ("answer 5  \n", "Say what the answer is", "answer 5 use the second one"),
        ("status " * MOST_CHARS, "too long", "help"),
        ("\x1b[2J" * 10, "do not know", "help"),
        ("A" * 10_000_000, "too long", "help"),
        ("<" * MOST_CHARS, "do not know", "help"),
        ("<a|" * 1000, "do not know", "help"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_not_understood_is_told_with_what_to_type(text: str, said: str, example: str) -> None:
    with pytest.raises(ChatCommandError, match=said) as caught:
        chat_command(text)
    assert example in caught.value.examples


@given(st.text(max_size=200), st.sampled_from(list(ChatVerb)))
def test_nothing_of_theirs_is_ever_said_back(words: str, verb: ChatVerb) -> None:
    text = f"{verb} {words}XYZZY"
    try:
        chat_command(text)
    except ChatCommandError as error:
        told = " ".join([str(error), *error.examples])
        assert "XYZZY" not in told
        for example in error.examples:
            chat_command(example)


def test_every_verb_is_explained_and_what_is_shown_can_be_typed() -> None:
    assert list(USAGES) and set(USAGES) == set(ChatVerb)
    for verb, usage in USAGES.items():
        assert chat_command(usage.form).verb is verb
