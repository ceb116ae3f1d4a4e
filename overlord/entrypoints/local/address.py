"""A repository somewhere else, by its address: fetched with the user's own git configuration and SSH agent, which is
where their credentials are; no prompt is ever shown, and no other protocol than these is spoken.
"""

import os
import re
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.identifiers import Sha
from overlord.errors import GitFailed, NotFound, Refused

_URL = re.compile(r"(https?|ssh|file)://[^\s]+", re.IGNORECASE)
_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!//)[^\s]+")
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_FETCHED = "refs/overlord/fetched"
_KEPT = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "XDG_CONFIG_HOME", "USER", "LOGNAME")


def is_address(text: str) -> bool:
    return bool(_URL.fullmatch(text) or _SCP.fullmatch(text))


def check_address(address: str) -> str:
    """The address as it is kept. Raises Refused for one with a password in it, which would be kept too."""
    if _PASSWORD.search(address):
        raise Refused(
            "the address has a password in it, which would be written down; use a credential helper of git's"
        )
    return address.rstrip("/")


async def fetch(forge: Path, address: str, ref: str) -> tuple[Sha, str]:
    """Bring a branch, tag or commit (or HEAD) into the forge's repository: its commit, and the branch's name if it has one."""
    arguments = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    try:
        if ref == "HEAD":
            ref = await _default_branch(forge, address)
        await users_own_git(forge, *arguments, address, f"+{ref}:{_FETCHED}")
        commit = (await git(forge, "rev-parse", "--verify", f"{_FETCHED}^{{commit}}")).decode().strip()
        await git(forge, "update-ref", "-d", _FETCHED)
    except GitFailed as error:
        raise NotFound(f"{address} cannot be cloned from {ref!r}: {error}") from error
    return Sha(commit), ref.removeprefix("refs/heads/")


async def _default_branch(forge: Path, address: str) -> str:
    listing = (await users_own_git(forge, "ls-remote", "--symref", address, "HEAD")).decode(errors="replace")
    match = re.search(r"^ref: (refs/heads/\S+)\tHEAD$", listing, re.MULTILINE)
    if not listing.strip():
        raise Refused(f"{address} has no commits to start from")
    return match[1] if match else "HEAD"


async def users_own_git(forge: Path, *arguments: str) -> bytes:
    """Git with the user's own configuration, where their credentials are; hooks and unusual protocols stay off."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"HOME": str(Path.home()), "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
    own = Path.home() / ".gitconfig"
    if own.exists():
        environment["GIT_CONFIG_GLOBAL"] = str(own)
    allowed = {f"protocol.{name}.allow": "always" for name in ("https", "http", "ssh", "file")}
    return await git(
        forge, *arguments, environment=environment, settings={"protocol.allow": "never", **allowed}
    )
