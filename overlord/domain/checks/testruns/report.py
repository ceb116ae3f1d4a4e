"""Reports of test runs in the forms that runners write: JUnit XML, jest's JSON, and the lines of `go test -json`.

All of it was written beside hostile code. What is in no form is None, never "all passed"; of a test's doubles the worst holds.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from minion.checks.packed import unpacked
from minion.protocol import StepResult
from overlord.domain.checks.testruns.junit import (
    MAX_CASES,
    MESSAGE_CHARS,
    RANK,
    Case,
    CaseOutcome,
    parse_junit,
    short_id,
)

LARGEST_JSON = 32 * 1024 * 1024
LONGEST_LINE = 4 * 1024 * 1024
REPORT_PATH = ".overlord-report"
"""Where the commands that Overlord finds by itself have their report written, in a tree that nobody keeps."""
_JEST = {
    "passed": CaseOutcome.PASSED,
    "failed": CaseOutcome.FAILED,
    "pending": CaseOutcome.SKIPPED,
    "skipped": CaseOutcome.SKIPPED,
    "todo": CaseOutcome.SKIPPED,
    "disabled": CaseOutcome.SKIPPED,
}
_GO = {"pass": CaseOutcome.PASSED, "fail": CaseOutcome.FAILED, "skip": CaseOutcome.SKIPPED}
_TREE = re.compile(r"^.*?/step-\d+(?:-again-\d+)?/tree/")
"""How a check session's tree begins in an absolute path."""


def parse_report(text: str | None) -> tuple[Case, ...] | None:
    """Every test of a report, each id once, or None when it is in none of the forms."""
    if not text:
        return None
    try:
        pieces = unpacked(text)
        first = next(pieces, b"")
        whole = chain([first], pieces)
        if first.lstrip()[:1] not in {b"{", b"["}:
            return parse_junit(whole)
        return _once(_jest(whole) if b'"testResults"' in first else _go(whole))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def why_unread(step: StepResult) -> str:
    """Why a step left no report that could be read, and what to do about it; nothing where nobody knows."""
    if not step.unread:
        return ""
    return (
        f"{step.unread}. `tests: {{command: …, junit: PATH}}` in .nebulus/checks.yaml says what is run and where its report is; "
        "a large suite can be split there, or run in part"
    )


def _once(cases: Iterable[Case]) -> tuple[Case, ...] | None:
    by_id: dict[str, Case] = {}
    for case in cases:
        known = by_id.get(case.id)
        if known is None or RANK[case.outcome] > RANK[known.outcome]:
            by_id[case.id] = case
        if len(by_id) > MAX_CASES:
            return None
    return tuple(by_id.values())


def _jest(pieces: Iterable[bytes]) -> Iterator[Case]:
    """`jest --json`: files with their tests, and files that could not be run, which fail as a whole."""
    text = bytearray()
    for piece in pieces:
        text += piece
        if len(text) > LARGEST_JSON:
            raise ValueError("too large to be read as one object")
    for file in json.loads(text)["testResults"]:
        path = _TREE.sub("", str(file["name"]))
        tests = file.get("assertionResults") or []
        if file.get("status") == "failed" and not any(one.get("status") == "failed" for one in tests):
            message = str(file.get("message") or "")[-MESSAGE_CHARS:]
            yield Case(
                id=f"::{_dotted(path)}", outcome=CaseOutcome.FAILED, message=message, file=path, is_error=True
            )
        for one in tests:
            name = " > ".join([*map(str, one.get("ancestorTitles") or ()), str(one["title"])])
            message = "\n".join(map(str, one.get("failureMessages") or ()))[-MESSAGE_CHARS:]
            yield Case(
                id=short_id(f"{path}::{name}"), outcome=_JEST[one["status"]], message=message, file=path
            )


def _go(pieces: Iterable[bytes]) -> Iterator[Case]:
    """`go test -json`: a line an event. A package that could not be built or that panicked fails as a whole."""
    data: dict[str, str] = {}
    failed: set[str] = set()
    for line in _lines(pieces):
        if not line.startswith(b"{"):
            continue  # what the compiler says stands between
        event: dict[str, Any] = json.loads(line)
        package, test, action = str(event.get("Package", "")), str(event.get("Test", "")), event.get("Action")
        name = f"{package}::{test}"
        if action in {"output", "build-output"}:
            data[name] = f"{data.get(name, '')}{event.get('Output', '')}"[-MESSAGE_CHARS:]
        elif action in _GO and (test or (action == "fail" and package not in failed)):
            failed |= {package} if action == "fail" else set()
            yield Case(
                id=short_id(name),
                outcome=_GO[action],
                message=data.get(name, "") if action == "fail" else "",
                is_error=not test,
            )


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise ValueError("a line without an end")
    yield rest


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")
