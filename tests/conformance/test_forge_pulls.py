"""What is in the open pull requests of a forge, whoever opened them and from wherever."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import PulledFile, TreeEntry
from overlord.embedded.forge.forge import AGENT, EmbeddedForge
from overlord.embedded.forge.repository import Content, Link
from overlord.errors import ForgeMissing, ForgeRefused
from overlord.ports.forge import Forge
from tests.app_keys import keys
from tests.conformance.ground import KINDS, FarEnd, far_end

NAME = RepositoryName("demo/pulled")
FOLDER = ".nebulus/skills"


@dataclass
class Ground:
    """A repository, and mallory, who may only read it."""

    people: EmbeddedForge
    forge: Forge
    end: FarEnd

    async def entries(self, number: int) -> dict[str, TreeEntry]:
        head = Sha((await self.forge.pull(NAME, number)).head_sha)
        return dict(await self.forge.folder(NAME, head, FOLDER))


@pytest.fixture(params=KINDS)
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    async with far_end(request.param, tmp_path / "forge") as end:
        end.people.add_user("mallory", association="NONE")
        files = {f"{FOLDER}/old.yaml": "name: old\n", f"{FOLDER}/gone.yaml": "name: gone\n", "a.txt": "a\n"}
        await end.people.create_repository(NAME, files=files)
        yield Ground(end.people, end.forge, end)


async def test_the_open_ones_are_listed_those_from_forks_too(ground: Ground) -> None:
    assert await ground.forge.open_pulls(NAME) == []
    first = await ground.people.fork_pull(NAME, "From afar", {"a.txt": "b\n"}, author="mallory")
    await ground.people.push_files(NAME, "change", {"a.txt": "c\n"}, "Change")
    second = await ground.forge.open_pull(NAME, branch="change", base="main", title="T", body="", draft=True)
    closed = await ground.people.fork_pull(NAME, "Closed", {"a.txt": "d\n"}, author="mallory")
    await ground.people.close_pull(NAME, closed)
    found = await ground.forge.open_pulls(NAME)
    assert [(pull.number, pull.base_branch, pull.head_branch) for pull in found] == [
        (first, "main", "change"),
        (second.number, "main", "change"),
    ]
    assert [pull.number for pull in await ground.forge.pulls_from(NAME, "change")] == [second.number]
    head = found[0].head_sha
    assert await ground.people.push_to_pull(NAME, first, {"a.txt": "e\n"}) != head
    assert (await ground.forge.open_pulls(NAME))[0].head_sha != head


async def test_what_one_changes_is_told_from_where_it_began(ground: Ground) -> None:
    moved = {f"{FOLDER}/old.yaml": None, f"{FOLDER}/new.yaml": "name: old\n"}
    files: dict[str, Content | None] = {
        **moved,
        f"{FOLDER}/gone.yaml": None,
        "b.txt": "b\n",
        "a.txt": "other\n",
    }
    number = await ground.people.fork_pull(NAME, "Changes", files, author="mallory")
    await ground.people.push_files(NAME, "main", {"later.txt": "later\n"}, "Base goes on")
    found = sorted(await ground.forge.pull_files(NAME, number), key=lambda item: item.path)
    assert found == [
        PulledFile(path=f"{FOLDER}/gone.yaml", is_removed=True),
        PulledFile(path=f"{FOLDER}/new.yaml", old_path=f"{FOLDER}/old.yaml"),
        PulledFile(path="a.txt"),
        PulledFile(path="b.txt"),
    ]
    with pytest.raises(ForgeMissing):
        await ground.forge.pull_files(NAME, 99)


async def test_all_pages_of_files_are_read_and_more_than_are_listed_is_no_list(ground: Ground) -> None:
    many = {f"many/{number}.txt": f"{number}\n" for number in range(130)}
    number = await ground.people.fork_pull(NAME, "Many", many, author="mallory")
    assert len(await ground.forge.pull_files(NAME, number)) == 130
    more = {f"many/{number}.txt": f"{number}\n" for number in range(3_000)}
    await ground.people.push_to_pull(NAME, number, more)
    with pytest.raises(ForgeRefused, match="more files than GitHub lists"):
        await ground.forge.pull_files(NAME, number)


async def test_a_directory_at_its_head_tells_files_from_what_is_none(ground: Ground) -> None:
    commit = "1" * 40
    files: dict[str, Content | None] = {
        f"{FOLDER}/plain.yaml": "ü\n",
        f"{FOLDER}/run.yaml": "#!/bin/sh\n",
        f"{FOLDER}/link.yaml": Link("../../a.txt"),
        f"{FOLDER}/module.yaml": Link(commit, is_submodule=True),
        f"{FOLDER}/below/x.yaml": "x\n",
    }
    number = await ground.people.fork_pull(NAME, "Odd", files, author="mallory")
    found = await ground.entries(number)
    assert {name: (entry.mode, entry.size, entry.is_file) for name, entry in found.items()} == {
        "below": ("040000", None, False),
        "gone.yaml": ("100644", 11, True),
        "link.yaml": ("120000", 11, False),
        "module.yaml": ("160000", None, False),
        "old.yaml": ("100644", 10, True),
        "plain.yaml": ("100644", 3, True),
        "run.yaml": ("100755", 10, True),
    }
    assert await ground.forge.blob(NAME, found["plain.yaml"].sha) == "ü\n".encode()
    assert await ground.forge.blob(NAME, found["link.yaml"].sha) == b"../../a.txt"
    with pytest.raises(ForgeMissing):
        await ground.forge.blob(NAME, found["module.yaml"].sha)


async def test_a_directory_that_is_none_has_nothing(ground: Ground) -> None:
    linked: dict[str, Content | None] = {
        f"{FOLDER}/old.yaml": None,
        f"{FOLDER}/gone.yaml": None,
        FOLDER: Link("../docs"),
    }
    number = await ground.people.fork_pull(NAME, "A link in its place", linked, author="mallory")
    assert await ground.entries(number) == {}
    main = Sha("main")
    assert await ground.forge.folder(NAME, main, "a.txt") == {}
    assert await ground.forge.folder(NAME, main, "nothing/here") == {}
    assert (await ground.forge.folder(NAME, main, FOLDER)).keys() == {"old.yaml", "gone.yaml"}
    with pytest.raises(ForgeMissing):
        await ground.forge.folder(NAME, Sha("0" * 40), FOLDER)


async def test_what_is_said_is_said_by_whom_it_says(ground: Ground) -> None:
    app = ground.people.add_app("overlord", keys()[1], [NAME])
    of_app = ground.end.as_app(app)
    number = await ground.people.open_issue(NAME, "Who?")
    for forge in (ground.forge, of_app):
        await forge.add_comment(NAME, number, "Me")
    said = [comment.author for _, comment in await ground.forge.comments(NAME, number)]
    assert said == [await ground.forge.login(NAME), await of_app.login(NAME)] == [AGENT, "overlord[bot]"]
