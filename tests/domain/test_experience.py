"""What facts of the ledger say of a contract, with how often; and nothing that did not happen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from overlord.domain.bootstrap.experience import MOST_SHOWN, as_markdown, experience
from overlord.domain.chat.markdown import parts_of
from overlord.domain.event import EventName as E
from overlord.domain.event import Json


@dataclass(frozen=True)
class Fact:
    """An entry of the ledger, as far as experience reads it."""

    name: str
    job_id: int | None
    data: Mapping[str, Json] = field(default_factory=dict)


def fact(name: str, job: int = 1, **data: Json) -> Fact:
    return Fact(name, job, data)


def planned(job: int) -> list[Fact]:
    """A job in its first phase."""
    return [
        fact(E.CONTRACT_TAKEN, job, contract="crew", phase="plan"),
        fact(E.PHASE_STARTED, job, phase="plan", roles=["architect"]),
        fact(E.SESSION_PREPARED, job, kind="work", role="architect"),
        fact(E.CHECK_COMPLETED, job, check="criteria", score="pass"),
        fact(E.GATE_REACHED, job, gate="plan_approval", on="plan->build"),
    ]


def built(job: int) -> list[Fact]:
    return [
        *planned(job),
        fact(E.DECISION_ANSWERED, job, gate="plan_approval", verb="approve"),
        fact(E.PHASE_COMPLETED, job, phase="plan", next="build", gate="plan_approval", verb="approve"),
        fact(E.PHASE_STARTED, job, phase="build", roles=["backend", "frontend"]),
        fact(E.SESSION_PREPARED, job, kind="work", role="backend"),
    ]


def test_nothing_is_said_of_nothing() -> None:
    assert as_markdown(experience([])) == "No job of this repository has worked yet."


def test_a_repositorys_whole_experience() -> None:
    facts = [
        *built(1),
        fact(E.SCOPE_WIDENED, 1, patterns=["migrations/**"]),
        fact(E.CHECK_COMPLETED, 1, check="criteria", score="needs_revision"),
        fact(E.REVISION_ORDERED, 1, role="backend", findings=["[criteria/command_succeeds] command_succeeds: pytest -q – it ended with 1", "[lint/E501] a.py:3 too long"]),
        fact(E.SESSION_PREPARED, 1, kind="work", role="backend"),
        fact(E.BUDGET_SPENT, 1, says="its turns", session="j1-work-2"),
        fact(E.ESCALATED, 1, role="backend", to="architect", why="spent"),
        fact(E.ROLE_COMPLETED, 1, role="backend", next="frontend"),
        fact(E.DECISION_ANSWERED, 1, verb="grant", patterns=["package.json"]),
        fact(E.MERGED, 1),
        *built(2),
        fact(E.GATE_REUSED, 2, gate="plan_approval"),
        fact(E.SCOPE_WIDENED, 2, patterns=["migrations/**"]),
        fact(E.LIFETIME_EXCEEDED, 2),
        *planned(3),
        fact(E.DECISION_ANSWERED, 3, gate="plan_approval", verb="reject"),
        fact(E.DROPPED, 3, gate="plan_approval"),
        fact(E.CLAIMED, 4),
    ]  # fmt: skip
    assert as_markdown(experience(facts)) == snapshot("""\
4 jobs: 1 merged, 1 failed, 1 cancelled, 1 not over. Contracts: `crew` (3).

**Gates**

- `plan_approval`: asked 3 times, 2 approved, 1 refused; 1 answer held again.

**Scopes that people widened**

- `migrations/**` for `backend`, 2 times.
- `package.json` for `frontend`, 1 time.

**Roles**

- `architect`: 3 sessions; never sent back, handed up or out of budget.
- `backend`: 3 sessions; sent back 1 time, handed up 1 time, ran out of budget 1 time.

**Criteria**

- `plan`: never missed in 3 checks.
- `build`: met in 0 of 1 check; sent back for `command_succeeds: pytest -q` (1).\
""")


def test_a_gate_that_was_never_refused_is_called_so() -> None:
    facts = [item for job in range(1, 10) for item in built(job)]
    assert "- `plan_approval`: never refused in 9." in as_markdown(experience(facts))
    (gate,) = experience(facts).gates
    assert (gate.asked, gate.approved, gate.rejected) == (9, 9, 0)


def test_a_gate_that_still_waits_was_refused_by_nobody_and_approved_by_nobody() -> None:
    assert "- `plan_approval`: asked 1 time, 0 approved, 0 refused." in as_markdown(experience(planned(1)))


def test_a_role_decides_too() -> None:
    facts = [
        fact(E.ESCALATED, to="architect", gate="check", on="a->b"),
        fact(E.GATE_REJECTED, by="architect", about="check", choice="reject", gate="check"),
        fact(E.ESCALATED, to="architect", gate="check", on="a->b"),
        fact(E.GATE_REACHED, by="architect", about="check", choice="approve", gate="merge"),
        fact(E.GATE_REUSED, by="architect", about="check", choice="approve", gate="other"),
    ]
    found = {gate.name: gate for gate in experience(facts).gates}
    assert (found["check"].asked, found["check"].approved, found["check"].rejected) == (2, 1, 1)
    assert (found["merge"].asked, found["merge"].approved) == (1, 0)
    assert (found["other"].reused, found["other"].asked) == (1, 0)
    assert experience(facts).roles == (), "nobody handed work up"


def test_what_always_misses_is_called_so() -> None:
    missed = [fact(E.CONTRACT_TAKEN, phase="red", contract="x")]
    for _ in range(3):
        missed += [
            fact(E.CHECK_COMPLETED, check="criteria", score="needs_revision"),
            fact(E.REVISION_ORDERED, findings=["[criteria/tests_fail] tests_fail – all passed"] * 2),
            fact(E.CHECK_COMPLETED, check="tests", score="fail"),
            fact(E.CHECK_COMPLETED, check="criteria", score=None),
        ]
    text = as_markdown(experience(missed))
    assert "- `red`: met in 0 of 3 checks, always missed; sent back for `tests_fail` (3)." in text


def test_a_criterion_about_a_file_is_named_without_the_file() -> None:
    facts = [
        fact(E.CONTRACT_TAKEN, phase="plan"),
        fact(E.CHECK_COMPLETED, check="criteria", score="needs_revision"),
        fact(E.REVISION_ORDERED, findings=["[criteria/artifact_exists] plan/a.md artifact_exists: plan/a.md – it is not there"]),
    ]  # fmt: skip
    (phase,) = experience(facts).phases
    assert phase.missed == {"artifact_exists: plan/a.md": 1}


def test_jobs_may_be_mixed() -> None:
    first, second = built(1), built(2)
    mixed = [item for pair in zip(first, second, strict=True) for item in pair]
    assert experience(mixed) == experience([*first, *second])


def test_many_are_told_as_far_as_anybody_reads_and_no_word_is_mark_up() -> None:
    facts = [fact(E.SCOPE_WIDENED, patterns=[f"a`{number}\n\x1b/**"]) for number in range(2_000)]
    found = experience(facts)
    assert len(found.scopes) == 500
    text = as_markdown(found)
    assert text.count("\n- ") == MOST_SHOWN + 1 and "- and 480 more" in text
    assert "- `a'0 /**` for a role that is not known, 1 time." in text
    assert len(parts_of(text)) == 3


def test_a_fact_without_its_phase_or_gate_counts_for_nothing_too() -> None:
    found = experience([fact(E.CHECK_COMPLETED, check="criteria", score="pass"), fact(E.GATE_REJECTED, by="architect", choice="reject"), fact(E.ATTEMPTS_SPENT)])  # fmt: skip
    assert (found.jobs, found.phases, found.gates, found.roles) == (1, (), (), ())


@pytest.mark.parametrize("name", [E.SCOPE_WIDENED, E.DECISION_ANSWERED, E.REVISION_ORDERED, E.GATE_REACHED])
def test_a_fact_without_its_details_counts_for_nothing(name: E) -> None:
    found = experience([fact(name)])
    assert found.gates == () and found.scopes == ()


_JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_KEYS = st.sampled_from(
    ["gate", "verb", "role", "roles", "phase", "next", "by", "about", "choice", "patterns", "findings", "check", "score", "kind", "contract"]
)  # fmt: skip


@given(st.lists(st.builds(Fact, st.sampled_from([*map(str, E)]) | st.text(max_size=8), st.integers(1, 3) | st.none(), st.dictionaries(_KEYS, _JSON, max_size=5)), max_size=12))  # fmt: skip
def test_whatever_an_old_ledger_has_it_can_be_told(facts: list[Fact]) -> None:
    found = experience(facts)
    assert found.jobs == len({item.job_id for item in facts if item.job_id is not None})
    assert as_markdown(found)
