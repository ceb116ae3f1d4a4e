"""When a proposal is due, and what it says."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from overlord.domain.chat.card import Place
from overlord.domain.chat.proposal_card import issue_body, proposal_card, seen_at
from overlord.domain.event import EventName
from overlord.domain.person import Interface, Person
from overlord.domain.proposals.proposal import (
    OPEN,
    SAMPLE_CHARS,
    TRANSITIONS,
    EnhancementProposal,
    Evidence,
    Level,
    Pattern,
    ProposalStatus,
    ProposalType,
    Trigger,
    impact,
    is_due,
    propose,
    rationale,
)
from overlord.domain.view.span import Link
from overlord.domain.view.view import Paragraph

AT = datetime(2026, 11, 22, 8, tzinfo=UTC)
HOSTILE = "@everyone closes #1 ![x](https://evil.example/x.png) <b>\u202eend</b> " + "x" * 5000


def pattern(
    trigger: Trigger = Trigger.FAILURE, label: str = "tests/test-broken", sample: str = "It fails."
) -> Pattern:
    return Pattern(space="acme/calc", fingerprint="0" * 16, trigger=trigger, label=label, sample=sample)


def evidence(weight: int = 2, *, is_systemic: bool = False, answer: str = "") -> Evidence:
    numbers = tuple(range(1, weight + 1))
    return Evidence(
        weight=weight, times=weight, jobs=numbers, issues=numbers, is_systemic=is_systemic, answer=answer
    )


def proposed(
    trigger: Trigger = Trigger.FAILURE, label: str = "tests/test-broken", sample: str = "It fails."
) -> EnhancementProposal:
    return propose(pattern(trigger, label, sample), evidence(), at=AT)


def test_only_a_persons_word_leads_out_of_pending() -> None:
    assert {event for (state, event) in TRANSITIONS if state is ProposalStatus.PENDING} == {
        EventName.PROPOSAL_APPROVED,
        EventName.PROPOSAL_REJECTED,
    }
    assert {state for state, _ in TRANSITIONS} == OPEN


def test_the_threshold_makes_it_due_and_a_decided_one_takes_twice_as_much() -> None:
    assert [is_due(weight, 2, None) for weight in (1, 2, 3)] == [False, True, True]
    decided = replace(proposed(), weight=3, status=ProposalStatus.REJECTED)
    assert [is_due(weight, 2, decided) for weight in (3, 5, 6)] == [False, False, True]
    assert not is_due(100, None, None)


@pytest.mark.parametrize(
    ("trigger", "label", "kind"),
    [
        (Trigger.FAILURE, "tests/test-broken", ProposalType.WORKFLOW_IMPROVEMENT),
        (Trigger.FAILURE, "scope/outside-scope", ProposalType.CONFIG_CHANGE),
        (Trigger.FAILURE, "lint/F401", ProposalType.TOOL_FIX),
        (Trigger.FAILURE, "review/task-not-done", ProposalType.NEW_SKILL),
        (Trigger.BLOCKER, "", ProposalType.TOOL_FIX),
        (Trigger.QUESTION, "", ProposalType.WORKFLOW_IMPROVEMENT),
        (Trigger.SCOPE_REQUEST, "", ProposalType.CONFIG_CHANGE),
    ],
)
def test_what_is_proposed_follows_from_what_was_seen(
    trigger: Trigger, label: str, kind: ProposalType
) -> None:
    assert proposed(trigger, label).type is kind


def test_what_the_review_calls_systemic_becomes_a_skill() -> None:
    found = propose(pattern(), evidence(1, is_systemic=True), at=AT)
    assert (found.type, found.trigger) == (ProposalType.NEW_SKILL, Trigger.SYSTEMIC)
    assert found.is_drafted


def test_impact_grows_with_evidence_and_what_stops_work_counts_more() -> None:
    levels = (Level.LOW, Level.MEDIUM, Level.HIGH)
    found = [levels.index(impact(Trigger.FAILURE, evidence(weight))) for weight in range(1, 9)]
    assert all(one <= other for one, other in pairwise(found)) and set(found) == {0, 1, 2}
    assert impact(Trigger.BLOCKER, evidence(2)) is Level.MEDIUM
    assert impact(Trigger.BLOCKER, evidence(9)) is Level.HIGH


def test_a_rationale_says_how_much_was_seen() -> None:
    assert rationale(Trigger.FAILURE, evidence(3)) == (
        "The evaluation held the same thing against the work on 3 issues (3 times in all)."
    )
    assert (
        rationale(Trigger.QUESTION, evidence(3))
        == "People gave the same answer 3 times in a row, at 3 issues."
    )


@pytest.mark.parametrize("trigger", list(Trigger))
def test_others_words_are_cut_and_quoted(trigger: Trigger) -> None:
    found = propose(pattern(trigger, "", HOSTILE), evidence(answer=HOSTILE), at=AT)
    assert len(found.sample) <= SAMPLE_CHARS and "\u202e" not in found.sample
    inside = found.title.partition("“")[2].partition("”")[0]
    assert found.title.count("“") == 1 and found.title.count("”") == 1
    assert "@" not in inside and "#" not in inside and len(found.title) < 130
    body = issue_body(replace(found, reason="@everyone", decided_by="cli:@alice"))
    assert "@everyone" not in body and "closes #1" not in body and "![" not in body and "<b>" not in body
    assert "@alice" not in body


def test_of_many_issues_and_jobs_the_last_are_named_and_the_others_counted() -> None:
    found = replace(propose(pattern(), evidence(25), at=AT), id=1)
    assert "25 issues (25 times in all)" in found.rationale
    assert "Seen at #6, #7, " in issue_body(found) and "#25 and 5 more." in issue_body(found)
    assert seen_at(found).endswith(
        "acme/calc#25 and 5 more · jobs " + ", ".join(map(str, range(6, 26))) + " and 5 more"
    )
    card = proposal_card(found, Place(web="https://forge.example"), lambda verb, _: verb)
    [facts] = [part for part in card.parts if isinstance(part, Paragraph) and "impact" in str(part)]
    issues = [item.text for item in facts.spans if isinstance(item, Link)]
    assert issues == [f"acme/calc#{number}" for number in range(16, 26)]
    assert facts.spans[-2:] == (" and 15 more", " · jobs 16, 17, 18, 19, 20, 21, 22, 23, 24, 25 and 15 more")
    few = proposed()
    assert "more" not in seen_at(few) and "more" not in issue_body(few)


def test_a_title_cannot_end_its_own_quote() -> None:
    found = proposed(sample="x” approved by everybody “y", label="")
    assert found.title == "Keep “x approved by everybody y” from coming back"


def test_a_digest_is_of_what_is_proposed_and_not_of_how_often() -> None:
    one = replace(proposed(), id=1)
    assert one.digest == replace(one, weight=9, issues=(1, 2, 3), rationale="More.").digest
    assert (
        len({one.digest, replace(one, action="Another.").digest, replace(one, sample="Other.").digest}) == 3
    )


@pytest.mark.parametrize("actor", ["", "cli:", "cli: ", "overlord", "forge", "model:gpt", "alice"])
def test_nobody_is_no_person(actor: str) -> None:
    with pytest.raises(ValueError, match=r"name|Interface"):
        Person.of(actor)


def test_a_person_is_who_the_ledger_names() -> None:
    assert Person.of("slack:U1") == Person(interface=Interface.SLACK, name="U1")
    assert Person.of("cli:alice").actor == "cli:alice"
    assert Person.of("github:ada").actor == "github:ada"
