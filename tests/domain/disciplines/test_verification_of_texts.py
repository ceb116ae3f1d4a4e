"""Review, debug, spec, retrospective and trainer: what their results have to hold, each condition by itself."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.disciplines.call import CallStatus, Verification
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.hypotheses import Hypothesis, hypotheses_in, missing_in
from overlord.domain.disciplines.review_findings import findings_in, has_line, line_count
from overlord.domain.disciplines.verification.review import first_unread
from overlord.domain.disciplines.verification.seen import Needed, Seen
from overlord.domain.disciplines.verification.specification import SECTIONS, is_vague
from overlord.domain.disciplines.verification.verify import judge, needed
from overlord.domain.disciplines.worker_result import WorkerResult
from overlord.domain.knowledge.discipline import OUTPUT_CONTRACT, read_discipline
from overlord.domain.scope.check import Change

REVIEW, SPEC, DEBUG = DisciplineName.REVIEW, DisciplineName.SPEC, DisciplineName.DEBUG
CALC = b"def add(a, b):\n    return a - b\n"


def said(output: str = "", status: str = "pass", message: str = "") -> WorkerResult:
    return WorkerResult(status=CallStatus(status), runner_output=output, message=message)


# Review


def reviewed(
    output: str,
    status: str = "pass",
    *,
    files: Sequence[str] = ("calc.py",),
    base: Mapping[str, bytes] | None = None,
    read: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    message: str = "",
    directory: str = "",
) -> Verification:
    seen = Seen(
        result=said(output, status, message),
        arguments={"files": list(files)},
        directory=directory,
        base={"calc.py": CALC} if base is None else base,
        files_read={"calc.py": [(1, 2)]} if read is None else read,
    )
    return judge(REVIEW, seen)


def test_a_review() -> None:
    made = reviewed("CRITICAL: it subtracts at calc.py:2\nWARNING: no types at calc.py:1\n", "fail")
    assert made == Verification(verified=True, why="1 file read whole; the lines of 2 findings exist.")
    assert reviewed("clean").verified


@pytest.mark.parametrize(
    ("output", "status", "why"),
    [
        (
            "CRITICAL: it subtracts at calc.py:3",
            "fail",
            "A finding is about calc.py:3: the file has 2 lines.",
        ),
        (
            "CRITICAL: it subtracts at calc.py:0",
            "fail",
            "A finding is about calc.py:0: the file has 2 lines.",
        ),
        (
            "CRITICAL: it subtracts at calc.py:1-3",
            "fail",
            "A finding is about calc.py:1-3: the file has 2 lines.",
        ),
        ("WARNING: odd at other.py:1", "pass", "A finding is about other.py:1: there is no such file."),
        ("WARNING: odd", "pass", "A finding names no file and line: odd."),
        ("WARNING: odd in calc.py", "pass", "A finding names no file and line: odd in calc.py."),
        ("clean", "error", "The worker did not review: its status is error."),
        ("CRITICAL: it subtracts at calc.py:2", "pass", "Its status is pass with 1 critical finding"),
        ("WARNING: no types at calc.py:2", "fail", "Its status is fail with 0 critical findings"),
    ],
)
def test_a_review_that_does_not_hold(output: str, status: str, why: str) -> None:
    made = reviewed(output, status)
    assert not made.verified
    assert why in made.why


@pytest.mark.parametrize(
    ("content", "ranges", "gap"),
    [
        (CALC, [(1, 2)], 0),
        (CALC, [(2, 2), (1, 1)], 0),
        (CALC, [(1, 1)], 2),
        (CALC, [(2, 2)], 1),
        (CALC, [], 1),
        (b"", [], 0),
        (b"a", [(1, 1)], 0),
        (b"a\nb", [(1, 1)], 2),
        (b"a\n" * 9, [(1, 6), (4, 5), (8, 9)], 7),
        (b"a\n" * 9, [(1, 6), (2, 3), (7, 900)], 0),
    ],
)
def test_every_line_has_to_be_read(content: bytes, ranges: Sequence[tuple[int, int]], gap: int) -> None:
    assert first_unread(content, ranges) == gap


def test_a_file_that_was_not_read_whole_is_named() -> None:
    assert reviewed("clean", read={}).why == (
        "calc.py was not read whole: line 1 of 2 was never shown to the worker."
    )
    assert reviewed("clean", files=()).why == "No file was asked for."


@pytest.mark.parametrize(("content", "what"), [(None, "is not there"), (b"\x89PNG\0\1", "is no text")])
def test_what_cannot_be_read_has_to_be_told(content: bytes | None, what: str) -> None:
    base = {"calc.py": CALC} | ({"a.png": content} if content is not None else {})
    files = ("calc.py", "a.png")
    assert reviewed("clean", files=files, base=base).why == f"a.png {what}, and the review does not say so."
    assert reviewed("clean", files=files, base=base, message="a.png was not reviewed").verified


def test_paths_are_from_the_project_or_from_the_root() -> None:
    given: dict[str, Any] = {
        "directory": "web",
        "base": {"web/calc.py": CALC, "lib/b.py": b"x\n"},
        "read": {"web/calc.py": [(1, 2)]},
    }
    assert reviewed("CRITICAL: no at calc.py:2\nWARNING: no at lib/b.py:1", "fail", **given).verified
    assert reviewed("CRITICAL: no at web/calc.py:2", "fail", **given).verified
    assert not reviewed("CRITICAL: no at lib/b.py:2", "fail", **given).verified
    seen = Seen(result=said("WARNING: no at lib/b.py:1"), arguments={"files": ["calc.py"]}, directory="web")
    assert needed(REVIEW, seen) == Needed(base=frozenset({"web/calc.py", "web/lib/b.py", "lib/b.py"}))


@pytest.mark.parametrize(
    ("line", "severity", "place"),
    [
        ("CRITICAL: it subtracts at calc.py:2", "critical", "calc.py:2"),
        ("- **WARNING:** no types at `src/a b/calc.py:2`.", "warning", "src/a b/calc.py:2"),
        ("1. [suggestion] : rename at calc.py:2-5", "suggestion", "calc.py:2-5"),
        ("* `CRITICAL`: calc.py:2: it subtracts", "critical", "calc.py:2"),
        ("CRITICAL: at 10:30 it fails at ./calc.py:7:3", "critical", "calc.py:7"),
        ("CRITICAL: it subtracts (calc.py:2)", "critical", "calc.py:2"),
        ("> WARNING: it fails at calc.py#L4", "warning", "calc.py:4"),
        ("WARNING: look at it, Makefile:3 is wrong", "warning", "Makefile:3"),
    ],
)
def test_findings_are_read_with_patience(line: str, severity: str, place: str) -> None:
    [found] = findings_in(f"Here they are\n{line}\nThat was all: 1 critical.")
    assert (found.severity, found.place) == (severity, place)


def test_prose_is_no_finding() -> None:
    assert findings_in("There is nothing CRITICAL here at calc.py:3\n0 critical, 1 warning\n") == ()
    assert len(findings_in("WARNING: a at b.py:1\n" * 900)) == 500


@given(st.text())
def test_any_review_is_read(output: str) -> None:
    for found in findings_in(f"CRITICAL: {output}"):
        assert found.line >= 0


@given(st.lists(st.sampled_from([b"a", b"", b"bc"])), st.booleans())
def test_lines_are_counted_as_an_editor_does(lines: list[bytes], ends: bool) -> None:
    content = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    number = line_count(content)
    assert number == len(content.removesuffix(b"\n").split(b"\n")) * bool(content)
    assert not has_line(content, number + 1)
    assert has_line(content, number) is bool(number)
    assert not has_line(content, 2, 1)


# Debug

FORM = """\
HYPOTHESIS {number} (likelihood: {likelihood}): the list is empty
VERIFY: python -c 'import calc' → expected if correct: IndexError
"""


def three(*likelihoods: str) -> str:
    return "\n".join(
        FORM.format(number=number, likelihood=word) for number, word in enumerate(likelihoods, 1)
    )


def test_hypotheses_in_form() -> None:
    found = hypotheses_in(three("high", "medium", "low"))
    assert found[0] == Hypothesis(
        number=1,
        likelihood="high",
        text="the list is empty",
        verify="python -c 'import calc'",
        expected="IndexError",
    )
    assert missing_in(found) == ""
    seen = Seen(result=said(three("high", "medium", "low")))
    assert judge(DEBUG, seen) == Verification(
        verified=False, why="It is a diagnosis: no hypothesis is verified until its command was run."
    )


@pytest.mark.parametrize(
    "text",
    [
        "**HYPOTHESIS 1 (likelihood: high):** a\n- VERIFY: `b`\n- Expected if correct: c",
        "### Hypothesis 1 (High): a VERIFY: b -> expected: c",
        "HYPOTHESIS 1 (likelihood: high):\na\nVERIFY: b => expected if correct: c\nmore words",
    ],
)
def test_hypotheses_are_read_with_patience(text: str) -> None:
    [found] = hypotheses_in(f"Words before\n{text}")
    assert found == Hypothesis(number=1, likelihood="high", text="a", verify="b", expected="c")


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("", "There are 0 hypotheses; 3 to 5 are asked for."),
        (three("high", "low"), "There are 2 hypotheses"),
        (three(*["low"] * 6), "There are 6 hypotheses"),
        (three("low", "high", "low"), "The likeliest hypothesis does not come first."),
        (three("sure", "low", "low"), "Hypothesis 1 lacks its likelihood (high, medium or low)."),
        (
            three("high", "low", "low").replace("VERIFY", "TRY", 1),
            "Hypothesis 1 lacks VERIFY, what is expected",
        ),
        (three("high", "low", "low").replace("expected if", "if", 1), "Hypothesis 1 lacks what is expected"),
        (three("high", "low", "low").replace("the list is empty", "", 1), "Hypothesis 1 lacks what it says."),
    ],
)
def test_what_a_diagnosis_lacks_is_told(output: str, missing: str) -> None:
    assert missing in judge(DEBUG, Seen(result=said(output))).why


@pytest.mark.parametrize(
    "line",
    [
        f"VERIFY: a{'*' * 3_900}b",
        f"VERIFY: a{' *' * 1_900}b",
        f"HYPOTHESIS 2 (likelihood{' ' * 3_900}b",
    ],
)
def test_a_line_of_ornaments_is_read_once(line: str) -> None:
    """Not timed: what takes the cube of this would not come to an end within the time a test has."""
    found = hypotheses_in("\n".join(["HYPOTHESIS 1 (likelihood: high): the list is empty", *[line] * 60]))
    assert found[0].likelihood == "high"


def test_a_diagnosis_is_never_verified() -> None:
    claim = WorkerResult(
        status=CallStatus.PASS, runner_output=three("high", "low", "low"), claims_verified=True
    )
    made = judge(DEBUG, Seen(result=claim))
    assert not made.verified
    assert "The worker said" not in made.why
    assert "its status is error" in judge(DEBUG, Seen(result=said(status="error"))).why


@given(st.text())
def test_any_diagnosis_is_read(output: str) -> None:
    missing_in(hypotheses_in(f"HYPOTHESIS 1: {output}"))


# Specification

BODY = {name: f"Something about {name}." for name in SECTIONS} | {
    "Success criteria": "- [ ] `half(3)` returns 1.5\n* [x] `half('x')` raises TypeError"
}


def spec(body: Mapping[str, str] = BODY, order: Sequence[str] = SECTIONS) -> str:
    return "# Half\n\n" + "".join(f"## {name}\n\n{body[name]}\n\n" for name in order)


def specified(
    text: str | bytes | None, *changes: Change, path: str = "docs/spec.md", **arguments: str
) -> Verification:
    head = {} if text is None else {path: text.encode() if isinstance(text, str) else text}
    written = changes or (Change(path=path, status="A", added=9),)
    return judge(SPEC, Seen(result=said(), changes=written, head=head, arguments=arguments))


def test_a_specification() -> None:
    made = specified(spec())
    assert (made.verified, made.why) == (
        True,
        "docs/spec.md is there with its 6 sections and 2 success criteria.",
    )
    assert specified(spec(), path="x/a.md", output_path="x/a.md").verified
    seen = Seen(result=said(), directory="web", arguments={"output_path": "x/a.md"})
    assert needed(SPEC, seen) == Needed(head=frozenset({"web/x/a.md"}))


def test_its_sections_are_those_of_the_page() -> None:
    page = Path(__file__).parents[3] / "config/prompts/disciplines/specification.md"
    contract = read_discipline("specification", page.read_text()).sections[OUTPUT_CONTRACT]
    places = [contract.casefold().find(f"**{name.casefold()}**") for name in SECTIONS]
    assert -1 not in places
    assert places == sorted(places)


def test_what_stands_under_a_smaller_heading_is_in_its_section() -> None:
    parts = BODY | {"Technical approach": "### Parts\n\nOne.", "Success criteria": "### A\n- [ ] returns 3"}
    assert specified(spec(parts)).verified


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "The specification docs/spec.md is not there."),
        (b"\xff\xfe", "is no text in UTF-8"),
        (spec(order=SECTIONS[1:]), "The specification lacks Problem statement."),
        (spec(order=SECTIONS[::-1]), "The sections are not in their order: Problem statement, "),
        (spec(BODY | {"Risks": ""}), "Nothing stands under Risks."),
        (spec(BODY | {"Constraints": "<!-- later -->"}), "Nothing stands under Constraints."),
        (spec(BODY | {"Success criteria": "- it returns 3"}), "are no list with boxes"),
        (spec(BODY | {"Success criteria": "- [ ] It works.\n- [ ] returns 3"}), "no criterion: It works."),
        (spec(BODY | {"Success criteria": "- [ ]"}), "no criterion: (empty)."),
        (f"```\n{spec()}\n```", "The specification lacks Problem statement, "),
    ],
)
def test_what_is_no_specification(text: str | bytes | None, why: str) -> None:
    made = specified(text)
    assert not made.verified
    assert why in made.why


def test_it_is_the_only_change() -> None:
    written = Change(path="docs/spec.md", status="M")
    made = specified(spec(), written, Change(path="calc.py", status="M"))
    assert (made.verified, made.why) == (False, "It changed more than the specification: calc.py.")
    unchanged = judge(SPEC, Seen(result=said(), head={"docs/spec.md": spec().encode()}))
    assert (unchanged.verified, unchanged.why) == (False, "The specification docs/spec.md was not changed.")


def test_a_link_is_no_specification() -> None:
    link = Change(path="docs/spec.md", status="A", new_mode="120000", added=1)
    made = judge(SPEC, Seen(result=said(), changes=[link], head={"docs/spec.md": spec().encode()}))
    assert (made.verified, made.why) == (False, "The specification docs/spec.md is a link, and no file.")


@pytest.mark.parametrize(
    ("criterion", "is_so"),
    [
        ("The page is fast", True),
        ("It works.", True),
        ("Everything works as expected", True),
        ("**Robust** and user-friendly", True),
        ("", True),
        ("The page is fast: 200 ms for 100 requests a second", False),
        ("`parse('')` works and returns an empty list", False),
        ("The login page is fast", False),
        ("Die Seite antwortet in 200 ms", False),
    ],
)
def test_what_is_too_vague_to_be_measured(criterion: str, is_so: bool) -> None:
    assert is_vague(criterion) is is_so


# Retrospective and trainer


def notes(*cited: Sequence[str]) -> str:
    made = [{"kind": "pattern", "text": "x", "question": "", "evidence": list(refs)} for refs in cited]
    return json.dumps({"notes": made})


@pytest.mark.parametrize(
    ("output", "entries", "is_verified", "why"),
    [
        (notes(["e1"], ["e2", "e1"]), {"e1", "e2"}, True, "All that is cited exists: e1, e2."),
        (notes(), {"e1"}, True, "It notes nothing, so it cites nothing."),
        (notes(["e1"], ["e9"]), {"e1"}, False, "It cites entries that it was not given: e9."),
        (notes(["e1"]), set(), False, "The session has no history to look back on."),
        (notes(), set(), False, "The session has no history to look back on."),
        ("nothing to learn", {"e1"}, False, "Its notes are not in form"),
        ('{"notes": [{"text": "x"}]}', {"e1"}, False, "Its notes are not in form"),
        ('{"notes": {}}', {"e1"}, False, "Its notes are not in form"),
        (notes([]), {"e1"}, False, "A note cites nothing"),
        (notes(["e1"]) + " " * 70_000, {"e1"}, False, "Its notes are not in form"),
    ],
)
def test_a_retrospective(output: str, entries: set[str], is_verified: bool, why: str) -> None:
    made = judge(DisciplineName.RETROSPECTIVE, Seen(result=said(output), entries=entries))
    assert made.verified is is_verified
    assert why in made.why


@pytest.mark.parametrize(
    ("records", "why"), [(0, "No record was written."), (1, "1 record written."), (3, "3 records written.")]
)
def test_a_trainer_has_written_records(records: int, why: str) -> None:
    made = judge(DisciplineName.TRAINER, Seen(result=said(), records=records))
    assert (made.verified, made.why) == (records > 0, why)
