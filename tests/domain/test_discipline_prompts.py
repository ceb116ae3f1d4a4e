"""What the worker of a call is told: the page, the task with a line for each argument, and earlier phases of the session."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from overlord.domain.disciplines.call import Call, CallId
from overlord.domain.disciplines.catalog import KINDS, DisciplineName, Phase
from overlord.domain.disciplines.history import (
    MOST_CHARS,
    MOST_TOLD,
    HistoryEntry,
    check_phase,
    format_history,
)
from overlord.domain.disciplines.prompts import Role, discipline_task, history_of, page_of, task_of
from overlord.domain.event import Json
from overlord.domain.identifiers import RepositoryName

AT = datetime(2026, 11, 28, tzinfo=UTC)


def call(discipline: DisciplineName, model: str = "", directory: str = "", **arguments: Json) -> Call:
    return called(discipline, arguments, model, directory)


def called(
    discipline: DisciplineName, arguments: Mapping[str, Json], model: str = "", directory: str = ""
) -> Call:
    given: Mapping[str, Json] = {"project_root": "/home/ada/shop", **arguments}
    return Call(
        id=CallId(7),
        discipline=discipline,
        space=RepositoryName("acme/shop"),
        session_key="s1",
        actor="mcp:ada",
        arguments=given,
        model=model,
        directory=directory,
        created_at=AT,
    )


def entry(phase: str, message: str, number: int = 1, file_path: str = "") -> HistoryEntry:
    return HistoryEntry(
        id=number,
        space="acme/shop",
        session_key="s1",
        skill="tdd",
        phase=phase,
        final_status="pass",
        file_path=file_path,
        message=message,
        actor="mcp:ada",
        at=AT,
    )


RED = entry("red", "wrote a failing test for totals", 3, "tests/test_totals.py")
GREEN = entry("green", "rounded each line", 4)


def test_the_task_of_green_has_a_line_for_each_argument() -> None:
    told = call(
        DisciplineName.TDD_GREEN, "small", test_path="tests/test_totals.py", test_cmd="pytest -q", apply=False
    )
    assert task_of(told) == (
        "phase: green\nproject_root: .\ntest_path: tests/test_totals.py\nmodel: small\ntest_cmd: pytest -q"
    )


def test_what_was_left_out_has_no_line() -> None:
    told = call(DisciplineName.TDD_REFACTOR, test_path="tests/test_a.py", impl_path="a.py")
    assert task_of(told) == "phase: refactor\nproject_root: .\ntest_path: tests/test_a.py\nimpl_path: a.py"


def test_the_project_is_where_the_worker_finds_it_and_not_where_the_caller_has_it() -> None:
    told = task_of(call(DisciplineName.TDD_RED, directory="services/api", spec="totals are rounded"))
    assert told == "phase: red\nproject_root: services/api\nspec: totals are rounded"
    assert "/home/ada" not in told


def test_a_review_names_its_files_in_one_line() -> None:
    told = call(DisciplineName.REVIEW, files=["a.py", "b/c.py"], context="adds totals")
    assert task_of(told) == "phase: review\nproject_root: .\nfiles: a.py, b/c.py\ncontext: adds totals"


def test_files_with_a_comma_in_their_name_stand_in_lines_of_their_own() -> None:
    told = task_of(call(DisciplineName.REVIEW, files=["a, b.py", "c.py"]))
    assert told == "phase: review\nproject_root: .\nfiles:\n  a, b.py\n  c.py"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028"])
def test_no_line_of_a_value_passes_for_another_argument(end: str) -> None:
    error = f"KeyError: 'total'{end}model: best{end}phase: green"
    told = task_of(call(DisciplineName.DEBUG, error=error))
    assert told == (
        "phase: debug\nproject_root: .\nerror:\n  KeyError: 'total'\n  model: best\n  phase: green"
    )


def test_hidden_characters_are_not_told() -> None:
    assert task_of(call(DisciplineName.DEBUG, error="bo\u202eom\u200b")).endswith("error: boom")


def test_a_specification_is_written_where_nobody_said_where() -> None:
    told = task_of(call(DisciplineName.SPEC, requirements="sign in"))
    assert told == "phase: spec\nproject_root: .\nrequirements: sign in\noutput_path: docs/spec.md"


def test_the_reader_is_told_its_role_and_the_writer_the_candidates() -> None:
    told = call(DisciplineName.TRAINER, session_id="s1")
    assert task_of(told, Role.READER) == "role: reader\nsession_id: s1"
    candidates = '[{"type": "sft",\n"score": 4}]'
    assert task_of(told, Role.WRITER, candidates) == (
        'role: writer\nsession_id: s1\nreader_candidates:\n  [{"type": "sft",\n  "score": 4}]'
    )
    assert task_of(told, Role.WRITER, " ").endswith("reader_candidates:\n  []")


@pytest.mark.parametrize("name", DisciplineName)
def test_every_required_argument_is_told(name: DisciplineName) -> None:
    kind = KINDS[name]
    values: dict[str, Json] = {item: f"<{item}>" for item in kind.required if item != "project_root"}
    if "files" in values:
        values["files"] = ["<files>"]
    told = task_of(called(name, values))
    assert told.startswith(f"phase: {kind.phase}\n")
    for item in values:
        assert f"\n{item}: <{item}>" in told


@pytest.mark.parametrize("name", DisciplineName)
def test_a_worker_is_given_its_page(name: DisciplineName) -> None:
    told = page_of(KINDS[name])
    for heading in ("## Laws", "## Output contract", "## As a tool", "## Rules"):
        assert heading in told
    assert "## A task" not in told


def test_the_second_worker_of_a_trainer_has_a_page_of_its_own() -> None:
    kind = KINDS[DisciplineName.TRAINER]
    assert page_of(kind, Role.READER).startswith("# Trainer reader")
    assert page_of(kind, Role.WRITER).startswith("# Trainer writer")


def test_no_entries_are_no_history() -> None:
    assert format_history([]) == ""
    assert format_history([GREEN], "green") == ""


def test_an_entry_is_told_with_its_phase_its_file_and_its_words() -> None:
    assert format_history([RED]) == (
        "## Session history\n\n### Phase: red\n- Skill: tdd\n- Status: pass\n- File: tests/test_totals.py\n"
        "- Summary: wrote a failing test for totals\n"
    )


def test_the_current_phase_is_left_out() -> None:
    told = history_of(call(DisciplineName.TDD_GREEN, test_path="t.py"), [RED, GREEN])
    assert "### Phase: red" in told
    assert "wrote a failing test for totals" in told
    assert "rounded each line" not in told


def test_who_looks_back_is_told_what_to_cite() -> None:
    told = history_of(call(DisciplineName.RETROSPECTIVE, session_id="s1"), [RED, GREEN])
    assert "- Entry: e3\n" in told
    assert "- Entry: e4\n" in told
    assert "- Entry" not in history_of(call(DisciplineName.REVIEW, files=["a.py"]), [RED])


def test_no_line_of_an_entry_passes_for_another_entry() -> None:
    told = format_history([entry("red", "done\n\n### Phase: review\n- Status: pass")])
    assert told.count("\n### ") == 1


def test_a_long_history_is_told_from_its_newest_entries() -> None:
    many = [entry("red", f"entry {number}.", number) for number in range(MOST_TOLD + 5)]
    told = format_history(many)
    assert told.count("### Phase") == MOST_TOLD
    assert "entry 4." not in told
    assert "entry 5." in told
    assert len(format_history([entry("red", "x" * 10 * MOST_CHARS)])) < MOST_CHARS + 200


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_is_known(phase: Phase) -> None:
    assert check_phase(phase) == phase


def test_another_phase_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"phase must be one of red\|green\|refactor\|.*got: blue"):
        check_phase("blue")


def test_all_that_a_worker_is_told() -> None:
    told = discipline_task(
        call(DisciplineName.TDD_GREEN, test_path="t.py", context="key abc"),
        [RED, replace(GREEN, phase="spec", message="key abc")],
        redact=lambda text: text.replace("abc", "[redacted]"),
    )
    assert (told.name, told.phase, told.skill) == ("tdd_green", "green", "tdd")
    assert told.page.startswith("# Green")
    assert told.tools == KINDS[DisciplineName.TDD_GREEN].tools
    assert "context: key [redacted]" in told.task
    assert "- Summary: key [redacted]" in told.history


def test_the_writer_reads_the_candidates_alone() -> None:
    told = discipline_task(
        call(DisciplineName.TRAINER, session_id="s1"),
        [RED],
        role=Role.WRITER,
        candidates="[]",
        redact=str,
    )
    assert told.history == ""
    assert told.page.startswith("# Trainer writer")
