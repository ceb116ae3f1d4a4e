"""Tests made weaker: removed, skipped, emptied, loosened. What is found is named, line by line.

What can be parsed is compared by meaning (`testcode_compare`), the rest by the words of its lines; those other languages have for the
same things are known too. Neither can prove intent: each finding asks for a revision or an explanation.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from overlord.domain.changes.diff import FileDiff, Hunk, Line
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks.testcode.compare import Compared
from overlord.domain.checks.testcode.tests import STRICTEST, Weakness, is_looser

LONGEST_LINE = 1000
"""Characters of a line that are looked at: expressions stay fast on what no person wrote."""


_DEFINITION = re.compile(
    r"\s*(?:(?:async\s+)?def\s+(test\w*)|class\s+(Test\w*)|func\s+(Test\w+)|(?:it|test)(?:\.\w+)?\(\s*[\"'`](.+?)[\"'`])"
)
_ASSERTION = re.compile(
    r"\bassert\b|\bassert[A-Z_]\w*\s*[(!]|\.(?:assert|should|must)\w*\(|\bexpect\(|\bassert\w*!\("
    r"|pytest\.(?:raises|warns|fail)\(|\bt\.(?:Error|Fatal)f?\("
)
_SKIP = re.compile(
    r"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip|exit)\(|\bunittest\.(?:skip\w*|expectedFailure)\b"
    r"|@(?:skip\w*|expectedFailure|Ignore|Disabled)\b|\bskipTest\(|\bSkipTest\b|\b__test__\s*=\s*False"
    r"|\bcollect_ignore(?:_glob)?\b|\b(?:it|test|describe|context)\.(?:skip|todo|only)\b|\bx(?:it|describe|test)\("
    r"|\bt\.Skip(?:Now|f)?\(|#\[ignore"
)
_EMPTY_ASSERTION = re.compile(
    r"\s*assert\s+(?:True|1|not\s+(?:False|None|0))\s*(?:,.*)?(?:#.*)?$|\s*assert\b.*\bor\s+(?:True|1)\s*(?:#.*)?$"
    r"|.*\bassertTrue\(\s*(?:True|1)\s*[,)]"
    r"|.*\bassertFalse\(\s*(?:False|0)\s*[,)]|.*\bexpect\(\s*true\s*\)\.to(?:Be|Equal)\(\s*true\s*\)"
)
_TOLERANCE = re.compile(
    r"\b(rel|abs|delta|rtol|atol|rel_tol|abs_tol|tolerance|tol|eps|epsilon|places|decimal|significant)\s*=\s*"
    r"([0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
)
_SEES_TESTS = re.compile(
    r"\bPYTEST_CURRENT_TEST\b|[\"'](?:pytest|unittest)[\"']\s+(?:not\s+)?in\s+sys\.modules"
    r"|\b(?:import|from)\s+_pytest\b|\bsys\.modules\[[\"']_?pytest"
)
_STAND_IN = re.compile(
    r"(?i)(?:src/)?(?:_?pytest|unittest|pluggy)(?:\.py|/__init__\.py)|(?:.*/)?(?:site|user)customize\.py|.*\.pth"
)


def weaknesses(files: Sequence[FileDiff], compared: Compared | None = None) -> Iterator[Weakness]:
    """Everything in the diff that makes the repository's tests prove less than at base. `compared` has what could be parsed."""
    tests = [file for file in files if any(holds_tests(path) for path in file.change.paths)]
    parsed = compared.files if compared is not None else frozenset()
    if compared is not None:
        yield from compared.weaknesses()
    by_line = [file for file in tests if file.change.path not in parsed]
    yield from _gone_tests(by_line)
    yield from _gone_assertions(by_line)
    for file in files:
        path = file.change.path
        if file.change.status != "D" and stands_in(path):
            message = f"{path} takes the place of something that test runs load."
            yield Weakness(rule="runner-replaced", message=message, file=path)
        yield from _in_test(file, parsed=path in parsed) if file in tests else _in_code(file)


def _gone_tests(tests: Sequence[FileDiff]) -> Iterator[Weakness]:
    for file, gone, fresh in _balance(tests, _definition):
        path = file.change.path
        before = file.change.old_path or path
        if file.change.status == "R" and is_test_path(before) and not holds_tests(path):
            message = f"{before} becomes {path}, where no test is looked for."
            yield Weakness(rule="tests-deleted", message=message, file=path)
        elif len(gone) > fresh:
            shown = ", ".join(dict.fromkeys(gone[:5]))
            message = f"{path} has {len(gone) - fresh} fewer tests than before; gone: {shown}."
            yield Weakness(rule="tests-deleted", message=message, file=path)


def _gone_assertions(tests: Sequence[FileDiff]) -> Iterator[Weakness]:
    for file, gone, fresh in _balance(tests, _assertion):
        if len(gone) > fresh and file.change.status != "D":
            path = file.change.path
            message = f"{path} asserts less than before: {len(gone)} removed, {fresh} added."
            yield Weakness(rule="assertion-removed", message=message, file=path)


def _balance(
    tests: Sequence[FileDiff], word: Callable[[Line], str]
) -> Iterator[tuple[FileDiff, list[str], int]]:
    """For each file the words it lost and how many others it gained; what only moved, to any file, is neither."""
    added = Counter(filter(None, (word(line) for file in tests for line in file.added)))
    gone = [
        [found for line in file.removed if (found := word(line)) and not _take(added, found)]
        for file in tests
    ]
    for file, lost in zip(tests, gone, strict=True):
        yield file, lost, sum(_take(added, word(line)) for line in file.added)


def _take(words: Counter[str], word: str) -> bool:
    if not words[word]:
        return False
    words[word] -= 1
    return True


def _definition(line: Line) -> str:
    """The name of the test a line defines, or nothing."""
    match = _DEFINITION.match(_shortened_line(line))
    return next(filter(None, match.groups()), "") if match else ""


def _assertion(line: Line) -> str:
    """The assertion a line makes, or nothing."""
    text = _shortened_line(line).strip()
    return text if _ASSERTION.search(text) and not _is_comment(text) else ""


def _in_test(file: FileDiff, *, parsed: bool) -> Iterator[Weakness]:
    path, is_new = file.change.path, file.change.status == "A"
    for hunk in file.hunks:
        for line in hunk.lines:
            text = _shortened_line(line).strip()
            if line.sign != "+" or _is_comment(text):
                continue
            if _SKIP.search(text) and not is_new:
                yield _weakness_at(path, line, "test-skipped", "A test is skipped or expected to fail.")
            if not parsed and (_EMPTY_ASSERTION.match(text) or _asserts_tuple(text)):
                yield _weakness_at(
                    path, line, "empty-assertion", "This assertion holds whatever the code does."
                )
        if parsed:
            continue
        yield from _early_returns(path, hunk)
        for removed, added in hunk.blocks:
            yield from _commented_out(path, removed, added)
            yield from _loosened(path, removed, added)


def _asserts_tuple(text: str) -> bool:
    """`assert (condition, "message")`: a tuple, which is true whatever is in it."""
    if not re.match(r"assert\s*\(", text):
        return False
    plain = re.sub(r"\"[^\"]*\"|'[^']*'", "''", text).split("#", 1)[0].removeprefix("assert").strip()
    depth, commas = 0, 0
    for place, char in enumerate(plain):
        depth += (char in "([{") - (char in ")]}")
        commas += char == "," and depth == 1
        if depth == 0:
            return commas > 0 and place == len(plain) - 1
    return False


def _early_returns(path: str, hunk: Hunk) -> Iterator[Weakness]:
    """An added `return` as the first statement of a test."""
    at_top = False
    for line in hunk.lines:
        text = _shortened_line(line).strip()
        if line.sign == "-" or not text or text.startswith(("#", '"""', "'''")):
            continue
        if at_top and line.sign == "+" and re.match(r"return\b", text):
            yield _weakness_at(path, line, "test-skipped", "The test returns before it checks anything.")
        at_top = bool(_definition(line)) and text.endswith(":")


def _commented_out(path: str, removed: Sequence[Line], added: Sequence[Line]) -> Iterator[Weakness]:
    before = {_assertion(line) for line in removed} - {""}
    for line in added:
        text = _shortened_line(line).strip()
        if _is_comment(text) and text.lstrip("#/").strip() in before:
            yield _weakness_at(path, line, "assertion-removed", "An assertion is commented out.")


def _loosened(path: str, removed: Sequence[Line], added: Sequence[Line]) -> Iterator[Weakness]:
    """Where an assertion was changed, a tolerance larger than any it had before."""
    if not any(_assertion(line) for line in removed):
        return
    before: dict[str, float] = {}
    for name, value in (pair for line in removed for pair in _tolerances(line)):
        before[name] = value if is_looser(name, value, before.get(name, value)) else before.get(name, value)
    for line in added:
        for name, value in _tolerances(line):
            known = before.get(name, STRICTEST.get(name, 0.0))
            if is_looser(name, value, known):
                yield _weakness_at(
                    path,
                    line,
                    "tolerance-loosened",
                    f"The tolerance is looser than before: {name} {known:g} → {value:g}.",
                )


def _tolerances(line: Line) -> list[tuple[str, float]]:
    return [
        (match[1], float(match[2].replace("_", ""))) for match in _TOLERANCE.finditer(_shortened_line(line))
    ]


def _in_code(file: FileDiff) -> Iterator[Weakness]:
    for line in file.added:
        if file.change.path.endswith((".py", ".pyi")) and sees_tests(line.text):
            yield _weakness_at(
                file.change.path,
                line,
                "sees-tests",
                "Code outside the tests asks whether it is being tested, or reaches into the test runner.",
            )


def _weakness_at(path: str, line: Line, rule: str, message: str) -> Weakness:
    return Weakness(
        rule=rule, message=message, file=path, line=line.number, evidence=_shortened_line(line).strip()
    )


def stands_in(path: str) -> bool:
    """Whether a file takes the place of something that test runs load, by its name alone."""
    return _STAND_IN.fullmatch(path) is not None


def sees_tests(line: str) -> bool:
    """Whether a line of Python asks if it is being tested, or reaches into the test runner."""
    return _SEES_TESTS.search(line[:LONGEST_LINE]) is not None


def holds_tests(path: str) -> bool:
    """Whether what proves something may stand in a file."""
    return is_test_path(path) or path.rsplit("/", 1)[-1] == "conftest.py"


def _is_comment(text: str) -> bool:
    return text.startswith(("#", "//"))


def _shortened_line(line: Line) -> str:
    return line.text[:LONGEST_LINE]
