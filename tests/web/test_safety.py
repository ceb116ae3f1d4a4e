"""Who may come in to the page, and that nothing of anybody's acts on it."""

from html.parser import HTMLParser

import httpx
import pytest

from overlord.domain.access import AccessRight
from overlord.embedded.play import blocked, call
from overlord.entrypoints.web.server import page_served
from overlord.entrypoints.web.sign_in import FAILURES_A_MINUTE
from overlord.failpoints import Failpoint
from overlord.store import access
from tests.memory.world import made_memory_world
from tests.web.paging import Page, made_page
from tests.world import REPO

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>x</b> {{7*1337}} javascript:alert(3) \u202e"
)
PAGES = ("/", "/inbox", "/inbox/1", "/jobs/1", "/jobs/1/transcript", "/jobs/1/diff", "/jobs/1/checks")
MORE = ("/spaces", f"/spaces/{REPO}", "/do", "/do/stop", "/look/status", "/look/job?words=1", "/look/queue")


class Acting(HTMLParser):
    """Elements and attributes of a page that could act."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in {"b", "img", "iframe", "object", "style", "base"}:
            self.found.append(tag)
        if tag == "script" and not str(named.get("src", "")).startswith("/static/"):
            self.found.append("script")
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.found.append(f"{tag} {name}")
            if name in {"href", "src", "action"} and not str(value).startswith(("/", "#", "http")):
                self.found.append(f"{tag} {name}={value}")


def acting(html: str) -> list[str]:
    parser = Acting()
    parser.feed(html)
    return parser.found


async def test_hostile_words_of_people_and_models_are_shown_as_text() -> None:
    async with made_page() as page:
        world = page.world
        await world.issue(HOSTILE, HOSTILE)
        world.model_will(call("run_command", command=f"echo {HOSTILE}"), blocked(HOSTILE))
        await world.settle()
        for path in (*PAGES, *MORE):
            shown = await page.text(path)
            assert acting(shown) == [], path
            assert "9359" not in shown, path
            assert "\u202e" not in shown, path
        assert "&lt;script&gt;alert(1)" in await page.text("/inbox")
        assert acting(await page.text(f"/?done={HOSTILE}")) == []


@pytest.mark.parametrize("path", [*PAGES, *MORE, "/nothing"])
async def test_who_is_not_signed_in_sees_nothing(path: str) -> None:
    async with made_page() as page:
        await page.world.issue("a secret title")
        await page.world.settle()
        async with httpx.AsyncClient(base_url=page.address) as stranger:
            for found in (
                await stranger.get(path),
                await stranger.get(path, headers={"cookie": f"overlord-{page.address}=x"}),
                await stranger.get(path, params={"token": "x" * 43}),
            ):
                assert found.status_code in {401, 404} and "secret" not in found.text
                assert found.headers["content-security-policy"].startswith("default-src 'none'")
            sent = await stranger.post("/do/stop", data={"job": "1"})
            assert sent.status_code == 401


async def test_a_form_of_another_site_does_nothing() -> None:
    async with made_page() as page:
        for headers, fields in (
            ({}, {"space": "everything"}),
            ({}, {"space": "everything", "csrf": "0" * 64}),
            ({"origin": "https://evil.example"}, {"space": "everything", "csrf": await _csrf(page)}),
        ):
            sent = await page.client.post("/do/pause", data=fields, headers=headers)
            assert sent.status_code == 403 and "load it again" in sent.text
        assert "is not paused" in await page.press("/spaces", "Resume everything")


async def _csrf(page: Page) -> str:
    return (await page.forms("/do/pause"))[0].fields["csrf"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "10.0.0.1", "127.0.0.1.evil.example", ""]
)
async def test_another_name_that_leads_here_is_not_answered(host: str) -> None:
    async with made_page() as page:
        assert (await page.get("/", headers={"host": host})).status_code in {400, 421}
        assert (await page.get("/", headers={"host": "localhost:1"})).status_code == 200


async def test_tokens_are_tried_ten_times_a_minute() -> None:
    async with made_memory_world(page={"address": "127.0.0.1:0"}) as world:
        await world.start()
        async with page_served(world.overlord) as address, httpx.AsyncClient(base_url=address) as client:
            for _ in range(FAILURES_A_MINUTE):
                assert (await client.post("/sign-in", data={"token": "x"})).status_code == 401
            token = world.overlord.parts.home.page_token.read_text(encoding="ascii")
            late = await client.post("/sign-in", data={"token": token})
            assert (late.status_code, int(late.headers["retry-after"]) <= 61) == (429, True)


async def test_a_session_ends_when_somebody_signs_out_and_its_cookie_is_for_the_page_alone() -> None:
    async with made_page() as page:
        async with httpx.AsyncClient(base_url=page.address) as other:
            begun = await other.get("/", params={"token": page.token})
        cookie = begun.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie and page.token not in cookie
        assert begun.headers["location"] == "/"
        await page.client.post("/sign-out", data={"csrf": await _csrf(page)})
        assert (await page.get("/")).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/jobs/99", 404),
        ("GET", "/jobs/x", 404),
        ("GET", "/jobs/99999999999999999999999", 404),
        ("GET", "/inbox/p9", 404),
        ("GET", "/inbox/nonsense", 400),
        ("GET", "/jobs/1/evidence/..%2f..%2foverlord.db", 404),
        ("GET", "/static/..%2fbase.html", 404),
        ("GET", "/static/%2e%2e", 404),
        ("GET", "/look/nothing", 404),
        ("GET", "/look/why?words=%00", 400),
        ("GET", "/spaces/acme/none", 404),
        ("GET", "/do/nothing", 404),
        ("GET", "/jobs/1/transcript?session=j9-work-9", 404),
    ],
)
async def test_an_address_made_by_hand_is_told_what_is_wrong(method: str, path: str, status: int) -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        await page.world.settle()
        found = await page.client.request(method, path)
        assert found.status_code == status, found.text
        assert "Traceback" not in found.text


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"x" * 1_100_000, "application/x-www-form-urlencoded", 413),
        (b"csrf=1", "text/plain", 415),
        (b"csrf=%ff%fe", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(2000)), "application/x-www-form-urlencoded", 400),
    ],
)
async def test_what_is_no_form_is_not_read(content: bytes, kind: str, status: int) -> None:
    async with made_page() as page:
        sent = await page.client.post("/do/pause", content=content, headers={"content-type": kind})
        assert sent.status_code == status


async def test_the_owners_token_is_read_by_the_owner_alone() -> None:
    async with made_page() as page:
        home = page.world.overlord.parts.home
        assert home.page_token.stat().st_mode & 0o077 == 0
        assert home.page.read_text() == f"{page.address}\nowner"
    assert not home.page.exists()


async def test_a_token_may_what_its_right_says_in_its_repositories_until_it_is_revoked() -> None:
    async with made_page() as page:
        world = page.world
        await world.issue("a secret title")
        world.model_will(blocked("no"))
        await world.settle()
        database = world.overlord.parts.database

        async def signed_in(name: str, right: AccessRight, *spaces: str) -> Page:
            at = world.clock.now()
            _, secret = await database.write(
                Failpoint.ACCESS_GRANTED,
                lambda c: access.create(c, name, right, spaces=spaces, actor="cli:alice", at=at),
            )
            client = httpx.AsyncClient(base_url=page.address)
            assert (await client.post("/sign-in", data={"token": secret})).status_code == 303
            return Page(world=world, client=client, address=page.address, token=secret)

        reader = await signed_in("reads", AccessRight.READ)
        assert "a secret title" in await reader.words("/")
        assert "that takes more" in await reader.press("/inbox", "Drop it")
        assert (await reader.get("/look/tokens")).status_code == 403
        other = await signed_in("elsewhere", AccessRight.ACT, "acme/other")
        for path in ("/", "/inbox", "/history"):
            assert "secret" not in await other.text(path)
        for path in (
            "/jobs/1",
            "/jobs/1/diff",
            "/inbox/1",
            f"/spaces/{REPO}",
            "/look/status",
            "/trends",
            f"/trends.csv?space={REPO}",
        ):
            assert (await other.get(path)).status_code == 403, path
        acts = await signed_in("acts", AccessRight.ACT, REPO)
        assert "Decision 1: Drop it" in await acts.press("/inbox", "Drop it")
        assert "that takes more" in await acts.press("/do/remove", "remove", repository=REPO)
        assert "web:acts" in await page.words("/inbox")
        await database.write(
            Failpoint.ACCESS_REVOKED,
            lambda c: access.revoke(c, "acts", actor="cli:alice", at=world.clock.now()),
        )
        assert (await acts.get("/")).status_code == 401
        for one in (reader, other, acts):
            await one.client.aclose()
