"""What the jobs of a repository say of its contract: which gates ever refused, what had to be widened, where work was sent back.

It reads facts of the ledger alone and judges nothing: who reviews a contract sees what happened under it, with how often. The facts of
one job follow each other; those of several may be mixed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from overlord.domain.event import EventName as E
from overlord.domain.event import Json
from overlord.domain.job import TERMINAL, TRANSITIONS, JobState
from overlord.domain.text.plain import count, visible

MOST_SHOWN = 20
"""Gates, roles, phases or paths that are told of each kind."""
MOST_PATTERNS = 500
"""Different widenings that are counted."""
_MOST_WORD = 100
_MISS = re.compile(r"^\[criteria/(\w+)\] (?:.*? )?(\1(?:: .*?)?) – ")
"""A finding of a criterion, as a revision names it: the criterion's kind, a file, the criterion, what was seen."""
_ENDINGS = {str(event): state for (_, event), state in TRANSITIONS.items() if state in TERMINAL}


class Fact(Protocol):
    """A fact of the ledger."""

    @property
    def name(self) -> str:
        """Which."""

    @property
    def job_id(self) -> int | None:
        """Of which job."""

    @property
    def data(self) -> Mapping[str, Json]:
        """Its details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateExperience:
    """What people and roles said at a gate."""

    name: str
    asked: int
    approved: int
    rejected: int
    reused: int
    """How often an answer from before still held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleExperience:
    """How a role's sessions went."""

    name: str
    sessions: int
    sent_back: int
    """Work that missed something."""
    handed_up: int
    """Times the architect was asked."""
    ran_out: int
    """Times its sessions or one session's budget were used up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeExperience:
    """What people let a role write beside its scope."""

    role: str
    pattern: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseExperience:
    """How a phase's criteria were met."""

    name: str
    judged: int
    met: int
    missed: Mapping[str, int]
    """For which criteria work was sent back, and how often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """All of it."""

    jobs: int
    merged: int
    failed: int
    cancelled: int
    contracts: Mapping[str, int]
    """Under which contracts the jobs went, by name."""
    gates: tuple[GateExperience, ...]
    roles: tuple[RoleExperience, ...]
    scopes: tuple[ScopeExperience, ...]
    phases: tuple[PhaseExperience, ...]


@dataclass(slots=True)
class _Counted:
    """Counts while the facts are read, by name and by what is counted."""

    jobs: set[int] = field(default_factory=set)
    endings: Counter[JobState] = field(default_factory=Counter)
    contracts: dict[int, str] = field(default_factory=dict)
    role: dict[int, str] = field(default_factory=dict)
    """Who works on a job now."""
    phase: dict[int, str] = field(default_factory=dict)
    gates: dict[str, Counter[str]] = field(default_factory=dict)
    roles: dict[str, Counter[str]] = field(default_factory=dict)
    phases: dict[str, Counter[str]] = field(default_factory=dict)
    missed: dict[str, Counter[str]] = field(default_factory=dict)
    scopes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def of_gate(self, name: str, what: str) -> None:
        if name:
            self.gates.setdefault(name, Counter())[what] += 1

    def of_role(self, name: str, what: str) -> None:
        if name:
            self.roles.setdefault(name, Counter())[what] += 1

    def of_phase(self, name: str, what: str) -> None:
        if name:
            self.phases.setdefault(name, Counter())[what] += 1


def experience(facts: Iterable[Fact]) -> Experience:
    """What the facts come to. A fact that is not understood counts for nothing."""
    counted = _Counted()
    for fact in facts:
        if fact.job_id is not None:
            counted.jobs.add(fact.job_id)
            _follow(counted, fact.job_id, fact)
            _count_gate(counted, fact)
            _count_work(counted, fact.job_id, fact)
    return Experience(
        jobs=len(counted.jobs),
        merged=counted.endings[JobState.COMPLETED],
        failed=counted.endings[JobState.FAILED],
        cancelled=counted.endings[JobState.CANCELLED],
        contracts=dict(Counter(counted.contracts.values()).most_common()),
        gates=tuple(
            GateExperience(
                name=name,
                asked=found["asked"],
                approved=found["approved"],
                rejected=found["rejected"],
                reused=found["reused"],
            )
            for name, found in counted.gates.items()
        ),
        roles=tuple(
            RoleExperience(
                name=name,
                sessions=found["sessions"],
                sent_back=found["sent_back"],
                handed_up=found["handed_up"],
                ran_out=found["ran_out"],
            )
            for name, found in counted.roles.items()
        ),
        scopes=tuple(
            ScopeExperience(role=role, pattern=pattern, times=times)
            for (role, pattern), times in counted.scopes.most_common()
        ),
        phases=tuple(
            PhaseExperience(
                name=name,
                judged=found["judged"],
                met=found["met"],
                missed=dict(counted.missed.get(name, Counter()).most_common()),
            )
            for name, found in counted.phases.items()
        ),
    )


def _follow(counted: _Counted, job: int, fact: Fact) -> None:
    """Whose turn it is, in which phase, under which contract, and how the job ended."""
    word = _Words(fact.data)
    if fact.name == E.CONTRACT_TAKEN:
        counted.contracts[job] = word["contract"]
        counted.phase[job] = word["phase"]
    elif fact.name == E.PHASE_STARTED:
        counted.phase[job] = word["phase"]
        counted.role[job] = next(iter(_texts(fact.data.get("roles"))), "")
    elif fact.name == E.PHASE_COMPLETED:
        counted.phase[job] = word["next"]
    elif fact.name == E.ROLE_COMPLETED:
        counted.role[job] = word["next"]
    elif fact.name == E.SESSION_PREPARED and fact.data.get("kind") == "work":
        counted.role[job] = word["role"] or counted.role.get(job, "")
        counted.of_role(counted.role[job], "sessions")
    if fact.name in _ENDINGS:
        counted.endings[_ENDINGS[fact.name]] += 1


def _count_gate(counted: _Counted, fact: Fact) -> None:
    word = _Words(fact.data)
    if word["by"] and word["choice"] in _ANSWERS and fact.name != E.GATE_REUSED:
        counted.of_gate(
            word["about"], _ANSWERS[word["choice"]]
        )  # a role decided, and its answer moved the job
    if not (gate := word["gate"]):
        return
    if fact.name in {E.GATE_REACHED, E.ESCALATED}:
        counted.of_gate(gate, "asked")
    elif fact.name == E.GATE_REUSED:
        counted.of_gate(gate, "reused")
    elif fact.name == E.DECISION_ANSWERED and word["verb"] in _ANSWERS:
        counted.of_gate(gate, _ANSWERS[word["verb"]])


_ANSWERS = {"approve": "approved", "reject": "rejected"}


def _count_work(counted: _Counted, job: int, fact: Fact) -> None:
    word, role, phase = _Words(fact.data), counted.role.get(job, ""), counted.phase.get(job, "")
    if fact.name == E.CHECK_COMPLETED and word["check"] == "criteria" and word["score"]:
        counted.of_phase(phase, "judged")
        counted.of_phase(phase, "met" if word["score"] == "pass" else "missed")
    elif fact.name == E.REVISION_ORDERED:
        counted.of_role(word["role"] or role, "sent_back")
        for name in _missed(fact.data.get("findings")):
            counted.missed.setdefault(phase, Counter())[name] += 1
    elif fact.name == E.ESCALATED and word["role"] and not word["gate"]:
        counted.of_role(word["role"], "handed_up")
    elif fact.name in {E.ATTEMPTS_SPENT, E.BUDGET_SPENT}:
        counted.of_role(role, "ran_out")
    elif fact.name == E.SCOPE_WIDENED or (fact.name == E.DECISION_ANSWERED and word["verb"] in _GRANTS):
        for pattern in _texts(fact.data.get("patterns")):
            if (role, pattern) in counted.scopes or len(counted.scopes) < MOST_PATTERNS:
                counted.scopes[role, pattern] += 1


_GRANTS = ("grant", "once")


def _missed(findings: Json) -> Iterator[str]:
    """The criteria that a revision names, each once."""
    found = (_MISS.match(text) for text in _texts(findings, most=2_000))
    yield from dict.fromkeys(item[2][:_MOST_WORD] for item in found if item is not None)


class _Words:
    """The details of a fact that are words: names, mostly."""

    def __init__(self, data: Mapping[str, Json]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> str:
        """Empty where there is none."""
        value = self._data.get(key)
        return _word(value, _MOST_WORD) if isinstance(value, str) else ""


def _texts(value: Json, *, most: int = _MOST_WORD) -> list[str]:
    items = value if isinstance(value, list) else []
    return [_word(item, most) for item in items if isinstance(item, str)]


def _word(text: str, most: int) -> str:
    return " ".join(visible(text[: most * 2]).split())[:most]


def as_markdown(found: Experience) -> str:
    """For a person and for an architect who reviews the contract: a list for each kind, nothing but what happened."""
    if not found.jobs:
        return "No job of this repository has worked yet."
    blocks = [
        [_jobs_line(found)],
        _block("Gates", [gate_sentence(item) for item in found.gates]),
        _block("Scopes that people widened", [scope_sentence(item) for item in found.scopes]),
        _block("Roles", [role_sentence(item) for item in found.roles]),
        _block("Criteria", [phase_sentence(item) for item in found.phases]),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def _jobs_line(found: Experience) -> str:
    rest = found.jobs - found.merged - found.failed - found.cancelled
    ended = [
        (found.merged, "merged"),
        (found.failed, "failed"),
        (found.cancelled, "cancelled"),
        (rest, "not over"),
    ]
    said = ", ".join(f"{number:,} {word}" for number, word in ended if number)
    under = ", ".join(
        f"{_code(name or '?')} ({number:,})" for name, number in [*found.contracts.items()][:MOST_SHOWN]
    )
    return f"{count(found.jobs, 'job')}: {said}." + (f" Contracts: {under}." if under else "")


def gate_sentence(gate: GateExperience) -> str:
    """How often a gate asked, and what was said."""
    reused = f"; {count(gate.reused, 'answer')} held again" if gate.reused else ""
    answered = gate.approved + gate.rejected
    if answered and not gate.rejected:
        return f"{_code(gate.name)}: never refused in {answered:,}{reused}."
    asked = max(gate.asked, answered)
    return f"{_code(gate.name)}: asked {count(asked, 'time')}, {gate.approved:,} approved, {gate.rejected:,} refused{reused}."


def scope_sentence(scope: ScopeExperience) -> str:
    """What was widened for whom."""
    whose = _code(scope.role) if scope.role else "a role that is not known"
    return f"{_code(scope.pattern)} for {whose}, {count(scope.times, 'time')}."


def role_sentence(role: RoleExperience) -> str:
    """How its sessions went."""
    said = [
        f"sent back {count(role.sent_back, 'time')}" if role.sent_back else "",
        f"handed up {count(role.handed_up, 'time')}" if role.handed_up else "",
        f"ran out of budget {count(role.ran_out, 'time')}" if role.ran_out else "",
    ]
    rest = ", ".join(filter(None, said)) or "never sent back, handed up or out of budget"
    return f"{_code(role.name)}: {count(role.sessions, 'session')}; {rest}."


def phase_sentence(phase: PhaseExperience) -> str:
    """How its criteria were met."""
    checks = count(phase.judged, "check")
    if phase.met == phase.judged:
        return f"{_code(phase.name)}: never missed in {checks}."
    always = ", always missed" if not phase.met and phase.judged > 1 else ""
    named = [f"{_code(name)} ({number:,})" for name, number in [*phase.missed.items()][:_MOST_NAMED]]
    why = f"; sent back for {', '.join(named)}" if named else ""
    return f"{_code(phase.name)}: met in {phase.met:,} of {checks}{always}{why}."


_MOST_NAMED = 5


def _block(title: str, sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - MOST_SHOWN
    rest = [f"- and {more:,} more"] if more > 0 else []
    lines = [f"- {sentence}" for sentence in sentences[:MOST_SHOWN]]
    return [f"**{title}**", "", *lines, *rest] if lines else []


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"
