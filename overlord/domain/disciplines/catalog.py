"""The disciplines a model works by: their arguments, their tools, and the phase each belongs to. One table; whoever needs a name or a
required argument reads it here."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class DisciplineName(StrEnum):
    """The tools of MCP in which a model works."""

    TDD_RED = "tdd_red"
    TDD_GREEN = "tdd_green"
    TDD_REFACTOR = "tdd_refactor"
    REVIEW = "review"
    DEBUG = "debug"
    SPEC = "spec"
    RETROSPECTIVE = "retrospective"
    TRAINER = "trainer"


class Phase(StrEnum):
    """The phases that there are: each result and each entry of a history has one."""

    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"
    RETROSPECTIVE = "retrospective"
    REVIEW = "review"
    DEBUG = "debug"
    SPEC = "spec"
    TRAINER = "trainer"


class ArgumentKind(StrEnum):
    """What an argument of a discipline holds."""

    TEXT = "text"
    TEXTS = "texts"
    BOOLEAN = "boolean"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a discipline's tool."""

    name: str
    meaning: str
    """A sentence for whoever calls."""
    is_required: bool = False
    kind: ArgumentKind = ArgumentKind.TEXT


READING = ("read_file", "list_directory", "search_files", "glob_files")
"""The tools of a session that read."""
RUNNING = ("run_command",)
WRITING = ("write_file", "edit_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class DisciplineKind:
    """What one discipline is."""

    name: DisciplineName
    phase: Phase
    skill: str
    """What the history calls it: `tdd` for the three of tests first."""
    title: str
    """For people."""
    meaning: str
    """One or two sentences for whoever calls: what it does, and what `verified` means of it."""
    arguments: tuple[Argument, ...]
    page: str
    """The page of laws, below `config/prompts/disciplines/`."""
    tools: tuple[str, ...]
    """What its session has beside the tool that gives the result."""
    writes: bool = False
    """Whether what its session changed comes back as a patch."""

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments that no call leaves out."""
        return tuple(item.name for item in self.arguments if item.is_required)


PROJECT_ROOT = Argument(
    name="project_root",
    meaning=(
        "The repository: over stdio the absolute path of the checkout that the server was started in (or of a directory in it); over"
        " HTTP `owner/name`, or `owner/name@branch`."
    ),
    is_required=True,
)
_OTHER_ROOT = Argument(
    name="project_root", meaning=f"{PROJECT_ROOT.meaning} Left out: that of the session's last call."
)
_MODEL = Argument(
    name="model",
    meaning="A name of models.yaml; left out, the one that is set for this discipline, or the repository's.",
)
_SESSION = Argument(
    name="session_id",
    meaning="Yours: what belongs together. Earlier phases of it are told to the worker, and the result is added.",
)
_COMMAND = Argument(
    name="test_cmd",
    meaning="The command that runs the tests, as `pytest -q`; left out, the repository's own.",
)
_CONTEXT = Argument(name="context", meaning="What the worker should know beside that.")
_APPLY = Argument(
    name="apply",
    meaning="Whether the change is written to your files, which happens only where they are as they were. true when left out.",
    kind=ArgumentKind.BOOLEAN,
)
_TEST_PATH = Argument(
    name="test_path", meaning="The file of the test, relative to project_root.", is_required=True
)

_KINDS = (
    DisciplineKind(
        name=DisciplineName.TDD_RED,
        phase=Phase.RED,
        skill="tdd",
        title="Red: write a test that fails",
        meaning=(
            "Write one test that fails for an assertion, before the code. Verified: the test was run, and it fails for an assertion; not"
            " at an import, not because no test ran, not in another test."
        ),
        arguments=(
            PROJECT_ROOT,
            Argument(name="spec", meaning="The behaviour that the test is to show.", is_required=True),
            Argument(name="test_path", meaning="Where the test belongs; left out, the worker chooses."),
            _COMMAND,
            _CONTEXT,
            _MODEL,
            _SESSION,
            _APPLY,
        ),
        page="red",
        tools=(*READING, *WRITING, *RUNNING),
        writes=True,
    ),
    DisciplineKind(
        name=DisciplineName.TDD_GREEN,
        phase=Phase.GREEN,
        skill="tdd",
        title="Green: make the test pass",
        meaning=(
            "Make a failing test pass with the smallest change. Verified: the test failed for an assertion before, passes as it was"
            " written now, and every other test that passed still does."
        ),
        arguments=(PROJECT_ROOT, _TEST_PATH, _COMMAND, _CONTEXT, _MODEL, _SESSION, _APPLY),
        page="green",
        tools=(*READING, *WRITING, *RUNNING),
        writes=True,
    ),
    DisciplineKind(
        name=DisciplineName.TDD_REFACTOR,
        phase=Phase.REFACTOR,
        skill="tdd",
        title="Refactor: better code, same tests",
        meaning="Improve code without changing what it does. Verified: the same tests pass before and after, and none was changed.",
        arguments=(
            PROJECT_ROOT,
            _TEST_PATH,
            Argument(
                name="impl_path",
                meaning="The file that is to become better, relative to project_root.",
                is_required=True,
            ),
            _COMMAND,
            _CONTEXT,
            _MODEL,
            _SESSION,
            _APPLY,
        ),
        page="refactor",
        tools=(*READING, *WRITING, *RUNNING),
        writes=True,
    ),
    DisciplineKind(
        name=DisciplineName.REVIEW,
        phase=Phase.REVIEW,
        skill="review",
        title="Review code",
        meaning=(
            "Review files, with findings by severity, each with file and line. Verified: every file was read whole, and each line that"
            " a finding names exists."
        ),
        arguments=(
            PROJECT_ROOT,
            Argument(
                name="files",
                meaning="The files to review, relative to project_root.",
                is_required=True,
                kind=ArgumentKind.TEXTS,
            ),
            _CONTEXT,
            _MODEL,
            _SESSION,
        ),
        page="review",
        tools=(*READING, *RUNNING),
    ),
    DisciplineKind(
        name=DisciplineName.DEBUG,
        phase=Phase.DEBUG,
        skill="debug",
        title="Debug: hypotheses with their checks",
        meaning=(
            "Three to five hypotheses for an error, the likeliest first, each with a command and what it prints if the hypothesis holds."
            " Never verified: it is a diagnosis, and nothing is changed."
        ),
        arguments=(
            PROJECT_ROOT,
            Argument(
                name="error",
                meaning="What went wrong: the message, the traceback, the output.",
                is_required=True,
            ),
            _CONTEXT,
            _MODEL,
            _SESSION,
        ),
        page="debug",
        tools=(*READING, *RUNNING),
    ),
    DisciplineKind(
        name=DisciplineName.SPEC,
        phase=Phase.SPEC,
        skill="spec",
        title="Write a specification",
        meaning="Write a specification from requirements. Verified: the file exists, with all its sections and criteria in a list.",
        arguments=(
            PROJECT_ROOT,
            Argument(name="requirements", meaning="What is wanted, in your words.", is_required=True),
            Argument(
                name="output_path",
                meaning="The file to write, relative to project_root; `docs/spec.md` when left out.",
            ),
            _CONTEXT,
            _MODEL,
            _SESSION,
            _APPLY,
        ),
        page="specification",
        tools=(*READING, *WRITING),
        writes=True,
    ),
    DisciplineKind(
        name=DisciplineName.RETROSPECTIVE,
        phase=Phase.RETROSPECTIVE,
        skill="retrospective",
        title="Look back on a session",
        meaning=(
            "Look back on the history of a session, for at most three things to remember; they become drafts of knowledge. Verified:"
            " every entry that is cited exists."
        ),
        arguments=(
            Argument(
                name="session_id", meaning="The session whose history is looked back on.", is_required=True
            ),
            _OTHER_ROOT,
            _CONTEXT,
            _MODEL,
        ),
        page="retrospective",
        tools=READING,
    ),
    DisciplineKind(
        name=DisciplineName.TRAINER,
        phase=Phase.TRAINER,
        skill="trainer",
        title="Make training data of a session",
        meaning=(
            "A reader finds what is worth learning in the history of a session, then a writer makes records of it; a gate of code keeps"
            " what is good enough. Verified: records were written."
        ),
        arguments=(
            Argument(name="session_id", meaning="The session whose history is read.", is_required=True),
            _OTHER_ROOT,
            _MODEL,
        ),
        page="trainer-reader",
        tools=READING,
    ),
)
KINDS: Mapping[DisciplineName, DisciplineKind] = {item.name: item for item in _KINDS}
SKILLS = tuple(dict.fromkeys(item.skill for item in _KINDS))
"""What `models.yaml` may name a model for, beside the tools' own names."""
