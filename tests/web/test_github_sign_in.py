"""Signing in to the page with an account at GitHub: there and back over HTTP, and what the repositories say an account may."""

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from overlord.domain.access import ACCOUNT_LASTS, ASKED_AT_LEAST, ASKED_EVERY
from overlord.domain.identifiers import RepositoryName
from overlord.embedded.forge.oauth import AppClient
from overlord.embedded.play import blocked
from overlord.embedded.server import serve
from overlord.entrypoints.web.account import AGAIN_S
from overlord.entrypoints.web.github_sign_in import CALLBACK, LASTS_S
from overlord.entrypoints.web.server import page_served
from overlord.entrypoints.web.sign_in import FAILURES_A_MINUTE
from overlord.errors import ForgeUnavailable
from overlord.store import ledger
from tests.memory.forge import MemoryForge
from tests.memory.world import MemoryWorld, made_memory_world
from tests.web.paging import Page, words_of
from tests.world import REPO

OTHER = "acme/other"
SECRET = "client-secret-canary"
URL = "https://overlord.example.org"
HOST = {"host": "overlord.example.org"}


class Switched:
    """The forge's address, before there is the forge."""

    app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None
        await self.app(scope, receive, send)


class Silence:
    """A forge that may say nothing of what an account may."""

    def __init__(self) -> None:
        self.is_silent = False
        self._forge: Any = None

    def before(self, forge: MemoryForge) -> "Silence":
        self._forge = forge
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._forge, name)

    async def may_write(self, name: RepositoryName, login: str) -> bool:
        if self.is_silent:
            raise ForgeUnavailable("GitHub: the connection broke")
        return bool(await self._forge.may_write(name, login))


@dataclass(slots=True, kw_only=True)
class Ground:
    """A page that people reach by a proxy, and the forge they sign in with."""

    world: MemoryWorld
    address: str
    silence: Silence

    @property
    def people(self) -> Any:
        return self.world.forge

    @contextlib.asynccontextmanager
    async def browser(self) -> AsyncIterator[httpx.AsyncClient]:
        """One that asks by the page's own address, as a proxy passes it on."""
        async with httpx.AsyncClient(base_url=self.address, headers=HOST) as client:
            yield client

    async def sent_back(self, client: httpx.AsyncClient, path: str = "/sign-in/github") -> str:
        """Where the forge sends a browser that begins to sign in, as a path here."""
        begun = await client.get(path)
        assert begun.status_code == 303, begun.text
        keep(client, begun)
        async with httpx.AsyncClient() as elsewhere:
            there = await elsewhere.get(begun.headers["location"])
        assert there.status_code == 302, there.text
        back: str = there.headers["location"]
        assert back.startswith(f"{URL}{CALLBACK}?")
        return back.removeprefix(URL)

    async def come_back(self, client: httpx.AsyncClient, back: str) -> httpx.Response:
        found = await client.get(back)
        keep(client, found)
        return found

    async def signed_in(self, client: httpx.AsyncClient, login: str) -> httpx.Response:
        self.people.oauth.person = login
        return await self.come_back(client, await self.sent_back(client))


def keep(client: httpx.AsyncClient, response: httpx.Response) -> None:
    """Cookies for TLS alone, which a browser of the proxy's keeps, and this client, without a proxy, would not send."""
    for line in response.headers.get_list("set-cookie"):
        name, _, value = line.partition(";")[0].partition("=")
        for known in [cookie for cookie in client.cookies.jar if cookie.name == name]:
            client.cookies.jar.clear(known.domain, known.path, known.name)
        if "Max-Age=0" not in line:
            assert all(word in line for word in ("Secure", "HttpOnly", "SameSite=lax"))
            client.cookies.set(name, value)


@contextlib.asynccontextmanager
async def ground(url: str = URL, listens: str = "127.0.0.1:0") -> AsyncIterator[Ground]:
    """A page whose own address is `url`, and two repositories: `ada` may write to the first."""
    switched, silence = Switched(), Silence()
    async with (
        serve(switched) as forge,
        made_memory_world(
            before={"forge": silence.before},
            repositories=[REPO, OTHER],
            page={
                "address": listens,
                "url": url,
                "github_client_id": "Iv1.client",
                "github_client_secret": SECRET,
            },
            forge={"api_url": forge, "token": "unused"},
        ) as world,
    ):
        switched.app = world.forge
        await world.forge.create_repository(OTHER, files={"README.md": "# other\n"}, private=False)
        world.forge.oauth.client = AppClient(id="Iv1.client", secret=SECRET, callback=f"{url}{CALLBACK}")
        world.forge.join(REPO, "ada", "write")
        await world.start()
        async with page_served(world.overlord) as address:
            yield Ground(world=world, address=address, silence=silence)


def said(response: httpx.Response) -> str:
    found = re.search(r'<p class="flash"[^>]*>(.*?)</p>', response.text, re.DOTALL)
    return unescape(found[1]) if found else response.text


async def facts(ground: Ground, *names: str) -> list[tuple[str, str, dict[str, Any]]]:
    entries = await ground.world.read(lambda c: list(ledger.entries(c)))
    return [(item.name, item.actor, dict(item.details)) for item in entries if item.name in names]


async def test_an_account_sees_and_does_what_its_repositories_let_it() -> None:
    async with ground() as here, here.browser() as client:
        await here.world.issue("a title of calc")
        here.world.model_will(blocked("Which one?"))
        await here.world.settle()
        shown = await client.get("/inbox")
        assert f'href="{URL}/sign-in/github?to=%2Finbox"' in shown.text
        begun = await client.get("/sign-in/github?to=/inbox")
        asked = dict(parse_qsl(urlsplit(begun.headers["location"]).query))
        assert (asked["client_id"], asked["redirect_uri"]) == ("Iv1.client", f"{URL}{CALLBACK}")
        assert (asked["code_challenge_method"], len(asked["code_challenge"])) == ("S256", 43)
        here.people.oauth.person = "ada"
        back = await here.come_back(client, await here.sent_back(client, "/sign-in/github?to=/inbox"))
        assert (back.status_code, back.headers["location"]) == (303, "/inbox")
        assert [request.operation for request in here.people.requests[-4:]].count("oauth/access-token") == 1
        page = Page(world=here.world, client=client, address=f"{URL}/", token="")
        client.headers["origin"] = URL
        assert "a title of calc" in await page.words("/") and "ada" in await page.words("/")
        assert "Drop it" in await page.press("/inbox", "Drop it")
        assert (await page.get(f"/spaces/{OTHER}")).status_code == 404
        assert (await page.get("/spaces")).headers["location"] == f"/spaces/{REPO}"
        assert (await page.get("/look/tokens")).status_code == 403
        fields = {"space": "everything", "csrf": (await page.forms("/inbox"))[0].fields["csrf"]}
        assert "The account ada may look" in await page.send("/do/pause", "/do/pause", fields)
        assert await facts(here, "signed_in") == [
            ("signed_in", "github:ada", {"token": None, "account": "ada"})
        ]
        [(_, by, _)] = await facts(here, "decision_answered")
        assert by == "github:ada"
        token = here.people.user("ada").token
        for kept in (token, SECRET):
            assert here.world.files_with(kept) == []


async def test_an_approver_is_whom_the_settings_name_and_only_there() -> None:
    async with ground() as here, here.browser() as client:
        here.world.overrides["spaces"] = {}
        await here.signed_in(client, "ada")
        page = Page(world=here.world, client=client, address=f"{URL}/", token="")
        client.headers["origin"] = URL
        assert "Who may decide can pause it" in await page.words(f"/spaces/{REPO}")
        here.world.write_settings(f"spaces: {{{REPO}: {{approvers: ['github:Ada']}}}}\n")
        await here.world.until_settings_are_read()
        assert "Paused" in await page.press(f"/spaces/{REPO}", "Pause", reason="a while")
        here.people.join(OTHER, "ada", "maintain")
        here.world.clock.move(ASKED_EVERY.total_seconds())
        await page.press(f"/spaces/{REPO}", "Resume")
        assert "Who may decide can pause it" in await page.words(f"/spaces/{OTHER}")


@pytest.mark.parametrize("role", ["none", "read", "triage"])
async def test_who_may_write_nowhere_is_told_so_and_sees_nothing(role: Any) -> None:
    async with ground() as here, here.browser() as client:
        here.people.join(REPO, "mallory", role)
        found = await here.signed_in(client, "mallory")
        assert (found.status_code, said(found)[:46]) == (
            403,
            "mallory may write to none of the repositories ",
        )
        assert (await client.get("/")).status_code == 401
        assert await facts(here, "signed_in", "sign_in_refused") == [
            (
                "sign_in_refused",
                "github:mallory",
                {"reason": "may write to no repository that Overlord works in"},
            )
        ]


async def test_a_state_counts_once_in_the_browser_it_began_in() -> None:
    async with ground() as here, here.browser() as client, here.browser() as other:
        here.people.oauth.person = "ada"
        back = await here.sent_back(client)
        foreign = await here.sent_back(other)
        exchanged = len(here.people.requests)
        for wrong in (
            f"{CALLBACK}?code=x&state=y",
            f"{CALLBACK}?code=x",
            CALLBACK,
            foreign,
        ):
            found = await client.get(wrong)
            assert (found.status_code, "not begun in this browser" in found.text) == (400, True), wrong
            assert "Max-Age=0" in found.headers["set-cookie"]
        async with here.browser() as stranger:
            assert (await stranger.get(back)).status_code == 400, "no cookie"
            [name] = list(client.cookies)
            for text in ("", ".", "x.y", "e30.", client.cookies[name][:-1], f"x{client.cookies[name]}"):
                sent = {"cookie": f"{name}={text}"}
                assert (await stranger.get(back, headers=sent)).status_code == 400, text
        assert len(here.people.requests) == exchanged, "GitHub was asked nothing"
        cookie = {"cookie": f"{name}={client.cookies[name]}"}
        assert (await here.come_back(client, back)).status_code == 303
        async with here.browser() as again:
            assert (await again.get(back, headers=cookie)).status_code == 400, "it was used"


async def test_a_state_is_good_for_ten_minutes() -> None:
    async with ground() as here, here.browser() as client:
        here.people.oauth.person = "ada"
        back = await here.sent_back(client)
        here.world.clock.move(LASTS_S)
        assert (await here.come_back(client, back)).status_code == 400


async def test_a_code_counts_once_and_with_its_verifier_alone() -> None:
    async with ground() as here, here.browser() as client, here.browser() as other:
        here.people.oauth.person = "ada"
        code = parse_qs(urlsplit(await here.sent_back(client)).query)["code"][0]
        mine = dict(parse_qsl(urlsplit(await here.sent_back(other)).query))
        stolen = await here.come_back(other, f"{CALLBACK}?code={code}&state={mine['state']}")
        assert (stolen.status_code, "takes no such code (bad_verification_code)" in said(stolen)) == (
            403,
            True,
        )
        back = await here.sent_back(client)
        assert (await here.come_back(client, back)).status_code == 303
        spent = dict(parse_qsl(urlsplit(back).query))["code"]
        mine = dict(parse_qsl(urlsplit(await here.sent_back(other)).query))
        found = await here.come_back(other, f"{CALLBACK}?code={spent}&state={mine['state']}")
        assert (found.status_code, (await other.get("/")).status_code) == (403, 401)


async def test_who_says_no_at_github_is_not_signed_in() -> None:
    async with ground() as here, here.browser() as client:
        found = await here.signed_in(client, "")
        assert (found.status_code, said(found)) == (
            403,
            "You did not let GitHub say who you are, so nobody is signed in.",
        )


@pytest.mark.parametrize("operation", ["oauth/access-token", "users/get-authenticated"])
@pytest.mark.parametrize("kind", ["500", "503", "429", "502-html", "bad-json", "reset-after"])
async def test_a_forge_in_trouble_signs_nobody_in_and_says_so(operation: str, kind: str) -> None:
    async with ground() as here, here.browser() as client:
        here.people.fail(operation, kind=kind)
        found = await here.signed_in(client, "ada")
        assert (found.status_code, said(found)) == (
            503,
            "GitHub does not answer just now. Sign in once more in a minute, or with a token.",
        )
        assert (await here.signed_in(client, "ada")).status_code == 303


async def test_a_client_that_github_does_not_know_is_said() -> None:
    async with ground() as here, here.browser() as client:
        here.people.oauth.person = "ada"
        back = await here.sent_back(client)
        here.people.oauth.client = AppClient(id="Iv1.client", secret="x", callback=f"{URL}{CALLBACK}")
        found = await here.come_back(client, back)
        assert "incorrect_client_credentials); check its client id, client secret" in said(found)


@pytest.mark.parametrize(
    "login",
    ["<script>alert(1)</script>", "ada/../x", "a b", "dependabot[bot]", "ада", "a" * 101, "github:ada"],
)
async def test_what_is_no_accounts_name_is_nobody(login: str) -> None:
    async with ground() as here, here.browser() as client:
        found = await here.signed_in(client, login)
        assert (found.status_code, login in found.text) == (403, False)
        assert (await client.get("/")).status_code == 401


@pytest.mark.parametrize(
    ("to", "there"),
    [
        ("https://evil.example/", "/https://evil.example/"),
        ("//evil.example", "/evil.example"),
        ("/\\evil.example", "/evil.example"),
        ("\\\\evil.example", "/evil.example"),
        ("/%0d%0aset-cookie:x=1", "/%0D%0Aset-cookie:x=1"),
        ("", "/"),
        ("/history?q=a", "/history?q=a"),
    ],
)
async def test_nobody_is_sent_elsewhere_after_signing_in(to: str, there: str) -> None:
    async with ground() as here, here.browser() as client:
        here.people.oauth.person = "ada"
        begin = (
            str(httpx.URL("/sign-in/github", params={"to": to}))
            if "%" not in to
            else f"/sign-in/github?to={to}"
        )
        back = await here.come_back(client, await here.sent_back(client, begin))
        assert (back.status_code, back.headers["location"]) == (303, there)


async def test_who_loses_access_loses_the_page() -> None:
    async with ground() as here, here.browser() as client:
        await here.signed_in(client, "ada")
        page = Page(world=here.world, client=client, address=f"{URL}/", token="")
        client.headers["origin"] = URL
        csrf = (await page.forms("/do/pause"))[0].fields["csrf"]
        here.people.join(REPO, "ada", "read")
        assert (await client.get("/")).status_code == 200, "it was asked a moment ago"
        here.world.clock.move(ASKED_EVERY.total_seconds())
        acted = await client.post("/do/pause", data={"space": REPO, "csrf": csrf})
        assert acted.status_code == 401, "before an act it is asked anew"
        assert (await client.get("/")).status_code == 401
        assert [by for _, by, _ in await facts(here, "signed_out")] == ["github:ada"]


async def test_a_look_goes_on_while_it_is_asked_anew_and_not_for_ever() -> None:
    async with ground() as here, here.browser() as client:
        await here.signed_in(client, "ada")
        page = Page(world=here.world, client=client, address=f"{URL}/", token="")
        client.headers["origin"] = URL
        csrf = (await page.forms("/do/pause"))[0].fields["csrf"]
        here.silence.is_silent = True
        here.world.clock.move(ASKED_EVERY.total_seconds())
        assert (await client.get("/")).status_code == 200
        acted = await client.post("/do/pause", data={"space": REPO, "csrf": csrf})
        assert (acted.status_code, acted.text[:30]) == (503, "GitHub does not say just now w")
        here.world.clock.move((ASKED_AT_LEAST - ASKED_EVERY).total_seconds())
        assert (await client.get("/")).status_code == 503
        here.silence.is_silent = False
        here.world.clock.move(AGAIN_S)
        assert (await client.get("/")).status_code == 200
        here.world.clock.move(ACCOUNT_LASTS.total_seconds())
        assert (await client.get("/")).status_code == 401, "a day is the most"


async def test_a_repository_that_is_worked_on_no_more_is_seen_no_more() -> None:
    async with ground() as here, here.browser() as client:
        await here.signed_in(client, "ada")
        rest = here.world.overlord.parts.settings.model_copy(update={"repositories": (OTHER,)})
        here.world.overlord.parts.current.take(rest)
        assert (await client.get("/")).status_code == 401


async def test_accounts_that_may_nothing_are_tried_ten_times_a_minute() -> None:
    async with ground() as here, here.browser() as client:
        proxied = {"x-forwarded-for": "192.0.2.7, 198.51.100.1"}
        client.headers.update(proxied)
        for _ in range(FAILURES_A_MINUTE):
            assert (await here.signed_in(client, "mallory")).status_code == 403
        late = await here.signed_in(client, "mallory")
        assert (late.status_code, int(late.headers["retry-after"]) <= 61) == (429, True)
        client.headers["x-forwarded-for"] = "192.0.2.7, 198.51.100.2"
        assert (await here.signed_in(client, "ada")).status_code == 303, "from elsewhere"


async def test_nothing_leads_to_github_where_it_is_not_offered() -> None:
    async with (
        made_memory_world(page={"address": "127.0.0.1:0"}) as world,
    ):
        await world.start()
        async with page_served(world.overlord) as address, httpx.AsyncClient(base_url=address) as client:
            assert "GitHub" not in (await client.get("/")).text
            for path in ("/sign-in/github", f"{CALLBACK}?code=x&state=y"):
                found = await client.get(path)
                assert (found.status_code, "use a token" in words_of(found.text)) == (404, True)


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("overlord.example.org", URL, 303),
        ("127.0.0.1:8711", URL, 303),
        ("overlord.example.org", "http://overlord.example.org", 403),
        ("overlord.example.org", "https://evil.example", 403),
        ("evil.example", "https://evil.example", 421),
        ("127.0.0.1:8711", "https://evil.example", 403),
        ("127.0.0.1:8711", "http://127.0.0.1:8711", 303),
    ],
)
async def test_forms_come_from_the_pages_own_address(host: str, origin: str, status: int) -> None:
    async with ground() as here, here.browser() as client:
        await here.signed_in(client, "ada")
        page = Page(world=here.world, client=client, address=f"{URL}/", token="")
        csrf = (await page.forms("/do/pause"))[0].fields["csrf"]
        headers = {"host": host, "origin": origin}
        sent = await client.post("/sign-out", data={"csrf": csrf}, headers=headers)
        assert sent.status_code == status


async def test_a_cookie_is_for_tls_alone_by_the_address_that_says_so() -> None:
    async with ground() as here:
        token = here.world.overlord.parts.home.page_token.read_text(encoding="ascii")
        for host, proto, is_secure in (
            ("overlord.example.org", "http", True),
            ("127.0.0.1:1", "http", False),
            ("127.0.0.1:1", "https", True),
        ):
            async with httpx.AsyncClient(base_url=here.address) as client:
                headers = {"host": host, "x-forwarded-proto": proto}
                begun = await client.get("/", params={"token": token}, headers=headers)
                assert ("Secure" in begun.headers["set-cookie"]) is is_secure, host


def test_ages_are_those_of_the_page_that_explains_them() -> None:
    assert (timedelta(minutes=15), timedelta(hours=1)) == (ASKED_EVERY, ASKED_AT_LEAST)
