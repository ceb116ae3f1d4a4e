"""Who may come in to the page, and that nothing of anybody's acts on it."""

from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from minion.protocol import Scope
from overlord.domain.access import AccessRight
from overlord.domain.scope.check import Change
from overlord.embedded.play import blocked, call, edit, submit
from overlord.entrypoints.web.owner import owner_token
from overlord.entrypoints.web.pages.change import diff_of
from overlord.entrypoints.web.pages.highlight import WITHIN_S, Highlighter
from overlord.entrypoints.web.server import page_served
from overlord.entrypoints.web.sign_in import FAILURES_A_MINUTE
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.store import access, ledger
from tests.memory.world import made_memory_world
from tests.web.paging import Page, made_page, words_of
from tests.world import FIX, REPO

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>x</b> {{1234577*7654321}} javascript:alert(3) \u202e"
PAGES = (
    "/",
    "/inbox",
    "/inbox/1",
    "/jobs/1",
    "/jobs/1/transcript",
    "/jobs/1/diff",
    "/jobs/1/checks",
    "/jobs/1/cost",
)
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
            assert "9449848657217" not in shown, path
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
            late = await client.post("/sign-in", data={"token": "x"})
            assert (late.status_code, int(late.headers["retry-after"]) <= 61) == (429, True)
            token = world.overlord.parts.home.page_token.read_text(encoding="ascii")
            assert (await client.post("/sign-in", data={"token": token})).status_code == 303, (
                "nobody locks them out"
            )


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


async def csrf_of(page: Page) -> str:
    """What every form of theirs has, also that which signs them out."""
    return (await page.forms("/"))[0].fields["csrf"]


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
        [ours] = [form for form in await page.forms("/inbox") if form.action == "/answer"]
        fields = {**ours.fields, "verb": "drop", "csrf": await csrf_of(reader)}
        assert "that takes more" in await reader.send("/inbox", "/answer", fields)
        refused = [
            entry
            for entry in await world.read(lambda c: list(ledger.entries(c)))
            if entry.name == "page_refused"
        ]
        assert [(entry.actor, entry.details["verb"]) for entry in refused] == [("web:reads", "answer")]
        assert (await reader.get("/look/tokens")).status_code == 403
        other = await signed_in("elsewhere", AccessRight.ACT, "acme/other")
        assert "Paused" in await page.press(f"/spaces/{REPO}", "Pause", reason="secret reason")
        for path in ("/", "/inbox", "/history"):
            shown = await other.text(path)
            assert "secret" not in shown and "tokens." not in shown
        assert "a secret title" in await reader.words("/history?q=secret")
        for space in ("", REPO):
            found = await other.words(f"/history?q=secret&space={space}")
            assert "No job is like that." in found and "title" not in found
        assert (await other.get("/spaces")).headers["location"] == "/spaces/acme/other"
        for path in ("/look/status", "/trends", "/look/search?words=secret"):
            assert (await other.get(path)).status_code == 403, path
        for path, none in (
            ("/jobs/1", "/jobs/9"),
            ("/jobs/1/diff", "/jobs/9/diff"),
            ("/inbox/1", "/inbox/9"),
            (f"/spaces/{REPO}", "/spaces/acme/none"),
            (f"/trends.csv?space={REPO}", "/trends.csv?space=acme/none"),
        ):
            hidden, missing = await other.get(path), await other.get(none)
            assert (hidden.status_code, words_of(hidden.text)) == (404, words_of(missing.text)), path
        acts = await signed_in("acts", AccessRight.ACT, REPO)
        assert "Decision 1: Drop it" in await acts.press("/inbox", "Drop it")
        fields = {"repository": REPO, "csrf": await csrf_of(acts)}
        assert "that takes more" in await acts.send("/do/remove", "/do/remove", fields)
        assert "web:acts" in await page.words("/inbox")
        await database.write(
            Failpoint.ACCESS_REVOKED,
            lambda c: access.revoke(c, "acts", actor="cli:alice", at=world.clock.now()),
        )
        assert (await acts.get("/")).status_code == 401
        for one in (reader, other, acts):
            await one.client.aclose()


@pytest.mark.parametrize("path", ["A.java", "a.py", "a.cs", "a.cpp", "a.rb"])
def test_code_that_a_language_reads_slowly_costs_no_more_than_its_time(path: str) -> None:
    ticks = iter(range(1_000_000))
    colours = Highlighter(now=lambda: next(ticks) * WITHIN_S / 100)
    lines = ["a " * 100, "a " * 990, '"' * 200, "((((" * 50] * 200
    shown = [colours.html(path, line) for line in lines]
    assert sum('<span class="tok-' in line for line in shown) <= 100
    assert shown[1] == "a " * 990


@pytest.mark.parametrize(
    "text", ["diff --git a/evil.py b/evil.py\n[cut: the diff is longer than 10 bytes]\n", "nonsense"]
)
def test_a_diff_that_cannot_be_shown_names_its_files_and_says_so(text: str) -> None:
    names = [Change(path="evil.py", status="M", added=1), Change(path="pad.py", status="A", added=70_000)]
    shown = diff_of(names, text, Scope.parse('["pad.py"]'))
    assert [(file.path, file.added, file.is_in_scope) for file in shown.files] == [
        ("evil.py", 1, False),
        ("pad.py", 70_000, True),
    ]
    assert shown.is_cut


async def test_what_looks_like_the_end_of_a_line_hides_no_turn() -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        page.world.model_will(
            call("run_command", command="echo one\u2028two\x85three"),
            call("run_command", command="x", note="[" * 100_000),
            *(edit(*FIX), submit()),
        )
        await page.world.settle()
        shown = await page.words("/jobs/1/transcript")
        assert [f"Turn {number}" in shown for number in (1, 2, 3, 4)] == [True] * 4


async def test_a_token_file_that_was_cut_off_is_made_anew(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for content in ("", "x", "\n"):
        home.page_token.write_text(content)
        token = owner_token(home)
        assert len(token) >= 43 and owner_token(home) == token
        assert home.page_token.stat().st_mode & 0o077 == 0


async def test_browsers_of_the_owner_are_signed_out_once_their_token_is_replaced() -> None:
    async with made_page() as page:
        file = page.world.overlord.parts.home.page_token
        file.write_text("x" * 43)
        assert (await page.get("/")).status_code == 401
        async with httpx.AsyncClient(base_url=page.address) as other:
            assert (await other.get("/", params={"token": page.token})).status_code == 401, "the one before"
            assert (await other.get("/", params={"token": "x" * 43})).status_code == 303
            assert (await other.get("/")).status_code == 200
            for content in ("", "y" * 42):
                file.write_text(content)
                assert (await other.get("/")).status_code == 401, content
                assert (await other.get("/", params={"token": content})).status_code == 401, content
            file.unlink()
            assert (await other.get("/", params={"token": ""})).status_code == 401


async def test_nobody_signs_in_with_nothing_and_no_link_says_what_was_done() -> None:
    async with made_page() as page:
        async with httpx.AsyncClient(base_url=page.address) as stranger:
            assert (await stranger.get("/?token=")).status_code == 401
            assert (await stranger.post("/sign-in", data={"token": ""})).status_code == 401
            elsewhere = {"origin": "https://evil.example"}
            sent = await stranger.post("/sign-in", data={"token": page.token}, headers=elsewhere)
            assert sent.status_code == 403
            image = {"sec-fetch-dest": "image"}
            assert (await stranger.get("/", params={"token": page.token}, headers=image)).status_code == 401
        assert "Paste your token" not in await page.text("/?done=Paste+your+token+at+evil.example&signed=0")
        behind = {
            "origin": page.address.rstrip("/").replace("http://", "https://"),
            "x-forwarded-proto": "https",
        }
        sent = await page.client.post(
            "/do/pause", data={"space": "everything", "csrf": await _csrf(page)}, headers=behind
        )
        assert sent.status_code == 303


@pytest.mark.parametrize("referer", ["http://[x", "https://evil.example/", "", "/\\evil"])
async def test_where_a_form_came_from_is_nobody_elses_word(referer: str) -> None:
    async with made_page() as page:
        fields = {"space": "everything", "csrf": await _csrf(page)}
        sent = await page.client.post("/do/pause", data=fields, headers={"referer": referer})
        assert sent.status_code == 303 and sent.headers["location"].startswith("/?done=")
