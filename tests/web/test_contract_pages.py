"""A space's page shows its contract with its graph, and a job's page whose turn it is."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from overlord.domain.access import AccessRight
from overlord.embedded.play import blocked, edit, submit
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.contracts import job_contracts
from tests.contracts import CREW, crew
from tests.web.api_client import token_of
from tests.web.paging import Page, made_page, words_of
from tests.web.test_remote import typed
from tests.world import FIX, REPO

PRICES = {"scripted": {"input": 1.0, "output": 1.0}}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "crew.yaml"
    path.write_text(CREW)
    return str(path)


async def keep_crew(page: Page, role: str) -> None:
    """The first job keeps the crew's contract from now on."""
    database, now = page.world.overlord.parts.database, page.world.overlord.parts.clock.now()

    def keep(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM job_contracts")
        job_contracts.keep(connection, 1, crew(), "the built-in contract crew", at=now)
        jobs.repair(connection, 1, phase="build", role=role)

    await database.write(Failpoint.ACCESS_GRANTED, keep)


async def test_a_space_has_its_contract_with_its_graph(file: str) -> None:
    async with made_page(contract=file, prices=PRICES) as page:
        html = await page.text(f"/spaces/{REPO}")
        words = words_of(html)
        assert "Contract crew" in words and "A job takes 24 h, 20 USD at most." in words
        assert 'class="phase"' in html and "gate plan_approval leads on reject to phase plan" in html
        assert "src/api/**, package.json, Makefile" in words and "plan-&gt;red" in html
        graph = html.partition("<svg")[2].partition("</svg>")[0]
        assert "style" not in graph and "<script" not in graph and "onload" not in graph
        assert (
            (await page.get(f"/spaces/{REPO}")).headers["content-security-policy"].startswith("default-src")
        )


async def test_a_contract_that_cannot_be_read_takes_no_page_down(file: str) -> None:
    async with made_page(contract=file, prices=PRICES) as page:
        Path(file).write_text("name: <b>x</b>\nversion: 2\n")
        html = await page.text(f"/spaces/{REPO}")
        assert "It cannot be shown" in html and "<b>x" not in html and "labels.work" in html


async def test_a_jobs_page_says_whose_turn_it_is_where_there_are_several(file: str) -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(blocked("I need the password"))
        await page.world.settle()
        assert "role minion" not in await page.words("/jobs/1"), "there is one"
        await keep_crew(page, "backend")
        assert "contract crew, phase build, role backend" in await page.words("/jobs/1")
        assert "contract crew, phase build, role backend" in await page.words("/jobs/1/checks")


async def test_the_looks_have_addresses_and_the_interface_for_programs(file: str) -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(edit(*FIX), submit())
        await page.world.settle()
        assert "Contract default" in await page.words(f"/look/contract?words={REPO}")
        assert 'class="gate"' in await page.text("/look/contract-graph?words=built-in+approve-scope")
        assert "May write calc.py : minion" in await page.words(
            f"/look/contract-explain?words=calc.py+{REPO}"
        )
        assert "held over 0 jobs" in await page.words(f"/look/contract-try?words=last+3+{REPO}")
        headers = {"authorization": f"Bearer {await token_of(page, 'ada', AccessRight.READ)}"}
        sent = {"file": CREW, "path": "src/api/x.py"}
        found = await page.get("/api/v1/queries/contract-explain", params=sent, headers=headers)
        assert found.json()["writers"] == ["backend"]
        bad = await page.get("/api/v1/queries/contract", params={"file": "a: ["}, headers=headers)
        assert bad.status_code == 409 and "cannot be read as YAML" in bad.json()["detail"]
        long = await page.get("/api/v1/queries/contract", params={"file": "#" * 20_001}, headers=headers)
        assert long.status_code == 400
        view = await page.get("/api/v1/views/contract-graph", params={"job": "1"}, headers=headers)
        assert [part["type"] for part in view.json()["parts"]] == ["Heading", "Paragraph", "Graph"]


async def test_it_is_the_same_from_another_machine(file: str, tmp_path: Path) -> None:
    async with made_page() as page:
        token, url = await token_of(page, "ada", AccessRight.READ), page.address.rstrip("/")
        drawing = tmp_path / "x.svg"
        yaml, graph, drawn, one = await asyncio.gather(
            typed("contract", "show", "--file", file, "--yaml", url=url, token=token),
            typed("contract", "graph", "--file", file, url=url, token=token),
            typed("contract", "graph", "--file", file, "--svg", str(drawing), url=url, token=token),
            typed("contract", "explain", ".env", "--file", file, "--json", url=url, token=token),
        )
        assert yaml.out.startswith("name: crew\nversion: 2\n"), yaml.err
        assert "◇ plan_approval" in graph.out and drawn.code == 0 and "crew" in drawing.read_text()
        assert json.loads(one.out)["writers"] == []
        here = await typed("contract", "check", file, url=url, token=token)
        assert here.code == 5 and "contract check" in here.err
