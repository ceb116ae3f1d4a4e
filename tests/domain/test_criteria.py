"""Criteria as values: how they are written, what each says of what was seen, and that nothing unclear is met."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from minion.protocol import CheckStep, StepOutcome, StepResult
from overlord.domain.contracts.criteria.criterion import MOST_BYTES, MOST_EVIDENCE, Criterion, Seen
from overlord.domain.contracts.criteria.registry import (
    KINDS,
    MOST_FINDING,
    WORDS,
    Criteria,
    files_of,
    findings_of,
    judge_all,
    not_static,
    steps_of,
    wants_evaluation,
)
from overlord.domain.contracts.delegation import Delegation
from overlord.domain.scope.check import Change
from overlord.domain.text.markdown_sections import headings as headings_in
from overlord.domain.text.problem import first_problem

ADAPTER: TypeAdapter[tuple[Criterion, ...]] = TypeAdapter(Criteria)
NOTHING = Seen(paths=frozenset())
EXAMPLES: dict[str, Any] = {
    "artifact_exists": "plan/acceptance.md",
    "command_fails": {"run": "pytest -q tests", "because": "assertion"},
    "command_succeeds": "npm test",
    "delegation_coverage": "plan/delegation.yaml",
    "diff_non_empty": True,
    "diff_within_budget": {"files": 2, "lines": 10},
    "evaluation_passed": True,
    "http_answers": {"start": "python app.py", "url": "http://127.0.0.1:8000/health"},
    "markdown_has_headings": {"path": "plan/a.md", "headings": ["Acceptance"]},
    "script": ".nebulus/contract/check.sh",
    "tests_fail": True,
}


def one(kind: str, value: Any) -> Criterion:
    [criterion] = ADAPTER.validate_python([{kind: value}])
    return criterion


def refused(value: Any) -> str:
    with pytest.raises(ValidationError) as error:
        ADAPTER.validate_python([value])
    return first_problem(error.value)


def ran(exit_code: int | None = 0, output: str = "", **more: Any) -> StepResult:
    given: dict[str, Any] = {
        "outcome": StepOutcome.RAN,
        "command": ("sh", "-c", "x"),
        "duration_s": 1.5,
    } | more
    return StepResult(name="criterion-1-run", exit_code=exit_code, output=output, **given)


def judged(criterion: Criterion, step: StepResult | None) -> tuple[bool | None, str]:
    results = {} if step is None else {step.name: step}
    [result] = judge_all([criterion], NOTHING, results)
    return result.is_met, result.message


def test_every_kind_has_an_example_here_and_names_itself() -> None:
    assert list(EXAMPLES) == [kind.kind for kind in KINDS]
    read = ADAPTER.validate_python([{kind: value} for kind, value in EXAMPLES.items()])
    assert [criterion.describe() for criterion in read] == [
        "artifact_exists: plan/acceptance.md",
        "command_fails: pytest -q tests (because: assertion)",
        "command_succeeds: npm test",
        "delegation_coverage: plan/delegation.yaml",
        "diff_non_empty",
        "diff_within_budget: files 2, lines 10",
        "evaluation_passed",
        "http_answers: http://127.0.0.1:8000/health (python app.py)",
        "markdown_has_headings: plan/a.md: Acceptance",
        "script: .nebulus/contract/check.sh",
        "tests_fail",
    ]
    assert ADAPTER.validate_python(read) == read
    assert all(type(criterion).model_fields.keys() == {criterion.kind} for criterion in read)


def test_the_published_schema_has_every_form() -> None:
    written = ADAPTER.json_schema()["items"]["anyOf"]
    assert written[0]["enum"] == list(WORDS)
    command = ADAPTER.json_schema()["$defs"]["CommandSucceeds"]["properties"]["command_succeeds"]
    assert [form.get("type", form.get("$ref")) for form in command["anyOf"]] == ["string", "#/$defs/Command"]


def test_what_the_engine_asks_of_all_of_them() -> None:
    read = ADAPTER.validate_python([{kind: value} for kind, value in EXAMPLES.items()])
    names = [f"criterion-{number}-run" for number in (2, 3, 8, 10)]
    assert [step.name for step in steps_of(read)] == [*names, "criterion-11-tests"]
    assert all(step.plan for step in steps_of(read)[:-1])
    assert files_of((*read, *read)) == ("plan/delegation.yaml", "plan/a.md")
    assert wants_evaluation(read)
    assert not wants_evaluation(not_static(read)[:2])
    assert [criterion.kind for criterion in not_static(read)] == [
        "command_fails",
        "command_succeeds",
        "evaluation_passed",
        "http_answers",
        "script",
        "tests_fail",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("artefact_exists", "no criterion is called 'artefact_exists'; known: artifact_exists, "),
        ({"tests_pass": True}, "no criterion is called 'tests_pass'; known: artifact_exists, "),
        ({1: True}, "no criterion is called '1'; known: "),
        ("command_succeeds", "command_succeeds needs to be told what: write `command_succeeds: …`"),
        ({}, "a criterion is a mapping of one key, its kind; known: "),
        (7, "a criterion is a mapping of one key, its kind; known: "),
        (None, "a criterion is a mapping of one key, its kind; known: "),
        ({"diff_non_empty": True, "evaluation_passed": True}, "a criterion is a mapping of one key"),
        ({"diff_non_empty": False}, "0.diff_non_empty.diff_non_empty: "),
        ({"command_succeeds": ""}, "0.command_succeeds.command_succeeds.run: "),
        ({"command_succeeds": " \n"}, "a command is not empty"),
        ({"command_succeeds": "a\0b"}, "a command has no NUL character"),
        ({"command_succeeds": "x" * 4001}, "at most 4000 characters"),
        ({"command_succeeds": {"run": "x", "timeout": 3}}, "unknown key '0.command_succeeds."),
        ({"command_succeeds": {"run": "x", "timeout_s": 0}}, "command_succeeds.timeout_s: "),
        ({"command_succeeds": {"run": "x", "directory": "../x"}}, "stays inside it"),
        ({"command_succeeds": {"run": "x", "because": "assertion"}}, "unknown key"),
        ({"command_fails": {"run": "x", "because": "luck"}}, "command_fails.because: "),
        ({"artifact_exists": ""}, "artifact_exists: "),
        ({"artifact_exists": "a/../../b"}, "stays inside it"),
        ({"artifact_exists": "a\nb"}, "one line without control characters"),
        ({"artifact_exists": "a\0"}, "one line without control characters"),
        ({"artifact_exists": "!a"}, "begins with no `!` or `#`"),
        ({"artifact_exists": "[z-a]"}, "this is no pattern"),
        ({"artifact_exists": "/"}, "stays inside it"),
        ({"script": "/etc/passwd"}, "stays inside it"),
        ({"script": ".git/hooks/x"}, "nothing below .git"),
        ({"script": "a\ud800"}, "0.script"),
        ({"diff_within_budget": {}}, "say how many files, lines or both"),
        ({"diff_within_budget": {"files": 0}}, "diff_within_budget.files: "),
        ({"markdown_has_headings": {"path": "a.md", "headings": []}}, "headings: "),
        ({"markdown_has_headings": {"path": "a.md", "headings": ["##"]}}, "a heading has words"),
        ({"http_answers": {"start": "x"}}, "say what to ask"),
        ({"http_answers": {"start": "x", "url": "http://127.0.0.1:1/", "port": 2}}, "port and path in it"),
        ({"http_answers": {"start": "x", "url": "http://example.com:80/"}}, "only this machine itself"),
        ({"http_answers": {"start": "x", "url": "http://127.0.0.1@example.com:80/"}}, "only this machine"),
        ({"http_answers": {"start": "x", "url": "http://127.0.0.1.example.com:80/"}}, "only this machine"),
        ({"http_answers": {"start": "x", "url": "http://0.0.0.0:80/"}}, "only this machine itself"),
        ({"http_answers": {"start": "x", "url": "https://127.0.0.1:80/"}}, "only this machine itself"),
        ({"http_answers": {"start": "x", "url": "file:///etc/passwd"}}, "only this machine itself"),
        ({"http_answers": {"start": "x", "url": "http://127.0.0.1/"}}, "the url names its port"),
        ({"http_answers": {"start": "x", "url": "http://127.0.0.1:99999/"}}, "between 1 and 65535"),
        ({"http_answers": {"start": "x", "url": "http://127.0.0.1:80/a b"}}, "plain characters"),
        ({"http_answers": {"start": "x", "url": "http://[::1/"}}, "0.http_answers"),
        ({"http_answers": {"start": "x", "path": "/a\r\nHost: b"}}, "http_answers.path: "),
        ({"http_answers": {"start": "x", "path": "/", "within_s": 10_000}}, "within_s: "),
    ],
)  # fmt: skip
def test_a_criterion_that_is_wrong_is_refused_with_its_key_or_the_known_ones(value: Any, said: str) -> None:
    assert said in refused(value)


def test_what_is_close_to_a_kind_is_asked_after() -> None:
    assert refused({"artefact_exists": "x"}).endswith("Is artifact_exists meant?")


@pytest.mark.parametrize(
    ("pattern", "is_met"),
    [
        ("plan/acceptance.md", True),
        ("plan/**", True),
        ("plan", True),
        ("plan/", True),
        ("/plan/*.md", True),
        ("docs/**/*.md", True),
        (".github/workflows/*.yml", True),
        ("docs/a.md/", False),
        ("acceptance.md", False),
        ("plan/acceptance.m", False),
        ("plan/.*", False),
        ("pla", False),
    ],
)
def test_an_artifact_is_a_file_of_head_or_plan(pattern: str, is_met: bool) -> None:
    paths = frozenset({"plan/acceptance.md", "docs/a.md", ".github/workflows/ci.yml"})
    result = one("artifact_exists", pattern).judge(Seen(paths=paths))
    assert (result.is_met, result.file) == (is_met, None if is_met else pattern)
    assert one("artifact_exists", pattern).judge(NOTHING).is_met is False


def change(path: str, added: int, removed: int = 0) -> Change:
    return Change(path=path, status="M", added=added, removed=removed)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"files": 2}, "The phase's work changes 2 files and 11 lines."),
        ({"files": 2, "lines": 11}, "The phase's work changes 2 files and 11 lines."),
        (
            {"files": 1},
            "The phase's work changes 2 files and 11 lines, and may change 1 file at most: change less.",
        ),
        (
            {"files": 1, "lines": 10},
            "The phase's work changes 2 files and 11 lines, and may change 1 file and 10 lines at most: change less.",
        ),
    ],
)
def test_a_diff_is_held_against_files_and_lines_of_the_whole_phase(
    budget: dict[str, int], message: str
) -> None:
    seen = replace(NOTHING, own=(change("a", 900),), phase=(change("a", 9), change("b", 1, 1)))
    result = one("diff_within_budget", budget).judge(seen)
    assert (result.is_met, result.message) == ("at most" not in message, message)


def test_an_empty_diff_and_a_plan_that_changed() -> None:
    assert one("diff_non_empty", True).judge(NOTHING).is_met is False
    assert one("diff_non_empty", True).judge(replace(NOTHING, own=(change("a", 1),))).is_met is True
    assert one("diff_non_empty", True).judge(replace(NOTHING, plan_changed=True)).is_met is True


@pytest.mark.parametrize("passed", [True, False, None])
def test_an_evaluation_that_was_not_made_is_no_pass(passed: bool | None) -> None:
    assert one("evaluation_passed", True).judge(replace(NOTHING, evaluation=passed)).is_met is passed


def headings(text: str | bytes, *wanted: str) -> bool | None:
    criterion = one("markdown_has_headings", {"path": "a.md", "headings": list(wanted)})
    content = text if isinstance(text, bytes) else text.encode()
    return criterion.judge(replace(NOTHING, texts={"a.md": content})).is_met


@pytest.mark.parametrize(
    "text",
    [
        "# Acceptance",
        "###### acceptance ##",
        "   ## **Acceptance:**\r\ntext",
        "Acceptance\n===",
        "intro\n\n__ACCEPTANCE__\n---\n",
        "```\n# Other\n```\n# Acceptance",
        "~~~\n```\n~~~\n# Acceptance",
        "<!-- note -->\n# `Acceptance`",
        "# Accep\u200btance",
    ],
)
def test_headings_of_any_form_are_found(text: str) -> None:
    assert headings(text, "Acceptance") is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Acceptance",
        "#Acceptance",
        "####### Acceptance",
        "    # Acceptance",
        "```\n# Acceptance\n```",
        "````\n```\n# Acceptance\n````",
        "```python\n# Acceptance",
        "<!--\n# Acceptance\n-->",
        "- Acceptance\n---",
        "Acceptance\n\n---",
        "# Acceptance criteria",
        b"\xff\xfe#\x00 \x00A\x00",
    ],
)
def test_what_is_no_heading_is_not_taken_for_one(text: str | bytes) -> None:
    assert headings(text, "Acceptance") is False


def test_headings_are_compared_as_text_and_each_has_to_be_there() -> None:
    assert headings("# (a+)+$ [x", "(a+)+$ [x") is True
    assert headings("# aaa", "a+") is False
    assert headings("# A\n# B", "b", "a") is True
    criterion = one("markdown_has_headings", {"path": "a.md", "headings": ["A", "C"]})
    result = criterion.judge(replace(NOTHING, texts={"a.md": b"# A\n# B"}))
    assert (result.message, result.evidence) == ("a.md has no heading C: add it, as `## C`.", "A\nB")
    assert criterion.judge(NOTHING).message == "There is no file a.md: write it."


@pytest.mark.parametrize("line", ["# x\n", "x\n===\n", "```\n", "<!--\n", "#" * 1000, "*" * 1000, "\n", "- "])
def test_a_megabyte_of_markdown_is_read_to_where_files_are_cut(line: str) -> None:
    content = (line * (1_000_000 // len(line))).encode() + b"\n\n# Acceptance\n"
    criterion = one("markdown_has_headings", {"path": "a.md", "headings": ["Acceptance"]})
    result = criterion.judge(replace(NOTHING, texts={"a.md": content}))
    assert result.is_met is False
    assert result.message.endswith(f"The first {MOST_BYTES:,} bytes of the file were read.")


@given(st.text(st.sampled_from("#`~ \n\t<!->=abA*\r\u2028\u200b")))
def test_any_text_has_headings_that_are_single_lines(text: str) -> None:
    assert all("\n" not in heading for heading in headings_in(text))


def test_a_command_succeeds_with_0_alone_and_leaves_what_it_showed() -> None:
    criterion = one("command_succeeds", {"run": "npm test", "directory": "web"})
    [result] = judge_all([criterion], NOTHING, {"criterion-1-run": ran(0, "x" * 50_000 + "end")})
    assert (result.is_met, result.command, result.exit_code, result.duration_s, result.step) == (
        True, "cd web && npm test", 0, 1.5, "criterion-1-run",
    )  # fmt: skip
    assert len(result.evidence) == MOST_EVIDENCE
    assert result.evidence.endswith("end")
    for code in (1, 2, 126, 127, 137, 255):
        assert judged(criterion, ran(code))[0] is False
    assert judged(criterion, ran(127))[1].startswith("A program that the command names was not found")


@pytest.mark.parametrize(
    ("run", "code", "output", "why"),
    [
        ("pytest -q", 0, "", "The command succeeded, and has to fail."),
        ("npm test", 127, "sh: npm: not found", "was not found (exit code 127)"),
        ("./x", 126, "", "could not be started (exit code 126)"),
        ("npm test", 139, "", "ended by signal 11"),
        ("npm test", 137, "", "ended by signal 9"),
        ("make test", 2, "make: *** [Makefile:2: test] Error 127\n", "make was to start was not found"),
        ("pytest -q tests", 2, "", "could not collect the tests (exit code 2)"),
        ("cd x && python -m pytest", 3, "", "had an error of its own"),
        (".venv/bin/pytest --nonsense", 4, "", "words it does not know"),
        ("(pytest tests/none)", 5, "", "found no tests"),
        (
            "make test",
            2,
            "!!!! Interrupted: 1 error during collection !!!!\n",
            "pytest ran no tests (exit code 2)",
        ),
        ("./run-tests", 1, "==== no tests ran in 0.01s ====\n", "pytest ran no tests"),
    ],
)
def test_what_kept_a_command_from_running_is_not_the_failure_meant(
    run: str, code: int, output: str, why: str
) -> None:
    is_met, message = judged(one("command_fails", run), ran(code, output))
    assert is_met is False
    assert why in message


@pytest.mark.parametrize(
    ("run", "code"),
    [("pytest -q", 1), ("npm test", 2), ("go test", 5), ("pytest-bdd x", 4), ("exit 255", 255)],
)
def test_a_failure_of_its_own_is_one(run: str, code: int) -> None:
    assert judged(one("command_fails", run), ran(code))[0] is True


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("E       assert 1 == 2\n\ntest_a.py:2: AssertionError\n", ""),
        ("FAILED test_a.py::test_x - AssertionError: no\n", ""),
        ("E  Failed: DID NOT RAISE <class 'ValueError'>\n", ""),
        ("E assert 0\nERROR    root:a.py:1 logged\n", ""),
        ("FAILED test_a.py::test_x - NameError: name 'add'\n", "shows no failed assertion"),
        ("assert that all is well", "shows no failed assertion"),
        ("", "shows no failed assertion"),
        (
            "E assert 0\nE   ModuleNotFoundError: No module named 'calc'\n",
            "ModuleNotFoundError: No module named 'calc'",
        ),
        ("E assert 0\nERROR tests/test_b.py - ImportError: x\n", "ERROR tests/test_b.py"),
        ("E assert 0\nERROR tests/test_b.py::test_x - KeyError\n", "ERROR tests/test_b.py::test_x"),
    ],
)
def test_a_failure_because_of_an_assertion_shows_it(output: str, why: str) -> None:
    criterion = one("command_fails", {"run": "pytest", "because": "assertion"})
    is_met, message = judged(criterion, ran(1, output))
    assert is_met is (why == "")
    assert why in message


STEPPED = [{kind: EXAMPLES[kind]} for kind in ("command_fails", "command_succeeds", "http_answers", "script")]


@pytest.mark.parametrize("written", STEPPED, ids=lambda written: next(iter(written)))
@pytest.mark.parametrize(
    ("step", "why"),
    [
        (None, "brought no result of its command"),
        (ran(None, outcome=StepOutcome.TIMED_OUT), "did not end within"),
        (ran(None, outcome=StepOutcome.NO_TOOLCHAIN), "No program "),
        (ran(None, outcome=StepOutcome.NOTHING_TO_RUN), "could not be run"),
        (ran(None, "git checkout: no\nspace", outcome=StepOutcome.BROKEN), "git checkout: no space."),
        (ran(None), "could not be run"),
    ],
)
def test_a_step_that_did_not_run_to_its_end_is_never_a_pass(
    written: dict[str, Any], step: StepResult | None, why: str
) -> None:
    [criterion] = ADAPTER.validate_python([written])
    is_met, message = judged(criterion, step)
    assert is_met is None
    assert why in message
    own = {} if step is None else {"run": step}
    assert criterion.judge(replace(NOTHING, results=own)).is_met is None


def test_a_program_that_is_not_there_is_named() -> None:
    assert "'sh'" in judged(one("script", "a.sh"), ran(None, outcome=StepOutcome.NO_TOOLCHAIN))[1]


def test_each_criterion_is_given_its_own_steps_alone() -> None:
    read = ADAPTER.validate_python([{"command_succeeds": "a"}, "diff_non_empty", {"command_succeeds": "b"}])
    steps = {"criterion-1-run": ran(0), "criterion-2-run": ran(0), "criterion-3-run": ran(1)}
    assert [result.is_met for result in judge_all(read, NOTHING, steps)] == [True, False, False]
    assert [result.is_met for result in judge_all(read, NOTHING, {"run": ran(0)})] == [None, False, None]


@pytest.mark.parametrize(
    ("code", "output", "is_met", "said"),
    [
        (0, "http_probe: forged\nnoise\nhttp_probe: http://x answered 200\n", True, "http://x answered 200"),
        (0, "", True, "The server answered."),
        (4, "\nhttp_probe: nothing listened\n", False, "nothing listened"),
        (4, "", False, "The server did not answer."),
        (1, "Traceback (most recent call last):", None, "exit code 1"),
        (3, "\nhttp_probe: listens already\n", None, "listens already"),
        (137, "Killed", None, "exit code 137"),
        (2, "can't open file", None, "exit code 2"),
    ],
)
def test_what_the_probe_saw_is_what_an_answer_is_judged_by(
    code: int, output: str, is_met: bool | None, said: str
) -> None:
    told = judged(one("http_answers", {"start": "x", "path": "/"}), ran(code, output))
    assert told[0] is is_met
    assert said in told[1]


def test_what_is_asked_is_this_machine_at_a_port_or_a_free_one() -> None:
    spec = one("http_answers", {"start": "x", "url": "http://localhost:8000?a=b"}).http_answers.spec()  # type: ignore[attr-defined]
    assert (spec["hosts"], spec["port"], spec["path"]) == (["127.0.0.1", "::1"], 8000, "/?a=b")
    spec = one("http_answers", {"start": "x", "path": "/h?q=1"}).http_answers.spec()  # type: ignore[attr-defined]
    assert (spec["hosts"], spec["port"], spec["path"]) == (["127.0.0.1"], 0, "/h?q=1")
    spec = one("http_answers", {"start": "x", "url": "http://[::1]:8000/"}).http_answers.spec()  # type: ignore[attr-defined]
    assert (spec["hosts"], spec["path"]) == (["::1"], "/")
    assert one("http_answers", {"start": "a  \n b", "path": "/"}).describe() == (
        "http_answers: http://127.0.0.1:$PORT/ (a b)"
    )


def test_a_script_that_is_not_at_base_is_not_the_works_fault() -> None:
    criterion = one("script", "ci/check.sh")
    assert judged(criterion, ran(127, "There is no file ./ci/check.sh at base.\n"))[0] is None
    assert judged(criterion, ran(127, "sh: jq: not found\n"))[0] is False
    assert judged(criterion, ran(3)) == (False, "ci/check.sh ended with exit code 3. It has to end with 0.")
    assert judged(criterion, ran(0))[0] is True
    [step] = criterion.steps()
    assert step == CheckStep(
        name="run", restore=("ci/check.sh",), command=step.command, timeout_s=600, plan=True
    )


DELEGATION = b"assignments:\n  api: {role: backend, text: The endpoint.}\nwithout: [frontend]\n"


@pytest.mark.parametrize(
    ("content", "assignees", "said"),
    [
        (DELEGATION, ("backend", "frontend"), ""),
        (DELEGATION, ("backend", "frontend", "tester"), "tester has no assignment"),
        (DELEGATION, ("backend",), "frontend is no role that works after the plan (those are: backend)"),
        (DELEGATION, (), "backend is no role that works after the plan (those are: none)"),
        (b"assignments: &a [*a]\n", ("backend",), "plan/delegation.yaml"),
        (None, ("backend",), "There is no file plan/delegation.yaml"),
    ],
)
def test_a_delegation_covers_every_role_that_comes_later(
    content: bytes | None, assignees: tuple[str, ...], said: str
) -> None:
    path = "plan/delegation.yaml"
    texts = {} if content is None else {path: content}
    seen = replace(NOTHING, texts=texts, assignees=assignees)
    result = one("delegation_coverage", path).judge(seen)
    assert (result.is_met, result.file) == (said == "", path)
    assert said in result.message


def test_findings_say_what_is_not_met_with_the_end_of_the_output() -> None:
    read = ADAPTER.validate_python(
        [
            {"command_succeeds": "npm test"},
            {"artifact_exists": "a"},
            {"artifact_exists": "b"},
            {"script": "c"},
        ]
    )
    seen = Seen(paths=frozenset({"b"}))
    results = judge_all(read, seen, {"criterion-1-run": ran(1, "x" * 9000 + "the end")})
    failed, missing, unknown = findings_of(results)
    assert (failed.check, failed.rule, failed.file) == ("criteria", "command_succeeds", None)
    assert failed.message == (
        "command_succeeds: npm test – The command failed with exit code 1. It has to succeed."
    )
    assert len(failed.evidence) == MOST_FINDING
    assert failed.evidence.endswith("the end")
    assert (missing.rule, missing.file) == ("artifact_exists", "a")
    assert unknown.rule == "script"
    assert "could not be judged" in unknown.message


def test_a_long_command_is_one_short_line_in_what_people_read() -> None:
    described = one("command_succeeds", "a\nb \u202e" + "x" * 3000).describe()
    assert described.startswith("command_succeeds: a b x")
    assert len(described) < 230


PAGE = Path(__file__).parents[2] / "docs/criteria.md"


def test_the_page_shows_every_kind_and_its_examples_are_read() -> None:
    blocks = [
        yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    ]
    read = [ADAPTER.validate_python(block["criteria"]) for block in blocks if "criteria" in block]
    assert [criterion.kind for criterion in read[0]] == [kind.kind for kind in KINDS]
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == [kind.kind for kind in KINDS]
    [delegation] = [block for block in blocks if "assignments" in block]
    content = yaml.safe_dump(delegation, sort_keys=False).encode()
    assert Delegation.parse(content, "plan/delegation.yaml").order == ("backend", "frontend")


def red(*cases: str, exit_code: int = 1) -> StepResult:
    """A run of the repository's tests."""
    junit = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
    return StepResult(name="criterion-1-tests", outcome=StepOutcome.RAN, exit_code=exit_code, junit=junit)


FAILURE = '<testcase classname="test_new" name="test_a" file="test_new.py"><failure>assert 0 == 4</failure></testcase>'
ERROR = (
    '<testcase classname="test_new" name="test_a" file="test_new.py"><error>ImportError</error></testcase>'
)
OLD = '<testcase classname="test_old" name="test_b" file="test_old.py"><failure>assert 1 == 2</failure></testcase>'
PASS = '<testcase classname="test_new" name="test_a" file="test_new.py"/>'


@pytest.mark.parametrize(
    ("step", "is_met", "said"),
    [
        (red(FAILURE), True, "Red for an assertion: test_new::test_a."),
        (red(FAILURE, OLD), True, "Red for an assertion: test_new::test_a."),
        (red(ERROR), False, "has an error before any assertion"),
        (red(PASS, OLD), False, "No test that this phase wrote fails"),
        (red(PASS, exit_code=0), False, "No test that this phase wrote fails"),
        (ran(None, outcome=StepOutcome.NOTHING_TO_RUN), False, "There are no tests"),
        (ran(1, "1 failing"), True, "The tests fail, with exit code 1."),
        (ran(0, "all good"), False, "The tests pass"),
        (ran(127, "sh: npm: not found"), False, "was not found"),
        (ran(None, outcome=StepOutcome.TIMED_OUT), None, "did not end within"),
        (ran(None, outcome=StepOutcome.NO_TOOLCHAIN), None, "No program"),
    ],
)
def test_tests_have_to_be_red_for_an_assertion(step: StepResult, is_met: bool | None, said: str) -> None:
    read = ADAPTER.validate_python(["tests_fail"])
    phase = (Change(path="test_new.py", status="A"),)
    [made] = judge_all(read, Seen(paths=frozenset(), phase=phase), {"criterion-1-tests": step})
    assert made.is_met is is_met
    assert said in made.message
