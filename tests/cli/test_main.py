"""The command as a program: exit codes, usage, the configuration, and a pipe that closes."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from overlord import errors
from overlord.entrypoints.cli.exit_code import EXIT_CODES
from overlord.entrypoints.cli.main import run
from overlord.home import Home
from tests.cli.conftest import Filled, Overlord
from tests.stored import claim

ROOT = Path(__file__).parents[2]
HEAVY = (
    *("aiohttp", "docker", "gidgethub", "httpx", "opentelemetry", "pathspec", "prometheus_client"),
    *("slack_bolt", "slack_sdk", "starlette", "structlog", "uvicorn"),
    *("overlord.app", "overlord.adapters", "overlord.door", "overlord.embedded", "overlord.engine.tick"),
)
"""What only those commands import that need it: each command would wait for it otherwise."""
CORE = (
    "asyncio",
    "pydantic",
    "yaml",
    "overlord.verbs.commands",
    "overlord.domain",
    "overlord.settings.load",
    "overlord.store",
)
"""What most commands need, and what only explains them does not."""
READERS = (
    "overlord.domain.skills.file",
    "overlord.domain.skills.review",
    "overlord.domain.skills.pull_review",
    "overlord.engine.skills.draft",
)
"""What reads skills: they are shown without it."""


def program(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m overlord …` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "overlord", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.SettingsError("x"), 3),
        (errors.ContractError("x"), 3),
        (errors.NotFound("x"), 4),
        (errors.Refused("x"), 5),
        (errors.StoreError("x"), 6),
        (errors.ForgeUnavailable("x"), 6),
        (errors.RunnerRefused("x"), 6),
        (errors.OverlordError("x"), 6),
    ],
)
def test_each_kind_of_error_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], error: errors.OverlordError, code: int
) -> None:
    def failing() -> None:
        raise error

    assert run(failing) == code
    assert capsys.readouterr().err == "overlord: x\n"


def test_an_error_is_text_and_nothing_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> None:
        raise errors.Refused("the forge says [red]no[/] [/] \x1b[2J\u202e\x9b")

    assert run(failing) == 5
    assert capsys.readouterr().err == "overlord: the forge says [red]no[/] [/] [2J\n"


def test_a_bug_is_no_sentence() -> None:
    def failing() -> None:
        raise LookupError("a bug")

    with pytest.raises(LookupError):
        run(failing)


def test_the_exit_codes_are_documented(overlord: Overlord) -> None:
    said = overlord("--help")
    assert said.code == 0
    shown = " ".join(said.out.split())
    for code in range(7):
        assert re.search(rf"\b{code} [a-z]", shown), f"{code} is not explained"
    assert EXIT_CODES.split(" · ")[1] in EXIT_CODES


@pytest.mark.parametrize(
    "words",
    [
        ("fly",),
        ("job", "show"),
        ("job", "show", "one"),
        ("decisions", "answer", "one", "maybe"),
        ("status", "--jsn"),
    ],
)
def test_wrong_usage_ends_with_two(overlord: Overlord, words: tuple[str, ...]) -> None:
    said = overlord(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err


def test_the_version_is_the_packages(overlord: Overlord) -> None:
    assert overlord("--version").out == f"{version('overlord')}\n"


def test_a_sound_configuration_is_shown_without_its_secrets(overlord: Overlord, home: Home) -> None:
    said = overlord("config", "check")
    assert said.code == 0
    assert said.out.startswith("The configuration is sound.\n")
    assert str(home.root) in said.out
    assert "acme/calc" in said.out
    told = overlord("config", "check", "--json")
    assert json.loads(told.out)["repositories"] == ["acme/calc"]
    assert "canary" not in said.out + told.out


@pytest.mark.parametrize("name", ["[red]home[/]", "[/]", "[bold"])
def test_a_homes_name_is_no_markup(
    overlord: Overlord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OVERLORD_HOME", str(tmp_path / name))
    said = overlord("config", "check")
    assert said.code == 0
    assert f"{tmp_path / name}\n" in said.out


def test_a_wrong_configuration_ends_with_three(
    overlord: Overlord, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.root.mkdir()
    (home.root / "overlord.yaml").write_text("contract: missing.yaml\n")
    for words in (("config", "check"), ("config", "check", "--json")):
        said = overlord(*words)
        assert (said.code, said.out) == (3, "")
        why = "No such file or directory; built in are default, approve-scope, plan-first, red-green, crew"
        assert said.err == f"overlord: contract: missing.yaml cannot be read: {why}\n"
    (home.root / "overlord.yaml").write_text("polls: 3\n")
    for command in ("config check", "status"):
        said = overlord(*command.split())
        assert (said.code, said.err) == (
            3,
            f"overlord: {home.root}/overlord.yaml: unknown key 'polls'; did you mean poll_s?\n",
        )


# As a program of its own.


@pytest.mark.parametrize(
    ("words", "kept_out"),
    [
        (("--version",), (*HEAVY, *CORE, "rich")),
        (("--help",), (*HEAVY, *CORE)),
        (("decisions", "list"), (*HEAVY, *READERS, "overlord.settings.load")),
        (("status",), (*HEAVY, *READERS)),
        (("config", "check"), (*HEAVY, *READERS, "overlord.verbs.commands", "overlord.queries.overview")),
    ],
)
def test_a_command_that_only_looks_waits_for_nothing_it_does_not_need(
    home: Home, filled: Filled, words: tuple[str, ...], kept_out: tuple[str, ...]
) -> None:
    filled(lambda c: None)
    look = (
        "import sys; from overlord.entrypoints.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: print('HEAVY', *sorted(sys.modules)); sys.exit(end.code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.partition("HEAVY ")[2].split())
    assert "overlord.entrypoints.cli.main" in imported
    assert sorted(name for name in kept_out if name in imported) == []


def test_a_shell_completes_what_is_typed() -> None:
    typed = {"_OVERLORD_COMPLETE": "complete_bash", "COMP_WORDS": "overlord skills dr", "COMP_CWORD": "2"}
    program = "import sys; from overlord.entrypoints.cli.main import main; sys.argv[0] = 'overlord'; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **typed},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["draft", "drafts"])


def test_ctrl_c_while_the_program_is_still_being_read_in_shows_nothing_of_it() -> None:
    stopped = "import sys\n\nclass Stopped:\n    def find_spec(self, name, path=None, target=None):\n"
    stopped += "        if name == 'overlord.entrypoints.cli.main':\n            raise KeyboardInterrupt\n\n"
    stopped += "sys.meta_path.insert(0, Stopped())\nfrom overlord.__main__ import main\nmain()\n"
    command = [sys.executable, "-c", stopped]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_program_says_its_errors_in_a_sentence(home: Home) -> None:
    done = program("status")
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("overlord: there is no Overlord state at ")
    assert "Traceback" not in done.stderr
    wrong = program("config", "check", OVERLORD_RUNNER="podman")
    assert wrong.returncode == 3
    assert wrong.stderr.startswith("overlord: OVERLORD_RUNNER: runner: ")


def test_the_daemon_does_not_start_with_a_wrong_configuration(home: Home) -> None:
    done = program("serve", OVERLORD_POLL="5")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("overlord: unknown environment variable OVERLORD_POLL; known: ")


def test_a_pipe_that_closes_is_quiet(filled: Filled) -> None:
    filled(lambda c: [claim(c, number, title="x" * 500) for number in range(1, 400)])
    for words in (["ledger", "export"], ["job", "list", "--all", "--json"], ["job", "list", "--all"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "overlord", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        errors_said = process.stderr.read()
        process.stderr.close()
        assert process.wait(timeout=180) == 0, words
        assert errors_said == b""
