"""A person's gate is never answered by a machine: whatever asks a person takes no answer over MCP, by whatever verb it is tried."""

import contextlib
import sqlite3
from functools import partial
from typing import Any

import pytest

from overlord.domain.access import AccessRight
from overlord.domain.decision import (
    FOR_MACHINES,
    Audience,
    Decision,
    DecisionKind,
    DecisionState,
    Subject,
    Verb,
)
from overlord.domain.event import EventName
from overlord.domain.interface import Interface
from overlord.entrypoints.mcp import query_tools, verb_tools
from overlord.errors import OverlordError
from overlord.settings.load import Settings
from overlord.store import decisions, jobs
from overlord.verbs import registry
from overlord.verbs.registry import Command
from overlord.verbs.right import NotAllowed
from overlord.verbs.verb import Context
from tests.mcp_verbs.desk import Desk
from tests.records import NOW, REPO, contract
from tests.stored import ask, claim

TEXTS = {Verb.ADD_BUDGET: "500000", Verb.LIMIT: "src/**", Verb.REPLY: "the second one"}


async def asked(desk: Desk, **given: Any) -> Decision:
    """One that waits, of a job of its own, which offers every answer."""
    values = {
        "verbs": tuple(Verb),
        "patterns": ("src/**",),
        "options": ("500000", "plan", "a", "b", "c"),
        **given,
    }
    return await desk.write("by hand", lambda c: ask(c, claim(c, 20), **values))


async def now(desk: Desk, decision: Decision) -> Decision:
    return await desk.read(lambda c: decisions.get(c, decision.id))


@pytest.mark.parametrize("subject", Subject)
async def test_each_subject_takes_from_a_machine_what_is_said_here_and_nothing_else(
    desk: Desk, subject: Subject
) -> None:
    for verb in Verb:
        decision = await asked(desk, subject=subject, kind=DecisionKind.DECISION)
        words = TEXTS.get(verb, "")
        arguments = {"decision": str(decision.id), "named": verb.value, "words": words or "as I say"}
        done = await verb_tools.called(desk, "answer", arguments)
        after = await now(desk, decision)
        if verb in FOR_MACHINES.get(subject, ()):
            assert not done.is_error, (verb, done.text)
            assert (after.state, after.verb, after.answered_by) == (DecisionState.ANSWERED, verb, "web:ci")
        else:
            assert done.is_error and "asks a person" in done.text and "on the page" in done.text, (
                verb,
                done.text,
            )
            assert after == decision
        await desk.write("by hand", partial(_end, decision=decision))


def _end(connection: sqlite3.Connection, decision: Decision) -> None:
    assert decision.job_id is not None
    jobs.move(connection, decision.job_id, EventName.STOPPED, at=NOW, actor="cli:alice", reason="over")


def test_gates_and_approvals_are_in_no_list_of_machines() -> None:
    people = {
        Subject.GATE, Subject.ESCALATION, Subject.ESCALATED, Subject.PROTECTED_CHANGE, Subject.CHANGED_TESTS, Subject.UNPROVEN,
        Subject.BUDGET, Subject.EXHAUSTED, Subject.ROUNDS, Subject.SCOPE, Subject.SCOPE_REQUEST, Subject.SCOPE_UNKNOWN,
        Subject.SCOPE_EXPANSION, Subject.DISCOVERY, Subject.CONTRACT_INVALID, Subject.DEPENDENCIES, Subject.UNTESTED, Subject.NO_TESTS,
        Subject.PROPOSAL, Subject.SKILL_DRAFT, Subject.NOTE, Subject.NOTE_PROMOTION, Subject.INITIATIVE, Subject.DISCOVERED_TASK,
        Subject.FAILED, Subject.ISSUE_EDITED, Subject.SPACE_GONE, Subject.SPACE_DOUBLED, Subject.CONFLICT, Subject.STALE_TASK,
        Subject.TASK_ENDED, Subject.TASK_MERGED, Subject.PLANNING_ENDED, Subject.FOUND_WORK, Subject.DISPATCH_REFUSED,
        Subject.EMPTY_REPOSITORY, Subject.RESTING_PROPOSAL,
    }  # fmt: skip
    assert set(Subject) - people == set(FOR_MACHINES)
    allowing = {
        Verb.APPROVE,
        Verb.ACCEPT,
        Verb.GRANT,
        Verb.ONCE,
        Verb.INSTALL,
        Verb.LIMIT,
        Verb.UNRESTRICTED,
        Verb.ADD_BUDGET,
        Verb.DROP,
    }
    assert not allowing & {verb for verbs in FOR_MACHINES.values() for verb in verbs}


@pytest.mark.parametrize(
    "given",
    [
        {"subject": Subject.QUESTION, "kind": DecisionKind.APPROVAL},
        {"subject": Subject.QUESTION, "kind": DecisionKind.QUESTION, "audience": Audience.APPROVER},
    ],
)
async def test_an_approval_and_what_is_for_approvers_is_a_persons_whatever_it_is_about(
    desk: Desk, given: dict[str, Any]
) -> None:
    decision = await asked(desk, **given)
    for right in (AccessRight.ACT, AccessRight.ADMIN):
        done = await verb_tools.called(
            desk.as_(right), "answer", {"decision": str(decision.id), "words": "the second one"}
        )
        assert done.is_error and "asks a person" in done.text
    assert await now(desk, decision) == decision


def context(connection: sqlite3.Connection, settings: Settings) -> Context:
    return Context(
        connection=connection,
        current_settings=lambda: settings,
        contract=lambda _space: contract(),
        interface=Interface.MCP,
        at=NOW,
        actor="web:ci",
    )


@pytest.mark.parametrize("name", registry.names())
async def test_no_verb_at_all_gets_round_that(desk: Desk, name: str) -> None:
    """Also those that MCP leaves out, were they given there."""
    gate = await asked(desk, subject=Subject.GATE, kind=DecisionKind.APPROVAL)
    scope = await desk.write("by hand", lambda c: ask(c, jobs.get(c, gate.job_id or 0), subject=Subject.SCOPE,
        kind=DecisionKind.APPROVAL, verbs=(Verb.GRANT, Verb.LIMIT, Verb.DROP), patterns=("src/**",)))  # fmt: skip
    verb = registry.find(name)
    about = [str(gate.id), str(scope.id), str(gate.job_id), "i1", "p1", REPO, "n1"]
    for target in about:
        for words in ("approve", "retry", "src/**", "yes it is so"):
            try:
                command = registry.command_of(name, f"{target} {words}", Interface.MCP)
            except ValueError:
                continue
            await _tried(desk, command)
    assert verb is registry.find(name)
    for decision in (gate, scope):
        after = await now(desk, decision)
        assert after.state is not DecisionState.ANSWERED and not after.answered_by, name


async def _tried(desk: Desk, command: Command) -> None:
    def act(connection: sqlite3.Connection) -> None:
        command.act(context(connection, desk.settings))

    with contextlib.suppress(OverlordError):
        await desk.write("by hand", act)


async def test_work_and_cancelling_take_no_question_back(desk: Desk) -> None:
    gate = await asked(desk, subject=Subject.GATE, kind=DecisionKind.APPROVAL)
    done = await verb_tools.called(desk, "work", {"issue": f"{REPO}#20"})
    assert done.is_error
    assert await now(desk, gate) == gate


@pytest.mark.parametrize("ref", ["p1", "d1"])
async def test_proposals_and_drafts_take_a_person(desk: Desk, ref: str) -> None:
    done = await verb_tools.called(desk, "answer", {"decision": ref, "words": "approve"})
    assert done.is_error
    shown = await query_tools.called(desk, "proposal", {"proposal": "p1"})
    assert "approved" not in shown.text.casefold() or "is approved" not in shown.text


async def test_a_verb_with_no_person_has_none(desk: Desk) -> None:
    with pytest.raises(NotAllowed):
        await desk.read(lambda c: context(c, desk.settings).person)
