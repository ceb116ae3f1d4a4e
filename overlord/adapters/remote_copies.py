"""Ready copies on other machines: what a session is told of its own, and what the program that fetches it is.

A machine, or a volume that several share, has a directory of copies. One program writes there, `python -m minion.copies`, in a
container of its own; sessions read it.
"""

from dataclasses import dataclass
from hashlib import sha256

from overlord.adapters.git.ready import LARGE, MODULES
from overlord.domain.launch import Launch, SessionAccess

COPIES = "/copies"
"""Where copies are in containers."""
WAIT_S, NEEDED_WAIT_S = 30, 300
"""How long a session waits for its copy before it clones; and where a clone would lack something, before it gives up."""
FETCHING = ("python", "-m", "minion.copies")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCopy:
    """The copy that a launch begins with, fetched by the machine it is placed on."""

    space: str
    name: str
    is_needed: bool
    """Whether it holds what a clone would not: submodules, large files."""
    access: SessionAccess

    @classmethod
    def of(cls, launch: Launch) -> "RemoteCopy | None":
        """None where a session begins with a clone."""
        if launch.ready is None or launch.copy_access is None:
            return None
        needed = any((launch.ready / part).exists() for part in (MODULES, LARGE))
        return cls(space=launch.space, name=launch.ready.name, is_needed=needed, access=launch.copy_access)

    @property
    def space_key(self) -> str:
        """Stands for the repository in names of volumes and directories."""
        return sha256(self.space.casefold().encode()).hexdigest()[:12]

    @property
    def key(self) -> str:
        """Stands for this copy in names."""
        return sha256(f"{self.space.casefold()}/{self.name}".encode()).hexdigest()[:12]

    def for_session(self) -> dict[str, str]:
        """What the session is told."""
        wait_s = NEEDED_WAIT_S if self.is_needed else WAIT_S
        told = {"MINION_READY": f"{COPIES}/{self.name}", "MINION_READY_WAIT_S": str(wait_s)}
        return told | ({"MINION_READY_NEEDED": "1"} if self.is_needed else {})

    def for_fetching(self) -> dict[str, str]:
        """What the program that fetches it is told."""
        named = {"MINION_COPY": f"{self.space}/{self.name}", "MINION_COPIES": COPIES}
        return {**self.access.environment(), **named}
