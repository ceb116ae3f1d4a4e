"""An upgrade as the page has it typed, twice, while a session runs: it ends in the image it began in, and the next has the new one."""

import asyncio
import json
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from overlord.embedded.play import edit, run, submit
from overlord.home import Home
from tests.deploy.server import Server, compose_or_skip, set_up
from tests.runners import IMAGE, docker
from tests.world import FIX, REPO

pytestmark = pytest.mark.docker

HELD = "until test -e /run/door/go; do sleep 0.02; done"


class Images:
    """Overlord's and the Minion's, under names of this test's own; `made` is what `make images` does to them."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex[:10]
        self.overlord, self.minion = f"overlord-test-{self._mark}", f"overlord-minion-test-{self._mark}"
        self._versions = 0

    def make(self, *, minion: str = "") -> None:
        """A new version of both, in place of the one before; the Minion's says that it is of this version, if one is given."""
        self._versions += 1
        for name, ground in ((self.overlord, "overlord"), (self.minion, IMAGE)):
            text = f"FROM {ground}\nLABEL overlord.test={self._mark}-{self._versions}\n"
            text += f"LABEL overlord.minion={minion}\n" if minion else ""
            build = ["docker", "build", "--quiet", "--tag", name, "-"]
            subprocess.run(build, input=text, text=True, check=True, capture_output=True)

    def now(self, name: str) -> str:
        return docker("image", "inspect", "--format", "{{.Id}}", name)

    def of(self, container: str) -> str:
        return docker("inspect", "--format", "{{.Image}}", container)

    def remove_replaced(self) -> None:
        """As `docker image prune` would: what has no name any more, and no container."""
        for version in range(1, self._versions):
            label = f"label=overlord.test={self._mark}-{version}"
            for identifier in docker("image", "ls", "--quiet", "--filter", label).split():
                subprocess.run(["docker", "image", "rm", identifier], check=False, capture_output=True)

    def remove(self) -> None:
        names = ["docker", "image", "rm", "--force", self.overlord, self.minion]
        subprocess.run(names, check=False, capture_output=True)
        self.remove_replaced()


@pytest.fixture
async def images() -> None:
    await compose_or_skip()


@pytest.fixture
def own(images: None) -> Iterator[Images]:
    own = Images()
    own.make()
    yield own
    own.remove()


async def upgrade(server: Server, own: Images) -> None:
    """Type what the page says; where it says how images are made, they are."""
    page = (server.folder / "README.md").read_text(encoding="utf-8")
    lines = page.partition("\n## Upgrade\n")[2].split("```")[1].strip().splitlines()
    assert [line.partition("#")[0].strip() for line in lines[1:]] == [
        "git pull && make images",
        "docker compose up -d --wait",
    ]
    typed = (
        lines[0].replace("exec overlord", "exec --no-TTY overlord").replace("/srv/overlord", str(server.home))
    )
    await server.shell(typed)
    await asyncio.to_thread(own.make)
    await server.shell(lines[2])
    await asyncio.to_thread(own.remove_replaced)


async def test_two_upgrades_while_a_session_runs_leave_it_alone_and_the_next_one_has_the_new_image(
    own: Images,
) -> None:
    async with set_up(docker={"image": own.minion}) as server:
        server.fill_in(DEPLOY_IMAGE=own.overlord)
        await server.compose("up", "--detach", "--wait")
        first, began_as = own.now(own.minion), server.inspected()["Image"]
        server.model.will(run(HELD), edit(*FIX), submit("add() adds again."))
        await server.forge.open_issue(REPO, "add() subtracts", "", labels=["nebulus-ready"])
        await server.until(lambda: len(server.model.requests) == 1)
        [minion] = server.sessions()

        await upgrade(server, own)
        await upgrade(server, own)
        assert server.inspected()["Image"] == own.now(own.overlord) != began_as
        assert server.sessions() == [minion]
        assert own.of(minion) == first != own.now(own.minion)
        assert len(list(server.home.glob("before-*.tar.gz"))) == 2

        (Home(server.home).session_api("j1-work-1") / "go").touch()
        await server.until(lambda: [pull.draft for pull in server.forge.pulls(REPO)] == [False])
        events = [
            json.loads(line)["name"] for line in (await server.overlord("ledger", "export")).splitlines()
        ]
        assert (events.count("daemon_started"), events.count("session_started")) == (3, 1), events

        # New images of another version, and Overlord not started again yet: what is new waits, and says for what.
        await asyncio.to_thread(own.make, minion="of-another-version")
        asked = len(server.model.requests)
        server.model.will(run(f"{HELD}; true"), submit("Done."))
        await server.forge.open_issue(REPO, "Another matter", "", labels=["nebulus-ready"])
        jobs = ("exec", f"{server.project}-overlord-1", "overlord", "job", "list", "--json")
        await server.until(lambda: "is of another version of the Minion by now" in docker(*jobs))
        await asyncio.to_thread(own.make)
        await server.until(lambda: len(server.model.requests) > asked)
        assert own.of(f"overlord-{Home(server.home).instance()}-j2-work-1") == own.now(own.minion)
