"""What comes from outside over standard input and output, and is wrong: it is said in a sentence, and nothing of the user's is harmed."""

import asyncio
from typing import Any

from overlord.embedded.play import give_result, write
from tests.mcp_checkout.checkouts import contents, git_dir_of
from tests.quick import quick_desk
from tests.twelve import CALC, RED, answer_of, stdio_client, words_of


async def test_what_is_wrong_is_told_and_touches_nothing() -> None:
    async with quick_desk(CALC) as user:
        root, outside = str(user.repo), user.root / "outside"
        outside.mkdir()
        (user.root / "link").symlink_to(user.repo)
        before = contents(user.root / "calc"), git_dir_of(user.repo)
        red: dict[str, Any] = {"project_root": root, "spec": "Texts of digits are added."}
        wrong: tuple[tuple[str, dict[str, Any], str], ...] = (
            ("tdd_red", {**red, "project_root": str(outside)}, "is in no git work tree"),
            ("tdd_red", {**red, "project_root": "calc"}, "must be an absolute path"),
            ("tdd_red", {**red, "project_root": str(user.root / "link")}, "symbolic link"),
            ("tdd_red", {"spec": "x"}, "project_root is required"),
            ("tdd_green", {"project_root": root, "test_path": "tests/gone.py"}, "there is no tests/gone.py"),
            ("review", {"project_root": root, "files": ["calc.py", "gone.py"]}, "there is no gone.py"),
            (
                "spec",
                {"project_root": root, "requirements": "x", "output_path": "../spec.md"},
                "output_path must be a path inside project_root",
            ),
            ("tdd_red", {**red, "context": "x" * 1_000_000}, "context has 1,000,000 characters"),
        )
        async with stdio_client(user) as client:
            for tool, arguments, words in wrong:
                found = await client.call_tool(tool, arguments)
                assert found.is_error and words in words_of(found), (tool, words_of(found))
        assert (contents(user.repo), git_dir_of(user.repo)) == before
        assert user.model.requests == []


async def test_two_calls_on_one_tree_at_once_never_write_over_each_other() -> None:
    async with quick_desk(CALC) as user:
        texts = {name: RED.replace("test_text", f"test_{name}") for name in ("one", "two")}
        for name, text in texts.items():
            user.model.will(write("tests/test_text.py", text), give_result(message=name), when=f"as {name}")
        async with stdio_client(user) as client:
            asked = [
                {"project_root": str(user.repo), "spec": f"Texts are added as {name}."} for name in texts
            ]
            answers = await asyncio.gather(*(answer_of(client, "tdd_red", item) for item in asked))
        [winner] = [item for item in answers if item["applied"]]
        [other] = [item for item in answers if not item["applied"]]
        assert "tests/test_text.py is not as when the call began" in other["not_applied_because"]
        assert "+def test_" in other["patch"]
        assert (user.repo / "tests/test_text.py").read_text() == texts[winner["message"]]
