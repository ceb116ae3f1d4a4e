"""An agent works by red, green and refactor on a project of a person's, commits, and a stranger checks what the commit claims."""

import json
from pathlib import Path
from typing import Any

from mcp.client.client import Client

from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import Turn, give_result, read, write
from tests.local import LocalSession, git, local_session
from tests.mcp_checkout.checkouts import write as laid
from tests.twelve import answer_of, stdio_client
from tests.world import TOOLCHAIN

SHOP = {
    "README.md": "# shop\n\nPrices of a shop, in cents.\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
    "src/shop/__init__.py": '"""Prices of a shop."""\n',
    "src/shop/prices.py": (
        '"""Prices, in cents."""\n\n\ndef total(prices):\n    """What all of it costs."""\n    return sum(prices)\n'
    ),
    "src/shop/receipt.py": (
        '"""What is printed."""\n\nfrom shop.prices import total\n\n\ndef receipt(prices):\n    """The last line."""\n'
        '    cents = total(prices)\n    return f"Total: {cents // 100}.{cents % 100:02}"\n'
    ),
    "tests/test_prices.py": "from shop.prices import total\n\n\ndef test_total():\n    assert total([150, 250]) == 400\n",
    "tests/test_receipt.py": (
        'from shop.receipt import receipt\n\n\ndef test_receipt():\n    assert receipt([150, 255]) == "Total: 4.05"\n'
    ),
}
SESSION = "three-for-two"
TEST, CODE = "tests/test_three_for_two.py", "src/shop/prices.py"
RED = (
    "from shop.prices import total\n\n\ndef test_every_third_is_free():\n"
    "    assert total([100, 100, 100, 100]) == 300\n"
)
LAST = "    return sum(prices)\n"
GREEN = SHOP[CODE].replace(
    LAST,
    "    kept = []\n    for number, price in enumerate(prices, start=1):\n        if number % 3:\n"
    "            kept.append(price)\n    return sum(kept)\n",
)
BETTER = SHOP[CODE].replace(
    LAST, "    return sum(price for number, price in enumerate(prices, start=1) if number % 3)\n"
)
HELD = {1: "tdd_red", 2: "tdd_green", 3: "tdd_refactor"}


class Agent:
    """A coding agent, and the model that Overlord's workers have."""

    def __init__(self, client: Client, user: LocalSession) -> None:
        self.client, self.user, self.model = client, user, user.model

    async def call(self, tool: str, *turns: Turn, **arguments: Any) -> dict[str, Any]:
        """What a tool answers, in the session."""
        self.model.forget()
        if turns:
            self.model.will(*turns)
        about = {"project_root": str(self.user.repo), "session_id": SESSION}
        return await answer_of(self.client, tool, {**about, **arguments})

    async def red(self) -> dict[str, Any]:
        turns = (write(TEST, RED), give_result(message="The third of four is free.", file_path=TEST))
        return await self.call("tdd_red", *turns, spec="Every third price is free.")

    async def green(self) -> dict[str, Any]:
        turns = (read(CODE), write(CODE, GREEN), give_result(message="Every third price is left out."))
        return await self.call("tdd_green", *turns, test_path=TEST)

    async def refactor(self) -> dict[str, Any]:
        turns = (write(CODE, BETTER), give_result(message="One sum for both."))
        return await self.call("tdd_refactor", *turns, test_path=TEST, impl_path=CODE)


def heard(model: EmbeddedModel) -> str:
    """What the last worker was told."""
    return str(model.messages(-1)[:2])


async def worked(agent: Agent) -> None:
    """Red, green and refactor, while the person goes on with files of their own."""
    user = agent.user
    laid(user.repo, {"README.md": "# shop\n\nPrices.\n", "notes.txt": "Ask Ben.\n"})
    assert (await agent.client.call_tool("brain_query", {"query": "prices"})).is_error is False
    said = {"phase": "spec", "skill": "spec", "final_status": "pass", "message": "Three for two, says Ben."}
    assert (await agent.call("session_log", **said))["entries"][0]["verified"] is False
    red = await agent.red()
    assert (red["verified"], red["code"], red["applied"]) == (True, "assertion", True), red
    assert "Three for two, says Ben." in heard(user.model)
    laid(user.repo, {"README.md": "# shop\n\nPrices, three for two.\n"})
    green = await agent.green()
    assert (green["verified"], green["applied"], green["changed"]) == (True, True, [CODE]), green
    told = heard(user.model)
    assert "## Session history" in told and "The third of four is free." in told
    kept = await agent.call("brain_write", content="Prices are whole cents.", filename="cents")
    assert kept["document"] == "cents.md"
    refactored = await agent.refactor()
    assert (refactored["verified"], refactored["applied"]) == (True, True), refactored
    assert "Every third price is left out." in heard(user.model)
    assert (user.repo / CODE).read_text() == BETTER
    assert (user.repo / "notes.txt").read_text() == "Ask Ben.\n"
    log = await agent.call("session_log")
    assert [item["phase"] for item in log["entries"]] == ["spec", "red", "green", "refactor"]


async def committed(user: LocalSession) -> list[str]:
    """Commit with git, with the lines that say what was called; the claims, as files."""
    trailers = await user.overlord("call", "trailers", "c1", "c2", "c3")
    assert trailers.code == 0, trailers.err
    lines = trailers.out.splitlines()
    assert [line.partition(" sha256:")[0] for line in lines] == [
        f"Overlord-Call: c{number} {tool} verified" for number, tool in HELD.items()
    ]
    git(user.repo, "add", "--all")
    git(user.repo, "commit", "--quiet", "--message=Three for two", "--message=" + "\n".join(lines))
    kept = git(user.repo, "log", "-1", "--format=%(trailers:key=Overlord-Call,valueonly)").splitlines()
    assert [f"Overlord-Call: {line}" for line in kept if line] == lines
    claims = [str(user.root / f"claim-{number}.json") for number in HELD]
    for number, claim in zip(HELD, claims, strict=True):
        made = await user.overlord("call", "export", f"c{number}", "--output", claim)
        assert made.code == 0, made.err
    return claims


async def checked(
    user: LocalSession, claims: list[str], clone: Path, *, rerun: bool = True
) -> tuple[int, Any]:
    """What a stranger finds, who has the claims and a clone, and no Overlord that knows the calls."""
    stranger = {
        "OVERLORD_HOME": str(user.root / "strangers-home"),
        "PATH": f"{TOOLCHAIN.parent}:/usr/bin:/bin",
        **dict.fromkeys(("OVERLORD_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OVERLORD_REPOS"), ""),
    }
    words = ("call", "verify", *claims, f"--checkout={clone}", "--commit=HEAD", "--json", "--yes")
    again = ("--rerun", "--trust-claims") if rerun else ()
    said = await user.overlord(*words, *again, cwd=user.root, environment=stranger)
    assert said.out, said.err
    return said.code, json.loads(said.out[said.out.index("{") :])


async def test_red_green_refactor_ends_with_a_commit_that_a_stranger_can_check() -> None:
    async with local_session(SHOP) as user:
        async with stdio_client(user) as client:
            await worked(Agent(client, user))
        claims = await committed(user)
        clone = user.root / "clone"
        git(user.root, "clone", "--quiet", str(user.repo), str(clone))
        code, found = await checked(user, claims, clone)
        assert (code, found["holds"]) == (0, True), found
        laid(clone, {TEST: RED.replace("== 300", "== 400")})
        git(clone, "commit", "--quiet", "--all", "--message=By hand")
        code, found = await checked(user, claims, clone, rerun=False)
        assert (code, found["holds"]) == (1, False), found
        assert any(TEST in item["text"] for item in found["checks"] if not item["holds"]), found
