"""Reading a test run: JUnit XML into test ids and outcomes. What does not parse is None, never "all passed".

The text was written beside hostile code. It is read as a stream of tags, without a tree: document types, and with them
entities, end the reading; what a suite says of its own counts is not looked at; of an id's doubles the worst holds.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from xml.parsers import expat

MAX_DEPTH = 100
MAX_CASES = 200_000
ID_CHARS = 400
MESSAGE_CHARS = 2000


class CaseOutcome(StrEnum):
    """In the order of what is worse."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test: its id (`tests.test_calc.TestAdd::test_small`), outcome, and what it said when it failed."""

    id: str
    outcome: CaseOutcome
    message: str = ""
    file: str = ""
    """Where it is defined, if the report says so."""
    controlled: bool = False
    """Whether the guarded pytest has seen it fail with a body that must fail."""
    is_error: bool = False
    """It failed outside of its own body: when it was collected, set up or cleared away."""

    touches: bool | None = None
    """Whether it was seen to run a function that the change changed; None where nobody looked."""

    @property
    def is_file(self) -> bool:
        """Whether this is no test, but a file that could not be read for its tests."""
        return bool(self.file) and self.id == "::" + self.file.removesuffix(".py").replace("/", ".")


def parse_junit(text: str | Iterable[bytes] | None) -> tuple[Case, ...] | None:
    """Every test case, each id once, or None when this is no JUnit report. A large one is given in pieces."""
    if not text:
        return None
    reading = _Reading()
    try:
        reading.feed([text.encode()] if isinstance(text, str) else text)
    except (expat.ExpatError, _NotJUnit, UnicodeEncodeError, ValueError):
        return None
    return tuple(reading.cases.values())


def short_id(identifier: str) -> str:
    """An id of bearable length: of a longer one its beginning, and what tells it from others that begin so."""
    if len(identifier) <= ID_CHARS:
        return identifier
    return f"{identifier[: ID_CHARS - 20]}…{sha256(identifier.encode('utf-8', 'replace')).hexdigest()[:16]}"


class _NotJUnit(Exception):
    """Well-formed, or not even that; in any case not a report."""


_RESULTS = {"failure": CaseOutcome.FAILED, "error": CaseOutcome.FAILED, "skipped": CaseOutcome.SKIPPED}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lay in memory: parametrised tests may carry it in their names, and it differs in every run."""
_SCRIPT_FILE = re.compile(r"[\w@.+ /-]{1,300}\.[cm]?[jt]sx?")
RANK = {outcome: rank for rank, outcome in enumerate(CaseOutcome)}


@dataclass(slots=True)
class _Reading:
    cases: dict[str, Case] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    suites: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    seen: int = 0
    id: str = ""
    file: str = ""
    outcome: CaseOutcome = CaseOutcome.PASSED
    message: str = ""
    controlled: bool = False
    is_error: bool = False
    touches: bool | None = None

    def feed(self, pieces: Iterable[bytes]) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        parser.StartDoctypeDeclHandler = self._refuse
        for piece in pieces:
            parser.Parse(piece, False)
        parser.Parse(b"", True)

    def _refuse(self, *_: object) -> None:
        raise _NotJUnit("a document type is declared")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.open and name not in {"testsuites", "testsuite"}:
            raise _NotJUnit(f"the root is <{name}>")
        if len(self.open) >= MAX_DEPTH:
            raise _NotJUnit("too deep")
        inside = self.open[-1] if self.open else ""
        self.open.append(name)
        if name == "testsuite":
            self.suites.append(attributes.get("name", ""))
        if name == "testcase":
            if inside != "testsuite" and not (inside == "testsuites" and attributes.get("name")):
                raise _NotJUnit("a test outside a suite")  # where node's runner puts those with a name
            owner = attributes.get("classname", "")
            if (
                owner == "test"
            ):  # node's runner says so of every test, and only its suites tell one from another
                owner = " > ".join(self.suites)
            self.id = short_id(_ADDRESS.sub("", f"{owner}::{attributes.get('name', '')}"))
            self.file, self.outcome, self.message = attributes.get("file", ""), CaseOutcome.PASSED, ""
            if not self.file and _SCRIPT_FILE.fullmatch(owner):
                self.file = owner  # vitest's way to name it
            self.controlled, self.is_error = attributes.get("control") == "failed", False
            self.touches = {"yes": True, "no": False}.get(attributes.get("touches", ""))
        elif inside == "testcase" and name in _RESULTS:
            self.outcome = max(self.outcome, _RESULTS[name], key=lambda outcome: RANK[outcome])
            self.is_error = self.is_error or name == "error"
            if not self.message and (said := attributes.get("message", "")[:MESSAGE_CHARS]):
                self.message = f"{said}\n"  # its text, which follows, begins on a line of its own

    def _end(self, name: str) -> None:
        self.open.pop()
        if name == "testsuite":
            self.suites.pop()
        if name != "testcase":
            return
        self.seen += 1
        if len(self.cases) >= MAX_CASES or self.seen > 2 * MAX_CASES:
            raise _NotJUnit("too many tests")
        case = Case(
            id=self.id,
            outcome=self.outcome,
            message=self.message.strip(),
            file=self.files.setdefault(self.file, self.file),  # one string for all of a file's tests
            controlled=self.controlled,
            is_error=self.is_error,
            touches=self.touches,
        )
        known = self.cases.get(self.id)
        if known is None or RANK[case.outcome] > RANK[known.outcome]:
            self.cases[self.id] = case

    def _add_text(self, text: str) -> None:
        """The end of a failure's traceback says where; its attribute only what."""
        if self.open[-1] in {"failure", "error"} and "testcase" in self.open:
            self.message = f"{self.message}{text}"[-MESSAGE_CHARS:]
