"""What operators' programs are told, and what their endings mean."""

import json

import pytest

from overlord.domain.hooks import ASKING, CLOSED, Hook, HookCall, HookProgram, HookRun, judged

PROGRAM = HookProgram(command=("/opt/acme/notes.sh", "--strict"))
BROKEN = [
    HookRun(program=PROGRAM, exit_code=1, said="no such table"),
    HookRun(program=PROGRAM, exit_code=-9),
    HookRun(program=PROGRAM, problem="it was not done within 10 s"),
]


def test_a_program_is_called_by_its_name_without_its_place_and_arguments() -> None:
    assert PROGRAM.name == "notes.sh"
    assert HookProgram(command=("/",)).name == "/"


def test_what_it_reads_has_always_the_same_keys() -> None:
    whole = HookCall(
        hook=Hook.PHASE,
        space="acme/calc",
        job=7,
        session="j7-work-1",
        initiative="i3",
        task="i3.4",
        event="phase_completed",
        data={"phase": "plan", "words": 'a "quote"\nand a line'},
    )
    assert json.loads(whole.document()) == {
        "version": 1,
        "hook": "phase",
        "space": "acme/calc",
        "job": 7,
        "session": "j7-work-1",
        "initiative": "i3",
        "task": "i3.4",
        "event": "phase_completed",
        "data": {"phase": "plan", "words": 'a "quote"\nand a line'},
    }
    least = json.loads(HookCall(hook=Hook.SHUTDOWN).document())
    assert least.keys() == json.loads(whole.document()).keys()
    assert {name for name, value in least.items() if value is not None} == {"version", "hook", "data"}


@pytest.mark.parametrize("hook", Hook)
def test_exit_code_0_allows_and_so_does_nobody(hook: Hook) -> None:
    assert judged(hook, []).allows
    answer = judged(hook, [HookRun(program=PROGRAM, exit_code=0, said="a remark")])
    assert (answer.allows, answer.failures) == (True, ())


@pytest.mark.parametrize("hook", sorted(ASKING))
def test_exit_code_2_refuses_with_what_it_said(hook: Hook) -> None:
    answer = judged(
        hook,
        [
            HookRun(program=PROGRAM, exit_code=2, said="the notes are empty"),
            HookRun(program=PROGRAM, exit_code=0),
            HookRun(program=PROGRAM, exit_code=2),
        ],
    )
    assert answer.refusals == (
        "notes.sh: the notes are empty",
        "notes.sh: it refuses, and gives no reason",
    )
    assert answer.failures == ()


@pytest.mark.parametrize("hook", sorted(set(Hook) - ASKING))
def test_who_only_watches_cannot_refuse(hook: Hook) -> None:
    answer = judged(hook, [HookRun(program=PROGRAM, exit_code=2, said="no")])
    assert answer.allows
    assert [failure.why for failure in answer.failures] == ["it ended with exit code 2: no"]


@pytest.mark.parametrize("run", BROKEN)
@pytest.mark.parametrize("hook", Hook)
def test_a_program_that_fails_is_told_of_and_keeps_nobody_but_from_being_done(
    hook: Hook, run: HookRun
) -> None:
    answer = judged(hook, [run])
    assert len(answer.failures) == 1
    assert answer.allows is (hook not in CLOSED)


def test_a_check_that_could_not_be_made_says_that_it_is_nobodys_fault() -> None:
    [refusal] = judged(Hook.TASK_COMPLETED, BROKEN[:1]).refusals
    assert refusal == (
        "notes.sh, a program of this Overlord's operator, could not check this (it ended with exit code 1: no such table). "
        "It is nothing that you did: ask once more, and if it is the same again, say so in your report"
    )


def test_a_program_that_overlords_end_cut_off_has_not_failed() -> None:
    stopped = HookRun(program=PROGRAM, problem="Overlord is told to end", is_stopped=True)
    assert judged(Hook.IDLE, [stopped]) == judged(Hook.IDLE, [])
    answer = judged(Hook.TASK_COMPLETED, [stopped])
    assert (answer.allows, answer.failures) == (False, ())
