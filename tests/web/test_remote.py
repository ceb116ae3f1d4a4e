"""`overlord --url … --token …`: the command line of another machine, as a program of its own against a page."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass

import pytest

from overlord.domain.access import AccessRight
from overlord.embedded.play import blocked
from tests.web.api_client import token_of
from tests.web.paging import Page, made_page


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


async def typed(*words: str, url: str, token: str, **more: str) -> Said:
    """Type `overlord …` on a machine that has nothing else of Overlord."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OVERLORD_")}
    told = {"OVERLORD_URL": url, "OVERLORD_TOKEN": token, "OVERLORD_HOME": "/nowhere", "COLUMNS": "200"}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "overlord", *words),
        env={**kept, **told, "OVERLORD_COMMAND": "overlord", **more},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await child.communicate()
    assert child.returncode is not None
    return Said(child.returncode, out.decode(), err.decode())


async def _waits(page: Page) -> None:
    await page.world.issue("add() subtracts")
    page.world.model_will(blocked("I need the password"))
    await page.world.settle()


async def test_what_waits_is_seen_and_answered_from_another_machine() -> None:
    async with made_page() as page:
        await _waits(page)
        token = await token_of(page, "alice", AccessRight.ACT)
        url = page.address.rstrip("/")
        shown, listed, story = await asyncio.gather(
            typed("decisions", "show", "1", url=url, token=token),
            typed("job", "list", "--all", "--json", url=url, token=token),
            typed("why", "1", url=url, token=token),
        )
        assert shown.code == 0 and "I need the password" in shown.out
        assert f"overlord --url {url} answer 1" in shown.out, "what is printed runs as it is pasted"
        assert [job["id"] for job in json.loads(listed.out)] == [1]
        assert "acme/calc#1" in story.out
        said = await typed("answer", "1", "it is in the vault", url=url, token=token)
        assert (said.code, "it is in the vault" in said.out) == (0, True)
        late = await typed("answer", "1", "no", url=url, token=token)
        assert late.code == 5 and "was answered before, by web:alice" in late.err


async def test_options_and_figures_go_over_the_wire_too() -> None:
    async with made_page() as page:
        token = await token_of(page, "root", AccessRight.ADMIN)
        rows, made, cost = await asyncio.gather(
            typed("trends", "7", "--by", "week", "--csv", url=page.address, token=token),
            typed("token", "create", "ci", "--right", "read", "--days", "3", url=page.address, token=token),
            typed("cost", "week", url=page.address, token=token),
        )
        assert rows.code == 0 and "," in rows.out.splitlines()[0]
        assert "ovl_" in made.out and cost.code == 0
        by_option = await typed(
            *("--url", page.address, "--token", token, "pause", "--reason", "lunch"), url="", token=""
        )
        assert by_option.code == 0, by_option
        assert "lunch" in (await typed("status", url=page.address, token=token)).out


async def test_what_cannot_be_done_is_said_as_here() -> None:
    async with made_page() as page:
        token = await token_of(page, "reader")
        url, closed = page.address, "http://127.0.0.1:1"
        ends = await asyncio.gather(
            typed("why", "99", url=url, token=token),
            typed("pause", url=url, token=token),
            typed("status", url=url, token="ovl_none"),
            typed("status", url=closed, token=token),
            typed("status", url=url, token=""),
            typed("status", url="ftp://x", token=token),
            typed("serve", url=url, token=token),
            typed("job", "show", "1", "--repo", ".", url=url, token=token),
            typed("why", "nothing", url=url, token=token),
        )
        assert [end.code for end in ends] == [4, 5, 5, 6, 3, 3, 5, 4, 2], ends
        assert "there is no job 99" in ends[0].err and "this token may look" in ends[1].err
        assert "does not answer" in ends[3].err and "OVERLORD_TOKEN" in ends[4].err
        assert "leave out --url" in ends[6].err


@pytest.mark.parametrize(
    "reply", [b"", b"{}", b"[]", b"<html>", b'{"parts": [{"type": "Table"}]}', b"[" * 9999]
)
async def test_what_is_no_overlord_is_said_to_be_none(reply: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(reply)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + reply)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        said = await typed("status", url=f"http://127.0.0.1:{port}", token="ovl_x")
        assert said.code == 6 and "Traceback" not in said.err, said
