"""No line of a log holds a secret, however it got there and whoever wrote it; and lines say whose they are."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from overlord.embedded.play import edit, run, submit
from overlord.settings.load import Settings
from tests.listener.canaries import ELSEWHERE, canary_home, parts_of, secret_fields
from tests.listener.test_daemon import SEARCHED, served
from tests.listener.wire import exchange
from tests.quick import made_quick_world
from tests.world import FIX

ROOT = Path(__file__).parents[2]


def test_every_secret_setting_has_a_canary(tmp_path: Path) -> None:
    settings = canary_home(tmp_path)
    assert sorted(secret_fields(Settings)) == [
        "endpoints.api_key",
        "environments.variables",
        "forge.private_key",
        "forge.token",
        "listen.metrics_token",
        "listen.webhook_secret",
        "mcp.headers",
        "model.api_key",
        "page.github_client_secret",
        "slack.app_token",
        "slack.bot_token",
        "slack.signing_secret",
        "spaces.mcp.headers",
        "spaces.setup_secrets",
        "tracing.headers",
    ]
    fields = [name for name in secret_fields(Settings) if name not in ELSEWHERE]
    assert len(set(settings.secrets())) == len(fields)


@pytest.mark.parametrize("form", ["json", "console", "plain"])
def test_whatever_is_logged_the_secrets_are_not_in_it(tmp_path: Path, form: str) -> None:
    settings = canary_home(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.listener.talkative", form],
        cwd=ROOT,
        env={
            **{name: os.environ[name] for name in SEARCHED if name in os.environ},
            "OVERLORD_HOME": str(settings.home),
        },
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode()
    assert done.returncode == 1 and done.stdout == b""
    found = [part for secret in settings.secrets() for part in parts_of(secret) if part in said]
    spelt = [
        part for secret in settings.secrets() for part in parts_of(secret) if json.dumps(part)[1:-1] in said
    ]
    assert (found, spelt) == ([], [])
    assert "canary" not in said.replace("tests.listener.canaries", "") and "ghp_" not in said
    names = ["objects", "caught", "thread_crashed", "crashed", "inner"]
    if form == "plain":
        names = [name.replace("_", " ") for name in names]
    else:
        names += ["py.warnings", "some.library"]
    for name in names:
        assert name in said
    if form == "json":
        lines = [json.loads(line) for line in said.splitlines()]
        assert {line["level"] for line in lines} == {"info", "warning", "error", "critical"}
        assert all("timestamp" in line for line in lines)


@pytest.mark.parametrize("form", ["json", "console", "plain"])
async def test_a_story_with_errors_is_told_without_a_secret(form: str) -> None:
    canary = "canary-4f1c9a7e"
    given: dict[str, Any] = {
        "log": {"format": form, "level": "debug"},
        "endpoints": {"spare": {"base_url": "http://127.0.0.1:9/v1", "api_key": f"{canary}-spare"}},
        "spaces": {"acme/calc": {"setup_secrets": {"TOKEN": f"{canary}-setup"}}},
        "listen": {
            "address": "127.0.0.1:0",
            "metrics_token": f"{canary}-metrics",
            "webhook_secret": f"{canary}-hook",
        },
    }
    async with made_quick_world(poll_s=1, **given) as world:
        secrets = [world.forge.token, world.model.key, canary]
        leak = "; ".join(f"echo {secret} >&2" for secret in secrets)
        world.model_will(run(leak), edit(*FIX), submit(f"Used {' and '.join(secrets)}."))
        world.forge.fail("issues/create-comment", kind="502-html")
        world.forge.fail("pulls/create", kind="500")
        async with served(world, flags=()) as daemon:
            listening = await daemon.line("istening")
            await world.issue(f"add() subtracts {secrets[0]}")
            await daemon.line("in review" if form == "plain" else "delivered")
            [place] = re.findall(r"127\.0\.0\.1:\d+", listening)
            asked = f"GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {canary}-metrics\r\n\r\n"
            scrape = await exchange(place, asked.encode())
            assert scrape.status == 200 and b"overlord_jobs" in scrape.body
            await daemon.stopped()
    assert [secret for secret in secrets if secret in daemon.log or secret.encode() in scrape.body] == []
    if form == "plain":
        assert "warning: a step failed and is tried again" in daemon.log
        return
    assert "step_put_off" in daemon.log and "sentence" not in daemon.log
    submitted = next(line for line in daemon.log.splitlines() if "work_submitted" in line)
    for words in ("job_id", "j1-work-1", "acme/calc"):
        assert words in submitted
