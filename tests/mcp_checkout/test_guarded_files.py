"""Files that the caller's own agent, editor, shell or git goes by: a patch with one of them is never written by itself."""

import os
from pathlib import Path

import pytest

from overlord.entrypoints.mcp.checkout import guarded_files
from overlord.entrypoints.mcp.checkout.patching import FileChange, FileState
from overlord.entrypoints.mcp.checkout.project_root import checkout_at
from overlord.errors import Refused
from tests.local import git
from tests.mcp_checkout.checkouts import Content, Kept, contents, write
from tests.mcp_checkout.ended_calls import called, served


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
