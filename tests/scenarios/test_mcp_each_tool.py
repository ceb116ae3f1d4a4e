"""Each of the twelve tools, called by the library's own client against the programs as people start them: over both ways in."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from overlord.embedded.model import EmbeddedModel
from tests.local import git, local_session
from tests.twelve import CALC, RECORD, SESSION, Called, answer_of, stdio_client, sums
from tests.world import DEADLINE_S, REPO, TOOLCHAIN, World, made_world

NOTE = "The parser of sums reads numbers first."


def check(called: Called, answer: dict[str, Any]) -> None:
    """The fields that every discipline has, and what code found."""
    said = {name: answer[name] for name in ("status", "phase", "skill", "verified", "code", "changed")}
    assert said == {
        "status": "pass",
        "phase": called.phase,
        "skill": called.skill,
        "verified": called.verified,
        "code": called.code,
        "changed": list(called.changed),
    }, answer
    assert answer["model_used"] == "scripted"
    assert answer["message"] and answer["why"]
    assert len(answer["evidence"]) == len(answer["ledger_head"]) == 64
    assert bool(answer["patch"]) == bool(called.changed)


async def each(client: Client, model: EmbeddedModel, called: Called) -> dict[str, Any]:
    """Call it, with the model's part said beforehand."""
    model.forget()
    for turns in called.turns:
        model.will(*turns)
    answer = await answer_of(client, called.tool, called.arguments)
    assert not model.unplayed, called.tool
    check(called, answer)
    return answer


async def the_four(client: Client, space: str, root: str) -> None:
    """Those in which no model works."""
    about = {"project_root": root, "session_id": SESSION}
    entry = {"phase": "review", "skill": "review", "final_status": "pass", "message": "I read it myself."}
    log = await answer_of(client, "session_log", {**about, **entry})
    phases = ["red", "green", "refactor", "review", "debug", "spec", "retrospective", "trainer", "review"]
    assert [item["phase"] for item in log["entries"]] == phases
    assert [item["verified"] for item in log["entries"]] == [*[True] * 4, False, *[True] * 3, False]
    assert "### Phase: refactor" in log["history"]
    kept = await answer_of(client, "brain_write", {**about, "content": NOTE, "filename": "sums"})
    assert (kept["document"], kept["space"], kept["state"]) == ("sums.md", space, "draft")
    assert (await answer_of(client, "brain_query", {"query": "parser"})) == {"passages": [], "drafts": 1}
    assert "scripted" in json.dumps(await answer_of(client, "tier", {}))


def records_of(home: Path) -> list[dict[str, Any]]:
    written = home / "brain" / "training-data" / "sft" / f"{SESSION}.jsonl"
    return [json.loads(line) for line in written.read_text().splitlines()]


async def test_each_tool_over_standard_input_and_output() -> None:
    async with local_session(CALC) as user, stdio_client(user) as client:
        for called in sums(str(user.repo)):
            answer = await each(client, user.model, called)
            assert answer["applied"] == bool(called.changed), answer
            for name, text in called.files.items():
                assert (user.repo / name).read_text() == text
        assert git(user.repo, "status", "--porcelain", "--untracked-files=all").split("\n") == [
            "M calc.py",
            "?? docs/spec.md",
            "?? tests/test_text.py",
        ]
        await the_four(client, "local/calc", str(user.repo))
        assert records_of(user.place) == [RECORD]


@asynccontextmanager
async def daemon(world: World) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """`overlord serve`; the address of its page, and the environment of commands beside it."""
    config = world.root / "overlord.yaml"
    config.write_text(f"process: {{python: '{TOOLCHAIN if TOOLCHAIN.exists() else ''}'}}\n")
    environment = {
        "PATH": os.environ["PATH"],
        "OVERLORD_HOME": str(world.root / "home"),
        "OVERLORD_CONFIG": str(config),
        "OVERLORD_REPOS": REPO,
        "OVERLORD_RUNNER": "process",
        "OVERLORD_PAGE": "127.0.0.1:0",
        "OVERLORD_MODEL": "scripted",
        "OPENAI_BASE_URL": f"{world.model_url}/v1",
        "OPENAI_API_KEY": world.model.key,
        "GITHUB_API_URL": world.forge_url,
        "GITHUB_TOKEN": world.forge.token,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "overlord", "serve", "--json"),
        env=environment,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(DEADLINE_S):
            address = await address_of(process.stderr)
        draining = asyncio.create_task(process.stderr.read())
        yield address, environment
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    await draining


async def address_of(told: asyncio.StreamReader) -> str:
    """Where the page is, as the daemon says it."""
    heard = []
    async for line in told:
        heard.append(line.decode())
        said = json.loads(line)
        if said.get("event") == "page_here":
            found: str = said["page"].partition("?")[0]
            return found
    raise AssertionError(f"it ended: {heard}")


async def test_each_tool_over_http() -> None:
    async with made_world(CALC) as world, daemon(world) as (address, environment):
        words = ("token", "create", "ci", "--right=act", f"--space={REPO}")
        made = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "overlord", *words), env=environment, stdout=asyncio.subprocess.PIPE
        )
        secret = (await made.communicate())[0].decode().split()
        headers = {"authorization": f"Bearer {next(word for word in secret if word.startswith('ovl'))}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as http,
            Client(streamable_http_client(f"{address}mcp", http_client=http), mode="legacy") as client,
        ):
            for called in sums(REPO):
                answer = await each(client, world.model, called)
                assert not answer["applied"]
                if called.changed:
                    assert answer["not_applied_because"].startswith("Over HTTP nothing is written")
                for text in called.files.values():
                    assert f"+{text.splitlines()[-1]}\n" in answer["patch"]
            await the_four(client, REPO, REPO)
        assert records_of(world.root / "home") == [RECORD]
