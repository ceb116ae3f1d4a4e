"""What a person says where nothing else says what may be written: read strictly, and about one text."""

from dataclasses import replace

import pytest

from minion.protocol import Issue, Scope, ScopeMode
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.question import ask
from overlord.domain.scope.approval import approved, patterns_in, question, text_key
from tests.records import NOW, a_job

ISSUE = a_job().issue


def answered(verb: Verb, text: str = "", issue: Issue = ISSUE) -> Decision:
    asked = ask(a_job(), Subject.SCOPE_UNKNOWN, "facts", at=NOW, options=(text_key(issue), "src/**"))
    return replace(asked, state=DecisionState.ANSWERED, verb=verb, answer=text, answered_by="slack:U1")


@pytest.mark.parametrize("words", ["src/** tests/**", "+src/**, +tests/**", "`src/**`\n`tests/**` src/**"])
def test_patterns_are_read_however_people_part_them(words: str) -> None:
    assert patterns_in(words) == ("src/**", "tests/**")


@pytest.mark.parametrize("words", ["", " , ", "+", "../up", " ".join(f"d{n}/**" for n in range(51))])
def test_what_is_no_scope_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        patterns_in(words)


def test_a_person_bounds_the_work_or_leaves_it_open() -> None:
    limited = approved([answered(Verb.LIMIT, "src/** README.md")], ISSUE)
    assert limited is not None
    assert limited.scope == Scope(mode=ScopeMode.DIRECTORY, patterns=("src/**", "README.md"))
    assert [reason.why for reason in limited.reasons] == ["limited to this by slack:U1"] * 2
    free = approved([answered(Verb.LIMIT, "src/**"), answered(Verb.UNRESTRICTED)], ISSUE)
    assert free is not None and free.scope.mode is ScopeMode.UNRESTRICTED
    assert free.reasons[0].why == "approved by slack:U1"


def test_an_answer_is_about_the_text_it_was_given_for() -> None:
    other = replace(ISSUE, body=f"{ISSUE.body} And more.")
    assert approved([answered(Verb.UNRESTRICTED)], other) is None
    assert approved([answered(Verb.UNRESTRICTED, issue=other)], other) is not None
    assert approved([answered(Verb.UNRESTRICTED)], replace(ISSUE, labels=("bug",))) is not None
    assert approved([answered(Verb.DROP)], ISSUE) is None


def test_the_question_says_why_and_what_can_be_answered() -> None:
    told = question(ISSUE, ["nothing in it names a file"], "src/** tests/**")
    assert "nothing in it names a file" in told and "`src/** tests/**`" in told
