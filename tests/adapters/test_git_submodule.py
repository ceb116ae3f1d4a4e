"""Submodules in a ready copy: fetched by Overlord alone, at the commit that is named, from where it may."""

import os
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from minion.workspace.ready import ReadyCopy
from overlord.adapters.git.mirrors import KEPT_COPIES
from overlord.adapters.git.submodule import DEEPEST
from overlord.domain.identifiers import Sha
from overlord.domain.repositories.extent import Extent
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import Unobtainable
from tests.adapters.fetching_ground import NAME
from tests.adapters.submodule_ground import LIB, SESSION, Ground, made_ground
from tests.plumbing import commit, run


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    async with made_ground(tmp_path) as made:
        yield made


async def test_a_sessions_files_have_what_the_base_commit_names(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    base = await ground.base({"vendor/lib": ("../lib.git", lib)})
    ground.put("acme/lib", {"lib.py": "x = 2\n"})
    root = await ground.laid_out(base)
    assert (root / "vendor/lib/lib.py").read_text() == "x = 1\n"
    assert (root / "vendor/lib/tool.sh").stat().st_mode & 0o111
    assert (root / "vendor/lib/deep/link").readlink() == Path("../lib.py")
    assert not (root / "vendor/lib/.git").exists()
    assert (root / "README.md").read_text() == "# calc\n"
    place = await ground.git.ready_copy(NAME, base, ground.remote)
    assert place is not None and ReadyCopy(place).modules == ("vendor/lib",)


async def test_without_the_setting_there_is_an_empty_directory(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    base = await ground.base({"lib": ("../lib.git", lib)})
    root = await ground.laid_out(base, ground.overlord(Extent()))
    assert list((root / "lib").iterdir()) == []
    assert [seen.path for seen in ground.forge.requests if "acme/lib" in seen.path] == []
    assert (await ground.laid_out(base) / "lib" / "lib.py").exists(), (
        "the setting counts from the next session on"
    )
    assert list((await ground.laid_out(base, ground.overlord(Extent())) / "lib").iterdir()) == []


async def test_submodules_of_submodules_are_found_from_where_they_are(ground: Ground) -> None:
    await ground.forge.create_repository("other/inner")
    inner = ground.put("other/inner", {"i": "inner\n"})
    told = '[submodule "i"]\n\tpath = in\n\turl = ../../other/inner.git\n'
    lib = ground.put("acme/lib", {".gitmodules": told, "in": ("160000", inner.encode())})
    root = await ground.laid_out(await ground.base({"lib": (f"{ground.url}/acme/lib.git", lib)}))
    assert (root / "lib" / "in" / "i").read_text() == "inner\n"


async def test_a_submodule_that_holds_itself_comes_to_an_end(ground: Ground) -> None:
    told = '[submodule "a"]\n\tpath = a\n\turl = ../calc.git\n'
    base = ground.put(NAME, {"x": "1"})
    for _ in range(DEEPEST + 1):
        base = ground.put(NAME, {".gitmodules": told, "a": ("160000", base.encode())})
    await ground.git.refresh_mirror(NAME, await ground.remote())
    assert "is one too many" in await ground.refused(base)


async def test_what_cannot_be_had_is_a_sentence(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    cases = {
        "../nothing.git": "The submodule lib cannot be had from .*/acme/nothing.git: git fetch failed",
        "ext::sh -c id": "The submodule lib is not fetched: its address has characters",
        "/etc": "The submodule lib is not fetched: its address is neither https nor at the forge",
    }
    for url, said in cases.items():
        with pytest.raises(Unobtainable, match=said):
            await ground.git.ready_copy(NAME, await ground.base({"lib": (url, lib)}), ground.remote)
    missing = await ground.base({"lib": ("../lib.git", Sha("a" * 40))})
    assert f"it has no commit {'a' * 40}" in await ground.refused(missing)
    nameless = ground.put(NAME, {"lib": ("160000", lib.encode())})
    await ground.git.refresh_mirror(NAME, await ground.remote())
    assert await ground.refused(nameless) == "The submodule lib has no address in .gitmodules."


async def test_a_gitmodules_that_is_none_names_nothing(ground: Ground) -> None:
    base = await ground.base(
        {"lib": ("../lib.git", ground.put("acme/lib", LIB))}, {".gitmodules": "[submodule\n"}
    )
    assert "has no address" in await ground.refused(base)
    including = f'[include]\n\tpath = {ground.root}/more\n[submodule "lib"]\n\tpath = lib\n'
    (ground.root / "more").write_text('[submodule "lib"]\n\turl = ../lib.git\n')
    base = await ground.base({"lib": ("", Sha("b" * 40))}, {".gitmodules": including})
    assert "has no address" in await ground.refused(base)


async def test_the_credential_reaches_the_forge_and_nobody_else(ground: Ground, tmp_path: Path) -> None:
    lib = ground.put("acme/lib", LIB)
    await ground.laid_out(await ground.base({"lib": ("../lib.git", lib)}))
    assert {seen.login for seen in ground.forge.requests if "acme/lib" in seen.path} == {"overlord-agent"}
    other = EmbeddedForge(tmp_path / "other")
    await other.create_repository("acme/lib", private=False)
    async with other.serve() as url:
        base = await ground.base({"lib": (f"{url}/acme/lib.git", lib)})
        assert "neither https nor at the forge" in await ground.refused(base)
        assert other.requests == []
    other.close()


async def test_another_host_hears_no_credential_and_only_over_https(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, fake = shutil.which("git"), tmp_path / "bin" / "git"
    seen, held = tmp_path / "seen", tmp_path / "held"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *\' fetch \'*) echo "$*" >>{seen}; env >>{seen}; {real} config --list >>{held}; exit 128;; esac\nexec {real} "$@"\n'
    )
    fake.chmod(0o755)
    elsewhere = await ground.base({"lib": ("https://example.org/lib.git", Sha("a" * 40))})
    here = await ground.base({"lib": ("../lib.git", Sha("a" * 40))})
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    secret = (await ground.remote()).authorization
    assert "example.org" in await ground.refused(elsewhere)
    told = seen.read_text()
    assert secret not in told + held.read_text()
    assert "GIT_ALLOW_PROTOCOL=https\n" in told
    assert "http.followRedirects" in told
    seen.unlink()
    assert "/acme/lib.git" in await ground.refused(here)
    assert secret in held.read_text()
    assert secret not in seen.read_text(), "every process of this user can read that"


async def test_a_copy_is_made_on_top_of_one_with_or_without_submodules(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    first = await ground.base({"lib": ("../lib.git", lib)})
    second = commit(ground.forge.directory(NAME), "main", {"x": "2"}, parent=first)
    await ground.git.refresh_mirror(NAME, await ground.remote())
    copies = [await ground.git.ready_copy(NAME, base, ground.remote) for base in (first, second)]
    copies.append(await ground.overlord(Extent()).ready_copy(NAME, second, ground.remote))
    packs = [
        {file.stat().st_ino for file in (copy / "repo.git" / "objects" / "pack").iterdir()}
        for copy in copies
        if copy is not None
    ]
    assert packs[0] < packs[1] == packs[2]


async def test_files_too_large_to_lay_out_are_said(ground: Ground) -> None:
    lib = ground.put("acme/lib", {"large": "x" * 5000})
    base = await ground.base({"lib": ("../lib.git", lib)})
    git = ground.overlord(ready_bytes=4096)
    with pytest.raises(Unobtainable, match="larger than 4096 bytes"):
        await git.ready_copy(NAME, base, ground.remote)


async def test_a_fetch_that_is_larger_than_all_that_may_be_laid_out_is_cut_off(ground: Ground) -> None:
    lib = ground.put("acme/lib", {"noise": ("100644", random.Random(1).randbytes(300_000))})
    base = await ground.base({"lib": ("../lib.git", lib)})
    with pytest.raises(Unobtainable, match="cannot be had from"):
        await ground.overlord(ready_bytes=100_000).ready_copy(NAME, base, ground.remote)
    [kept] = (ground.home.root / "modules").rglob("*.git")
    assert sum(file.stat().st_size for file in kept.rglob("*") if file.is_file()) < 50_000


async def test_copies_with_and_without_are_forgotten_together_with_their_commit(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    bases = [await ground.base({"lib": ("../lib.git", lib)}, {"n": str(number)}) for number in range(4)]
    for base in bases:
        await ground.laid_out(base)
        await ground.laid_out(base, ground.overlord(Extent()))
    await ground.git.forget_ready(NAME, keep={bases[0]})
    named = run(ground.home.mirror(NAME), "for-each-ref", "--format=%(objectname)", "refs/overlord/base/")
    assert set(named.split()) == {bases[0], bases[2], bases[3]}
    await ground.git.prepare_session(NAME, SESSION, {"main": bases[0]}, None)
    run(ground.home.session_repository(SESSION), "fsck", "--full")
    assert ground.home.modules(NAME).exists()
    for number in range(KEPT_COPIES):
        plain = await ground.base({}, {"n": f"plain {number}"})
        await ground.laid_out(plain, ground.overlord(Extent()))
    await ground.git.forget_ready(NAME, keep=())
    assert not ground.home.modules(NAME).exists(), "no copy is left that was made of it"
