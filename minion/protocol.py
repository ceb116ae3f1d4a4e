"""What crosses the session API: the brief a session starts from, the scope it may write in, the report it ends with.

The one file Overlord and the Minion share. It imports only the standard library at load time, because every
session pays for its imports. Overlord reads what a session sends through a strict validator built from these
same records (`overlord/session_api/wire.py`); the Minion trusts its session API and reads with `decode`.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Self

from minion.agent_choice import ACP as ACP  # noqa: PLC0414
from minion.agent_choice import AGENTS_DIRECTORY as AGENTS_DIRECTORY  # noqa: PLC0414
from minion.agent_choice import NATIVE as NATIVE  # noqa: PLC0414
from minion.agent_choice import PROGRAMS as PROGRAMS  # noqa: PLC0414
from minion.agent_choice import WITHOUT_TOOLS as WITHOUT_TOOLS  # noqa: PLC0414
from minion.agent_choice import AgentChoice as AgentChoice  # noqa: PLC0414
from minion.agent_choice import McpServer as McpServer  # noqa: PLC0414
from minion.agent_choice import acp_command as acp_command  # noqa: PLC0414
from minion.agent_choice import read_agent_name as read_agent_name  # noqa: PLC0414
from minion.discipline import DisciplineTask as DisciplineTask  # noqa: PLC0414
from minion.encoding import decode as decode  # noqa: PLC0414
from minion.encoding import encode as encode  # noqa: PLC0414
from minion.event import Event as Event  # noqa: PLC0414
from minion.event import EventKind as EventKind  # noqa: PLC0414
from minion.limits import Limits as Limits  # noqa: PLC0414
from minion.message import Answer as Answer  # noqa: PLC0414
from minion.message import Message as Message  # noqa: PLC0414
from minion.message import Messages as Messages  # noqa: PLC0414
from minion.message import MessagesTaken as MessagesTaken  # noqa: PLC0414
from minion.portfolio import *  # noqa: F403 - all that it names
from minion.portfolio import PortfolioBrief as PortfolioBrief  # noqa: PLC0414
from minion.step import HTTP_PROBE as HTTP_PROBE  # noqa: PLC0414
from minion.step import PROBE_SAYS as PROBE_SAYS  # noqa: PLC0414
from minion.step import CheckReport as CheckReport  # noqa: PLC0414
from minion.step import CheckStep as CheckStep  # noqa: PLC0414
from minion.step import ProbeExit as ProbeExit  # noqa: PLC0414
from minion.step import StepOutcome as StepOutcome  # noqa: PLC0414
from minion.step import StepResult as StepResult  # noqa: PLC0414
from minion.step import Tree as Tree  # noqa: PLC0414
from minion.terms import Assignment as Assignment  # noqa: PLC0414
from minion.terms import Bootstrap as Bootstrap  # noqa: PLC0414
from minion.terms import Consultation as Consultation  # noqa: PLC0414
from minion.terms import ConsultationKind as ConsultationKind  # noqa: PLC0414
from minion.terms import EarlierSession as EarlierSession  # noqa: PLC0414
from minion.terms import PlanFile as PlanFile  # noqa: PLC0414
from minion.terms import Terms as Terms  # noqa: PLC0414

PROTOCOL_VERSION = 1

BRIEF_PATH = "/session/brief"
EVENTS_PATH = "/session/events"
ANSWERS_PATH = "/session/answers"
MESSAGES_PATH = "/session/messages"
REPORT_PATH = "/session/report"
SCOPE_PATH = "/session/scope"  # what may be written now, in the form of MINION_SCOPE
COPIES_PATH = "/copies/"  # of the session listener: {space}/{name}, a ready copy as a tar stream
SECRETS_PATH = "/session/secrets"  # for a setup alone: a JSON object of environment variables, kept nowhere
SETUP_FINISHED = "finish"  # the last step of a setup that came to its end
CONTRACT_PATH = "/session/contract"  # a proposed contract; the answer is what the rules hold against it
DISCOVERY_PATH = "/session/discovery"  # what documents and code answer; the answer is what is left
REPOSITORY_PATH = "/session/repo.git"
COMPLETIONS_PATH = "/v1/chat/completions"
MESSAGES_API_PATH = "/v1/messages"  # Anthropic's wire
RESPONSES_PATH = "/v1/responses"  # OpenAI's newer wire
GEMINI_PATH = "/v1beta/models"  # Google's wire: /v1beta/models/NAME:streamGenerateContent
MODELS_PATH = "/v1/models"
MCP_PATH = "/session/mcp"  # an MCP server of the settings: /session/mcp/NAME

EXPLORATION = "You explore"
"""How the first message of an exploration begins, by which a transcript knows its exchanges."""

PROTECTED_ALWAYS = (".git", ".nebulus")
"""Top-level names no ordinary session writes, in any spelling of case."""
PROTECTED_UNLESS_NAMED = (".github/workflows",)
"""Directories a scope opens only by naming them; `**` and an unrestricted scope do not."""


_KEYS = frozenset({"mode", "patterns", "without"})
_SKILL_FILE = re.compile(r"\.nebulus/skills/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.yaml")


class ScopeError(ValueError):
    """A scope that does not parse. It stops the session; it never means "unrestricted"."""


class ScopeMode(StrEnum):
    """How a scope's patterns are read."""

    UNRESTRICTED = "unrestricted"
    DIRECTORY = "directory"
    EXPLICIT = "explicit"
    SKILL = "skill"
    """One skill's file, which a person approved word for word: the only way below `.nebulus`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The path patterns a session may write. Paths are relative to the repository's root, with `/`.

    `directory` reads patterns as gitignore globs anchored at the root (`src/**`, `docs`, `*.toml`);
    `explicit` takes them as exact file names; `unrestricted` has none; `skill` has the one file of an approved skill.
    `without` are gitignore globs of what stays closed in every mode.
    """

    mode: ScopeMode = ScopeMode.DIRECTORY
    patterns: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def unrestricted(cls) -> Self:
        return cls(mode=ScopeMode.UNRESTRICTED)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `MINION_SCOPE`: a JSON list of patterns, or `{"mode": …, "patterns": […], "without": […]}`.

        Raises ScopeError, with a sentence that names what is wrong, for anything else.
        """
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ScopeError(f"MINION_SCOPE is not JSON: {error}") from None
        if isinstance(value, list):
            value = {"mode": ScopeMode.DIRECTORY, "patterns": value}
        if not isinstance(value, dict) or not set(value) <= _KEYS or "mode" not in value:
            raise ScopeError('MINION_SCOPE must be a list of patterns or {"mode": …, "patterns": […]}')
        if not isinstance(value["mode"], str) or value["mode"] not in set(ScopeMode):
            raise ScopeError(
                f"MINION_SCOPE has an unknown mode {value['mode']!r}; known: {', '.join(ScopeMode)}"
            )
        return cls(mode=ScopeMode(value["mode"]), patterns=_patterns(value), without=_without(value))

    def to_json(self) -> str:
        """The form `parse` reads, and the value of `MINION_SCOPE`."""
        if self.mode is ScopeMode.DIRECTORY and not self.without:
            return json.dumps(list(self.patterns))
        without = {"without": list(self.without)} if self.without else {}
        return json.dumps({"mode": self.mode, "patterns": list(self.patterns), **without})

    def allows(self, path: str) -> bool:
        """Whether this scope lets a session write `path`. Protected paths are refused in every mode but for a skill's one file."""
        if self.mode is ScopeMode.SKILL:
            return path in self.patterns and _SKILL_FILE.fullmatch(path) is not None
        clean = _relative(path)
        if clean is None or is_protected(clean, self.patterns):
            return False
        if self.without and _globs(self.without, clean):
            return False
        if self.mode is ScopeMode.UNRESTRICTED:
            return True
        if self.mode is ScopeMode.EXPLICIT:
            return clean in {_relative(pattern) for pattern in self.patterns}
        return _globs(self.patterns, clean)

    def describe(self) -> str:
        """One phrase for people: what may be written."""
        text = "any file" if self.mode is ScopeMode.UNRESTRICTED else ", ".join(self.patterns)
        return f"{text} (not {', '.join(self.without)})" if self.without else text


def is_protected(path: str, patterns: tuple[str, ...] = ()) -> bool:
    """Whether `path` is closed to sessions, given the scope's patterns that may open a workflow directory."""
    place = path.casefold()
    # `.git.`, `.git ` and `git~1` are other file systems' spellings of `.git`.
    parts = [part.rstrip(". ") for part in place.split("/")]
    if parts[0] in PROTECTED_ALWAYS or ".git" in parts or "git~1" in parts:
        return True
    for name in PROTECTED_UNLESS_NAMED:
        if place == name or place.startswith(f"{name}/"):
            naming = tuple(item for item in patterns if f"{item.strip('/')}/".startswith(f"{name}/"))
            return not _opened(naming, path)
    return False


def _opened(naming: tuple[str, ...], path: str) -> bool:
    """Whether a pattern that names a protected directory is meant for this very path; an exact name is no glob."""
    with suppress(ScopeError):
        return path in naming or (bool(naming) and _globs(naming, path))
    return False


def _globs(patterns: tuple[str, ...], path: str) -> bool:
    """Whether a pattern matches, read as gitignore does, from the root. Raises ScopeError for what is no pattern."""
    return path_matcher(patterns)(path)


def path_matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether one of the patterns means a path. Raises ScopeError for what is no pattern."""
    from pathspec import GitIgnoreSpec  # 40 ms of imports that a session pays only when it first writes

    try:
        return GitIgnoreSpec.from_lines("/" + pattern.lstrip("/") for pattern in patterns).match_file
    except (ValueError, re.error) as error:
        raise ScopeError(f"MINION_SCOPE has a pattern that cannot be read: {error}") from None


def _relative(path: str) -> str | None:
    """The normal form of a path inside the repository, or None for one that leaves it."""
    pure = PurePosixPath(path.lstrip("/"))
    if not pure.parts or ".." in pure.parts or "\0" in path:
        return None
    return str(pure)


def _named(value: dict[str, Any], key: str) -> list[str]:
    """The patterns under a key, each of which names some path."""
    patterns = value.get(key, [])
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise ScopeError(f"MINION_SCOPE {key} must be a list of strings")
    for pattern in patterns:
        if not pattern.strip() or pattern.startswith(("!", "#")) or _relative(pattern) is None:
            raise ScopeError(
                f"MINION_SCOPE has a pattern that names no path inside the repository: {pattern!r}"
            )
    return patterns


def _read_globs(patterns: list[str]) -> None:
    """Raises ScopeError for one that cannot be read."""
    for pattern in patterns:
        if set(pattern) & set("[\\"):
            _globs((pattern,), "")  # only these can make a pattern that cannot be read


def _without(value: dict[str, Any]) -> tuple[str, ...]:
    patterns = _named(value, "without")
    _read_globs(patterns)
    return tuple(patterns)


def _patterns(value: dict[str, Any]) -> tuple[str, ...]:
    patterns = _named(value, "patterns")
    if value["mode"] == ScopeMode.DIRECTORY:
        _read_globs(patterns)
    unrestricted = value["mode"] == ScopeMode.UNRESTRICTED
    if unrestricted and patterns:
        raise ScopeError("MINION_SCOPE is unrestricted and lists patterns; it must be one or the other")
    if not unrestricted and not patterns:
        raise ScopeError("MINION_SCOPE lists no patterns, so nothing could be written")
    if value["mode"] == ScopeMode.SKILL and not (len(patterns) == 1 and _SKILL_FILE.fullmatch(patterns[0])):
        raise ScopeError("MINION_SCOPE must name one file of .nebulus/skills for a skill")
    return tuple(patterns)


class SessionKind(StrEnum):
    """What the program in the container does: `work` runs the agent, `check` the judge's commands, `setup` makes what both run in.

    `review` and `draft` are no containers: the judge's own model calls, and those that draft a skill, on the books like any
    session's.
    """

    WORK = "work"
    CHECK = "check"
    REVIEW = "review"
    SETUP = "setup"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on the issue. `association` is the forge's word for who wrote it (`OWNER`, `NONE`, …)."""

    author: str
    association: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """The issue as it stood when it was claimed. All of its text is untrusted."""

    number: int
    title: str
    body: str
    author: str
    labels: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a check holds against a change, and what would fix it."""

    check: str
    rule: str
    message: str
    file: str | None = None
    line: int | None = None
    evidence: str = ""
    suggestion: str = ""
    systemic: bool = False
    """Seen in more than this one place: something to learn beyond this task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """A skill the session may load with `use_skill`."""

    name: str
    description: str
    instructions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlan:
    """How a repository's environment is made, and what the sessions in it are given.

    `{environment}` in a variable's value stands for its directory; commands find that in `MINION_ENVIRONMENT`.
    """

    commands: tuple[str, ...] = ()
    """For the shell, in order, in one copy of the base commit and with network; the first that fails ends the setup."""
    variables: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    """Where its programs are: directories inside the environment, first one first."""
    taken: tuple[str, ...] = ()
    """Paths of the copy taken from `head_sha` instead: dependency files a person approved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """Everything a session is told. `GET /session/brief` returns it as JSON."""

    version: int = PROTOCOL_VERSION
    session_id: str
    kind: SessionKind
    role: str
    repository: str
    base_branch: str
    base_sha: str
    branch: str
    """The one branch a session may push; for a check session, the branch that holds what is judged."""
    head_sha: str
    """Where the work starts (or what is judged): base, or the job's last canonical commit."""
    issue: Issue
    scope: Scope
    scope_reasons: tuple[str, ...] = ()  # why each pattern is in the scope, where it was told from the issue
    limits: Limits = field(default_factory=Limits)
    model: str = "default"
    findings: tuple[Finding, ...] = ()
    answers: tuple[Answer, ...] = ()
    messages: tuple[Message, ...] = ()  # what people said to the job, to earlier sessions and between them
    tried: tuple[str, ...] = ()  # what earlier sessions of this job said they did, oldest first
    guidance: str = ""
    """The repository's own words to agents (AGENTS.md, CONTRIBUTING.md) at base; untrusted."""
    named_files: tuple[str, ...] = ()  # files at base that the issue's text names, in order of mention
    knowledge: str = ""
    skills: tuple[SkillText, ...] = ()
    steps: tuple[CheckStep, ...] = ()  # what a check session runs, in order; empty for a work session
    setup: SetupPlan | None = None  # what a setup session does
    traced: bool = False  # whether each use of a tool is told
    terms: Terms | None = None  # what the job's contract says to it
    agent: AgentChoice = field(default_factory=AgentChoice)  # the program that works in it
    mcp: tuple[McpServer, ...] = ()  # servers of tools it is offered beside its own
    portfolio: PortfolioBrief | None = None  # what the portfolio says to it: initiative, task, notes
    discipline: DisciplineTask | None = None  # what another agent asked for over MCP, in place of an issue


class Outcome(StrEnum):
    """How a work session says it ended."""

    COMPLETE = "complete"
    BLOCKED = "blocked"
    ERROR = "error"
    OUT_OF_BUDGET = "out_of_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A work session's last word. `head` is the commit it pushed, or None if it pushed nothing."""

    outcome: Outcome
    reason: str = ""
    """For `error`, a code: `turn_limit`, `tool_errors`, `time_limit`, `terminated`, `model`, `scope`, `internal`,
    `no_work` (its program ended without a change and without a word of why), `agent` (it is missing, or cannot run)."""
    summary: str = ""
    replies: tuple[str, ...] = ()
    """To findings of the brief, each as `2: what was done about it, or why not`; they are counted from 1."""
    learnings: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    head: str | None = None
    turns: int = 0
    result: str = "done"  # the outcome of its phase, of the brief's `terms.outcomes`
    event: str = (
        ""  # for `blocked`: why it is handed up, of `needs_escalation` and the brief's `terms.events`
    )
    answer: str = (
        ""  # to a consultation: {"choice": …, "text": …, "patterns": […], "assignments": {…}} as JSON; of a discipline its result:
        # {"status": …, "phase": …, "skill": …, "file_path": …, "runner_output": …, "verified": …, "message": …}
    )
