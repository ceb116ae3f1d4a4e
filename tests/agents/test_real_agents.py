"""The real programs in containers of a real engine: the demo's issue becomes a pull request, whoever works in the session.

The model is the scripted one, which speaks chat completions: what an agent speaks is translated by the gateway.
"""

import base64
import json
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.adapters.docker.engine import DockerEngine, Missing
from overlord.domain.agent_programs import EXECUTABLES
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import Job, JobState
from overlord.domain.session import Session
from overlord.embedded.play import Turn, say
from overlord.store import sessions
from overlord.store.budgets import exchanges
from tests.agents.plays import (
    BY_NAME,
    FILES,
    ISSUE,
    MENDED,
    OVER_ACP,
    REAL,
    RIGHT,
    SUMMARY,
    WRONG,
    RealAgent,
    asked_for,
    done,
    sentinel,
)
from tests.runners import docker
from tests.world import REPO, World, made_world

pytestmark = pytest.mark.docker

IMAGE = "overlord-minion"
CURSOR_IMAGE = "overlord-test-cursor"
STUB = Path(__file__).parents[1] / "minion" / "cursor_stub.py"
LOOK = (
    "printf 'SEEN:'; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | sort -u | base64 | tr -d '\\n';"
    " printf ':'; cat /proc/net/route | wc -l | tr -d '\\n '; printf ':';"
    " python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 443), 5)' 2>&1 | tail -n 1"
)
"""Tells every environment there is, how many routes the session's network has, and what comes of a call to somewhere."""


def taken(*agents: RealAgent) -> list[RealAgent]:
    """Those that this run tries."""
    asked = asked_for()
    return [agent for agent in agents if "all" in asked or agent.program in asked]


@asynccontextmanager
async def world_of(*programs: str, **overrides: Any) -> AsyncIterator[World]:
    """A world with the demo's repository in containers. Fails where the image of a program is not built."""
    engine = DockerEngine()
    try:
        for image in (IMAGE, *(f"{IMAGE}-{program}" for program in programs)):
            try:
                await engine.image(image)
            except Missing:
                pytest.fail(f"the engine has no image {image}: make real-agents builds it")
    finally:
        engine.close()
    async with made_world(
        FILES, runner="docker", sessions={"grace_s": 5}, docker={"image": IMAGE}, **overrides
    ) as world:
        yield world


async def open_issue(world: World, agent: str, *turns: Turn, more: str = "") -> None:
    """The demo's issue, with the label that names its agent."""
    title, text = ISSUE
    if agent == "acp:opencode acp":  # it asks for a title first
        world.model_will(say("A discount"), when="title generator")
    if turns:
        world.model_will(*turns)
    await world.forge.open_issue(REPO, title, f"{text}{more}", labels=["nebulus-ready", f"agent:{agent}"])


async def work_of(world: World) -> list[Session]:
    found: list[Session] = await world.read(sessions.of_job, 1)
    return [session for session in found if session.kind is SessionKind.WORK]


async def check_pull(world: World, agent: str, *, summary: str = SUMMARY) -> Job:
    """The issue became a pull request that is ready, with the work of this agent, and everything says so."""
    job = await world.job()
    assert job.state is JobState.IN_REVIEW
    [pull] = world.forge.pulls(REPO)
    assert not pull.draft
    assert "Closes #1" in pull.body
    assert summary in pull.body
    assert await world.git_show(job.branch, "till.py") == MENDED
    assert {who for who, _ in await world.git_log(job.branch)} == {"Overlord", "alice"}
    for session in await work_of(world):
        assert (session.agent, session.model) == (agent, "")
    events = await world.events()
    for name in ("session_started", "work_submitted", "passed", "pull_opened", "delivered"):
        assert name in events
    assert await world.overlord.parts.runner.sessions() == []
    return job


async def check_metered(world: World) -> None:
    """Each request of the session is on its books, with the tokens that the model says it took."""
    for session in await work_of(world):
        booked = await world.read(exchanges.of_session, session.id)
        assert booked
        assert all(item.status == 200 and item.prompt and item.completion for item in booked)
    usage, calls = await world.read(exchanges.job_usage, 1)
    told = [request.tokens for request in world.model.requests if request.status == 200]
    assert (usage.prompt + usage.completion, calls) == (sum(told), len(told))


def check_no_key(world: World) -> None:
    """No key is in what the session sent, nor in what Overlord keeps of it."""
    for secret in (world.model.key, world.forge.token):
        assert all(secret.encode() not in request.body for request in world.model.requests)
        assert world.files_with(secret) == []


def check_seen(world: World) -> None:
    """What LOOK told: the session's environments hold no key, and its network leads nowhere."""
    bodies = "".join(request.body.decode() for request in world.model.requests)
    found = re.search(r"SEEN:([A-Za-z0-9+/=]{100,}):(\d+):(?:\\*n)*([^\"\\]+)", bodies)
    assert found is not None, bodies
    environments = base64.b64decode(found[1]).decode()
    assert "MINION_ID=j1-work-1" in environments
    assert world.model.key not in environments
    assert world.forge.token not in environments
    assert found[2] == "1"
    assert "unreachable" in found[3]


@pytest.mark.parametrize("agent", taken(*REAL, *OVER_ACP), ids=lambda agent: agent.name)
async def test_the_demos_issue_becomes_a_pull_request(agent: RealAgent) -> None:
    async with world_of(agent.program) as world:
        edits = agent.edit("till.py", WRONG, RIGHT)
        if agent.shell[0]:
            await open_issue(world, agent.name, agent.run(LOOK), *edits, done())
        else:  # one reply: its words and its edits
            await open_issue(world, agent.name, Turn(text=f"{edits[0].text}\n{done().text}"))
        await world.settle()
        await check_pull(world, agent.name)
        await check_metered(world)
        check_no_key(world)
        if agent.shell[0]:
            check_seen(world)


@pytest.mark.parametrize("agent", taken(BY_NAME["codex"]), ids=lambda agent: agent.name)
async def test_what_a_check_refuses_is_mended_in_a_revision(agent: RealAgent) -> None:
    async with world_of(agent.program) as world:
        worse = RIGHT.replace("100", "1000")
        wrong = agent.edit("till.py", WRONG, worse)
        await open_issue(world, agent.name, *wrong, done("It is divided by 1000."))
        world.model_will(*agent.edit("till.py", worse, RIGHT), done())
        await world.settle()
        job = await check_pull(world, agent.name)
        assert (job.revision, len(await work_of(world))) == (1, 2)
        assert "revision_ordered" in await world.events()
        await check_metered(world)
        told = [str(world.model.messages(index)) for index in range(len(world.model.requests))]
        revision = [text for text in told if "This is a revision" in text]
        assert revision
        assert all("test_ten_percent_off fails before and after" in text for text in revision)


@pytest.mark.parametrize("agent", taken(*(item for item in REAL if item.tools)), ids=lambda agent: agent.name)
async def test_a_file_outside_its_scope_is_asked_for_and_granted_while_the_session_goes_on(
    agent: RealAgent,
) -> None:
    async with world_of(agent.program, spaces={REPO: {"scope": ["till.py"]}}) as world:
        ask = agent.session_tool(
            "ask_question", question="May I say it in the README?", kind="scope", patterns=["README.md"]
        )
        readme = agent.edit("README.md", "# till\n", "# till, in percent\n")
        # Its own permissions are those of its prompt: it is told so with the answer, ends its turn, and is told to go on.
        turns = (*agent.edit("till.py", WRONG, RIGHT), ask, say("I end my turn."), *readme, done())
        await open_issue(world, agent.name, *turns)
        await world.make_due()
        await world.until(world.decisions)
        [request] = await world.decisions()
        assert (request.subject, request.patterns) == (Subject.SCOPE_REQUEST, ("README.md",))
        await world.answer(request, Verb.GRANT)
        await world.settle()
        job = await check_pull(world, agent.name)
        assert "# till, in percent" in await world.git_show(job.branch, "README.md")
        assert len(await work_of(world)) == 1


@pytest.mark.parametrize("agent", taken(BY_NAME["aider"]), ids=lambda agent: agent.name)
async def test_an_agent_without_tools_of_ours_asks_for_its_scope_by_a_line(agent: RealAgent) -> None:
    async with world_of(agent.program, spaces={REPO: {"scope": ["README.md"]}}) as world:
        asked = sentinel("QUESTION", question="May I mend till.py?", kind="scope", patterns=["till.py"])
        [edit] = agent.edit("till.py", WRONG, RIGHT)
        await open_issue(world, agent.name, Turn(text=f"I need a file.\n\n{asked}"))
        world.model_will(Turn(text=f"{edit.text}\n{done().text}"))
        await world.make_due()
        await world.until(world.decisions)
        [request] = await world.decisions()
        assert request.patterns == ("till.py",)
        world.model.forget()  # its next prompt has the same beginning: the second play is for that
        await world.answer(request, Verb.GRANT)
        await world.settle()
        await check_pull(world, agent.name)


@pytest.fixture
def cursor_image(tmp_path: Path) -> Iterator[str]:
    """An image that holds the stub of Cursor's protocol in the place of its program, with what it does."""
    steps = [
        {"run": LOOK},
        {"write": ["till.py", MENDED]},
        {"say": done().text},
    ]
    place = tmp_path / "agents" / "cursor" / "bin"
    place.mkdir(parents=True)
    program = place / EXECUTABLES["cursor"][-1]
    program.write_text(STUB.read_text(encoding="utf-8"), encoding="utf-8")
    program.chmod(0o755)
    program.with_suffix(".json").write_text(json.dumps(steps), encoding="utf-8")
    (tmp_path / "Dockerfile").write_text('FROM scratch\nCOPY agents /opt/agents\nCMD ["-"]\n')
    docker("build", "--quiet", "--tag", CURSOR_IMAGE, str(tmp_path))
    yield CURSOR_IMAGE
    volumes = docker("volume", "ls", "--quiet", "--filter", "label=overlord.agent=cursor").split()
    ours = [
        name
        for name in volumes
        if docker("volume", "inspect", "--format", '{{index .Labels "overlord.agent.image"}}', name)
        == CURSOR_IMAGE
    ]
    for what, names in (("volume", ours), ("image", [CURSOR_IMAGE])):
        subprocess.run(["docker", what, "rm", "--force", *names], check=False, capture_output=True)


async def test_a_stub_of_cursors_protocol_takes_the_issue_to_a_pull_request(cursor_image: str) -> None:
    async with world_of(agents={"cursor": {"image": cursor_image}}) as world:
        await open_issue(world, "cursor")
        await world.settle()
        await check_pull(world, "cursor")
        check_no_key(world)
        # It speaks to a service of its own: nothing of its work is on the books.
        [session] = await work_of(world)
        assert await world.read(exchanges.of_session, session.id) == []
