"""Kill -9 at each outward act of the Docker runner, before and after it, and where the engine has done what it was asked and
nobody has noted that; again during the recovery. The sessions are containers of the real Minion.
"""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from typing_extensions import override

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.failpoints import Failpoint, Moment
from overlord.home import Home
from overlord.store import sessions
from overlord.store.database import open_reader
from tests.adapters.engine import OwnEngine
from tests.faults.campaign import RECOVERY, Campaign
from tests.faults.cut import Cut
from tests.faults.docker_proxy import Kind, Trouble
from tests.faults.docker_stage import Stage, set_up
from tests.world import CALC, FIX

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]

FILES = {**CALC, ".nebulus/environment.yaml": 'setup: echo made > "$MINION_ENVIRONMENT/said"\n'}
POINTS = (
    *(Failpoint.PREPARE_LAYER, Failpoint.START_SESSION, Failpoint.KEEP_LAYER, Failpoint.STOP_SESSION),
    *(Failpoint.REMOVE_SESSION, Failpoint.REMOVE_LAYER, Failpoint.REMOVE_DOWNLOADS),
)
KINDS = ("setup", "work", "check")
CALLS = (
    r"^POST /images/[^/]+/tag",
    *(rf"^POST /containers/create\?name=[^/]*-{kind}-" for kind in KINDS),
    *(rf"^POST /containers/[^/]*-{kind}-[^/]*/start" for kind in KINDS),
    r"^POST /commit",
    r"^POST /containers/[^/]+/kill",
    r"^DELETE /containers/",
    r"^DELETE /images/",
    r"^DELETE /volumes/",
)
"""What changes an engine. After each the daemon is killed that has not heard that it was done; after a `create`, the container was
made and not started."""


@dataclass
class Cornered(Campaign):
    """A campaign whose daemons may also be ended by whom they ask, and whose engine is looked at after each end."""

    stage: Stage = field(kw_only=True)
    calls: list[Trouble] = field(default_factory=list)

    def will_kill(self, call: str) -> None:
        self.calls.append(self.stage.proxy.will(Kind.KILL, call))

    @override
    def _note_cut(self) -> None:
        self.look()
        if self.place.cut.exists():
            super()._note_cut()
            return
        assert self.drop_made(), f"somebody else killed it\n{self.log()}"
        self.cuts = [Cut(count=self.chance.randint(1, RECOVERY))]

    def drop_made(self) -> int:
        """Forget the calls that were made, and say how many. Two may be under way when a daemon dies: the engine does the second
        for a daemon that has ended already, which nobody sees end again."""
        left = [call for call in self.calls if not call.happened.is_set()]
        made = len(self.calls) - len(left)
        self.calls = left
        return made

    def look(self) -> None:
        """No session has two containers."""
        held = Counter(entry["Labels"].get("overlord.session") for entry in self.stage.containers())
        assert all(count == 1 for count in held.values()), held


@pytest.fixture
async def told(engine: OwnEngine) -> AsyncIterator[Cornered]:
    overrides: dict[str, Any] = {"environments": {"network": "none"}, "delivery": {"open_pulls": 1000}}
    async with set_up(engine, FILES, **overrides) as stage:
        stage.docker("tag", "overlord-minion", "overlord-minion-setup")
        yield Cornered(stage.world, stage=stage)


async def test_a_daemon_killed_at_what_its_runner_does_has_one_container_for_a_session_and_leaves_none(
    told: Cornered,
) -> None:
    told.chain = [Cut(point=point, moment=moment) for point in POINTS for moment in Moment]
    while told.chain:
        left = len(told.chain)
        await _tell(told)
        assert len(told.chain) < left, f"never reached: {', '.join(map(str, told.chain))}"
    await told.check()


async def test_a_daemon_killed_before_it_hears_what_its_engine_did_does_nothing_twice(told: Cornered) -> None:
    for call in CALLS:
        told.will_kill(call)
    while told.calls:
        left = len(told.calls)
        await _tell(told)
        told.drop_made()
        assert len(told.calls) < left, f"never asked: {told.calls}"
    await told.check()


async def _tell(told: Cornered) -> None:
    """An issue is worked on in an environment of its own, another is stopped in the middle; later nobody needs the environment."""
    world = told.world
    issue = await world.issue("add() subtracts")
    world.model_will(edit(*FIX), submit("adds"), when="subtracts")
    await told.settle()
    assert told.expect(issue, JobState.IN_REVIEW).revision == 0
    assert "session_lost" not in told.events(issue), told.events(issue)
    assert _sessions(told, issue) == {"setup": 1, "work": 1, "check": 1, "review": 1}
    await told.close(issue)
    held = await world.issue("double() triples")
    world.model_will(world.hold(), submit("nothing"), when="triples")
    await told.until_holding()
    await told.command("job", "stop", str(told.job(held).id), done=(0, 5))
    await told.settle()
    told.expect(held, JobState.CANCELLED)
    assert _sessions(told, held) == {"work": 1}
    told.later(days=70)
    await told.settle()
    stage, home = told.stage, Home(told.place.home)
    assert stage.containers() == []
    assert stage.docker("volume", "ls", "--quiet") == ""
    mine = ("--filter", f"label=overlord.instance={home.instance()}")
    assert stage.docker("image", "ls", "--quiet", *mine) == ""
    tags = stage.docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").splitlines()
    assert [tag for tag in tags if home.instance() in tag] == []


def _sessions(told: Cornered, issue: int) -> Counter[str]:
    """How many sessions of each kind the last job of an issue had."""
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return Counter(str(session.kind) for session in sessions.of_job(connection, told.job(issue).id))
