"""Where a repository comes from: the address of its remote, and the repository of a forge that this means."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from overlord.adapters.git.command import git
from overlord.domain.identifiers import RepositoryName
from overlord.errors import GitFailed, Refused

REMOTE = "origin"
_HOST, _NAME = r"[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?", r"[A-Za-z0-9][\w.-]*/[\w.-]+?"
_PLACE = re.compile(
    rf"(?:(?P<scheme>https?|ssh)://(?:[^/\s]+@)?(?P<host>{_HOST})/|(?:[^@/\s]+@)(?P<scp>{_HOST}):)(?P<name>{_NAME})(?:\.git)?/?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePlace:
    """A repository at a forge."""

    scheme: str
    host: str
    name: RepositoryName

    def is_at(self, api_url: str) -> bool:
        """Whether this is the forge that is called at this address: a token goes to no other."""
        called = (urlsplit(api_url).hostname or "").removeprefix("api.")
        return self.host.partition(":")[0].casefold().removeprefix("ssh.") == called


async def address_of(git_dir: Path) -> str:
    """The address of the remote that a repository comes from. Raises Refused where it has none."""
    try:
        return (
            (await git(git_dir, "config", "--get", f"remote.{REMOTE}.url")).decode(errors="replace").strip()
        )
    except GitFailed:
        raise Refused(
            f"the repository has no remote called {REMOTE}; add one, or merge the branch yourself"
        ) from None


def place_of(address: str) -> "RemotePlace | None":
    """Where a remote's address points, if it can be a repository of a forge."""
    found = _PLACE.fullmatch(address)
    if found is None:
        return None
    return RemotePlace(
        scheme="http" if found["scheme"] == "http" else "https",
        host=found["host"] or found["scp"],
        name=RepositoryName(found["name"]),
    )
