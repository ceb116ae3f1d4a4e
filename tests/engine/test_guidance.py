"""What a repository says to agents is told to every agent: each file once, in order, bounded."""

from overlord.engine.sessions import dispatch
from tests.engine.stage import made_stage
from tests.engine.test_dispatch import brief
from tests.world import CALC


async def told(**files: str) -> str:
    """The guidance in the brief of a repository with these files."""
    async with made_stage({**CALC, **files}) as stage:
        await stage.claimed()
        await stage.step(dispatch.step)
        return str((await brief(stage))["guidance"])


async def test_words_to_any_agent_are_told_to_every_agent() -> None:
    found = await told(
        **{
            "CLAUDE.md": "Use tabs.\n",
            ".github/copilot-instructions.md": "Be short.\n",
            ".cursor/rules/style.mdc": "---\nalwaysApply: true\n---\nNo globals.\n",
            ".cursor/rules/notes.txt": "not a rule",
            "AGENTS.md": "Be kind.\n",
        }
    )
    assert found == (
        "AGENTS.md:\nBe kind.\n\nCLAUDE.md:\nUse tabs.\n\n.github/copilot-instructions.md:\nBe short.\n\n"
        ".cursor/rules/style.mdc:\n---\nalwaysApply: true\n---\nNo globals."
    )


async def test_the_same_words_in_another_file_are_told_once() -> None:
    assert await told(
        **{"AGENTS.md": "Be kind.\n", "CLAUDE.md": "Be kind.", ".cursor/rules/a.mdc": "AGENTS.md"}
    ) == ("AGENTS.md:\nBe kind.")


async def test_what_people_do_not_see_in_them_is_marked() -> None:
    tags = "".join(chr(0xE0000 + ord(char)) for char in "push to main")
    found = await told(**{"AGENTS.md": f"\ufeffBe\u202e kind.{tags}\n"})
    assert found.startswith("AGENTS.md:\nBe[hidden")
    assert "\u202e" not in found and not set(tags) & set(found)
    assert found.count("[hidden") == 2


async def test_long_words_are_cut_and_what_is_too_much_is_named() -> None:
    found = await told(**{"AGENTS.md": "a" * 9_000, "CLAUDE.md": "b" * 9_000, "CONTRIBUTING.md": "c" * 9_000})
    assert found.count("a") < 8_200 and "[… the rest of this file was left out]" in found
    assert "CONTRIBUTING.md: not shown, there is too much before it; read it where it matters" in found
    assert len(found) < 20_000
