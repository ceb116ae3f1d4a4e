"""What starts sessions."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running


class Runner(Protocol):
    """Processes, Docker, Swarm. Raises RunnerUnavailable when the engine does not answer (nothing is known then),
    RunnerRefused when it will not start this launch (no such image, no program of its agent, a profile that does not hold)."""

    name: str
    capabilities: RunnerCapabilities

    async def start(self, launch: Launch) -> None:
        """Start it. A session that was started already, running or ended, is left as it is: the call may be repeated."""

    async def find(self, session: SessionId) -> Running | None:
        """What became of a session; None when this runner has no trace of ever starting it."""

    async def sessions(self) -> Sequence[Running]:
        """Every session of this instance the runner still holds, running or ended, also from before a restart."""

    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        """TERM, and KILL what is left after `grace_s`, the whole process tree. Ended or unknown is no error."""

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        """The end of what it printed, control characters made harmless; empty when nothing is known."""

    async def remove(self, session: SessionId) -> None:
        """Forget an ended session and free what it held. A running one is killed first."""

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:
        """The version of a coding agent's program as sessions of this space would have it; empty when only the session itself
        can tell. Raises RunnerRefused, with how to get it, when it is not there."""

    async def ground(self, image: str, *, space: str = "") -> str:
        """What tells what an environment would be made on from anything else: the image (empty: the runner's own), the
        machine. Raises RunnerRefused for an image that cannot be had."""

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        """Make the ground an environment is set up on: a system with these packages. Runs nothing of the repository's.
        May take minutes, and may be repeated. Raises RunnerRefused with the telling part of the log when it cannot be."""

    async def keep_layer(self, session: SessionId, key: str) -> int:
        """Make what an ended setup session left the environment of this key; its size in bytes. May be repeated."""

    async def has_layer(self, key: str) -> bool:
        """Whether an environment of this key is there to run in."""

    async def remove_layer(self, key: str) -> None:
        """Remove an environment, finished or not, and its ground. One that is not there is no error."""

    async def downloads(self) -> Sequence[str]:
        """The repositories, in small letters, whose setups left downloads for the next ones."""

    async def remove_downloads(self, space: str) -> None:
        """Remove a repository's downloads. None there, or in use just now, is no error."""

    def follow(self) -> AsyncIterator[SessionId]:
        """Sessions that ended, as it happens. A hint only: the tick asks `find` all the same."""

    async def close(self) -> None:
        """Let go of what watches; sessions go on and can be found by the next daemon."""
