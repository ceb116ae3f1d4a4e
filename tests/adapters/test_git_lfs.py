"""What Git LFS keeps, in a ready copy: fetched by Overlord alone, and only what the pointers name."""

from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from overlord.adapters.git.lfs import headers_for
from overlord.adapters.git.mirrors import KEPT_COPIES
from overlord.domain.identifiers import Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Extent
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.server import serve
from overlord.errors import ExternalServiceError, ForgeUnavailable, Unobtainable
from tests.adapters.fetching_ground import NAME, FetchingGround
from tests.plumbing import Files, commit

CONTENT = b"large\r\n\0" * 1000
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
SECRET = "Basic canary-0123456789"


def pointer(content: bytes) -> str:
    oid = sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


class Ground(FetchingGround):
    """A forge with `acme/calc`, and an Overlord's git that fetches what Git LFS keeps."""

    usual = Extent(lfs=True)

    async def base(self, files: Files) -> Sha:
        made = commit(self.forge.directory(NAME), "main", {".gitattributes": ATTRIBUTES, **files})
        await self.git.refresh_mirror(NAME, await self.remote())
        return made

    def asked(self) -> int:
        return sum("/info/lfs/" in seen.path for seen in self.forge.requests)


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    forge = EmbeddedForge(tmp_path / "forge")
    await forge.create_repository(NAME)
    async with forge.serve() as url:
        yield Ground(tmp_path, forge, url)
    forge.close()


async def test_a_session_finds_the_content_and_the_forge_is_asked_once(ground: Ground) -> None:
    told = ground.forge.keep_large(NAME, CONTENT)
    assert told == pointer(CONTENT)
    files: Files = {
        "a.bin": told,
        "deep/b.bin": told,
        b"c\xff.bin": told,
        "a.txt": told,
        "small.bin": "x",
        "z": "z\n",
    }
    root = await ground.laid_out(await ground.base(files))
    for name in (b"a.bin", b"deep/b.bin", b"c\xff.bin"):
        assert (root / name.decode(errors="surrogateescape")).read_bytes() == CONTENT
    assert (root / "a.txt").read_text() == told, "only what the attributes say"
    assert (root / "small.bin").read_text() == "x"
    assert (root / "z").read_text() == "z\n"
    assert ground.asked() == 2
    await ground.laid_out(await ground.base({**files, "z": "y\n"}))
    assert ground.asked() == 2, "what is known is not fetched again"


async def test_without_the_setting_there_are_pointers(ground: Ground) -> None:
    told = ground.forge.keep_large(NAME, CONTENT)
    root = await ground.laid_out(await ground.base({"a.bin": told}), ground.overlord(Extent()))
    assert (root / "a.bin").read_text() == told
    assert ground.asked() == 0


async def test_more_objects_than_are_asked_for_at_once_are_all_fetched(ground: Ground) -> None:
    contents = {f"d/{number}.bin": f"content {number}".encode() for number in range(130)}
    files: Files = {name: ground.forge.keep_large(NAME, content) for name, content in contents.items()}
    root = await ground.laid_out(await ground.base(files))
    assert {name: (root / name).read_bytes() for name in contents} == contents


async def test_what_is_not_kept_is_said(ground: Ground) -> None:
    base = await ground.base({"a.bin": pointer(b"nowhere")})
    with pytest.raises(
        Unobtainable, match=r"Git LFS does not have the content of a\.bin: Object does not exist"
    ):
        await ground.git.ready_copy(NAME, base, ground.remote)


async def test_what_is_too_large_is_said_before_anything_is_fetched(ground: Ground) -> None:
    base = await ground.base({"a.bin": ground.forge.keep_large(NAME, CONTENT)})
    with pytest.raises(Unobtainable, match="larger than 4096 bytes"):
        await ground.overlord(ready_bytes=4096).ready_copy(NAME, base, ground.remote)
    assert ground.asked() == 0
    await ground.laid_out(base)


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        *((passing, ForgeUnavailable) for passing in ("429", "500", "502-html", "503", "reset")),
        *((lasting, Unobtainable) for lasting in ("401", "404", "bad-json")),
    ],
)
async def test_what_passes_is_tried_again_and_a_person_is_asked_about_the_rest(
    ground: Ground, kind: str, raised: type[ExternalServiceError]
) -> None:
    base = await ground.base({"a.bin": ground.forge.keep_large(NAME, CONTENT)})
    for after in (0, 1):
        ground.forge.fail("lfs", kind=kind, after=after)
        with pytest.raises(raised) as said:
            await ground.git.ready_copy(NAME, base, ground.remote)
        assert getattr(said.value, "retry_after_s", None) == (30 if kind in ("429", "503") else None)
    assert (await ground.laid_out(base) / "a.bin").read_bytes() == CONTENT


async def test_other_content_than_the_pointer_names_is_not_taken(ground: Ground) -> None:
    for number, wrong in enumerate((CONTENT + b"?", CONTENT + b"more", CONTENT[:-1], b"")):
        content = CONTENT + bytes([number])
        told = ground.forge.keep_large(NAME, content)
        [place] = (ground.forge.directory(NAME) / "lfs").rglob(sha256(content).hexdigest())
        place.write_bytes(wrong)
        base = await ground.base({"a.bin": told})
        with pytest.raises(Unobtainable, match="is not what its pointer names"):
            await ground.git.ready_copy(NAME, base, ground.remote)
    assert not [file for file in (ground.home.root / "lfs").rglob("*") if file.is_file()]


async def test_content_goes_with_the_last_copy_that_has_it(ground: Ground) -> None:
    same = ground.forge.keep_large(NAME, CONTENT)
    for number in range(KEPT_COPIES + 2):
        own = ground.forge.keep_large(NAME, CONTENT + bytes([number]))
        await ground.laid_out(await ground.base({"own.bin": own, "same.bin": same}))
        await ground.git.forget_ready(NAME, keep=())
    assert len([file for file in (ground.home.root / "lfs").rglob("*") if file.is_file()]) == KEPT_COPIES + 1
    asked = ground.asked()
    await ground.laid_out(await ground.base({"same.bin": same}))
    assert ground.asked() == asked


class Storage:
    """A forge's LFS, and the place it sends people to. It notes who was told what."""

    def __init__(self, answer: Callable[[str], object]) -> None:
        self.heard: list[tuple[str, str, str]] = []
        self._answer = answer
        self.url = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        headers = request.headers
        self.heard.append((request.url.path, headers.get("authorization", ""), headers.get("x-told", "")))
        if request.url.path == "/object":
            response: Response = Response(CONTENT)
        else:
            response = JSONResponse(self._answer(self.url))
        await response(scope, receive, send)


def told(url: str) -> object:
    action = {"href": f"{url}/object", "header": {"X-Told": "yes"}}
    return {"objects": [{"oid": sha256(CONTENT).hexdigest(), "actions": {"download": action}}]}


async def far_from(ground: Ground, answer: Callable[[str], object]) -> tuple[Storage, Remote, Sha]:
    base = await ground.base({"a.bin": pointer(CONTENT)})
    return Storage(answer), Remote(url="", authorization=SECRET), base


async def test_the_headers_of_the_answer_go_along_and_the_credential_only_to_the_forge(
    ground: Ground,
) -> None:
    storage, remote, base = await far_from(ground, told)
    async with serve(storage) as url:
        storage.url = url

        async def here() -> Remote:
            return Remote(url=f"{url}/acme/calc.git", authorization=remote.authorization)

        await ground.git.ready_copy(NAME, base, here)
    assert storage.heard == [
        ("/acme/calc.git/info/lfs/objects/batch", SECRET, ""),
        ("/object", SECRET, "yes"),
    ]


async def test_a_header_that_is_none_is_no_trouble_that_passes(ground: Ground) -> None:
    def wrong(url: str) -> object:
        action = {"href": f"{url}/object", "header": {"X-Told": "a\nb: c"}}
        return {"objects": [{"oid": sha256(CONTENT).hexdigest(), "actions": {"download": action}}]}

    storage, _, base = await far_from(ground, wrong)
    async with serve(storage) as url:
        storage.url = url

        async def here() -> Remote:
            return Remote(url=f"{url}/acme/calc.git")

        with pytest.raises(Unobtainable, match="cannot be had: LocalProtocolError"):
            await ground.git.ready_copy(NAME, base, here)


def test_another_host_gets_what_the_forge_told_and_nothing_of_ours() -> None:
    remote = Remote(url="https://forge.example/acme/calc.git", authorization=SECRET)
    for url in ("https://storage.example/x", "https://forge.example:444/x", "http://forge.example/x"):
        assert headers_for(url, {"X-Told": "yes"}, remote) == {"X-Told": "yes"}
    assert headers_for("https://forge.example/x", {}, remote) == {"Authorization": SECRET}
    assert headers_for("https://forge.example/x", {"authorization": "told"}, remote) == {
        "authorization": "told"
    }


@pytest.mark.parametrize(
    "answer",
    [
        told,
        lambda _: told("file:///etc"),
        lambda _: told("http://[::1"),
        lambda _: {"objects": "none"},
        lambda _: {"objects": []},
    ],
)
async def test_an_answer_that_leads_elsewhere_without_https_is_refused(
    ground: Ground, answer: Callable[[str], object]
) -> None:
    storage, remote, base = await far_from(ground, answer)
    other = Storage(told)
    async with serve(storage) as url, serve(other) as elsewhere:
        storage.url = elsewhere

        async def here() -> Remote:
            return Remote(url=f"{url}/acme/calc.git", authorization=remote.authorization)

        with pytest.raises(Unobtainable) as refused:
            await ground.git.ready_copy(NAME, base, here)
    assert other.heard == []
    assert "canary" not in str(refused.value)
