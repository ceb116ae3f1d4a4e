"""A call's job on the pages: named and linked by the call, and no page of it leads to an issue that there is none of."""

import pytest

from overlord.domain.identifiers import Sha
from overlord.failpoints import Failpoint
from overlord.store import jobs
from tests.called_rows import ended_call, open_call
from tests.web.paging import made_page


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/jobs/1",
        "/jobs/1/transcript",
        "/jobs/1/diff",
        "/jobs/1/checks",
        "/jobs/1/cost",
        "/jobs/2",
        "/history",
    ],
)
async def test_pages_name_the_call(address: str) -> None:
    async with made_page() as page:
        database = page.world.overlord.parts.database
        await database.write(Failpoint.CALL_REQUESTED, lambda c: [ended_call(c), open_call(c)])
        said = await page.client.get(address)
        assert said.status_code == 200, said.text
        assert "acme/calc c" in said.text and "#-" not in said.text and "issues/-" not in said.text


async def test_calls_are_looked_at() -> None:
    async with made_page() as page:
        database = page.world.overlord.parts.database
        await database.write(Failpoint.CALL_REQUESTED, lambda c: [ended_call(c)])
        listed = await page.client.get("/look/calls")
        assert "tdd_red" in listed.text and "pass, verified" in listed.text
        shown = await page.client.get("/look/call?words=c1")
        assert "The new test fails for an assertion." in shown.text
        missing = await page.client.get("/look/call?words=c9")
        assert missing.status_code == 404


async def test_a_change_that_is_kept_back_is_on_no_page() -> None:
    async with made_page() as page:
        database = page.world.overlord.parts.database
        call = await database.write(
            Failpoint.CALL_REQUESTED, lambda c: ended_call(c, why="It holds a secret.")
        )
        job, base, head = call.job_id or 0, Sha("a" * 40), Sha("b" * 40)
        await database.write("by hand", lambda c: jobs.repair(c, job, base_sha=base, head_sha=head))
        said = await page.client.get(f"/jobs/{job}/diff")
        assert "The change of call c1 is kept back. It holds a secret." in said.text
