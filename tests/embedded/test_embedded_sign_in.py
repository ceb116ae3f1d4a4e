"""Apps at the embedded forge: what their tokens may do and for how long, and what GitHub says when they may not."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from overlord.embedded.forge.api import operation, permission
from overlord.embedded.forge.forge import EmbeddedForge
from tests.app_keys import keys
from tests.turning import WorldClock

REPO, OTHER = "demo/calc", "demo/other"
API = f"/repos/{REPO}"


@dataclass
class Ground:
    """An App on one of two repositories, and the clock the forge goes by."""

    people: EmbeddedForge
    client: httpx.AsyncClient
    app_id: int
    clock: WorldClock

    async def ask(self, method: str, path: str, token: str, data: Any = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        return await self.client.request(method, path, headers=headers, json=data)

    def jwt(self, issued_s: int = -60, expires_s: int = 540) -> str:
        now = int(self.clock.now().timestamp())
        claims = {"iat": now + issued_s, "exp": now + expires_s, "iss": str(self.app_id)}
        return jwt.encode(claims, keys()[0], algorithm="RS256")

    async def mint(self, data: Mapping[str, Any] | None = None) -> httpx.Response:
        found = (await self.ask("GET", f"{API}/installation", self.jwt())).json()
        path = f"/app/installations/{found['id']}/access_tokens"
        return await self.ask("POST", path, self.jwt(), data or {})

    async def token(self, **permissions: str) -> str:
        made = await self.mint({"permissions": permissions} if permissions else None)
        return str(made.json()["token"])


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    clock = WorldClock()
    people = EmbeddedForge(tmp_path / "forge", now=clock.now)
    for name in (REPO, OTHER):
        await people.create_repository(name, files={"calc.py": "x = 1\n"})
    await people.open_issue(REPO, "One", labels=["ready"])
    app = people.add_app("overlord", keys()[1], [REPO])
    async with people.serve() as url, httpx.AsyncClient(base_url=url) as client:
        yield Ground(people, client, app.id, clock)
    people.close()


def test_every_operation_says_what_it_needs() -> None:
    asked = {item.name for item in operation.OPERATIONS if item.name.startswith(("repos/", "issues/"))}
    asked |= {item.name for item in operation.OPERATIONS if item.name.startswith(("pulls/", "reactions/"))}
    assert asked - set(permission.NEEDS) == set()


async def test_an_installation_is_described_in_githubs_words(ground: Ground) -> None:
    found = (await ground.ask("GET", f"{API}/installation", ground.jwt())).json()
    assert (found["app_slug"], found["account"]["login"], found["suspended_at"]) == ("overlord", "demo", None)
    assert found["permissions"]["pull_requests"] == "write"
    assert (await ground.ask("GET", f"/repos/{OTHER}/installation", ground.jwt())).status_code == 404


async def test_a_token_has_all_that_was_granted_or_what_was_asked_of_it(ground: Ground) -> None:
    made = (await ground.mint()).json()
    assert made["permissions"]["issues"] == "write"
    made = (await ground.mint({"repositories": ["calc"], "permissions": {"issues": "read"}})).json()
    assert made["permissions"] == {"metadata": "read", "issues": "read"}
    refused = await ground.mint({"permissions": {"administration": "write"}})
    assert (refused.status_code, refused.json()["message"]) == (
        422,
        "The permissions requested are not granted to this installation.",
    )
    assert (await ground.mint({"repositories": ["other"]})).status_code == 422


async def test_what_a_token_was_not_given_is_refused_with_what_would_do(ground: Ground) -> None:
    reads = await ground.token(issues="read")
    assert (await ground.ask("GET", f"{API}/issues/1", reads)).status_code == 200
    refused = await ground.ask("POST", f"{API}/issues/1/comments", reads, {"body": "Hello"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    assert refused.headers["x-accepted-github-permissions"] == "issues=write; pull_requests=write"
    # Where it may not even look, there is nothing.
    assert (await ground.ask("GET", f"/repos/{OTHER}/issues", reads)).status_code == 404
    mutation = {"query": "mutation { markPullRequestReadyForReview }", "variables": {"id": "PR_x"}}
    answer = (await ground.ask("POST", "/graphql", reads, mutation)).json()
    assert answer["errors"][0]["type"] in {"NOT_FOUND", "FORBIDDEN"}


async def test_a_token_expires_and_one_of_a_removed_installation_is_worth_nothing(ground: Ground) -> None:
    ground.people.grant_lifetime_s = 60
    token = await ground.token()
    ground.clock.move(59)
    assert (await ground.ask("GET", API, token)).status_code == 200
    ground.clock.move(2)
    refused = await ground.ask("GET", API, token)
    assert (refused.status_code, refused.json()["message"]) == (401, "Bad credentials")
    token = await ground.token()
    ground.people.uninstall_app(ground.app_id)
    assert (await ground.ask("GET", API, token)).status_code == 401
    assert (await ground.ask("GET", f"{API}/installation", ground.jwt())).status_code == 404
    ground.people.install_app(ground.app_id)
    assert (await ground.ask("GET", API, token)).status_code == 401
    assert (await ground.ask("GET", API, await ground.token())).status_code == 200


async def test_a_suspended_installation_gives_nothing_and_lets_nothing(ground: Ground) -> None:
    token = await ground.token()
    ground.people.suspend_app(ground.app_id)
    said = "This installation has been suspended"
    for refused in (await ground.mint(), await ground.ask("GET", f"{API}/issues", token)):
        assert (refused.status_code, refused.json()["message"]) == (403, said)
    found = (await ground.ask("GET", f"{API}/installation", ground.jwt())).json()
    assert found["suspended_at"] is not None


@pytest.mark.parametrize(
    ("issued_s", "expires_s", "said"),
    [
        (5, 540, "'Issued at' claim"),
        (-900, -1, "the future time at which the assertion expires"),
        (-60, 700, "too far in the future"),
    ],
)
async def test_a_signature_out_of_its_time_is_refused(
    ground: Ground, issued_s: int, expires_s: int, said: str
) -> None:
    refused = await ground.ask("GET", f"{API}/installation", ground.jwt(issued_s, expires_s))
    assert refused.status_code == 401
    assert said in refused.json()["message"]


async def test_an_app_is_no_account(ground: Ground) -> None:
    token = await ground.token()
    assert (await ground.ask("GET", "/user", token)).status_code == 403
    assert (await ground.ask("GET", "/user", ground.people.token)).json()["login"] == "overlord-agent"
    assert (await ground.ask("GET", API, token)).json()["permissions"]["push"] is False
    assert (await ground.ask("GET", API, ground.people.token)).json()["permissions"]["push"] is True


async def test_asking_for_the_limit_costs_nothing(ground: Ground) -> None:
    for _ in range(3):
        shown = (await ground.ask("GET", "/rate_limit", ground.people.token)).json()
        assert shown["rate"] == shown["resources"]["core"]
        assert (shown["rate"]["limit"], shown["rate"]["used"]) == (5000, 0)
    left = await ground.ask("GET", API, ground.people.token)
    assert left.headers["x-ratelimit-remaining"] == "4999"
    assert (await ground.ask("GET", "/rate_limit", "wrong")).status_code == 401


async def test_a_label_is_made_once(ground: Ground) -> None:
    asked = {"name": "in review", "color": "1d76db", "description": "Soon"}
    made = await ground.ask("POST", f"{API}/labels", ground.people.token, asked)
    assert made.status_code == 201
    assert {name: made.json()[name] for name in asked} == asked
    listed = (await ground.ask("GET", f"{API}/labels?per_page=1", ground.people.token)).json()
    assert [label["name"] for label in listed] == ["ready"]
    again = await ground.ask("POST", f"{API}/labels", ground.people.token, asked | {"name": "In Review"})
    assert again.status_code == 422
    assert again.json()["errors"] == [{"resource": "Label", "field": "name", "code": "already_exists"}]


async def test_git_takes_a_token_that_may_read_or_write_the_contents(ground: Ground, tmp_path: Path) -> None:
    base = str(ground.client.base_url).replace("://", "://x-access-token:{token}@")

    async def clone(token: str, place: str) -> str:
        address = f"{base.format(token=token)}/{REPO}.git".replace("//demo", "/demo")
        return await git("clone", "-q", address, str(tmp_path / place))

    assert "403" in await clone(await ground.token(issues="write"), "none")
    assert await clone(await ground.token(contents="read"), "read") == ""
    work = str(tmp_path / "read")
    assert "403" in await git("-C", work, "push", "-q", "origin", "HEAD:refs/heads/minion/x")
    assert await clone(await ground.token(contents="write"), "write") == ""
    work = str(tmp_path / "write")
    assert await git("-C", work, "push", "-q", "origin", "HEAD:refs/heads/minion/x") == ""


async def git(*arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    process = await asyncio.create_subprocess_exec(
        "git", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=environment
    )
    return (await process.communicate())[0].decode()
