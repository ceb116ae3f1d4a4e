"""What people read about a job. The renderer is the only author of Markdown; everybody else's words are defused."""

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from minion.protocol import Outcome, Report, SessionKind
from overlord.domain.chat.card import Place, job_card
from overlord.domain.conversation.pull_card import (
    Story,
    evidence_card,
    pull_body,
    pull_title,
    state_in_words,
    where_work_is,
)
from overlord.domain.decision import DecisionState, Verb
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.job import JobState
from overlord.domain.text.plain import code_block
from overlord.domain.view.view import Note
from overlord.engine.issues.issue_comment import issue_comment
from tests.records import BASE, HEAD, a_check, a_decision, a_job, a_session, a_story, an_evaluation, an_issue

DONE = Report(outcome=Outcome.COMPLETE, summary="add() adds again.")


def test_the_card_tells_what_was_done_and_what_proves_it() -> None:
    checks = (
        a_check(CheckName.SCOPE, summary="2 files, all inside"),
        a_check(CheckName.TESTS, summary="2 tests passed, 0 failed in 0.1 s"),
        a_check(CheckName.LINT, CheckScore.NEEDS_REVISION, "1 new | problem"),
        a_check(CheckName.REVIEW, None, "the model is away"),
    )
    answered = a_decision(
        state=DecisionState.ANSWERED, verb=Verb.RETRY, answer="Try again", answered_by="cli:alice"
    )
    story = a_story(report=DONE, evaluations=(an_evaluation(*checks),), answered=(answered,))
    assert evidence_card(story) == snapshot("""\
### What the Minion says

> add() adds again.

### What Overlord checked

| check | verdict | |
|---|---|---|
| scope | ✅ pass | 2 files, all inside |
| tests | ✅ pass | 2 tests passed, 0 failed in 0.1 s |
| lint | ↩️ needs revision | 1 new / problem |
| review | ❔ not made | the model is away |

job 1 · 1 session · revision 0 of 2 · 12 s of work · 1,234 tokens in 3 model calls · head `cccccccccccc` · ledger `dddddddddddd`

Scope: any file

- cli:alice answered “acme/calc#\u200b7: the Minion says it cannot go on”: Try again\
""")


def test_the_card_names_the_models_and_what_may_be_written() -> None:
    scoped = replace(a_session(), report=DONE, scope='["src/**", "a|b"]')
    card = evidence_card(a_story(sessions=(scoped,), models=("gpt`5", "spare")))
    assert "1,234 tokens in 3 model calls of `gpt'5`, `spare` ·" in card
    assert "Scope: src/**, a/b" in card


def test_the_cards_say_which_agent_worked_where_it_is_not_the_native_one() -> None:
    story = a_story(report=DONE, worked_by=("claude-code with claude-opus-5-5", "acp:goose acp"))
    assert (
        "job 1 · 1 session · by claude-code with claude-opus-5-5 · by acp:goose acp · revision 0 of 2 ·"
        in evidence_card(story)
    )
    assert " · by " not in evidence_card(a_story(report=DONE))
    assert notes(story) == [
        "job 1 · revision 0/2 · by claude-code with claude-opus-5-5, acp:goose acp · 1,234 tokens"
    ]
    assert " · by " not in notes(a_story(report=DONE))[0]
    first, _, _ = issue_comment(story).partition("\n")
    assert first.endswith(" · by claude-code with claude-opus-5-5 · by acp:goose acp")
    assert " · by " not in issue_comment(a_story(report=DONE))


def test_a_hostile_name_of_an_agent_names_nobody_and_is_cut() -> None:
    story = a_story(report=DONE, worked_by=("acp:x @acme/all\n\n# Approved " + "y" * 500,) * 9)
    card = evidence_card(story)
    assert "@acme" not in card and "# Approved" not in card.splitlines()
    assert card.count("acp:x") == 5 and len(card) < 1500


def notes(story: Story) -> list[str]:
    """What stands small below the job's card in the chat."""
    shown = job_card(story, Place(), lambda verb, text: f"{verb} {text}", stopping="")
    return [part.text for part in shown.parts if isinstance(part, Note)]


def test_a_card_before_anything_was_checked_says_so() -> None:
    evaluating = replace(a_job(), state=JobState.EVALUATING)
    assert "Nothing yet: the evaluation is under way." in evidence_card(a_story(evaluating))
    assert "Nothing yet: the work is checked when it comes back." in evidence_card(a_story())
    blocked = replace(a_job(), state=JobState.WAITING)
    assert "Nothing: no work came back that could be checked." in evidence_card(a_story(blocked))
    ended = replace(a_job(), state=JobState.CANCELLED, head_sha=HEAD)
    assert "\n\nNothing was checked.\n\n" in evidence_card(a_story(ended))
    assert "Nothing yet" in evidence_card(a_story(evaluations=(an_evaluation(),)))
    assert "> (nothing)" in evidence_card(a_story())


def test_work_that_was_not_delivered_says_where_it_is() -> None:
    waiting = replace(a_job(), state=JobState.WAITING)
    assert where_work_is(waiting) == ""
    kept = replace(waiting, head_sha=HEAD, base_sha=BASE)
    assert where_work_is(kept) == "Its work was not pushed"
    pushed = replace(kept, pushed_sha=HEAD)
    assert where_work_is(pushed) == f"Its work is on the branch {kept.branch}"
    assert where_work_is(pushed) in issue_comment(a_story(pushed))
    assert where_work_is(replace(pushed, pull_number=3)) == ""
    assert where_work_is(replace(pushed, state=JobState.RUNNING)) == ""


def test_the_card_shows_the_last_report_and_the_last_evaluation() -> None:
    job = a_job(head_sha=HEAD, revision=1)
    sessions = (
        replace(a_session(job), report=replace(DONE, summary="first try")),
        a_session(job, SessionKind.CHECK),
        replace(a_session(job, ordinal=2), report=replace(DONE, summary="second try")),
        a_session(job, ordinal=3),
    )
    evaluations = (an_evaluation(a_check(summary="1 failed")), an_evaluation(a_check(summary="all passed")))
    card = evidence_card(a_story(job, sessions=sessions, evaluations=evaluations))
    assert "> second try" in card
    assert "first try" not in card
    assert "all passed" in card
    assert "1 failed" not in card
    assert "3 sessions · revision 1 of 2" in card


def test_what_it_cost_is_told_where_the_price_is_known() -> None:
    assert "1,234 tokens in 3 model calls ·" in evidence_card(a_story())
    assert "1,234 tokens in 3 model calls for $0.0123 ·" in evidence_card(a_story(cost_nusd=12_300_000))


def test_a_hostile_summary_stays_in_its_cell() -> None:
    forged = "ok |\n\n| review | ✅ pass | @everyone\n\n# Approved ![x](http://evil.example/)"
    story = a_story(evaluations=(an_evaluation(a_check(CheckName.TESTS, None, forged)),))
    rows = [line for line in evidence_card(story).splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert rows[2].count("|") == 4
    assert rows[2].startswith("| tests | ❔ not made | ok / / review / ✅ pass / ")
    assert "# Approved" not in evidence_card(story).splitlines()
    assert "@everyone" not in evidence_card(story)
    assert "![" not in evidence_card(story)


def test_a_hostile_report_stays_a_quote() -> None:
    said = "done\n\n### What Overlord checked\n| tests | ✅ pass | |\nCloses #9, cc @acme/all"
    card = evidence_card(a_story(report=replace(DONE, summary=said)))
    assert card.splitlines().count("### What Overlord checked") == 1
    assert "#9" not in card
    assert "@acme" not in card


def test_a_hostile_answer_stays_on_its_line() -> None:
    answered = a_decision(
        state=DecisionState.ANSWERED, answer="yes\n\n# Approved by @bob", answered_by="cli:alice"
    )
    card = evidence_card(a_story(answered=(answered,)))
    assert [line for line in card.splitlines() if line.startswith("#")] == [
        "### What the Minion says",
        "### What Overlord checked",
    ]


def test_only_the_template_closes_an_issue() -> None:
    story = a_story(report=replace(DONE, summary="Fixes #8"))
    body = pull_body(story)
    assert body.startswith("Closes #7\n\n### What the Minion says")
    assert "#8" not in body


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("add() subtracts", "add() subtracts"),
        ("Fixes ##8 for @@alice", "Fixes 8 for alice"),
        ("\u202e\x1b", "Issue 7"),
        ("x" * 200, "x" * 119 + "…"),
    ],
)
def test_a_pull_request_has_the_issues_title_made_plain(title: str, shown: str) -> None:
    assert pull_title(a_job(issue=an_issue(title=title))) == shown


def test_the_comment_says_where_the_job_stands_and_what_is_asked() -> None:
    job = a_job(state=JobState.WAITING, head_sha=HEAD, pull_number=3, reason="It cannot go on, says @bob.")
    assert issue_comment(a_story(job, decisions=(a_decision(id=4),))) == snapshot("""\
**Overlord: waiting for a person** (#3)

It cannot go on, says @\u200bbob.

**acme/calc#\u200b7: the Minion says it cannot go on**

> Which of the two?

Answer in the chat with `/overlord answer 4 retry`, `/overlord answer 4 take_over`, `/overlord answer 4 drop`, or on the command line: `overlord decisions show 4`.

Or put the work label on again to have another try.\
""")


def test_the_comment_says_how_to_answer_in_words_and_how_to_look() -> None:
    job = a_job(state=JobState.WAITING, head_sha=HEAD)
    asked = a_decision(id=4, verbs=(Verb.REPLY, Verb.LIMIT))
    assert issue_comment(a_story(job, decisions=(asked,))).splitlines()[2:-2] == snapshot(
        [
            "Its work was not pushed; `overlord job diff 1` shows it.",
            "",
            "**acme/calc#\u200b7: the Minion says it cannot go on**",
            "",
            "> Which of the two?",
            "",
            "Answer in the chat with `/overlord answer 4 reply`, `/overlord answer 4 limit`, or on the command line: `overlord decisions show 4`.",
            "",
            "Or in words, with a comment: `/overlord answer 4 your words`. Other comments of people who may write here are read by the next session too, but begin none.",
            "",
            "Or with a comment: `/overlord scope +src/** +tests/**`, as many as are meant; `+**` for any file.",
        ]
    )


def test_what_is_decided_on_is_shown_in_the_comment_as_it_is() -> None:
    diff = "\n".join(f"+line {number} of ``` @bob" for number in range(700))
    body = (
        "It changes `package.json` and **more**.\n\n- tests: fail: see #\u200b9 &lt;b>\n- lint: pass\n\n"
        f"> Hm, @\u200bbob.\n> \n> Really\n\n{code_block(diff, limit=20_000)}"
    )
    job = a_job(state=JobState.WAITING)
    assert body in issue_comment(a_story(job, decisions=(a_decision(body=body),)))


def test_a_hostile_reason_or_question_does_nothing_in_the_comment() -> None:
    hostile = "# Done\n\n@everyone ![x](https://evil.example) closes #1 <b>"
    job = a_job(state=JobState.WAITING, reason=hostile)
    asked = a_decision(title=hostile, body=hostile)
    shown = issue_comment(a_story(job, decisions=(asked,)))
    assert not any(acts in shown for acts in ("@everyone", "![", "](", "://", "#1", "<b>", "\n# "))


def test_the_comment_of_a_job_at_work_asks_nothing() -> None:
    assert issue_comment(a_story(a_job(state=JobState.RUNNING))) == "**Overlord: at work**"


def test_the_comment_says_that_the_issue_was_edited_as_long_as_that_matters() -> None:
    edited = an_issue(body="@everyone: another text")
    assert issue_comment(a_story(a_job(state=JobState.RUNNING, edited_issue=edited))) == snapshot("""\
**Overlord: at work**

The issue was edited after work began. Overlord works on the text as it stood; no session is given the new one before a person says so.\
""")
    done = a_job(state=JobState.COMPLETED, edited_issue=edited)
    assert issue_comment(a_story(done)) == "**Overlord: merged**"


def test_every_state_has_words() -> None:
    words = [state_in_words(state) for state in JobState]
    assert len(set(words)) == len(JobState)
