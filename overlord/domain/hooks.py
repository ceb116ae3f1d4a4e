"""Operators' own programs that are called at fixed points: what each of them is told, and what its ending means.

Three points ask whether something may be (`idle`, `task_completed`, `shutdown`): a program says no by exit code 2, and what it wrote to
standard error is the reason. The other three only tell (`phase`, `gate`, `evidence`): nothing follows from how a program ends.

What a program means that fails, as by another exit code or for lack of time, depends on what a yes is worth. Nothing passes by a yes
to `idle` or `shutdown`: a session that may stop is judged all the same, and a no only makes it go on, which no session can mend that
is kept by a broken program. So these two are open: the failure is written down, and nobody is kept. A yes to `task_completed` makes a
task count as done, and a check that could not run is no pass: that one is closed, and whoever asks again later may be let through.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath

from overlord.domain.event import Json

VERSION = 1
"""Of what a program reads. It rises when something is taken out or means something else; more may come in without."""
REFUSED = 2
"""The exit code that says no."""
REASON_CHARS = 1_000
MOST_SAID_BYTES = 64 * 1024
"""A program that writes more to standard error is ended."""


class Hook(StrEnum):
    """A point at which programs are called."""

    IDLE = "idle"
    """A session of the portfolio wants to stop."""
    TASK_COMPLETED = "task_completed"
    """A session says that its task is done."""
    SHUTDOWN = "shutdown"
    """A cycle of the portfolio wants to end."""
    PHASE = "phase"
    """A job goes on under its contract: to another phase or role, or back."""
    GATE = "gate"
    """A job is at a gate, or somebody decided there."""
    EVIDENCE = "evidence"
    """A file became evidence."""


ASKING = frozenset({Hook.IDLE, Hook.TASK_COMPLETED, Hook.SHUTDOWN})
"""Those that may say no."""
CLOSED = frozenset({Hook.TASK_COMPLETED})
"""Those at which a program that fails counts as a no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookProgram:
    """A program of the settings: words, without a shell, and the seconds it has."""

    command: tuple[str, ...]
    timeout_s: int = 10

    @property
    def name(self) -> str:
        """What it is called to people and sessions, without where it lies and what it is given."""
        return PurePath(self.command[0]).name or self.command[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """What happened, or is to happen, and to what. Texts in `data` are others' words."""

    hook: Hook
    space: str = ""
    job: int | None = None
    session: str = ""
    initiative: str = ""
    task: str = ""
    event: str = ""
    """The ledger's name for it, where it is a fact."""
    data: Mapping[str, Json] = field(default_factory=dict)

    def document(self) -> str:
        """What a program reads from standard input: one JSON object with always the same keys."""
        fields: dict[str, Json] = {
            "version": VERSION,
            "hook": self.hook.value,
            "space": self.space or None,
            "job": self.job,
            "session": self.session or None,
            "initiative": self.initiative or None,
            "task": self.task or None,
            "event": self.event or None,
            "data": dict(self.data),
        }
        return json.dumps(fields, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    """How one program ended. `exit_code` is None for one that did not end by itself, and `problem` says why."""

    program: HookProgram
    exit_code: int | None = None
    said: str = ""
    """What it wrote to standard error, safe to show."""
    problem: str = ""
    is_stopped: bool = False
    """Overlord itself was told to end: that is nothing wrong with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFailure:
    """A program that gave no answer."""

    program: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """What all programs of a point say together."""

    refusals: tuple[str, ...] = ()
    """Why not, a sentence for each program that says no. Empty: it may be."""
    failures: tuple[HookFailure, ...] = ()

    @property
    def allows(self) -> bool:
        return not self.refusals


def judged(hook: Hook, runs: Sequence[HookRun]) -> HookAnswer:
    """What these endings mean at a point. Without programs everything may be."""
    refusals, failures = list[str](), list[HookFailure]()
    for run in runs:
        if run.exit_code == 0:
            continue
        if run.exit_code == REFUSED and hook in ASKING:
            refusals.append(f"{run.program.name}: {run.said or 'it refuses, and gives no reason'}")
            continue
        why = run.problem or _why(run)
        if not run.is_stopped:
            failures.append(HookFailure(program=run.program.name, why=why))
        if hook in CLOSED:
            refusals.append(
                f"{run.program.name}, a program of this Overlord's operator, could not check this ({why}). It is nothing that you "
                "did: ask once more, and if it is the same again, say so in your report"
            )
    return HookAnswer(refusals=tuple(refusals), failures=tuple(failures))


def _why(run: HookRun) -> str:
    said = f": {run.said}" if run.said else ""
    return f"it ended with exit code {run.exit_code}{said}"
