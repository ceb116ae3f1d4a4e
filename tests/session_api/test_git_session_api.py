"""git through a session API: a session clones base and its own branch, pushes to one ref, and learns nothing else of the mirror."""

import re

import pytest

from minion.protocol import SessionKind
from overlord.domain.session import Session
from tests.plumbing import commit, plant, run
from tests.session_api.ground import BOTH, Clone, Ground, cloned, visitor

WAYS = BOTH

INFO = "/session/repo.git/info/refs?service=git-upload-pack"
BRANCH = "minion/issue-7"


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def pushed(ground: Ground, session: Session, branch: str = BRANCH) -> str:
    return run(ground.repository(session), "rev-parse", f"refs/heads/{branch}")


def refs(ground: Ground, session: Session) -> list[str]:
    return run(ground.repository(session), "for-each-ref", "--format=%(refname)").splitlines()


async def test_a_clone_has_base_and_branch_and_nothing_else(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        found = (await clone.good("for-each-ref", "--format=%(refname)", "refs/remotes")).splitlines()
        names = {"HEAD", "main", BRANCH}
        assert set(found) == {f"refs/remotes/origin/{name}" for name in names}
        assert await clone.good("rev-parse", "HEAD") == ground.base
        assert (await clone.git("cat-file", "-e", ground.secret))[0] != 0


async def test_work_is_pushed_and_pushed_again(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        first = await clone.commit("calc.py", "def add(a, b):\n    return a + b\n")
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0
        assert pushed(ground, session) == first
        second = await clone.commit("more.py", "x = 1\n")
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0
    assert pushed(ground, session) == second


@pytest.mark.parametrize("headers", [{}, {"git-protocol": "version=2"}, {"git-protocol": "version=1"}])
@pytest.mark.parametrize("service", ["git-upload-pack", "git-receive-pack"])
async def test_what_is_advertised_is_the_sessions_own(
    ground: Ground, headers: dict[str, str], service: str
) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        response = await inside.get(f"/session/repo.git/info/refs?service={service}", headers=headers)
    assert response.status_code == 200
    shown = set(re.findall(rb"([0-9a-f]{40}) (\S+?)[\0\n]", response.content))
    own = b"refs/heads/" + BRANCH.encode()
    readable = {b"HEAD", b"refs/heads/main", own}
    assert {name for _, name in shown} == (readable if service == "git-upload-pack" else {own})
    assert {sha for sha, _ in shown} <= {ground.base.encode()}
    for leak in (b".have", b"version 2", ground.secret.encode(), b"refs/heads/fix"):
        assert leak not in response.content


async def test_protocol_version_two_is_not_spoken(ground: Ground) -> None:
    """Version 2 would serve any object of the mirror to whoever knows its name."""
    session = await ground.session()
    asked = (
        packet("command=fetch\n") + b"0001" + packet(f"want {ground.secret}\n") + packet("done\n") + b"0000"
    )
    headers = {"git-protocol": "version=2", "content-type": "application/x-git-upload-pack-request"}
    async with visitor(ground, session) as inside:
        for body in (asked, packet("command=ls-refs\n") + b"0001" + packet("ref-prefix refs/\n") + b"0000"):
            response = await inside.http.post(
                "/session/repo.git/git-upload-pack", content=body, headers=headers
            )
            assert b"PACK" not in response.content
            assert b"refs/heads/fix" not in response.content


async def test_a_commit_that_was_not_advertised_is_not_served(ground: Ground) -> None:
    session = await ground.session()
    asked = packet(f"want {ground.secret} side-band-64k\n") + b"0000" + packet("done\n")
    headers = {"content-type": "application/x-git-upload-pack-request"}
    async with visitor(ground, session) as inside:
        response = await inside.http.post("/session/repo.git/git-upload-pack", content=asked, headers=headers)
    assert b"PACK" not in response.content
    assert b"not our ref" in response.content or response.status_code >= 400
    async with cloned(ground, session) as clone:
        assert (await clone.git("fetch", "origin", ground.secret))[0] != 0
        assert (await clone.git("-c", "protocol.version=2", "fetch", "origin", ground.secret))[0] != 0


@pytest.mark.parametrize(
    "refspec",
    [
        "HEAD:refs/heads/main",
        "HEAD:refs/heads/minion/issue-8",
        "HEAD:refs/heads/minion/issue-7-x",
        "HEAD:refs/heads/minion/issue-7/x",
        "HEAD:refs/tags/v1",
        "HEAD:refs/overlord/canonical",
        "HEAD:refs/notes/x",
        f":refs/heads/{BRANCH}",
        ":refs/heads/main",
    ],
)
async def test_a_push_anywhere_else_and_a_deletion_are_refused(ground: Ground, refspec: str) -> None:
    session = await ground.session()
    before = refs(ground, session)
    async with cloned(ground, session) as clone:
        await clone.commit("x", "1")
        code, output = await clone.push(refspec, "--force")
    assert code != 0, output
    assert refs(ground, session) == before
    assert pushed(ground, session) == pushed(ground, session, "main") == ground.base


async def test_a_push_that_rewrites_is_refused(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        first = await clone.commit("x", "1")
        await clone.good("push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
        await clone.good("reset", "--quiet", "--hard", ground.base)
        await clone.commit("x", "2")
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}", "--force")
    assert code != 0
    assert "non-fast-forward" in output
    assert pushed(ground, session) == first


async def test_one_refused_ref_does_not_carry_another_in(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        head = await clone.commit("x", "1")
        code, _ = await clone.git("push", "origin", f"HEAD:refs/heads/{BRANCH}", "HEAD:refs/heads/main")
    assert code != 0
    assert pushed(ground, session) == head
    assert pushed(ground, session, "main") == ground.base


async def planted(clone: Clone, path: str, content: bytes) -> tuple[int, str]:
    """Push a tree no git program would write."""
    plant(clone.directory / ".git", BRANCH, path, content)
    return await clone.push(f"{BRANCH}:refs/heads/{BRANCH}")


HOSTILE_MODULES = b'[submodule "../../x"]\n\tpath = x\n\turl = -u./payload\n'


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".git/config", b"[core]\n\tfsmonitor = evil\n"),
        (".GIT/hooks/post-checkout", b"#!/bin/sh\n"),
        ("src/.git/config", b"[core]\n"),
        ("git~1/config", b"[core]\n"),
        (".git. /config", b"[core]\n"),
        (".g\u200cit/config", b"[core]\n"),
        ("../outside", b"x"),
        (".", b"x"),
        (".gitmodules", HOSTILE_MODULES),
    ],
)
async def test_a_hostile_tree_is_not_taken_in(ground: Ground, path: str, content: bytes) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        code, output = await planted(clone, path, content)
    assert code != 0, output
    assert pushed(ground, session) == ground.base


async def test_a_base_with_a_gitmodules_that_git_refuses_blocks_no_push(ground: Ground) -> None:
    mirror = ground.home.mirror("acme/calc")
    ground.base = commit(mirror, "main", {".gitmodules": HOSTILE_MODULES}, parent=ground.base)
    session = await ground.session()
    async with cloned(ground, session) as clone:
        head = await clone.commit("x", "1")
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
        assert code == 0, output
        await clone.commit(".gitmodules", HOSTILE_MODULES + b"# mine\n")
        code, output = await clone.push(f"HEAD:refs/heads/{BRANCH}")
    assert code != 0
    assert "remote: error: object" in output
    assert "disallowed submodule name" in output
    assert pushed(ground, session) == head


async def test_a_session_cannot_reach_another_sessions_repository(ground: Ground) -> None:
    one = await ground.session(await ground.job(1))
    other = await ground.session(await ground.job(2))
    hidden = commit(ground.repository(other), "minion/issue-2", {"x": "theirs"}, parent=ground.base)
    async with visitor(ground, one) as inside:
        for path in (
            f"/session/repo.git/../../{other.id}/repo.git/info/refs?service=git-upload-pack",
            f"/session/repo.git/%2e%2e/%2e%2e/{other.id}/repo.git/info/refs?service=git-upload-pack",
            f"/session/{other.id}/repo.git/info/refs?service=git-upload-pack",
            f"//session/repo.git/../{other.id}",
        ):
            assert (await inside.get(path)).status_code == 404
        assert hidden.encode() not in (await inside.get(INFO)).content


@pytest.mark.parametrize(
    "path", ["HEAD", "config", "objects/info/alternates", "objects/info/packs", "ready", ""]
)
async def test_no_file_of_the_repository_is_served(ground: Ground, path: str) -> None:
    async with visitor(ground, await ground.session()) as inside:
        assert (await inside.get(f"/session/repo.git/{path}")).status_code == 404


async def test_a_check_session_clones_and_cannot_push(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    async with cloned(ground, session) as clone:
        await clone.commit("x", "1")
        code, _ = await clone.push(f"HEAD:refs/heads/{BRANCH}")
        assert code != 0
    async with visitor(ground, session) as inside:
        asked = "/session/repo.git/info/refs?service=git%2Dreceive%2Dpack"
        assert (await inside.get(asked)).status_code == 403
        assert (await inside.post("/session/repo.git/git-receive-pack", b"0000")).status_code == 403
        assert (await inside.post("/session/repo.git/git%2Dreceive%2Dpack", b"0000")).status_code == 403
    assert pushed(ground, session) == ground.base


async def test_hooks_and_configuration_of_a_clone_stay_in_the_clone(ground: Ground) -> None:
    session = await ground.session()
    async with cloned(ground, session) as clone:
        await clone.good("config", "user.email", "x\n[core]\n\thooksPath = /evil")
        await clone.commit(".gitattributes", "* filter=evil diff=evil\n")
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}", "--push-option=evil"))[0] != 0
        assert (await clone.push(f"HEAD:refs/heads/{BRANCH}"))[0] == 0
    assert "evil" not in (ground.repository(session) / "config").read_text()
    assert not (ground.repository(session) / "hooks").exists()


async def test_the_mirror_is_untouched_by_what_sessions_push(ground: Ground) -> None:
    session = await ground.session()
    mirror = ground.home.mirror("acme/calc")
    before = run(mirror, "for-each-ref"), run(mirror, "count-objects", "-v")
    async with cloned(ground, session) as clone:
        await clone.commit("x", "1")
        await clone.good("push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
    assert (run(mirror, "for-each-ref"), run(mirror, "count-objects", "-v")) == before
