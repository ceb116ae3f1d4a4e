"""Where a job goes once a role's work is good: the next actor, a gate, the next phase, or out."""

from collections.abc import Sequence
from dataclasses import dataclass

from overlord.domain.contracts.contract import DONE, END, Contract, Gate
from overlord.domain.contracts.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRole:
    """Another actor of the same phase is next."""

    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToGate:
    """Somebody decides first."""

    name: str
    gate: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPhase:
    """The next phase begins."""

    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """The work is delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nowhere:
    """No successor has this outcome."""

    outcome: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The job is over: a gate leads to its end."""


Onward = ToRole | ToGate | ToPhase | Out | Nowhere | Ended


def after_role(turn: Turn, outcome: str, actors: Sequence[str], *, is_round: bool) -> Onward:
    """What follows when a role's work is good and it says this outcome. `actors` are those of the phase in their order, by the
    delegation where there is one. In a round after delivery only one role works, and what was decided once is not asked again."""
    if is_round:
        return Out()
    if outcome == DONE and (following := _next_of(actors, turn.role_name)):
        return ToRole(role=following)
    return after_phase(turn.contract, turn.phase_name, outcome)


def _next_of(actors: Sequence[str], role: str) -> str:
    place = actors.index(role) + 1 if role in actors else len(actors)
    return actors[place] if place < len(actors) else ""


def after_phase(contract: Contract, phase: str, outcome: str = DONE) -> Onward:
    """What follows when a phase is over."""
    found = contract.phase(phase)
    if found.terminal:
        return _through(contract, phase, END)
    target = found.next.get(outcome)
    if target is None:
        return Nowhere(outcome=outcome, known=tuple(found.next))
    return _through(contract, phase, target)


def _through(contract: Contract, source: str, target: str) -> Onward:
    """A transition: by its gate, if one is asked before the work is out."""
    gate = contract.gate_on(source, target)
    if gate is not None and not gate[1].is_pull:
        return ToGate(name=gate[0], gate=gate[1])
    return entering(contract, target)


def entering(contract: Contract, target: str) -> Onward:
    """What it means to go to a phase, or where else a gate leads."""
    if target in (END, "merged"):
        return Out()
    if target in ("stopped", "pr_closed"):
        return Ended()
    phase = contract.phase(target)
    if phase.actors:
        return ToPhase(phase=target)
    return after_phase(contract, target)  # nobody works there: it is passed through


def leads_out(turn: Turn, actors: Sequence[str], *, is_round: bool, outcome: str = DONE) -> bool:
    """Whether nobody works after this role: then the work is evaluated before it goes on."""
    onward = after_role(turn, outcome, actors, is_round=is_round)
    while isinstance(onward, ToGate):
        onward = entering(turn.contract, onward.gate.approve or END)
    return isinstance(onward, Out)
