"""The rules a job runs under: roles, phases, gates and budgets, as a contract's YAML says them (version 2).

`version_1.py` reads the older form into the same. What a contract may not say is in `constitution.py`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from minion.protocol import Scope, ScopeMode, read_agent_name
from overlord.domain.contracts.criteria.registry import Criteria
from overlord.domain.contracts.part import NAME, Name, Part, Pattern, Patterns, ToolName, Words, as_tuple
from overlord.errors import ContractError

MAX_LIFETIME_H = 24 * 366.0
"""A job that outlives a year is forgotten, not worked on; rule 4.3 wants an end that comes."""
END = "end"
"""Where the last transition of a job goes, in `on` of a gate: `ship->end`."""
DONE = "done"
"""The outcome of a phase that went as it should."""
BLOCKED = "blocked"
ISSUE = "issue"
"""An input that is always there."""
ANY_FILE = "**"
PLAN = "plan"
"""The directory of a job's own artifacts, which are never in the repository."""


class ScopeRule(Part):
    """What a role may write. A space's own scope narrows it further."""

    mode: Literal[ScopeMode.UNRESTRICTED, ScopeMode.DIRECTORY, ScopeMode.EXPLICIT] = ScopeMode.DIRECTORY
    """`directory`: patterns as in a .gitignore, from the root; `explicit`: exact file names; `unrestricted`: any file."""
    patterns: Patterns = ()
    """What may be written: `src/**`, `*.toml`, `docs`."""
    approval: Literal["none", "required"] = "none"
    """`required`: where neither settings nor issue say what may be written, a person does before a session begins. Only for an
    unrestricted scope."""

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        return {"mode": ScopeMode.DIRECTORY, "patterns": value} if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _approval_is_of_something(self) -> Self:
        if self.asks_first and self.mode is not ScopeMode.UNRESTRICTED:
            raise ValueError(
                f"approval: a {self.mode} scope says what may be written, so there is nothing to ask"
            )
        return self

    @property
    def asks_first(self) -> bool:
        """Whether a person is asked before a session may write any file."""
        return self.approval == "required"

    def scope(self) -> Scope:
        return Scope.parse(Scope(mode=self.mode, patterns=self.patterns).to_json())


class Exhausted(StrEnum):
    """Who comes next when a role has used up its budget."""

    ARCHITECT = "architect"
    """A session of the role `architect` looks at what failed and says how to go on."""
    GATE = "gate"
    """A person allows one more budget, or ends the job."""
    TERMINATE = "terminate"
    """The job fails."""
    ASK = "ask"
    """A person is asked, with every answer there is."""


class RoleBudget(Part):
    """Where a role's work ends. Absent numbers come from `sessions` and `budget` in the settings."""

    iterations: Annotated[int, Field(ge=1, le=20)] = 3
    """Sessions it may have in a phase: the first and those after a miss."""
    minutes: Annotated[float, Field(gt=0, le=24 * 60)] | None = None
    """Of one session."""
    turns: Annotated[int, Field(gt=0)] | None = None
    """Of one session."""
    tokens: Annotated[int, Field(gt=0)] | None = None
    """Of one session."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Of one session."""
    diff_files: Annotated[int, Field(gt=0)] | None = None
    """Files that its work in a phase may change."""
    diff_lines: Annotated[int, Field(gt=0)] | None = None
    """Lines that its work in a phase may add and remove."""
    exhausted: Exhausted | None = None
    """Who comes next when it is used up: the role `architect`, a `gate` of people, nobody (`terminate`), or a person who is asked (`ask`)."""

    @property
    def time_s(self) -> int | None:
        """Seconds that a session may take."""
        return None if self.minutes is None else round(self.minutes * 60)


def _agent_name(text: str) -> str:
    return read_agent_name(text) if text else ""


class Role(Part):
    """Who works: where, with what, how long, and how that is verified."""

    scope: ScopeRule | None = None
    """What its sessions may write: a list of patterns, or a mapping with a mode."""
    also_writes: Patterns = ()
    """Authority beyond the own scope."""
    commands: Annotated[tuple[Name, ...], BeforeValidator(as_tuple)] | None = None
    """The programs that its sessions may start; absent: any."""
    tools: Annotated[tuple[ToolName, ...], BeforeValidator(as_tuple)] = ()
    """The tools of its sessions; empty: every tool. Those of an MCP server as `mcp__SERVER__TOOL`, all of one as `mcp__SERVER`."""
    outputs: Annotated[Words, BeforeValidator(as_tuple)] = ()
    """What it has to bring, in words for its sessions and for people."""
    verification: Criteria = ()
    """What has to be so after each of its sessions."""
    budget: RoleBudget | None = None
    """Where its work ends, and what follows."""
    agent: Annotated[str, AfterValidator(_agent_name)] = ""
    """The coding agent, as `codex`; absent: the settings'."""
    model: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """A name of models.yaml; absent: the settings'."""
    guidance: Annotated[str, Field(max_length=20_000)] = ""
    """Words to its sessions, after those to every role."""


class Phase(Part):
    """A step of the work: its actors work one after the other, and its criteria say when it is over."""

    actors: Annotated[tuple[Name, ...], BeforeValidator(as_tuple)] = ()
    """The roles that work in it, one after the other."""
    preconditions: Criteria = ()
    """What has to be so before it begins: criteria that need no session."""
    inputs: Patterns | None = None
    """What its sessions read: `issue`, files, artifacts below `plan/`."""
    outputs: Patterns | None = None
    """What it makes: files, artifacts below `plan/`."""
    criteria: Criteria = ()
    """What has to be so after its last actor, before it is left."""
    next: dict[Name, Name] = Field(default={})
    """The phase that follows, by the outcome of this one."""
    terminal: bool = False
    """Whether it is the last one: the work is delivered after it."""


class Gate(Part):
    """A decision between two phases."""

    on: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}->[a-z][a-z0-9_-]{0,39}$")]
    """The transition: `plan->build`, or `ship->end`."""
    audience: Name = "person"
    """`person`: whoever may write to the repository; `approver`: whom the settings name; or a role, whose session decides."""
    inputs: Patterns = ()
    """What is shown, beside the change itself: artifacts and files."""
    approve: Name | None = None
    """What follows approval: a phase, `end`, or `merged` where the pull request itself is the gate."""
    reject: Name | None = None
    """A phase; `merged` and `pr_closed` where the pull request itself is the gate; `stopped` ends the job."""

    @property
    def source(self) -> str:
        return self.on.partition("->")[0]

    @property
    def target(self) -> str:
        return self.on.partition("->")[2]

    @property
    def is_pull(self) -> bool:
        """Whether a person answers it at the forge, by merging the pull request or closing it."""
        return self.approve == "merged"

    @property
    def is_for_people(self) -> bool:
        return self.audience in PEOPLE


PEOPLE = ("person", "approver")
"""The audiences of a gate that are no role."""
ENDINGS = ("merged", "pr_closed", "stopped")
"""What a gate may lead to beside phases."""


class Shared(Part):
    """Paths that several roles may write."""

    paths: Annotated[Patterns, Field(min_length=1)]
    """The paths or patterns."""
    roles: Annotated[tuple[Name, ...], Field(min_length=1), BeforeValidator(as_tuple)]
    """The roles that may write them."""


class Lifetime(Part):
    """What a job may take as a whole."""

    hours: Annotated[float, Field(gt=0, le=MAX_LIFETIME_H)]
    """From the claim of the issue to its end."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Of all sessions together."""


class Contract(Part):
    """One contract. `start` names the first phase; absent: the one that is written first."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    """What people know it by."""
    version: Literal[1, 2]
    """Of the form of contracts: 2."""
    constitution: Annotated[int, Field(ge=1)] = 1
    """The set of rules it was checked against."""
    lifetime: Lifetime | None = None
    """What a job may take as a whole."""
    escalation: Annotated[
        tuple[Literal["architect", "person"], ...],
        Field(min_length=1, max_length=2),
        BeforeValidator(as_tuple),
    ] = ("architect", "person")
    """Who is asked when a role cannot go on, one after the other. Without a role `architect`, a person is."""
    events: dict[Name, Literal["architect", "person"]] = Field(default={})
    """Further reasons for which a session may hand its work up, and to whom."""
    shared: Annotated[tuple[Shared, ...], Field(max_length=100), BeforeValidator(as_tuple)] = ()
    """Paths that several roles may write."""
    secret_paths: Patterns = ()
    """Outside every scope and every brief."""
    redact: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=500)], ...],
        Field(max_length=50),
        BeforeValidator(as_tuple),
    ] = ()
    """Regular expressions of what is taken out of evidence, beside what is always taken out."""
    guidance: Annotated[str, Field(max_length=20_000)] = ""
    """Words to the sessions of every role."""
    merge: Literal["manual"] = "manual"
    """Who merges: a person."""
    start: Name = ""
    """The first phase; absent: the one that is written first."""
    roles: Annotated[dict[Name, Role], Field(max_length=100)]
    """Who works, by name."""
    phases: Annotated[dict[Name, Phase], Field(min_length=1, max_length=100)]
    """The steps of the work, by name, in the order they are read."""
    gates: Annotated[dict[Name, Gate], Field(max_length=100)] = Field(default={})
    """Decisions between two phases, by name."""

    @model_validator(mode="before")
    @classmethod
    def _starts_somewhere(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "start" not in value and isinstance(value.get("phases"), Mapping):
            first = next(iter(value["phases"]), "")
            return {**value, "start": first} if re.match(NAME, str(first)) else value
        return value

    @property
    def lifetime_h(self) -> float | None:
        """Hours that a job may take."""
        return None if self.lifetime is None else self.lifetime.hours

    @property
    def keeps_misses(self) -> bool:
        """Whether work that missed something stays, for the next session to mend; version 2 goes back to before it."""
        return self.version == 1

    @property
    def has_plan(self) -> bool:
        """Whether its phases make artifacts under `plan/`, which are the job's and never the repository's."""
        return any(is_plan(pattern) for phase in self.phases.values() for pattern in phase.outputs or ())

    def phase(self, name: str) -> Phase:
        try:
            return self.phases[name]
        except KeyError:
            raise ContractError(f"contract {self.name} has no phase {name!r}") from None

    def role(self, name: str) -> Role:
        try:
            return self.roles[name]
        except KeyError:
            raise ContractError(f"contract {self.name} has no role {name!r}") from None

    def gate_on(self, source: str, target: str) -> tuple[str, Gate] | None:
        """The gate between two phases, with its name."""
        found = ((name, gate) for name, gate in self.gates.items() if gate.on == f"{source}->{target}")
        return next(found, None)

    def edges(self) -> Iterator[tuple[str, str, str]]:
        """Every transition as phase, outcome and phase; the last ones go to `end`."""
        for name, phase in self.phases.items():
            yield from ((name, outcome, target) for outcome, target in phase.next.items())
            if phase.terminal:
                yield name, DONE, END

    def later_actors(self, phase: str) -> tuple[str, ...]:
        """The roles that work in phases after this one, in the order of the phases."""
        reached, waiting = set[str](), list(self.phases[phase].next.values())
        while waiting:
            name = waiting.pop()
            if name in self.phases and name not in reached:
                reached.add(name)
                waiting += self.phases[name].next.values()
        later = (item for name, item in self.phases.items() if name in reached)
        return tuple(dict.fromkeys(role for item in later for role in item.actors))

    def written_by(self, role: str, phase: str) -> tuple[Pattern, ...] | None:
        """The patterns that a role may write in a phase, before what is protected or secret is taken out; None for any file."""
        found = self.role(role)
        rule = found.scope or ScopeRule(mode=ScopeMode.DIRECTORY)
        if rule.mode is ScopeMode.UNRESTRICTED:
            return None
        shared = (path for item in self.shared if role in item.roles for path in item.paths)
        plan = (pattern for pattern in self.phase(phase).outputs or () if is_plan(pattern))
        return tuple(dict.fromkeys((*rule.patterns, *shared, *found.also_writes, *plan)))


def is_plan(path: str) -> bool:
    """Whether a path or pattern is of the job's own artifacts."""
    return path == PLAN or path.startswith(f"{PLAN}/")


def own_plan(paths: Iterable[str]) -> str:
    """A file that a repository has where a job's artifacts would be; empty where that place is free."""
    return min(filter(is_plan, paths), default="")
