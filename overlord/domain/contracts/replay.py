"""A proposed contract held over past jobs: which gates would have asked, which files would have been refused, what its budgets
would have stopped.

What cannot be known is answered in the contract's favour, so that whatever is told would have happened: a session whose role the
contract does not have is held against the largest budget of any, a file against the scopes of all roles together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from overlord.domain.budgets.budget import NANO, Cost, usd_text
from overlord.domain.contracts.contract import DONE, END, Contract, Role, RoleBudget
from overlord.domain.contracts.explanation import Explanation, Ground, explain
from overlord.domain.scope.check import Change
from overlord.domain.text.plain import count


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """A session that worked on a job."""

    id: str
    role: str
    turns: int
    seconds: float
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class PastJob:
    """A job that has ended."""

    job: int
    space: str
    issue: int
    hours: float
    cost: Cost
    sessions: tuple[PastSession, ...]
    changes: tuple[Change, ...] | None
    """What it had changed; None where that is not there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFile:
    """A file that no role could have written."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a contract would have done with a job."""

    job: int
    space: str
    issue: int
    gates: tuple[str, ...]
    files: int | None
    """How many it had changed; None where its diff is not there any more."""
    refused: tuple[RefusedFile, ...]
    stopped: tuple[str, ...]
    """What its budgets and its lifetime would have stopped, a sentence each."""
    cost: Cost
    """What the job cost then."""


def replay(contract: Contract, past: PastJob) -> Replay:
    """Raises ContractError for a contract whose phases name roles it does not have."""
    return Replay(
        job=past.job,
        space=past.space,
        issue=past.issue,
        gates=gates_on_the_way(contract),
        files=None if past.changes is None else len(past.changes),
        refused=tuple(_refused(contract, past.changes or ())),
        stopped=tuple(_stopped(contract, past)),
        cost=past.cost,
    )


def gates_on_the_way(contract: Contract) -> tuple[str, ...]:
    """The gates that work meets on its way to the end when every phase is done and every gate approves."""
    gates, passed, phase = list[str](), set[str](), contract.start
    while phase in contract.phases and phase not in passed:
        passed.add(phase)
        found = contract.phases[phase]
        following = found.next.get(DONE) or next(iter(found.next.values()), END)
        gate = contract.gate_on(phase, following)
        if gate is not None:
            gates.append(gate[0])
        phase = following if gate is None or gate[1].approve is None else gate[1].approve
    return tuple(gates)


def _refused(contract: Contract, changes: Sequence[Change]) -> Iterator[RefusedFile]:
    for path in dict.fromkeys(path for change in changes for path in change.paths):
        found = explain(contract, path)
        if not found.writers:
            yield RefusedFile(path=path, why=_why_not(found))


def _why_not(found: Explanation) -> str:
    """The reason that holds for every role, or that no pattern of any has it."""
    grounds = {answer.ground for answer in found.answers}
    if len(grounds) == 1 and not grounds & {Ground.NO_PATTERN, Ground.NO_SCOPE}:
        return found.answers[0].reason
    return "no role may write it"


def _stopped(contract: Contract, past: PastJob) -> Iterator[str]:
    for session in past.sessions:
        yield from _over_budget(contract, session)
    yield from _over_all(contract, past)


def _over_budget(contract: Contract, session: PastSession) -> Iterator[str]:
    usd = None if session.cost.nusd is None else session.cost.nusd / NANO
    for name, unit, spent in (
        ("turns", "turns", session.turns),
        ("minutes", "minutes", session.seconds / 60),
        ("tokens", "tokens", session.cost.tokens),
        ("usd", "USD", usd),
    ):
        limit, whose = _limit(contract, session.role, name)
        if spent is not None and limit is not None and spent > limit:
            yield f"{session.id} took {_figure(spent)} {unit}; {whose} has {_figure(limit)}"


def _limit(contract: Contract, role: str, name: str) -> tuple[float | None, str]:
    """What a role's budget has of something, or the largest of all; None for no limit of the contract's own."""
    own = contract.roles.get(role)
    budgets = [own.budget] if own is not None else [found.budget for found in _workers(contract)]
    limits = [getattr(budget or RoleBudget(), name) for budget in budgets]
    known = [float(limit) for limit in limits if limit is not None]
    whose = f"role {role}" if own is not None else "its largest budget"
    return (max(known), whose) if known and len(known) == len(limits) else (None, whose)


def _over_all(contract: Contract, past: PastJob) -> Iterator[str]:
    turns = [(found.budget or RoleBudget()).iterations for found in _workers(contract)]
    if len(past.sessions) > sum(turns) > 0:
        yield f"it took {count(len(past.sessions), 'session')}; all phases together have {sum(turns)}"
    for name, unit, spent in (
        ("diff_files", "files", len(past.changes or ())),
        ("diff_lines", "lines", sum(change.added + change.removed for change in past.changes or ())),
    ):
        limits = [getattr(found.budget or RoleBudget(), name) for found in _workers(contract)]
        known = [limit for limit in limits if limit is not None]
        if known and len(known) == len(limits) and spent > sum(known):
            yield f"it changed {spent:,} {unit}; all phases together have {sum(known):,}"
    lifetime = contract.lifetime
    if lifetime is not None and past.hours > lifetime.hours:
        yield f"it took {_figure(past.hours)} h; a job has {_figure(lifetime.hours)} h"
    if lifetime is not None and lifetime.usd is not None and (past.cost.nusd or 0) > lifetime.usd * NANO:
        yield f"it cost {usd_text(past.cost.nusd or 0)}; a job has {lifetime.usd:g} USD"


def _workers(contract: Contract) -> list[Role]:
    """The role of each actor of each phase."""
    return [contract.role(actor) for phase in contract.phases.values() for actor in phase.actors]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"
