"""Where the forge's suites are run: a repository with an issue tracker, and what people do there.

The embedded one, asked over HTTP, and the one in memory are always there. A real one is added by `GITHUB_TOKEN` and `OVERLORD_LIVE_REPOSITORY` (`owner/name`,
a repository for nothing else: issues, branches and pull requests are made in it and closed again). The token is that of
the people there; with `GITHUB_APP_ID` and `GITHUB_APP_PRIVATE_KEY_FILE`, or `OVERLORD_LIVE_TOKEN`, Overlord is somebody else.
"""

import base64
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import httpx

from overlord.adapters.github.connection import connect
from overlord.adapters.github.forge import GitHubForge
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.embedded.forge.account import utc_now
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import App
from overlord.ports.forge import Forge
from overlord.settings.load import load
from tests.app_keys import keys
from tests.github_openapi.check import served
from tests.memory.forge import MemoryForge
from tests.memory.people import MemoryPeople

KINDS = ("memory", "embedded")
"""Forges whose people's side is in this process."""
LIVE_VARIABLES = ("GITHUB_TOKEN", "OVERLORD_LIVE_REPOSITORY")


class Ground(Protocol):
    """A repository at an external service, from the people's side."""

    forge: Forge
    name: RepositoryName

    async def open_issue(self, title: str, *, labels: tuple[str, ...] = ()) -> int: ...
    async def close_issue(self, number: int) -> None: ...
    async def commit(self, branch: str) -> Sha:
        """One more commit on a branch, which is made from the default branch if new."""
        ...

    async def close_pull(self, number: int) -> None: ...


@dataclass(slots=True)
class EmbeddedGround:
    """A forge in this process."""

    people: EmbeddedForge
    forge: Forge
    name: RepositoryName

    async def open_issue(self, title: str, *, labels: tuple[str, ...] = ()) -> int:
        return await self.people.open_issue(self.name, title, labels=labels)

    async def close_issue(self, number: int) -> None:
        await self.people.close_issue(self.name, number)

    async def commit(self, branch: str) -> Sha:
        content = secrets.token_hex(8)
        return Sha(await self.people.push_files(self.name, branch, {"change.txt": content}, "Change"))

    async def close_pull(self, number: int) -> None:
        await self.people.close_pull(self.name, number)


@dataclass(slots=True)
class LiveGround:
    """A real repository; leaves it as it was, but for closed issues and pull requests."""

    forge: Forge
    name: RepositoryName
    client: httpx.AsyncClient
    made: list[tuple[str, str, dict[str, Any] | None]] = field(default_factory=list)
    """Requests that undo what was made."""

    async def ask(self, method: str, path: str, data: dict[str, Any] | None = None) -> Any:
        answer = await self.client.request(method, f"/repos/{self.name}{path}", json=data)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    async def open_issue(self, title: str, *, labels: tuple[str, ...] = ()) -> int:
        issue = await self.ask("POST", "/issues", {"title": title, "labels": list(labels)})
        self.made.append(("PATCH", f"/issues/{issue['number']}", {"state": "closed"}))
        return int(issue["number"])

    async def close_issue(self, number: int) -> None:
        await self.ask("PATCH", f"/issues/{number}", {"state": "closed"})

    async def commit(self, branch: str) -> Sha:
        if (await self.client.get(f"/repos/{self.name}/branches/{branch}")).status_code == 404:
            repository = await self.ask("GET", "")
            base = await self.ask("GET", f"/git/ref/heads/{repository['default_branch']}")
            asked = {"ref": f"refs/heads/{branch}", "sha": base["object"]["sha"]}
            await self.ask("POST", "/git/refs", asked)
            self.made.append(("DELETE", f"/git/refs/heads/{branch}", None))
        content = base64.b64encode(os.urandom(8)).decode()
        file = {"message": "Change", "branch": branch, "content": content}
        done = await self.ask("PUT", f"/contents/{secrets.token_hex(4)}.txt", file)
        return Sha(done["commit"]["sha"])

    async def close_pull(self, number: int) -> None:
        await self.ask("PATCH", f"/pulls/{number}", {"state": "closed"})

    async def undo(self) -> None:
        for method, path, data in reversed(self.made):
            await self.client.request(method, f"/repos/{self.name}{path}", json=data)


@dataclass(frozen=True, slots=True)
class FarEnd:
    """A forge in this process: the people there, Overlord's way in, and an App's."""

    people: EmbeddedForge
    forge: Forge
    as_app: Callable[[App], Forge]


@asynccontextmanager
async def far_end(
    kind: str, root: Path, now: Callable[[], datetime] = utc_now, *, described: bool = True
) -> AsyncIterator[FarEnd]:
    """A forge of one of the KINDS, without repositories. `described`: what is said over HTTP is held against GitHub's own
    description, which does not have each redirect."""
    if kind == "memory":
        people = MemoryPeople(root, now=now)
        yield FarEnd(people, MemoryForge(people), lambda app: MemoryForge(people, agent=app.bot))
        people.close()
        return
    embedded, made = EmbeddedForge(root, now=now), list[GitHubForge]()
    async with served(embedded) if described else embedded.serve() as url:

        def as_app(app: App) -> Forge:
            made.append(GitHubForge.with_app(str(app.id), keys()[0], base_url=url, retry_wait_s=0))
            return made[-1]

        made.append(GitHubForge.with_token(embedded.token, base_url=url, retry_wait_s=0))
        yield FarEnd(embedded, made[0], as_app)
        for forge in made:
            await forge.close()
    embedded.close()


@asynccontextmanager
async def embedded_ground(kind: str, root: Path) -> AsyncIterator[Ground]:
    name = RepositoryName("demo/calc")
    async with far_end(kind, root) as end:
        await end.people.create_repository(name, files={"README.md": "# Calc\n"})
        yield EmbeddedGround(end.people, end.forge, name)


@asynccontextmanager
async def live_ground() -> AsyncIterator[Ground]:
    token, name = (os.environ[variable] for variable in LIVE_VARIABLES)
    url = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"}
    ours = {key: value for key, value in os.environ.items() if key.startswith(("GITHUB_API", "GITHUB_APP"))}
    if not any(key.startswith("GITHUB_APP_") for key in ours):
        ours["GITHUB_TOKEN"] = os.environ.get("OVERLORD_LIVE_TOKEN", token)
    with tempfile.TemporaryDirectory() as home:
        forge = connect(GitHubForge, load({**ours, "OVERLORD_HOME": home}))
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=180) as client:
        ground = LiveGround(forge, RepositoryName(name), client)
        yield ground
        await ground.undo()
    await forge.close()
