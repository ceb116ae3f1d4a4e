"""What a session's pushes may cost the machine: memory, time, and the disk; and that a session is told why one was refused."""

import random
import resource
from dataclasses import replace

import pytest

from overlord import git_limits
from overlord.domain.session import Session
from overlord.session_api import push_limits
from tests.plumbing import delta_bomb
from tests.session_api.ground import BOTH, Ground, cloned, visitor
from tests.session_api.test_git_session_api import BRANCH, packet, pushed

WAYS = BOTH

MIB = 1024 * 1024


async def sent(ground: Ground, session: Session, pack: bytes) -> str:
    """What git is told that pushes this pack, whatever is in it."""
    body = packet(f"{ground.base} {'1' * 40} refs/heads/{BRANCH}\0 report-status side-band-64k") + b"0000"
    headers = {"content-type": "application/x-git-receive-pack-request"}
    async with visitor(ground, session) as inside:
        answer = await inside.http.post(
            "/session/repo.git/git-receive-pack", content=body + pack, headers=headers
        )
    assert answer.status_code == 200
    return answer.text


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


async def test_a_kilobyte_that_unfolds_to_gigabytes_is_refused_before_it_does(ground: Ground) -> None:
    session = await ground.session()
    before_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    pack = delta_bomb(15 * MIB, 3000 * MIB)
    assert len(pack) < 2000
    said = await sent(ground, session, pack)
    assert "over limit 268435456" in said
    assert (
        "\x02A push may have 200 MiB, all pushes of this session 500 MiB together (500 MiB are left), and"
        in said
    )
    assert "to read one git may take 1024 MiB of memory and 120 s of the processor." in said
    assert "unpack index-pack abnormal exit" in said
    largest_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # Of all programs that tests here waited for: one that a mutant let grow may have been larger.
    assert largest_kib == before_kib or largest_kib < 1024 * 1024
    assert pushed(ground, session) == ground.base


async def test_what_unfolds_again_and_again_ends_with_its_time(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(push_limits), "READING", replace(git_limits.READING, cpu_s=1))
    session = await ground.session()
    said = await sent(ground, session, delta_bomb(15 * MIB, *[120 * MIB] * 40))
    assert "1 s of the processor" in said
    assert "unpack index-pack abnormal exit" in said
    assert not list((ground.repository(session) / "objects").glob("*incoming*"))
    async with cloned(ground, session) as clone:
        await clone.commit("x", "1")
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0


async def test_what_unfolds_on_the_disk_is_kept_as_it_was_sent(ground: Ground) -> None:
    """Files that are alike are little in a pack and much when each is a file of its own."""
    session = await ground.session()
    async with cloned(ground, session) as clone:
        alike = noise(1, 200_000)
        for number in range(10):
            (clone.directory / f"n{number}").write_bytes(alike + b"%d" % number)
        await clone.commit("x", "1")
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
    assert code == 0, output
    assert ground.home.pushed_bytes(session.id) < 400_000


async def test_many_small_allocations_are_limited_together(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(push_limits), "READING", replace(git_limits.READING, memory_bytes=100 * MIB))
    session = await ground.session()
    said = await sent(ground, session, delta_bomb(15 * MIB, 60 * MIB, 70 * MIB))
    assert "Out of memory" in said
    assert "may take 100 MiB of memory" in said


async def test_an_honest_push_of_large_files_is_taken_in(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        await clone.good("config", "core.compression", "0")  # for speed
        lines = b"".join(b"%d is a line of a table\n" % number for number in range(300_000))
        await clone.commit("table", lines)
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0
        (clone.directory / "noise").write_bytes(noise(1, 34 * MIB))
        head = await clone.commit("table", lines + b"and one more\n")
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
    assert code == 0, output
    assert pushed(ground, session) == head


async def test_a_push_over_the_size_limit_is_refused_with_the_reason(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(push_limits), "MAX_PUSH_BYTES", 100_000)
    session = await ground.session()
    async with cloned(ground, session) as clone:
        await clone.commit("small", b"x" * 1000)
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0
        taken = pushed(ground, session)
        await clone.commit("large", noise(1, 200_000))
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
    assert code != 0
    assert "remote: fatal: pack exceeds maximum allowed size" in output
    assert "remote: A push may have 0 MiB, all pushes of this session 500 MiB together" in output
    assert pushed(ground, session) == taken


async def test_a_sessions_pushes_are_counted_together_also_by_the_next_daemon(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(push_limits), "MAX_PUSHED_BYTES", MIB)
    session = await ground.session()
    before = ground.home.pushed_bytes(session.id)
    assert before == 0, "what it began with is not its own"
    async with cloned(ground, session) as clone:
        for number in range(3):
            await clone.commit("noise", noise(number, 300_000))
            code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
            assert code == 0, output
        taken = pushed(ground, session)
        await ground.restart()
        await clone.commit("noise", noise(9, 300_000))
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
        assert code != 0
        assert "remote: fatal: pack exceeds maximum allowed size" in output
        assert "all pushes of this session 1 MiB together" in output
        monkeypatch.setitem(vars(push_limits), "MAX_PUSHED_BYTES", 500_000)
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
        assert code != 0
        assert "remote: rejected: this session has pushed 0 MiB, and may push no more" in output
        await clone.good("fetch", "origin", "main")
    assert pushed(ground, session) == taken


async def test_what_a_push_left_that_was_cut_off_is_removed(ground: Ground) -> None:
    session = await ground.session()
    objects = ground.repository(session) / "objects"
    left = objects / "tmp_objdir-incoming-aBcDeF" / "pack"
    left.mkdir(parents=True)
    (left / "tmp_pack_x").write_bytes(bytes(MIB))
    async with cloned(ground, session) as clone:
        await clone.commit("x", "1")
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0
    assert not list(objects.glob("*incoming*"))
    assert ground.home.pushed_bytes(session.id) < MIB
