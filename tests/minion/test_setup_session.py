"""A setup session: commands in order, secrets nowhere they do not belong, and an environment or none."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minion.protocol import EventKind, SessionKind, SetupPlan, StepOutcome
from minion.setup import leak
from tests.minion.conftest import Program
from tests.minion.session_api import SessionApi
from tests.minion.setups import VENV, set_up

SECRET = "sesame/open +1"


def test_commands_run_in_order_in_a_copy_of_base(tmp_path: Path) -> None:
    done = set_up(
        tmp_path,
        {"a.txt": "base"},
        "cat a.txt; echo second >b.txt",
        "git log --format=%s; cat b.txt",
        variables={"PLACE": "{environment}/here"},
        path=("bin",),
    )
    assert done.code == 0
    assert [step.name for step in done.steps] == ["setup-1", "setup-2", "finish"]
    assert [step.output for step in done.steps[:2]] == ["base", "seed\nsecond\n"]
    assert [event.text for event in done.events if event.kind is EventKind.PROGRESS][-1] == "finish"
    assert done.environment.variables()["PLACE"] == f"{tmp_path}/here"
    assert done.environment.path() == (f"{tmp_path}/bin",)
    assert done.environment.python is None


def test_the_first_failure_ends_it_and_nothing_is_made(tmp_path: Path) -> None:
    done = set_up(
        tmp_path, {"x": ""}, "true", "echo why; false; echo never", "touch $MINION_ENVIRONMENT/never"
    )
    assert done.code == 0
    assert [(step.exit_code, step.output) for step in done.steps] == [(0, ""), (1, "why\n")]
    assert not list(tmp_path.iterdir())


def test_commands_are_given_network_settings_in_every_programs_spelling(tmp_path: Path) -> None:
    done = set_up(
        tmp_path / "made",
        {"x": ""},
        "env",
        variables={"HOME": "/root", "PATH": "/nowhere", "COLOUR": "blue"},
        SSL_CERT_FILE="/ca.crt",
        PIP_CERT="/pip.crt",
        https_proxy="http://proxy:1",
        MINION_CACHE=str(tmp_path / "cache"),
        GITHUB_TOKEN="not for setup",
    )
    given = dict(line.split("=", 1) for line in done.steps[0].output.splitlines())
    assert given["PATH"].startswith(f"{tmp_path}/made/venv/bin:{Path(sys.executable).parent}:")
    assert (given["COLOUR"], given["PIP_CERT"], given["NODE_EXTRA_CA_CERTS"]) == (
        "blue",
        "/pip.crt",
        "/ca.crt",
    )
    assert {"REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "UV_SYSTEM_CERTS"} <= set(given)
    assert (given["https_proxy"], given["XDG_CACHE_HOME"]) == ("http://proxy:1", f"{tmp_path}/cache")
    assert given["HOME"] not in {"/root", os.environ.get("HOME")}
    assert not {"OVERLORD_URL", "MINION_SCOPE", "GITHUB_TOKEN", "PYTHONDONTWRITEBYTECODE"} & set(given)


def test_secrets_are_given_and_never_told(tmp_path: Path) -> None:
    done = set_up(
        tmp_path, {"x": ""}, 'echo "it is $TOKEN"', f'test "$TOKEN" = "{SECRET}"', secrets={"TOKEN": SECRET}
    )
    assert [step.exit_code for step in done.steps] == [0, 0, 0]
    assert done.steps[0].output == "it is $TOKEN\n"
    assert SECRET not in f"{done.steps}{done.events}{done.said}"
    assert not leak.find(tmp_path, {"TOKEN": SECRET}, until=float("inf"))


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ('mkdir -p "$MINION_ENVIRONMENT/etc"; echo "x=$TOKEN" >"$MINION_ENVIRONMENT/etc/conf"', "etc/conf"),
        ('echo "x=$TOKEN" >.npmrc', "overlay/.npmrc"),
        ("echo https://u:sesame%2Fopen%20%2B1@index >link", "overlay/link"),
        ('printf %s "$TOKEN" | base64 >encoded', "overlay/encoded"),
        ('head -c 4194300 /dev/zero >big; printf %s "$TOKEN" >>big', "overlay/big"),
    ],
)
def test_a_secret_in_the_environment_is_no_environment(tmp_path: Path, command: str, where: str) -> None:
    done = set_up(tmp_path, {"x": ""}, command, secrets={"TOKEN": SECRET, "SHORT": "x"})
    assert done.finish.outcome is StepOutcome.BROKEN
    assert done.finish.output == f"{where} in the environment holds the value of the secret TOKEN."
    assert not (tmp_path / "environment.json").exists()


def test_looking_for_secrets_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(TimeoutError):
        leak.find(tmp_path, {"TOKEN": SECRET}, until=0)


def test_the_time_limit_is_over_all_commands(tmp_path: Path) -> None:
    done = set_up(tmp_path, {"x": ""}, "echo begun; sleep 600", "echo never", time_s=1)
    assert [(step.outcome, step.output) for step in done.steps] == [(StepOutcome.TIMED_OUT, "begun\n")]


def test_nothing_a_command_started_outlives_it(tmp_path: Path) -> None:
    done = set_up(
        tmp_path,
        {"x": ""},
        "setsid sleep 600 & echo $! >$MINION_ENVIRONMENT/pid",
        "ps -p $(cat $MINION_ENVIRONMENT/pid) || echo gone",
    )
    assert done.steps[1].output.endswith("gone\n")


def test_what_an_earlier_setup_left_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    (tmp_path / "venv/lib").mkdir(parents=True)
    (tmp_path / "environment.json").write_text("{}")
    done = set_up(tmp_path, {"x": ""}, "ls $MINION_ENVIRONMENT; false")
    assert done.steps[0].output == ""
    assert not (tmp_path / "environment.json").exists()


def test_a_python_that_does_not_start_is_no_environment(tmp_path: Path) -> None:
    spoil = f"rm {tmp_path}/venv/bin/python; printf '#!/bin/sh\\necho broken; exit 3' >{tmp_path}/venv/bin/python; chmod +x {tmp_path}/venv/bin/python"
    done = set_up(tmp_path, {"x": ""}, VENV, spoil)
    assert done.finish.outcome is StepOutcome.BROKEN
    assert done.finish.output == "The environment's Python does not start: broken\n"


def test_a_setup_without_a_place_is_refused(
    make_door: Callable[..., SessionApi], run: Callable[..., int]
) -> None:
    session_api = make_door({"x": ""}, kind=SessionKind.SETUP, setup=SetupPlan())
    assert run(session_api) == 6
    assert not session_api.reports


def test_a_repository_that_cannot_be_fetched_is_reported(
    make_door: Callable[..., SessionApi], run: Callable[..., int], tmp_path: Path
) -> None:
    session_api = make_door({"x": ""}, kind=SessionKind.SETUP, setup=SetupPlan())
    session_api.brief = replace(session_api.brief, base_sha="1" * 40)
    session_api.answers.append(lambda handler: handler.answer(200, b"{}"))
    assert run(session_api, MINION_ENVIRONMENT=str(tmp_path)) == 0
    [step] = session_api.check_report.steps
    assert (step.name, step.outcome) == ("fetch", StepOutcome.BROKEN)


def test_secrets_that_are_refused_end_the_setup(
    make_door: Callable[..., SessionApi], run: Callable[..., int], tmp_path: Path
) -> None:
    session_api = make_door({"x": ""}, kind=SessionKind.SETUP, setup=SetupPlan(commands=("true",)))
    session_api.answers.append(lambda handler: handler.refuse(403, "no", "not you"))
    assert run(session_api, MINION_ENVIRONMENT=str(tmp_path)) == 3
    assert not session_api.reports


def test_term_ends_a_setup_and_what_it_runs(
    make_door: Callable[..., SessionApi], start: Callable[..., Program], tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    commands = (f"echo $$ >{begun}; sleep 600",)
    session_api = make_door({"x": ""}, kind=SessionKind.SETUP, setup=SetupPlan(commands=commands))
    session_api.answers.append(lambda handler: handler.answer(200, b"{}"))
    program = start(session_api, MINION_ENVIRONMENT=str(tmp_path / "made"))
    pid = begun.read_text().strip()
    program.terminate()
    assert program.wait() == 3
    assert not session_api.reports
    assert subprocess.run(["ps", "-p", pid], capture_output=True, check=False).returncode != 0


def test_other_sessions_do_not_begin_in_an_environment_that_was_never_finished(
    make_door: Callable[..., SessionApi], run: Callable[..., int], tmp_path: Path
) -> None:
    for kind in (SessionKind.WORK, SessionKind.CHECK):
        with_nothing = tmp_path / kind
        with_nothing.mkdir()
    session_api = make_door({"x": ""})
    assert run(session_api, MINION_ENVIRONMENT=str(tmp_path / "work")) == 6
    session_api.brief = replace(session_api.brief, kind=SessionKind.CHECK)
    assert run(session_api, MINION_ENVIRONMENT=str(tmp_path / "check")) == 6
    assert not session_api.reports
