"""What a setup may sign in with: for a setup alone, while it lives, and kept nowhere."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import (
    SECRETS_PATH,
    CheckReport,
    EventKind,
    SessionKind,
    StepOutcome,
    StepResult,
    encode,
)
from overlord.domain.session import SessionState
from overlord.store import decisions
from tests.records import REPO
from tests.session_api.ground import Ground, cloned, made_ground, visitor

CANARY = "canary-91c5e3d7a4"
INDEX = f"https://reader:{CANARY}@pypi.example.com/simple"
GIVEN: dict[str, Any] = {
    "spaces": {
        REPO.upper(): {"setup_secrets": {"INDEX_TOKEN": CANARY, "QUOTED": f'{CANARY}"\\ü'}},
        "acme/web": {"setup_secrets": {"OTHERS": "canary-of-another-space"}},
    },
    "environments": {"variables": {"PIP_INDEX_URL": INDEX, "GOPROXY": "https://proxy.example.com"}},
}
DONE = StepResult(name="finish", outcome=StepOutcome.RAN, exit_code=0)


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        async with made_ground(Path(root), **GIVEN) as made:
            yield made


def kept_with(ground: Ground, text: str) -> list[Path]:
    """What lies below the home and holds this text."""
    files = [path for path in ground.home.root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if text.encode() in path.read_bytes()]


async def test_a_setup_is_given_its_spaces_secrets_and_sign_ins_and_no_others(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.SETUP)
    async with visitor(ground, session) as inside:
        given = (await inside.get(SECRETS_PATH)).json()
    assert given == {
        "INDEX_TOKEN": CANARY,
        "QUOTED": f'{CANARY}"\\ü',
        "PIP_INDEX_URL": INDEX,
        "UV_DEFAULT_INDEX": INDEX,
    }
    assert kept_with(ground, CANARY) == []


@pytest.mark.parametrize("kind", [SessionKind.WORK, SessionKind.CHECK])
async def test_no_other_session_is_given_any(ground: Ground, kind: SessionKind) -> None:
    session = await ground.session(kind=kind)
    async with visitor(ground, session) as inside:
        for method in ("GET", "POST", "HEAD", "PUT"):
            response = await inside.http.request(method, SECRETS_PATH)
            assert response.status_code in {403, 405}
            assert "canary" not in response.text
        assert (await inside.get(SECRETS_PATH)).status_code == 403
        assert "canary" not in (await inside.get("/session/brief")).text


async def test_a_setup_that_has_ended_is_given_none(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.SETUP)
    async with visitor(ground, session) as inside:
        assert (await inside.get(SECRETS_PATH)).status_code == 200
        await ground.end(session)
        response = await inside.get(SECRETS_PATH)
        assert (response.status_code, "canary" in response.text) == (410, False)
    await ground.keeper.reconcile()
    assert not ground.knocks(session)


async def test_a_setup_tells_that_it_lives_and_what_it_is_at_and_no_more(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.SETUP)
    ground.clock.move(5)
    async with visitor(ground, session) as inside:
        assert (await inside.say(EventKind.HEARTBEAT)).status_code == 202
        assert (await inside.say(EventKind.PROGRESS, turn=2, text="uv sync")).status_code == 202
        assert (await inside.say(EventKind.LOG, text="chatter")).status_code == 403
        for asked in ("question", "scope"):
            said = await inside.say(
                EventKind.QUESTION, question_id="q", question_kind=asked, text="?", patterns=("src/**",)
            )
            assert said.status_code == 403
        assert (await inside.get("/session/answers/q")).status_code == 403
    stored = await ground.stored(session)
    assert (stored.turn, stored.last_action, stored.heartbeat_at) == (2, "uv sync", ground.clock.now())
    assert await ground.database.read(decisions.waiting) == []


async def test_a_setup_has_no_model(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.SETUP)
    body = {"model": "default", "messages": [{"role": "user", "content": "hello"}]}
    async with visitor(ground, session) as inside:
        assert (await inside.post("/v1/chat/completions", body)).status_code == 403
    assert ground.model.requests == []


async def test_a_setup_clones_and_pushes_nothing(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.SETUP)
    async with cloned(ground, session) as clone:
        assert await clone.good("rev-parse", "HEAD") == ground.base
        await clone.commit("setup.py", "x")
        for refspec in (f"HEAD:refs/heads/{session.branch}", "HEAD:refs/heads/main", "HEAD:refs/tags/v1"):
            assert (await clone.push(refspec, "--force"))[0] != 0
    async with visitor(ground, session) as inside:
        refused = await inside.get("/session/repo.git/info/refs?service=git-receive-pack")
        assert (refused.status_code, "a setup session pushes nothing" in refused.text) == (403, True)


async def test_a_setup_reports_once(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.SETUP)
    failed = CheckReport(steps=(StepResult(name="setup-1", outcome=StepOutcome.RAN, exit_code=1),))
    async with visitor(ground, session) as inside:
        for body, status in ((failed, 204), (failed, 204), (CheckReport(steps=(DONE,)), 409)):
            assert (await inside.post("/session/report", encode(body))).status_code == status
        work = b'{"outcome": "complete", "reason": "", "summary": "I did it"}'
        assert (await inside.post("/session/report", work)).status_code == 400
    assert (await ground.stored(session)).report == failed


async def test_what_a_setup_says_is_kept_without_its_secrets_however_it_spells_them(ground: Ground) -> None:
    """Its commands know the secrets and can reach the session API: what they say in its name is no way around."""
    session = await ground.session(kind=SessionKind.SETUP)
    spelt = "".join(f"\\u{ord(letter):04x}" for letter in CANARY)
    output = f'plain {CANARY} url {INDEX} spelt SPELT quoted {CANARY}"\\ü'
    steps = (
        StepResult(name=CANARY, outcome=StepOutcome.RAN, command=(CANARY,), exit_code=0, output=output),
        DONE,
    )
    body = encode(CheckReport(steps=steps)).decode().replace("SPELT", spelt)
    assert json.loads(body)["steps"][0]["output"].count(CANARY) == 4
    async with visitor(ground, session) as inside:
        await inside.say(EventKind.PROGRESS, turn=1, text=f"pip install --index-url {INDEX}")
        assert (await inside.post("/session/report", body)).status_code == 204
        assert (await inside.post("/session/report", body)).status_code == 204, "the same again is fine"
    stored = await ground.stored(session)
    assert stored.state is SessionState.PREPARED
    assert "[redacted]" in stored.last_action
    assert isinstance(stored.report, CheckReport)
    assert stored.report.steps[0].output.startswith("plain [redacted] url [redacted] spelt [redacted]")
    assert stored.report.steps[1] == DONE
    assert kept_with(ground, CANARY) == []
