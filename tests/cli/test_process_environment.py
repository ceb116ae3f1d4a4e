"""What other processes of the same user can learn of an Overlord from the kernel, and what programs it starts are given."""

import json
import os
import subprocess
import sys
from pathlib import Path

from pydantic import SecretStr

from overlord.entrypoints.invocation import TOKEN
from overlord.settings.env import ENVIRONMENT, SECRETS
from overlord.settings.load import Settings, load

ROOT = Path(__file__).parents[2]
CANARIES = {
    "GITHUB_TOKEN": "ghp_canary0123456789",
    "OPENAI_API_KEY": "sk-canary-0123456789",
    "HTTPS_PROXY": "http://u:canary@proxy.invalid",
}
PROGRAM = """
import ctypes, json, os, subprocess
from overlord.entrypoints.process_environment import conceal_environment, environment
before = dict(os.environ)
conceal_environment()
print(json.dumps({
    "kernel": open("/proc/self/environ").read().strip(chr(0)),
    "child": subprocess.run(["env"], capture_output=True, text=True, check=True).stdout,
    "unchanged": environment() == before,
    "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
}))
"""


def test_after_its_start_nothing_is_shown_and_no_program_inherits_a_secret() -> None:
    said = json.loads(
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **CANARIES, "ORDINARY": "x" * 3000},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert said["kernel"] == ""
    assert f"ORDINARY={'x' * 3000}\n" in said["child"]
    assert "HTTPS_PROXY=http://u:canary" in said["child"], "git reaches its forge through it"
    assert "0123456789" not in said["child"]
    assert said["unchanged"], "the settings can be read again from what it was started with"
    assert said["dumpable"] == 0, "its memory is shown to others of its user"


def test_a_command_shows_nothing_while_it_reads_its_settings_and_has_them_all_the_same(
    tmp_path: Path,
) -> None:
    waits = tmp_path / "secret"
    os.mkfifo(waits)
    with subprocess.Popen(
        [sys.executable, "-m", "overlord", "config", "check", "--json"],
        cwd=ROOT,
        env={
            **{name: value for name, value in os.environ.items() if name not in ENVIRONMENT},
            **{"OVERLORD_HOME": str(tmp_path / "home"), "GITHUB_WEBHOOK_SECRET_FILE": str(waits)},
            **CANARIES,
        },
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        with waits.open("w") as secret:  # opened once it reads: from here on it waits for what is in there
            shown = Path(f"/proc/{command.pid}/environ").read_bytes() if os.geteuid() == 0 else b""
            secret.write("s")
        told, _ = command.communicate()
    assert shown.strip(b"\0") == b""
    assert command.returncode == 0
    assert json.loads(told)["model"]["api_key"] == json.loads(told)["forge"]["token"] == "**********"


def test_every_variable_that_sets_a_secret_is_known_for_one(tmp_path: Path) -> None:
    settings = load({"OVERLORD_HOME": str(tmp_path), "OTEL_EXPORTER_OTLP_HEADERS": "name=value"})
    found = {name for name, keys in ENVIRONMENT.items() if _is_secret(settings, keys)}
    assert found | {TOKEN} == SECRETS, "a command's token for a daemon elsewhere is no setting"


def _is_secret(settings: Settings, keys: tuple[str, ...]) -> bool:
    value: object = settings
    for key in keys[:2] if keys[0] != "environments" else ():
        value = getattr(value, key)
    held = value.values() if isinstance(value, dict) else [value]
    return any(isinstance(item, SecretStr) for item in held)
