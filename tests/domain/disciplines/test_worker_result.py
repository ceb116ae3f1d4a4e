"""A worker's result: JSON in form, of its own phase, and never believed where it says that it is verified."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.disciplines.catalog import KINDS, DisciplineName
from overlord.domain.disciplines.worker_result import (
    MOST_ANSWER,
    MOST_MESSAGE,
    MOST_OUTPUT,
    MOST_PATH,
    WorkerResult,
    worker_result,
)

RED = KINDS[DisciplineName.TDD_RED]
GOOD: dict[str, Any] = {
    "status": "pass",
    "phase": "red",
    "skill": "tdd",
    "file_path": "test_a.py",
    "runner_output": "1 failed",
    "verified": True,
    "model_used": "self",
    "message": "a test",
}


def read(**changes: Any) -> WorkerResult | str:
    return worker_result(json.dumps(GOOD | changes), RED)


def test_a_result_in_form() -> None:
    made = read()
    assert isinstance(made, WorkerResult)
    assert made == WorkerResult(
        status=made.status,
        file_path="test_a.py",
        runner_output="1 failed",
        message="a test",
        claims_verified=True,
    )
    assert made.status == "pass"


@pytest.mark.parametrize(
    "answer",
    ["```json\n{}\n```", "Here it is:\n{}\nDone.", "```\n{}\n```\nas asked", "  {}  "],
)
def test_words_round_it_do_no_harm(answer: str) -> None:
    assert worker_result(answer.replace("{}", json.dumps(GOOD)), RED) == read()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "The worker gave no result."),
        (" \n", "The worker gave no result."),
        ("I am done.", "The worker's result is no JSON object."),
        ("[1]", "The worker's result is no JSON object."),
        ('"red"', "The worker's result is no JSON object."),
        ("{" * 5000, "The worker's result is no JSON object."),
        ("[" * 100_000, "The worker's result is no JSON object."),
        ("x" * (MOST_ANSWER + 1), "The worker's result has 400,001 characters; at most 400,000 are read."),
    ],
)
def test_what_is_no_result(answer: str, said: str) -> None:
    assert worker_result(answer, RED) == said


PHASES = "red|green|refactor|retrospective|review|debug|spec|trainer"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"phase": "purple"}, f"phase must be one of {PHASES}, got: purple"),
        ({"phase": "red\u202e"}, f"phase must be one of {PHASES}, got: red"),
        ({"phase": None}, f"phase must be one of {PHASES}, got: null"),
        ({"phase": ["red"]}, f'phase must be one of {PHASES}, got: ["red"]'),
        ({"phase": "green"}, "The worker answered for phase green in a call of red."),
        ({"status": "done"}, "status must be one of pass|fail|error, got: done"),
        ({"status": {"a": 1}}, 'status must be one of pass|fail|error, got: {"a": 1}'),
    ],
)
def test_another_phase_or_status_is_told(changes: dict[str, Any], said: str) -> None:
    assert read(**changes) == said


@pytest.mark.parametrize("claim", ["true", 1, None, False, [True]])
def test_only_true_is_a_claim(claim: object) -> None:
    made = read(verified=claim)
    assert isinstance(made, WorkerResult)
    assert not made.claims_verified


def test_fields_are_cut_and_shown_as_they_are() -> None:
    made = read(message="a\u202eb\x1b" + "x" * 5000, runner_output=["a", {"é": 1}], file_path="a\nb" * 900)
    assert isinstance(made, WorkerResult)
    assert made.message.startswith("abx")
    assert made.message.endswith(" … (cut)")
    assert len(made.message) == MOST_MESSAGE
    assert made.runner_output == '["a", {"é": 1}]'
    assert "\n" not in made.file_path
    assert len(made.file_path) <= MOST_PATH
    long = read(runner_output="x" * (MOST_OUTPUT + 1))
    assert isinstance(long, WorkerResult)
    assert len(long.runner_output) == MOST_OUTPUT
    assert isinstance(worker_result('{"phase": "red", "status": "fail"}', RED), WorkerResult)


@given(
    st.text()
    | st.dictionaries(st.sampled_from(sorted(GOOD)), st.none() | st.text() | st.integers()).map(json.dumps)
)
def test_any_answer_is_read(answer: str) -> None:
    assert isinstance(worker_result(answer, RED), str | WorkerResult)


def test_fences_that_never_end_are_read_once() -> None:
    """Not timed: what takes the square of this would not come to an end within the time a test has."""
    for _ in range(20):
        assert worker_result("x```\n" * (MOST_ANSWER // 5), RED) == "The worker's result is no JSON object."


def test_the_second_block_may_be_the_result() -> None:
    answer = f"```\n{{not JSON}}\n```\nNow:\n  ```json  \n{json.dumps(GOOD)}\n  ```"
    assert worker_result(answer, RED) == read()


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("src/a b.py", "src/a b.py"),
        ("./a.py", "./a.py"),
        ("..a/b.py", "..a/b.py"),
        ("calc.py:3", "calc.py:3"),
        ("/etc/passwd", ""),
        ("../../.ssh/id_rsa", ""),
        ("a\\..\\..\\b", ""),
        ("~/.ssh/id_rsa", ""),
        ("C:\\a", ""),
        ("file:///etc/passwd", ""),
        (None, ""),
    ],
)
def test_a_file_outside_of_the_project_is_not_named(said: str | None, path: str) -> None:
    made = read(file_path=said)
    assert isinstance(made, WorkerResult)
    assert made.file_path == path
