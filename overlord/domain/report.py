"""Reports of test runs in the forms that runners write: JUnit XML, jest's JSON, and the lines of `go test -json`.

All of it was written beside hostile code. What is in no form is None, never "all passed"; of a test's doubles the worst holds.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from overlord.domain.junit import MAX_CASES, MESSAGE_CHARS, RANK, Case, CaseOutcome, parse_junit

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
    start = (text or "").lstrip()[:1]
    if not text or start not in {"{", "["}:
        return parse_junit(text)
    try:
        found = list(_jest(text) if '"testResults"' in text else _go(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return _once(found)


def _once(cases: Iterable[Case]) -> tuple[Case, ...] | None:
    by_id: dict[str, Case] = {}
    for case in cases:
        known = by_id.get(case.id)
        if known is None or RANK[case.outcome] > RANK[known.outcome]:
            by_id[case.id] = case
        if len(by_id) > MAX_CASES:
            return None
    return tuple(by_id.values())


def _jest(text: str) -> Iterator[Case]:
    """`jest --json`: files with their tests, and files that could not be run, which fail as a whole."""
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
            yield Case(id=f"{path}::{name}", outcome=_JEST[one["status"]], message=message, file=path)


def _go(text: str) -> Iterator[Case]:
    """`go test -json`: a line an event. A package that could not be built or that panicked fails as a whole."""
    said: dict[str, str] = {}
    failed: set[str] = set()
    for line in text.splitlines():
        if not line.startswith("{"):
            continue  # what the compiler says stands between
        event: dict[str, Any] = json.loads(line)
        package, test, action = str(event.get("Package", "")), str(event.get("Test", "")), event.get("Action")
        name = f"{package}::{test}"
        if action in {"output", "build-output"}:
            said[name] = f"{said.get(name, '')}{event.get('Output', '')}"[-MESSAGE_CHARS:]
        elif action in _GO and (test or (action == "fail" and package not in failed)):
            failed |= {package} if action == "fail" else set()
            yield Case(
                id=name,
                outcome=_GO[action],
                message=said.get(name, "") if action == "fail" else "",
                is_error=not test,
            )


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")
