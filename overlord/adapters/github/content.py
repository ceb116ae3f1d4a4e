"""What pull requests hold, as GitHub has it: which are open, what they change, and the files at their heads.

The head of one from a fork is among the repository's own objects, so nothing is ever asked of a fork. Files are read as objects:
no working copy, no link that is followed, nothing that git would run.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from hashlib import sha1

from pydantic import BaseModel

from overlord.adapters.github.client import ForgeForbidden
from overlord.adapters.github.credentials import AppCredentials
from overlord.adapters.github.payload import PullPayload
from overlord.adapters.github.requests import GitHubRequests
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import Pull, PulledFile, TreeEntry
from overlord.errors import ForgeTooLarge, ForgeUnavailable

PAGE = 100
MOST_LISTED = 3_000
"""GitHub lists no more files of a pull request than these, and does not say that there are more."""
DIRECTORY = "040000"


class _File(BaseModel):
    filename: str
    status: str
    previous_filename: str | None = None

    def record(self) -> PulledFile:
        old = self.previous_filename if self.status == "renamed" else None
        return PulledFile(path=self.filename, is_removed=self.status == "removed", old_path=old)


class _Entry(BaseModel):
    path: str
    mode: str
    sha: str
    size: int | None = None


class _Tree(BaseModel):
    tree: list[_Entry]
    truncated: bool = False


class _Blob(BaseModel):
    content: str
    encoding: str


class _Login(BaseModel):
    login: str


class GitHubContent(GitHubRequests):
    """The part of `ports.Forge` that is about what is in pull requests, and as whom Overlord speaks of it."""

    async def login(self, name: RepositoryName) -> str:
        if name not in self._logins:
            if not (login := await self._asked_login(name)):
                return ""
            self._logins[name] = login
        return self._logins[name]

    async def _asked_login(self, name: RepositoryName) -> str:
        if isinstance(self._credentials, AppCredentials):
            return f"{(await self._credentials.installation(name)).app}[bot]"
        try:
            return (await self._read(_Login, "users/get-authenticated", name)).login
        except ForgeForbidden:
            return ""

    async def open_pulls(self, name: RepositoryName) -> Sequence[Pull]:
        asked = {"state": "open", "sort": "created", "direction": "asc", "per_page": PAGE}
        return [payload.record() async for payload in self._pages(PullPayload, "pulls/list", name, **asked)]

    async def pull_files(self, name: RepositoryName, number: int) -> Sequence[PulledFile]:
        asked = {"pull_number": number, "per_page": PAGE}
        found = [payload.record() async for payload in self._pages(_File, "pulls/list-files", name, **asked)]
        if len(found) >= MOST_LISTED:
            raise ForgeTooLarge(
                f"pull request #{number} changes more files than GitHub lists ({MOST_LISTED:,})"
            )
        return found

    async def folder(self, name: RepositoryName, commit: Sha, path: str) -> Mapping[str, TreeEntry]:
        entries = await self._entries(name, commit)
        for part in path.split("/"):
            entry = entries.get(part)
            if entry is None or entry.mode != DIRECTORY:
                return {}
            entries = await self._entries(name, entry.sha)
        return entries

    async def _entries(self, name: RepositoryName, tree: str) -> dict[str, TreeEntry]:
        found = await self._read(_Tree, "git/get-tree", name, tree_sha=tree)
        if found.truncated:
            raise ForgeTooLarge(f"a directory at {tree} of {name} has more entries than GitHub lists")
        return {item.path: TreeEntry(mode=item.mode, sha=item.sha, size=item.size) for item in found.tree}

    async def blob(self, name: RepositoryName, sha: str) -> bytes:
        found = await self._read(_Blob, "git/get-blob", name, file_sha=sha)
        try:
            content = base64.b64decode(found.content) if found.encoding == "base64" else b""
        except (binascii.Error, ValueError):
            content = b""
        named = sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        if named != sha:
            raise ForgeUnavailable(f"what GitHub sends as blob {sha} of {name} is something else")
        return content
