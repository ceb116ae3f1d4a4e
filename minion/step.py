"""What a check session runs and what it reports: one command each, and what became of it. Part of `minion/protocol.py`."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

HTTP_PROBE = "http_probe"
"""The first word of a step's command that the Minion's own program runs (`minion/checks/http_probe.py`); the second is what it is
told, as JSON."""
PROBE_SAYS = "http_probe: "
"""What the line begins with in which it says what it saw."""


class ProbeExit(IntEnum):
    """How that program ends; with another number it did not come to its own end."""

    ANSWERED = 0
    NOT_ANSWERED = 4
    NOT_JUDGED = 3
    """The port was taken before anything was started, so whoever answers is somebody else."""


class Tree(StrEnum):
    """Which files a check step runs on."""

    BASE = "base"
    HEAD = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStep:
    """One command of a check session, run in a fresh copy of a commit."""

    name: str
    tree: Tree = Tree.HEAD
    restore: tuple[str, ...] = ()
    """Paths put back as they are at base before the command runs; one absent at base is removed."""
    command: tuple[str, ...] = ()
    """An argument list; empty means: find the repository's test runner (pytest, else unittest)."""
    timeout_s: int = 600
    """For the command, and for each of its reruns."""
    junit: str = ""
    """Where in the tree a command of the repository's own writes JUnit XML; empty if it writes none."""
    reruns: int = 0
    """How often failed tests are run again, each time on a fresh copy and within the same time (pytest only)."""
    capture: bool = False
    """Keep what the command writes to standard output as it is."""
    watched: tuple[str, ...] = ()
    """Changed lines, as `calc.py:10-14`: a test run again is told to touch them if it calls a function with one (pytest only)."""
    files: tuple[str, ...] = ()
    """The test files to run, where `command` is empty; empty means all there are."""
    directory: str = ""
    """Where in the tree the command runs, and `junit` and `files` are looked for; empty for its root."""
    plan: bool = False
    """Lay the artifacts of the job's plan (the brief's `terms.plan`) into the tree, after `restore`."""


class StepOutcome(StrEnum):
    """What became of one check step; only `ran` carries an exit code to judge."""

    RAN = "ran"
    TIMED_OUT = "timed_out"
    NO_TOOLCHAIN = "no_toolchain"
    NOTHING_TO_RUN = "nothing_to_run"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What one check step did. `output` keeps head and tail; `junit` is the report the runner wrote and vouched for, if
    any, packed where it is large (`minion/checks/packed.py`)."""

    name: str
    outcome: StepOutcome
    command: tuple[str, ...] = ()
    exit_code: int | None = None
    junit: str | None = None
    unread: str = ""
    """Why there is no report that could be read, as a sentence without its end."""
    output: str = ""
    duration_s: float = 0.0
    rerun_junit: tuple[str, ...] = ()
    """The results of failed tests run again, one for each rerun that was made."""
    captured: str | None = None
    """Standard output, if the step asked for it and it was not too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The one report of a check session, and of a setup session: a step for each command."""

    steps: tuple[StepResult, ...]
