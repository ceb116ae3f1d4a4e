"""What Git LFS keeps beside a repository: fetched by Overlord where a space's settings ask for it, over the batch API.

The forge says where an object lies; whatever comes from there counts only if it is what the commit's pointer names. No
`.lfsconfig` is read, and Overlord's credential goes to the forge alone.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path

import httpx
from pydantic import BaseModel, ValidationError

from overlord.adapters.git.command import TIMEOUT_S, git
from overlord.adapters.git.content.diff import parse_batch, shown
from overlord.adapters.git.content.listing import listed
from overlord.adapters.http import open_client
from overlord.domain.identifiers import Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.lfs import LARGEST_POINTER, SMALLEST_POINTER, Pointer, parse_pointer
from overlord.domain.repositories.submodule_address import origin
from overlord.errors import ExternalServiceError, ForgeUnavailable, Unobtainable

MEDIA_TYPE = "application/vnd.git-lfs+json"
ASKED_AT_ONCE = 100
"""Objects in one question, as the specification advises."""
MOST_FILES = 10_000
Origin = tuple[str, str, int | None]
_MISCONFIGURED = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL)
"""An address or a header nobody can be asked with."""
TIMEOUT = httpx.Timeout(30.0, read=60.0)


class _Action(BaseModel):
    href: str
    header: dict[str, str] = {}


class _Error(BaseModel):
    code: int = 0
    message: str = ""


class _Object(BaseModel):
    oid: str
    actions: dict[str, _Action] = {}
    error: _Error | None = None


class _Batch(BaseModel):
    objects: list[_Object]


async def pointers(repository: Path, commit: Sha, scratch: Path) -> dict[bytes, Pointer]:
    """The files of a commit that Git LFS keeps the content of; `scratch` is where an index may lie for a moment."""
    small: dict[bytes, bytes] = {}
    for entry in (await listed(repository, commit, "-l")).split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, _, blob, size = about.split()
        if mode.startswith(b"100") and size.isdigit() and SMALLEST_POINTER <= int(size) <= LARGEST_POINTER:
            small[path] = blob
    kept = await _filtered(repository, commit, list(small), scratch) if small else []
    if not kept:
        return {}
    asked = b"".join(small[path] + b"\n" for path in kept)
    output = await git(repository, "cat-file", "--batch", stdin=asked)
    contents = parse_batch([os.fsdecode(path) for path in kept], output)
    parsed = {os.fsencode(path): parse_pointer(content) for path, content in contents}
    return {path: pointer for path, pointer in parsed.items() if pointer is not None}


async def _filtered(repository: Path, commit: Sha, paths: Sequence[bytes], scratch: Path) -> list[bytes]:
    """Those of the paths whose attributes say that Git LFS has them."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory) / "index"), "GIT_ATTR_SOURCE": commit}
        await git(repository, "read-tree", commit, environment=index)
        words = ("check-attr", "--cached", "-z", "--stdin", "filter")
        output = await git(
            repository, *words, environment=index, stdin=b"".join(path + b"\0" for path in paths)
        )
    fields = iter(output.split(b"\0")[:-1])
    return [path for path, _, value in zip(fields, fields, fields, strict=True) if value == b"lfs"]


class LfsObjects:
    """The objects of one repository. `place` is where one is kept, by its name."""

    def __init__(self, remote: Remote, place: Callable[[str], Path], *, most_bytes: int) -> None:
        self._remote = remote
        self._place = place
        self._most_bytes = most_bytes

    async def gather(self, wanted: Mapping[bytes, Pointer]) -> dict[bytes, Path]:
        """A file with the content for each pointer's path. Raises Unobtainable or ForgeUnavailable."""
        if sum(pointer.size for pointer in wanted.values()) > self._most_bytes:
            raise Unobtainable(f"What Git LFS keeps for it is larger than {self._most_bytes} bytes.")
        if len(wanted) > MOST_FILES:
            raise Unobtainable(f"Git LFS keeps more than {MOST_FILES} files for it.")
        names = {pointer: path for path, pointer in wanted.items()}
        missing = [pointer for pointer in names if not _is_there(self._place(pointer.oid), pointer)]
        async with AsyncExitStack() as clients:
            forge = await clients.enter_async_context(open_client(self._remote.url, TIMEOUT))
            stores = {origin(self._remote.url): forge}
            for start in range(0, len(missing), ASKED_AT_ONCE):
                some = missing[start : start + ASKED_AT_ONCE]
                actions = await self._ask(forge, some)
                for pointer in some:
                    action = _place_of(actions.get(pointer.oid), shown(names[pointer]))
                    where = self._allowed(action.href, shown(names[pointer]))
                    if where not in stores:
                        stores[where] = await clients.enter_async_context(open_client(action.href, TIMEOUT))
                    await self._download(stores[where], pointer, shown(names[pointer]), action)
        return {path: self._place(pointer.oid) for path, pointer in wanted.items()}

    async def _ask(self, forge: httpx.AsyncClient, some: Sequence[Pointer]) -> dict[str, _Object]:
        """What the forge says of these objects."""
        url = f"{self._remote.url.removesuffix('/').removesuffix('.git')}.git/info/lfs/objects/batch"
        question = {
            "operation": "download",
            "transfers": ["basic"],
            "hash_algo": "sha256",
            "objects": [{"oid": pointer.oid, "size": pointer.size} for pointer in some],
        }
        headers = {"accept": MEDIA_TYPE, "content-type": MEDIA_TYPE, **headers_for(url, {}, self._remote)}
        try:
            answer = await forge.post(url, json=question, headers=headers)
            if answer.status_code != 200:
                raise _failed(answer, "The forge does not say where Git LFS keeps it")
            return {item.oid: item for item in _Batch.model_validate_json(answer.content).objects}
        except _MISCONFIGURED:
            raise Unobtainable("The forge has no address where Git LFS could be asked.") from None
        except httpx.HTTPError as error:
            raise ForgeUnavailable(
                f"The forge does not say where Git LFS keeps it: {type(error).__name__}."
            ) from None
        except ValidationError:
            raise Unobtainable("What the forge says of Git LFS cannot be read.") from None

    def _allowed(self, href: str, name: str) -> Origin:
        """Whom an address belongs to, if it may be asked at all."""
        try:
            where = origin(href)
        except ValueError:
            raise Unobtainable(f"The content of {name} is not fetched: its address cannot be read.") from None
        if where != origin(self._remote.url) and where[0] != "https":
            raise Unobtainable(f"The content of {name} is not fetched: its address is not https.")
        return where

    async def _download(
        self, client: httpx.AsyncClient, pointer: Pointer, name: str, action: _Action
    ) -> None:
        headers = headers_for(action.href, action.header, self._remote)
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                client.stream("GET", action.href, headers=headers) as answer,
            ):
                if answer.status_code != 200:
                    raise _failed(answer, f"The content of {name} cannot be had")
                await self._keep(pointer, name, answer)
        except (*_MISCONFIGURED, ValueError, TimeoutError) as error:
            raise Unobtainable(f"The content of {name} cannot be had: {type(error).__name__}.") from None
        except httpx.HTTPError as error:
            raise ForgeUnavailable(f"The content of {name} cannot be had: {type(error).__name__}.") from None

    async def _keep(self, pointer: Pointer, name: str, answer: httpx.Response) -> None:
        """Write an object down if it is the one that was named."""
        place = self._place(pointer.oid)
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part")
        made, size = sha256(), 0
        with part.open("wb") as file:
            async for chunk in answer.aiter_bytes():
                size += len(chunk)
                if size > pointer.size:
                    break
                made.update(chunk)
                file.write(chunk)
        if size != pointer.size or made.hexdigest() != pointer.oid:
            part.unlink()
            raise Unobtainable(f"The content of {name} that came is not what its pointer names.")
        part.replace(place)


def _failed(answer: httpx.Response, what: str) -> ExternalServiceError:
    """What passes by itself is tried again; a person is asked about the rest."""
    status, wait = answer.status_code, answer.headers.get("retry-after", "")
    if status in (408, 429) or status >= 500:
        return ForgeUnavailable(f"{what}: {status}.", retry_after_s=float(wait) if wait.isdecimal() else None)
    return Unobtainable(f"{what}: {status}.")


def headers_for(url: str, values: Mapping[str, str], remote: Remote) -> dict[str, str]:
    """The headers of a request: those the forge told for it, and Overlord's own credential for the forge itself."""
    has_authorization = any(name.lower() == "authorization" for name in values)
    if has_authorization or not remote.authorization or origin(url) != origin(remote.url):
        return dict(values)
    return {**values, "Authorization": remote.authorization}


def _place_of(answer: _Object | None, name: str) -> _Action:
    """Where the forge says that an object is. Raises Unobtainable when it names no place."""
    action = answer.actions.get("download") if answer is not None else None
    if action is None:
        why = (
            answer.error.message[:200] if answer is not None and answer.error else "the forge names no place"
        )
        raise Unobtainable(f"Git LFS does not have the content of {name}: {why}.")
    return action


def _is_there(place: Path, pointer: Pointer) -> bool:
    return place.exists() and place.stat().st_size == pointer.size
