"""Files that the caller's own agent, editor, shell or git goes by: a patch with one of them is never written by itself."""

import contextlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.domain.disciplines.call import Call, CallId, CallState
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.entrypoints.mcp.checkout import guarded_files
from overlord.entrypoints.mcp.checkout.patching import FileChange, FileState
from overlord.entrypoints.mcp.checkout.project_root import checkout_at
from overlord.entrypoints.mcp.checkout_backend import CheckoutBackend, opened
from overlord.errors import Refused
from overlord.store.evidence import EvidenceStore
from tests.local import git
from tests.mcp_checkout.checkouts import Content, Kept, contents, raw_git, write


def changed(path: str, content: bytes = b"x\n", *, mode: str = "100644", goes: bool = False) -> FileChange:
    """A change of a patch."""
    state = FileState(mode=mode, object="0" * 40)
    return FileChange(
        path=os.fsencode(path),
        before=state if goes else None,
        after=None if goes else state,
        content=b"" if goes else content,
    )


async def refused(kept: Kept, *changes: FileChange) -> str:
    """Why it is not written; empty where it is."""
    try:
        await guarded_files.check(checkout_at(kept.root), changes)
    except Refused as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".CLAUDE/settings.json",
        ".cla\u200cude/settings.json",
        ".claude./settings.json",
        "sub/.mcp.json",
        ".envrc",
        ".vscode/tasks.json",
        ".husky/pre-commit",
        ".gitattributes",
        "CLAUDE.md",
    ],
)
async def test_it_is_named_and_nothing_is_written(kept: Kept, path: str) -> None:
    said = await refused(kept, changed("calc.py"), changed(path))
    assert said.startswith(f"{changed(path).shown}: your agent, editor, shell or git goes by such a file")
    assert "git apply" in said


async def test_taking_one_away_counts_as_well(kept: Kept) -> None:
    assert await refused(kept, changed(".gitattributes", goes=True))


async def test_code_and_pages_for_people_are_written(kept: Kept) -> None:
    plain = ("calc.py", "Makefile", "CONTRIBUTING.md", "docs/spec.md", "bin/head", "claude/settings.json")
    assert await refused(kept, *map(changed, plain)) == ""


async def test_a_link_with_such_a_name_is_one(kept: Kept) -> None:
    assert await refused(kept, changed(".claude", b"tools", mode="120000"))


async def test_what_such_a_link_leads_to_is_one(kept: Kept) -> None:
    write(kept.root, {"tools/agent/note.md": "x\n", "docs/agents.txt": "x\n", ".gitignore": ".claude\n"})
    (kept.root / ".claude").symlink_to("tools/agent")
    (kept.root / "sub").mkdir()
    (kept.root / "sub" / "CLAUDE.md").symlink_to("../docs/agents.txt")
    (kept.root / ".vscode").symlink_to("/nowhere")
    assert await refused(kept, changed("tools/agent/settings.json"))
    assert await refused(kept, changed("docs/agents.txt"))
    assert await refused(kept, changed("tools/other.py"), changed("docs/other.txt")) == ""


async def test_where_the_repository_has_its_hooks_is_one(kept: Kept) -> None:
    assert await refused(kept, changed("scripts/hooks/pre-commit")) == ""
    git(kept.root, "config", "core.hooksPath", "scripts/hooks")
    assert await refused(kept, changed("scripts/hooks/pre-commit"))
    assert await refused(kept, changed("scripts/other")) == ""


@pytest.mark.parametrize("content", [b"ref: refs/heads/main\n", b"a" * 40])
async def test_a_repository_hidden_in_a_directory_is_one(kept: Kept, content: bytes) -> None:
    assert await refused(kept, changed("docs/HEAD", content))


@contextlib.asynccontextmanager
async def served(kept: Kept) -> AsyncIterator[CheckoutBackend]:
    """The backend of a checkout, with nobody who works for it."""
    environment = {"HOME": str(kept.home), "OVERLORD_HOME": str(kept.home)}
    async with opened(kept.root, environment) as backend:
        yield backend


async def called(kept: Kept, backend: CheckoutBackend, files: dict[str, Content], worked: Path) -> Call:
    """A call that has ended with a change of these files."""
    ground = await backend.ground(str(kept.root))
    mirror = backend.at.home.mirror(ground.space)
    raw_git(worked.parent, "clone", "--quiet", "--no-checkout", str(mirror), str(worked))
    raw_git(worked, "fetch", "--quiet", str(mirror), ground.base_sha)
    raw_git(worked, "checkout", "--quiet", "--force", ground.base_sha)
    write(worked, files)
    patch = kept.patch_of(worked, ground.base_sha)
    now = datetime.now(UTC)
    return Call(
        id=CallId(1),
        discipline=DisciplineName.TDD_GREEN,
        space=ground.space,
        session_key="",
        actor=backend.actor,
        base_sha=ground.base_sha,
        state=CallState.ENDED,
        patch=EvidenceStore(backend.at.home.evidence).put(patch),
        created_at=now,
        ended_at=now,
    )


async def test_a_call_that_made_one_is_answered_with_its_patch(kept: Kept, tmp_path: Path) -> None:
    async with served(kept) as backend:
        files: dict[str, Content] = {"LICENSE": "There.\n", ".claude/settings.json": '{"hooks": {}}\n'}
        call = await called(kept, backend, files, tmp_path / "worked")
        before = contents(kept.root)
        for _ in range(2):
            found = await backend.deliver(call, apply=True)
            assert not found.is_applied
            assert found.why_not.startswith(".claude/settings.json: your agent, editor, shell or git goes by")
            assert '+{"hooks": {}}' in found.patch
        assert contents(kept.root) == before
