"""`overlord mcp` in a checkout: a client calls a discipline, a session works on a copy of its files, and the change is written to them."""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from overlord.embedded.play import give_result, read, write
from tests.local import LocalSession
from tests.mcp_checkout.checkouts import contents, git_dir_of
from tests.mcp_checkout.checkouts import write as laid
from tests.quick import quick_desk

CALC = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
RED = "from calc import add\n\n\ndef test_text():\n    assert add('1', '2') == 3\n"


@contextlib.asynccontextmanager
async def client(user: LocalSession, environment: Mapping[str, str] = {}) -> AsyncIterator[Client]:
    """A client of the program, started in the user's checkout."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "overlord", "mcp"],
        cwd=user.repo,
        env=user.environment(environment),
    )
    async with Client(parameters, mode="legacy", read_timeout_seconds=120) as made:
        yield made


async def answered(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call's answer, once it has ended."""
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found
    answer: dict[str, Any] = found.structured_content or {}
    while answer.get("status") == "running":
        again = await client.call_tool("wait", {"call": answer["call"]})
        answer = again.structured_content or {}
    return answer


async def test_a_test_is_written_on_uncommitted_files_and_written_back() -> None:
    async with quick_desk(CALC) as user:
        laid(user.repo, {"calc.py": "def add(a, b):\n    return b + a\n", ".env": "A=1\n"})
        before, git = contents(user.repo), git_dir_of(user.repo)
        user.model.will(write("tests/test_text.py", RED), give_result(file_path="tests/test_text.py"))
        async with client(user) as agent:
            answer = await answered(
                agent, "tdd_red", project_root=str(user.repo), spec="Texts of digits are added as numbers."
            )
            assert answer["applied"], answer
            assert answer["left_out"] == [".env"]
            assert contents(user.repo) == {**before, "tests/test_text.py": ("file", RED.encode())}
            assert git_dir_of(user.repo) == git
            laid(user.repo, {"tests/test_text.py": "mine now\n"})
            told = await answered(agent, "wait", call=answer["call"])
            assert told["applied"], "it was written, and is not written again"
            assert (user.repo / "tests/test_text.py").read_text() == "mine now\n"


async def test_a_change_of_the_users_meanwhile_stops_the_patch() -> None:
    async with quick_desk(CALC) as user:
        user.model.will(write("tests/test_text.py", RED), give_result(file_path="tests/test_text.py"))
        async with client(user) as agent:
            answer = await answered(
                agent, "tdd_red", project_root=str(user.repo), spec="Texts are added.", apply=False
            )
            assert (answer["applied"], answer["not_applied_because"]) == (
                False,
                "The call said apply: false.",
            )
            assert "+    assert add('1', '2') == 3" in answer["patch"]
            assert not (user.repo / "tests/test_text.py").exists()


async def test_what_is_wrong_is_said_on_the_first_call() -> None:
    async with quick_desk(CALC) as user:
        nothing = {
            "OPENAI_BASE_URL": "",
            "OPENAI_API_KEY": "",
            "OVERLORD_MODEL": "",
            "OLLAMA_HOST": "127.0.0.1:9",
        }
        async with client(user, nothing) as agent:
            root = str(user.repo)
            for arguments, said in (
                ({"project_root": root, "files": ["calc.py"]}, "no model: nothing is configured"),
                ({"project_root": root, "files": ["gone.py"]}, "files: there is no gone.py"),
                ({"project_root": "/", "files": ["calc.py"]}, "is in no git work tree"),
                ({"project_root": root}, "files is required"),
            ):
                found = await agent.call_tool("review", arguments)
                assert found.is_error
                assert said in str(found.content)


async def test_when_the_server_that_works_on_calls_dies_another_takes_over() -> None:
    async with quick_desk(CALC) as user:
        user.model.will(read("calc.py"), give_result(message="fine"))
        async with client(user) as first:
            pids = _servers(user)
            assert pids
            answer = await first.call_tool("review", {"project_root": str(user.repo), "files": ["calc.py"]})
            assert (answer.structured_content or {})["status"] != "error"
            user.model.will(read("calc.py"), give_result(message="fine"))
            async with client(user) as second:
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                told = await answered(second, "review", project_root=str(user.repo), files=["calc.py"])
                assert told["status"] == "pass", told


def _servers(user: LocalSession) -> list[int]:
    """The servers that work for this user now."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.readlink(f"/proc/{entry}/cwd") == str(user.repo):
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if file.read().endswith(b"overlord\0mcp\0"):
                        found.append(int(entry))
    return found


async def test_what_takes_a_daemon_is_refused_without_one_and_nothing_is_kept() -> None:
    async with quick_desk(CALC) as user, client(user) as agent:
        names = {tool.name for tool in (await agent.list_tools()).tools}
        assert {"tdd_red", "answer", "stop", "status"} <= names
        assert not {"run", "work", "init", "initiative_add", "task_add"} & names
        said = await agent.call_tool("run", {"requirement": "add() takes texts"})
        assert said.is_error
        assert "Run takes a daemon that manages this repository, and none runs here" in str(said.content)
        seen = await agent.call_tool("space", {"repository": "local/calc"})
        assert "add() takes texts" not in str(seen)
