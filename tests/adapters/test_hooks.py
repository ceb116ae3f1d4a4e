"""Operators' programs as processes: what they are given, how they end, and that nothing of them outlives its time."""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from overlord.adapters.hooks import AT_ONCE, ProcessHooks, program_trouble
from overlord.domain.hooks import MOST_SAID_BYTES, REASON_CHARS, Hook, HookCall, HookFailure, HookProgram

IDLE = HookCall(hook=Hook.IDLE, space="acme/calc", session="j1-work-1")
SECRET = "canary-1d2e3f"


class Operator:
    """Somebody with programs, and what is told of those that failed."""

    def __init__(self, root: Path) -> None:
        self.directory = root / "home" / "hooks"
        self.programs: list[HookProgram] = []
        self.failed: list[HookFailure] = []
        self.hooks = ProcessHooks(
            self.directory,
            programs=self._named,
            redact=lambda text: text.replace(SECRET, "[redacted]"),
            note=self._note,
            environment={"PATH": os.environ["PATH"], "HOME": "/home/alice", "OPENAI_API_KEY": SECRET},
        )

    def has(self, text: str, *, timeout_s: int = 30) -> None:
        self.programs.append(HookProgram(command=("sh", "-c", text), timeout_s=timeout_s))

    def _named(self, hook: Hook, space: str) -> Sequence[HookProgram]:
        return self.programs if (hook, space) == (Hook.IDLE, "acme/calc") else []

    async def _note(self, call: HookCall, failure: HookFailure) -> None:
        assert call == IDLE
        self.failed.append(failure)

    async def why_failed(self) -> str:
        answer = await self.hooks.ask(IDLE)
        assert answer.allows
        [failure] = self.failed
        assert failure.program == self.programs[0].name
        return failure.why


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return Operator(tmp_path)


async def test_it_reads_the_call_and_works_where_the_operator_keeps_hooks(operator: Operator) -> None:
    operator.has("cat > call.json; env > environment.txt; echo said >&1")
    assert (await operator.hooks.ask(IDLE)).allows
    assert json.loads((operator.directory / "call.json").read_text()) == json.loads(IDLE.document())
    lines = (operator.directory / "environment.txt").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines)
    assert given.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "OVERLORD_HOOK"}
    assert (given["OVERLORD_HOOK"], given["HOME"]) == ("idle", "/home/alice")
    assert operator.directory.stat().st_mode & 0o077 == 0
    assert operator.failed == []


async def test_nobody_is_asked_at_another_point_or_for_another_repository(operator: Operator) -> None:
    operator.has("exit 2")
    assert (await operator.hooks.ask(HookCall(hook=Hook.SHUTDOWN, space="acme/calc"))).allows
    assert (await operator.hooks.ask(HookCall(hook=Hook.IDLE, space="acme/web"))).allows
    assert not operator.directory.exists()


async def test_every_program_is_asked_and_their_reasons_are_in_order(operator: Operator) -> None:
    operator.has("echo 'the notes' >&2; echo 'are empty' >&2; exit 2")
    operator.has("exit 0")
    operator.has("printf 'no\\033[31m, \\342\\200\\256never' >&2; exit 2")
    assert (await operator.hooks.ask(IDLE)).refusals == ("sh: the notes are empty", "sh: no[31m, never")


async def test_a_reason_is_cut_and_holds_no_secret(operator: Operator) -> None:
    operator.has(f"echo {SECRET} >&2; head -c 5000 /dev/zero | tr '\\0' x >&2; exit 2")
    [reason] = (await operator.hooks.ask(IDLE)).refusals
    assert reason.startswith("sh: [redacted] xxx")
    assert len(reason) == len("sh: ") + REASON_CHARS


async def test_a_program_that_does_not_read_is_no_matter(operator: Operator) -> None:
    operator.has("exec <&-; exit 2")
    large = HookCall(hook=Hook.IDLE, space="acme/calc", data={"text": "x" * 1_000_000})
    assert len((await operator.hooks.ask(large)).refusals) == 1


async def test_whatever_else_it_does_is_a_failure(operator: Operator) -> None:
    operator.has("echo broken >&2; exit 1")
    assert await operator.why_failed() == "it ended with exit code 1: broken"


async def test_one_that_is_ended_by_a_signal_failed(operator: Operator) -> None:
    operator.has("kill -9 $$")
    assert await operator.why_failed() == f"it ended with exit code {-signal.SIGKILL}"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-program-anywhere", "No such file or directory"),
        ("./not-executable", "Permission denied"),
        ("./no-program", "Exec format error"),
    ],
)
async def test_one_that_cannot_be_started_failed(operator: Operator, command: str, why: str) -> None:
    operator.directory.mkdir(parents=True)
    (operator.directory / "not-executable").write_text("#!/bin/sh\n")
    (operator.directory / "no-program").write_text("\x7fELF but not really")
    (operator.directory / "no-program").chmod(0o755)
    operator.programs.append(HookProgram(command=(command,)))
    assert await operator.why_failed() == f"it cannot be started: {why}"


async def test_one_that_takes_too_long_is_ended_with_all_it_started(operator: Operator) -> None:
    operator.has("sleep 1000 & echo $! > child; sleep 1000", timeout_s=1)
    assert await operator.why_failed() == "it was not done within 1 s"
    await gone(int((operator.directory / "child").read_text()))


async def test_one_that_says_too_much_is_ended(operator: Operator) -> None:
    operator.has("exec yes >&2")
    assert await operator.why_failed() == f"it said more than {MOST_SAID_BYTES // 1024} KiB"


async def test_what_it_leaves_behind_ends_with_it_and_its_answer_counts(operator: Operator) -> None:
    operator.has("sleep 1000 & echo $! > child; echo enough >&2; exit 2")
    assert (await operator.hooks.ask(IDLE)).refusals == ("sh: enough",)
    await gone(int((operator.directory / "child").read_text()))


async def test_few_run_at_once_and_the_others_wait(operator: Operator) -> None:
    for number in range(AT_ONCE + 2):
        operator.has(f"mkdir on-{number}; ls -d on-* | wc -l >> seen; rmdir on-{number}")
    assert (await operator.hooks.ask(IDLE)).allows
    seen = [int(line) for line in (operator.directory / "seen").read_text().split()]
    assert len(seen) == AT_ONCE + 2
    assert max(seen) <= AT_ONCE


async def test_nothing_waits_for_one_when_overlord_ends(operator: Operator) -> None:
    os.mkfifo(begun := operator.directory.parent.parent / "begun")
    for _ in range(AT_ONCE + 1):
        operator.has(f"echo >> {begun}; sleep 1000", timeout_s=1000)
    asked = asyncio.create_task(operator.hooks.ask(IDLE))
    with open(os.open(begun, os.O_RDONLY | os.O_NONBLOCK)) as pipe:
        await readable(pipe.fileno())
    await operator.hooks.close()
    assert (await asked).allows
    assert operator.failed == [], "that is nothing wrong with the programs"
    assert (await operator.hooks.ask(IDLE)).allows


async def test_one_who_asks_no_more_leaves_no_process(operator: Operator) -> None:
    os.mkfifo(begun := operator.directory.parent.parent / "begun")
    operator.has(f"echo $$ > pid; echo > {begun}; sleep 1000", timeout_s=1000)
    asked = asyncio.create_task(operator.hooks.ask(IDLE))
    with open(os.open(begun, os.O_RDONLY | os.O_NONBLOCK)) as pipe:
        await readable(pipe.fileno())
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await gone(int((operator.directory / "pid").read_text()))


def test_a_program_that_could_not_be_started_is_seen_before(tmp_path: Path) -> None:
    path = os.environ["PATH"]
    (tmp_path / "notes.sh").write_text("#!/bin/sh\n")

    def trouble(first: str) -> str:
        return program_trouble(HookProgram(command=(first, "x")), tmp_path, path)

    assert trouble("sh") == trouble("/bin/sh") == ""
    assert trouble("no-such-program") == "there is no no-such-program on the search path"
    assert trouble("./none.sh") == f"there is no {tmp_path}/none.sh"
    assert trouble("./notes.sh") == f"{tmp_path}/notes.sh may not be executed: chmod +x {tmp_path}/notes.sh"
    (tmp_path / "notes.sh").chmod(0o755)
    assert trouble("./notes.sh") == ""


async def readable(descriptor: int) -> None:
    """Wait until somebody wrote into a pipe."""
    loop, is_there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, is_there.set)
    await is_there.wait()
    loop.remove_reader(descriptor)


async def gone(process: int) -> None:
    """Wait until a process is no more, or only waits to be collected by whoever adopted it."""
    while True:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        await asyncio.sleep(0)
