"""What git prints, read in part."""

import asyncio
import os
import random
from pathlib import Path

import pytest

from overlord.adapters.git.command import git, output_bytes
from overlord.errors import GitFailed, GitUnavailable
from tests.descriptors import no_descriptor_left
from tests.plumbing import run


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run(tmp_path, "init", "--quiet", "--bare", str(tmp_path))
    return tmp_path


async def test_a_git_that_prints_faster_than_it_is_read_ends_once_there_is_enough(repository: Path) -> None:
    content = random.Random(1).randbytes(3_000_000)
    blob = run(repository, "hash-object", "-w", "--stdin", stdin=content)
    before = len(list(Path("/proc/self/fd").iterdir()))
    async with asyncio.timeout(180):
        for limit in (1, *(50_000 * number for number in range(1, 30))):
            assert await git(repository, "cat-file", "blob", blob, limit_bytes=limit) == content[:limit]
            assert await output_bytes(repository, "cat-file", "blob", blob, most=limit) == limit
    assert len(list(Path("/proc/self/fd").iterdir())) == before, "no pipe is left open"


async def test_less_than_may_be_read_is_all_of_it_and_a_failure_before_that_is_one(repository: Path) -> None:
    blob = run(repository, "hash-object", "-w", "--stdin", stdin=b"content")
    assert await git(repository, "cat-file", "blob", blob, limit_bytes=100) == b"content"
    assert await output_bytes(repository, "cat-file", "blob", blob, most=100) == 7
    for act in (
        git(repository, "cat-file", "blob", "missing", limit_bytes=100),
        output_bytes(repository, "cat-file", "blob", "missing", most=100),
    ):
        with pytest.raises(GitFailed, match="Not a valid object name"):
            await act


async def test_a_credential_stands_in_no_environment_and_no_argument_and_git_sends_it(
    repository: Path, tmp_path: Path
) -> None:
    """`git noting` writes down what every process of this user can read of the git that started it."""
    noted, place = tmp_path / "noted", tmp_path / "bin"
    place.mkdir()
    header = 'Authorization: Basic c2VjcmV0"\\'
    (place / "git-noting").write_text(f"#!/bin/sh\ncat /proc/$PPID/environ /proc/$PPID/cmdline > {noted}\n")
    (place / "git-noting").chmod(0o755)
    settings = {"http.http://forge:80/a.git.extraHeader": header, "http.followRedirects": "false"}
    words = ("config", "--includes", "--get-urlmatch", "http.extraHeader", "http://forge:80/a.git")
    assert (await git(repository, *words, settings=settings)).decode() == f"{header}\n"
    path = f"{place}:{os.environ['PATH']}"
    await git(repository, "noting", settings=settings, environment={"PATH": path})
    said = noted.read_text()
    assert "http.followRedirects" in said
    assert "c2VjcmV0" not in said


async def test_a_machine_without_a_descriptor_left_is_a_passing_fault_and_nothing_about_git(
    repository: Path,
) -> None:
    with no_descriptor_left(), pytest.raises(GitUnavailable) as failed:
        await git(repository, "rev-parse", "HEAD")
    assert not isinstance(failed.value, GitFailed)
    assert str(failed.value).startswith(
        "git cannot be started just now: Too many open files. Overlord tries again"
    )
    assert "install git" not in str(failed.value)
