"""A save that is pushed as one request: what is plain is done, everything else is left to git, which says why."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from minion.protocol import SessionKind
from minion.workspace import direct_push
from overlord.domain.session import Session
from tests.session_api.ground import BOTH, Clone, Ground, cloned
from tests.session_api.test_git_session_api import pushed

WAYS = BOTH


async def push(clone: Clone, session: Session, *, old: str, new: str, reference: str = "") -> bool:
    return await asyncio.to_thread(
        direct_push.pushed,
        clone.directory,
        clone.url,
        os.environ["PATH"],
        reference=reference or f"refs/heads/{session.branch}",
        old=old,
        new=new,
    )


async def test_a_commit_is_pushed_and_the_next_on_top_of_it(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        one = await clone.commit("a.py", "a = 1\n" * 2000)
        assert await push(clone, session, old=ground.base, new=one)
        assert pushed(ground, session) == one
        two = await clone.commit("a.py", "a = 1\n" * 2000 + "b = 2\n")
        assert await push(clone, session, old=one, new=two)
        assert pushed(ground, session) == two
        assert await clone.good("fsck", "--strict") == ""


async def test_one_that_was_taken_already_is_no_trouble_for_git(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        one = await clone.commit("a.py", "1")
        assert await push(clone, session, old=ground.base, new=one)
        code, _ = await clone.push(f"HEAD:refs/heads/{session.branch}", "--quiet")
        assert code == 0


async def test_a_branch_that_is_elsewhere_is_left_to_git(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        one = await clone.commit("a.py", "1")
        assert await push(clone, session, old=ground.base, new=one)
        await clone.good("reset", "--quiet", "--hard", ground.base)
        other = await clone.commit("b.py", "2")
        assert not await push(clone, session, old=ground.base, new=other)
        assert pushed(ground, session) == one


@pytest.mark.parametrize("reference", ["refs/heads/main", "refs/tags/x", "HEAD"])
async def test_another_reference_is_not_moved(ground: Ground, reference: str) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        one = await clone.commit("a.py", "1")
        assert not await push(clone, session, old=ground.base, new=one, reference=reference)
        assert pushed(ground, session) == ground.base


async def test_a_check_pushes_nothing_and_a_hostile_tree_is_refused(ground: Ground) -> None:
    check = await ground.session(kind=SessionKind.CHECK)
    async with cloned(ground, check) as clone:
        one = await clone.commit("a.py", "1")
        assert not await push(clone, check, old=ground.base, new=one)


async def test_large_ones_odd_remotes_and_unknown_commits_are_left_to_git(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        one = await clone.commit("a.bin", os.urandom(5000))
        assert not await push(clone, session, old="1" * 40, new=one)
        monkeypatch.setitem(vars(direct_push), "LARGEST_PACK", 4000)
        assert not await push(clone, session, old=ground.base, new=one)
        here = {"reference": "refs/heads/x", "old": ground.base, "new": one}
        assert not direct_push.pushed(clone.directory, "/somewhere", os.environ["PATH"], **here)
        assert not direct_push.pushed(Path("/nonexistent"), clone.url, os.environ["PATH"], **here)
        assert pushed(ground, session) == ground.base


@pytest.mark.parametrize("report", [b"", b"0000", b"xyz", b"000eunpack ok\n0000", b"ffff"])
def test_a_report_that_is_not_what_it_should_be_is_none(report: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert direct_push._lines(report) != [b"unpack ok", b"ok refs/heads/x"]
