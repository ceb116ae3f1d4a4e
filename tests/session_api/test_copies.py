"""Ready copies on other machines: fetched once for each, whole or not at all, with a token that opens nothing else."""

import asyncio
import io
import os
import tarfile
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from minion import copies
from minion.errors import BadStart
from minion.workspace.ready import ReadyCopy
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName
from overlord.session_api.remote.copies import CopyStream
from tests.records import REPO
from tests.session_api.ground import Ground, made_ground, visitor


@dataclass
class Node:
    """Another machine: a directory of copies, and what its fetching program is started with."""

    copy: Path
    directory: Path
    environment: dict[str, str]
    pauses: list[float]

    async def fetch(self, **over: str) -> int:
        environment = {**self.environment, **over}
        return await asyncio.to_thread(copies.main, environment, pause=self.pauses.append)

    @property
    def there(self) -> list[str]:
        return sorted(entry.name for entry in self.directory.iterdir())


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        async with made_ground(Path(root), way="tls") as made:
            yield made


@pytest.fixture
async def node(ground: Ground, tmp_path: Path) -> Node:
    copy = await GitMirrors(ground.home).ready_copy(RepositoryName(REPO), ground.base)
    assert copy is not None
    access = ground.access.copy(REPO, copy.name)
    assert access is not None
    named = {"MINION_COPY": f"{REPO}/{copy.name}", "MINION_COPIES": str(tmp_path)}
    return Node(copy, tmp_path, {**access.environment(), **named}, [])


def files(directory: Path) -> dict[str, bytes]:
    found = (file for file in directory.rglob("*") if file.is_file())
    return {file.relative_to(directory).as_posix(): file.read_bytes() for file in found}


async def test_a_copy_is_fetched_whole_and_a_session_lays_it_out(
    ground: Ground, node: Node, tmp_path: Path
) -> None:
    assert await node.fetch() == 0
    assert node.there == [node.copy.name]
    assert files(node.directory / node.copy.name) == files(node.copy)
    given = {"MINION_READY": str(node.directory / node.copy.name), "MINION_READY_WAIT_S": "0"}
    ready = ReadyCopy.from_environment(given, ground.base)
    assert ready is not None
    ready.lay_out(tmp_path / "work", head="ref: refs/heads/x", config="", references={})
    assert (tmp_path / "work" / "calc.py").read_text().startswith("def add")


async def test_what_is_there_is_not_fetched_again(ground: Ground, node: Node) -> None:
    assert await node.fetch() == 0
    for file in node.copy.rglob("*"):
        if file.is_file():
            file.unlink()
    assert await node.fetch() == 0
    assert "content" in files(node.directory / node.copy.name)


async def test_two_that_fetch_at_the_same_time_leave_one_whole_copy(node: Node) -> None:
    assert await asyncio.gather(*(node.fetch() for _ in range(4))) == [0] * 4
    assert node.there == [node.copy.name]
    assert files(node.directory / node.copy.name) == files(node.copy)


async def test_a_token_opens_its_own_copy_and_no_session(ground: Ground, node: Node) -> None:
    assert node.environment["OVERLORD_TOKEN"].startswith("ovc_")
    session = await ground.session()
    access = ground.access.session(session.id)
    assert access is not None
    assert await node.fetch(OVERLORD_TOKEN=access.token) == copies.NOT_FETCHED
    assert await node.fetch(MINION_COPY=f"acme/other/{node.copy.name}") == copies.NOT_FETCHED
    assert await node.fetch(MINION_COPY=f"{REPO}/../../doors.key") == copies.NOT_FETCHED
    assert node.there == []
    assert len(node.pauses) == 3 * copies.TRIES


async def test_one_that_is_not_kept_any_more_is_said(
    ground: Ground, node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    os.rename(node.copy, node.copy.with_name("elsewhere"))
    assert await node.fetch() == copies.NOT_FETCHED
    assert "404" in capsys.readouterr().err


async def test_a_copy_that_is_cut_off_is_not_taken_and_asked_for_again(node: Node) -> None:
    large = node.copy / "zz"
    large.touch()
    os.truncate(large, 300_000_000)
    fetching = asyncio.create_task(node.fetch())
    while not any(node.directory.glob(".making-*/zz")):
        assert not fetching.done()
        await asyncio.sleep(0)
    os.truncate(large, 0)  # it is counted and half sent: the connection ends
    assert await fetching == 0
    assert len(node.pauses) == 1
    assert files(node.directory / node.copy.name) == files(node.copy)
    assert node.there == [node.copy.name]


async def test_the_stream_is_as_long_as_it_says_and_ends_early_only_by_an_error(tmp_path: Path) -> None:
    place = tmp_path / "c"
    (place / "a").mkdir(parents=True)
    (place / "a" / "one").write_bytes(b"x" * 700)
    (place / "two").write_bytes(b"")
    stream = CopyStream.of(place)
    sent = b"".join([chunk async for chunk in stream.chunks()])
    assert len(sent) == stream.length
    with tarfile.open(fileobj=io.BytesIO(sent)) as tar:
        assert tar.getnames() == ["a/one", "two"]
    (place / "a" / "one").write_bytes(b"x" * 10)
    with pytest.raises(OSError, match="became shorter"):
        [chunk async for chunk in stream.chunks()]
    with pytest.raises(FileNotFoundError):
        CopyStream.of(tmp_path / "none")


@pytest.mark.parametrize("kind", ["link", "up", "absolute"])
def test_an_archive_writes_nowhere_but_in_its_own_directory(tmp_path: Path, kind: str) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        info = tarfile.TarInfo({"up": "../outside", "absolute": str(tmp_path / "outside")}.get(kind, "x"))
        if kind == "link":
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info, io.BytesIO(b""))
    made.seek(0)
    (tmp_path / "in").mkdir()
    with pytest.raises(tarfile.TarError, match="no plain file below the copy"):
        copies._unpack(made, tmp_path / "in")
    assert not (tmp_path / "outside").exists()
    assert not any(file.is_symlink() for file in (tmp_path / "in").rglob("*"))


async def test_copies_that_nobody_wanted_for_long_go_and_a_few_stay(node: Node) -> None:
    old = time.time() - copies.KEPT_S - 60
    for number in range(6):
        (node.directory / (f"{number}" * 40)).mkdir()
        os.utime(node.directory / (f"{number}" * 40), (old + number, old + number))
    recent = node.directory / ("9" * 40)
    recent.mkdir()
    assert await node.fetch() == 0
    assert {node.copy.name, "9" * 40, "5" * 40, "4" * 40} == set(node.there)


def test_a_session_waits_for_its_copy_to_come(tmp_path: Path) -> None:
    place = tmp_path / "copy"

    def come() -> None:
        made = tmp_path / "making"
        (made / "repo.git").mkdir(parents=True)
        (made / "repo.git" / "HEAD").write_text("b" * 40 + "\n")
        (made / "content").write_bytes(b"")
        made.rename(place)

    coming = threading.Timer(0.2, come)
    coming.start()
    given = {"MINION_READY": str(place), "MINION_READY_WAIT_S": "60"}
    assert ReadyCopy.from_environment(given, "b" * 40) is not None
    coming.join()


def test_one_that_does_not_come_is_cloned_unless_a_clone_would_lack_something(tmp_path: Path) -> None:
    given = {"MINION_READY": str(tmp_path / "copy"), "MINION_READY_WAIT_S": "0"}
    assert ReadyCopy.from_environment(given, "b" * 40) is None
    with pytest.raises(BadStart, match="did not come to this machine within 0 s"):
        ReadyCopy.from_environment({**given, "MINION_READY_NEEDED": "1"}, "b" * 40)


@pytest.mark.parametrize(
    "wrong", [{"MINION_COPY": ""}, {"MINION_COPIES": ""}, {"OVERLORD_TOKEN": ""}, {"OVERLORD_URL": "x"}]
)
async def test_a_wrong_environment_is_said(node: Node, wrong: dict[str, str]) -> None:
    assert await node.fetch(**wrong) == copies.BAD_ENVIRONMENT


async def test_a_session_goes_on_while_a_copy_is_sent(ground: Ground, node: Node) -> None:
    (node.copy / "zz").write_bytes(os.urandom(5_000_000))
    session = await ground.session()
    async with visitor(ground, session) as inside:
        fetching = asyncio.create_task(node.fetch())
        assert (await inside.get("/session/brief")).status_code == 200
        assert await fetching == 0
