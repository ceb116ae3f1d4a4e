"""Commands: whatever they do, they end, and so does everything they started."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minion import shell
from minion.errors import Interrupted, ToolError
from minion.interrupt import Interrupts
from minion.session import Session
from minion.shell import KeptOutput, printable

Use = Callable[..., str]


def run(command: str, home: Path, *, timeout_s: float = 30.0, **more: Any) -> shell.Finished:
    environment = shell.command_environment({"PATH": os.environ["PATH"]}, home)
    words = ["bash", "-c", command]
    return shell.run(
        words, directory=home, environment=environment, timeout_s=timeout_s, keep_bytes=10_000, **more
    )


def wait_for_end(pid: int) -> None:
    """Return once the process is dead; one that stays fails the test."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    try:
        assert poller.poll(20_000), f"process {pid} still runs"
    finally:
        os.close(descriptor)


def test_output_errors_and_exit_code_come_back_together(use: Use) -> None:
    assert use("run_command", command="echo out; echo err >&2; exit 3") == "out\nerr\n[exit code 3]"
    assert use("run_command", command="true") == "[exit code 0]"


def test_a_command_runs_in_the_workspace_or_a_directory_of_it(use: Use, session: Session) -> None:
    (session.workspace.root / "sub").mkdir()
    assert use("run_command", command="pwd").startswith(str(session.workspace.root))
    assert use("run_command", command="pwd", directory="sub").startswith(f"{session.workspace.root}/sub\n")
    with pytest.raises(ToolError, match="not a directory"):
        use("run_command", command="pwd", directory="calc.py")
    with pytest.raises(ToolError, match="NUL"):
        use("run_command", command="a\0b")


def test_input_is_closed_even_where_ours_is_open(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from minion import shell\n"
        "print(shell.run(['cat'], directory=Path('/'), environment={'PATH': '/bin'}, timeout_s=5, keep_bytes=9).exit_code)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as open_input:
        assert open_input.stdout is not None
        assert open_input.stdout.read() == b"0\n"


def test_what_is_left_in_the_pipe_is_read_up_to_a_limit() -> None:
    endless = os.open("/dev/zero", os.O_RDONLY)
    shell._drain(endless, KeptOutput(10))
    os.close(endless)


def test_a_command_out_of_time_is_killed_with_all_its_children(tmp_path: Path) -> None:
    done = run("sleep 600 & echo $!; trap '' TERM; sleep 600", tmp_path, timeout_s=3)
    assert done.exit_code is None
    wait_for_end(int(done.output))


def test_a_tool_call_cannot_take_longer_than_its_own_limit(use: Use) -> None:
    assert (
        use("run_command", command="echo a; sleep 600", timeout_s=3)
        == "a\n[stopped after 3 s, with everything it had started]"
    )


def test_a_background_child_that_keeps_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    done = run("sleep 600 & echo $!", tmp_path)
    assert done.exit_code == 0
    wait_for_end(int(done.output))


def test_a_child_that_writes_for_ever_after_the_command_ended_is_cut(tmp_path: Path) -> None:
    done = run("yes & echo started", tmp_path)
    assert done.exit_code == 0
    assert len(done.output) < 11_000


def test_a_command_that_closes_its_output_is_still_waited_for(tmp_path: Path) -> None:
    done = run("exec >/dev/null 2>&1; test -e missing; exit 7", tmp_path)
    assert done.exit_code == 7
    assert run("exec >/dev/null 2>&1; sleep 600", tmp_path, timeout_s=0.3).exit_code is None


def test_endless_output_costs_no_memory_and_is_cut_in_the_middle(tmp_path: Path) -> None:
    done = run("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last", tmp_path)
    assert done.output.startswith("first\nxxx")
    assert done.output.endswith("xxx\nlast\n")
    assert "199,990,012 bytes of output left out here" in done.output
    assert len(done.output) < 11_000


def test_death_by_signal_is_an_exit_code(tmp_path: Path) -> None:
    assert run("kill -9 $$", tmp_path).exit_code == 137


def test_a_program_that_is_not_there_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        shell.run(["no-such-program"], directory=tmp_path, environment={}, timeout_s=1, keep_bytes=1)


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    made = Interrupts()
    made.listen()
    yield made
    for number, handler in before.items():
        signal.signal(number, handler)


def test_term_ends_a_wait_and_the_command_in_it(tmp_path: Path, interrupts: Interrupts) -> None:
    command = f"echo $$ > pid; kill -TERM {os.getpid()}; sleep 600"
    with pytest.raises(Interrupted, match="terminated"):
        run(command, tmp_path, waiting=interrupts.waiting)
    wait_for_end(int((tmp_path / "pid").read_text()))


def test_term_outside_a_wait_is_raised_at_the_next_one(interrupts: Interrupts) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGALRM)
    with pytest.raises(Interrupted, match="terminated"), interrupts.waiting():
        pytest.fail("nothing may begin")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xc3\xa9 \xff\n", "café �\n"),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07x", "red x"),
        (b"10%\r20%\r\ndone\x00\x08", "10%\n20%\ndone"),
    ],
)
def test_output_is_made_harmless(data: bytes, text: str) -> None:
    assert printable(data) == text


def test_kept_output_is_whole_while_it_fits() -> None:
    kept = KeptOutput(10)
    for piece in (b"01234", b"56", b"789"):
        kept.add(piece)
    assert kept.text() == "0123456789"
    kept.add(b"x" * 100)
    assert (
        kept.text() == "01234\n[… 100 bytes of output left out here; its beginning and end are kept …]\nxxxxx"
    )


def test_the_environment_is_a_list_of_what_is_passed_on(tmp_path: Path) -> None:
    given = {
        "PATH": "/bin",
        "OVERLORD_URL": "unix:///s",
        "GITHUB_TOKEN": "canary",
        "TZ": "UTC",
        "MINION_ID": "m",
    }
    made = shell.command_environment(given, tmp_path)
    assert (made["TZ"], made["MINION_ID"], made["HOME"]) == ("UTC", "m", str(tmp_path / "home"))
    assert made["PATH"].endswith(":/bin")
    assert not {"OVERLORD_URL", "GITHUB_TOKEN"} & set(made)
