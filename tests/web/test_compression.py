"""Pages are sent compressed, and what is secret in them cannot be told from how long they are."""

import gzip

import httpx
import pytest

from overlord.embedded.play import edit, submit
from overlord.entrypoints.web.compression import LEAST_BYTES
from tests.web.paging import Page, made_page
from tests.world import FIX

ASKS = {"accept-encoding": "gzip"}


async def raw(page: Page, path: str, **headers: str) -> tuple[httpx.Headers, bytes]:
    """An answer's headers, and its bytes as they came."""
    async with page.client.stream("GET", path, headers={**ASKS, **headers}) as answer:
        return answer.headers, b"".join([part async for part in answer.aiter_raw()])


async def test_a_page_is_compressed_for_who_can_read_it() -> None:
    async with made_page() as page:
        headers, content = await raw(page, "/")
        assert headers["content-encoding"] == "gzip" and int(headers["content-length"]) == len(content)
        assert (
            b"No session runs." in gzip.decompress(content) and "accept-encoding" in headers["vary"].lower()
        )
        headers, content = await raw(page, "/", **{"accept-encoding": "identity"})
        assert "content-encoding" not in headers and b"No session runs." in content
        headers, content = await raw(page, "/waiting")
        assert "content-encoding" not in headers and len(content) < LEAST_BYTES


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_what_another_site_has_a_browser_ask_for_is_sent_as_it_is(site: str) -> None:
    async with made_page() as page:
        headers, _ = await raw(page, "/history?q=csrf", **{"sec-fetch-site": site})
        assert "content-encoding" not in headers
        headers, _ = await raw(page, "/history?q=csrf", **{"sec-fetch-site": "same-origin"})
        assert headers["content-encoding"] == "gzip"


async def test_a_stream_and_a_file_are_sent_as_they_are() -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(edit(*FIX), submit("x" * 2 * LEAST_BYTES))
        await page.world.settle()
        links = [link for link in (await page.text("/jobs/1")).split('"') if "/evidence/" in link]
        assert links
        for link in links:
            assert "content-encoding" not in (await raw(page, link))[0]
        async with page.client.stream("GET", "/events", headers=ASKS) as answer:
            assert "content-encoding" not in answer.headers
            assert (await anext(answer.aiter_raw())).startswith(b"retry: ")


async def test_the_token_of_forms_is_written_another_way_in_each_answer_and_each_is_good() -> None:
    async with made_page() as page:
        tokens = [(await page.forms("/do/pause"))[0].fields["csrf"] for _ in range(3)]
        assert len({token[start : start + 64] for token in tokens for start in (0, 64)}) == 6
        for token in tokens:
            sent = await page.client.post("/do/pause", data={"space": "everything", "csrf": token})
            assert sent.status_code != 403
        for wrong in ("", "0", "z" * 128, tokens[0][:-2], tokens[0][:64] + tokens[1][64:], "0" * 128):
            sent = await page.client.post("/do/pause", data={"space": "everything", "csrf": wrong})
            assert sent.status_code == 403, wrong
