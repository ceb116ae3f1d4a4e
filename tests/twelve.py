"""Each of the twelve tools called once, in the order of a session's work: what the model says, and what the answer has to say."""

import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from overlord.domain.disciplines.catalog import Phase
from overlord.embedded.play import Turn, edit, give_result, read, write
from tests.local import LocalSession

CALC = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
SESSION = "digits"
TEST = "tests/test_text.py"
RED = "from calc import add\n\n\ndef test_text():\n    assert add('1', '2') == 3\n"
GREEN = "def add(a, b):\n    return int(a) + int(b)\n"
BETTER = "def add(a, b):\n    return sum(map(int, (a, b)))\n"
SPEC = "# Sums\n\n" + "\n".join(
    f"## {name}\n\n{text}\n"
    for name, text in {
        "Problem statement": "Texts of digits are not added as numbers.",
        "Success criteria": "- [ ] `add('1', '2')` is 3.",
        "Constraints": "None.",
        "Out of scope": "Fractions.",
        "Technical approach": "Numbers are read first.",
        "Risks": "None is known.",
    }.items()
)
NOTE = {
    "kind": "convention",
    "text": "Numbers are read before they are added: texts broke the sums.",
    "evidence": ["e1"],
}
PAIR = {
    "type": "sft",
    "moment": "a clean diagnosis",
    "prompt": "A sum of two inputs fails when one of them is text. What do you look at first?",
    "completion": "At where the inputs are read: convert them there, once, and refuse what is no number.",
    "score": 4,
}
RECORD = {name: PAIR[name] for name in ("prompt", "completion")}


@dataclass(frozen=True, kw_only=True)
class Called:
    """One call of a discipline."""

    tool: str
    arguments: Mapping[str, Any]
    turns: tuple[tuple[Turn, ...], ...]
    """What the model says, for each session of the call."""
    phase: Phase
    skill: str
    verified: bool = True
    code: str = ""
    changed: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """What those files hold then."""


def sums(root: str) -> tuple[Called, ...]:
    """The eight in which a model works, on `CALC`."""
    about = {"project_root": root, "session_id": SESSION}
    test = {**about, "test_path": TEST}
    return (
        Called(
            tool="tdd_red",
            arguments={**about, "spec": "Texts of digits are added as numbers."},
            turns=((write(TEST, RED), give_result(message="A text is added.", file_path=TEST)),),
            phase=Phase.RED,
            skill="tdd",
            code="assertion",
            changed=(TEST,),
            files={TEST: RED},
        ),
        Called(
            tool="tdd_green",
            arguments=test,
            turns=((write("calc.py", GREEN), give_result(message="Numbers are read.")),),
            phase=Phase.GREEN,
            skill="tdd",
            changed=("calc.py",),
            files={"calc.py": GREEN},
        ),
        Called(
            tool="tdd_refactor",
            arguments={**test, "impl_path": "calc.py"},
            turns=(
                (
                    edit("calc.py", "int(a) + int(b)", "sum(map(int, (a, b)))"),
                    give_result(message="One word for both."),
                ),
            ),
            phase=Phase.REFACTOR,
            skill="tdd",
            changed=("calc.py",),
            files={"calc.py": BETTER},
        ),
        *_looked_at(about),
        *_looked_back(about),
    )


def _looked_at(about: Mapping[str, Any]) -> tuple[Called, ...]:
    found = "WARNING: a text that is no number raises ValueError at calc.py:2"
    return (
        Called(
            tool="review",
            arguments={**about, "files": ["calc.py"]},
            turns=((read("calc.py"), give_result(runner_output=found, message="0 critical, 1 warning")),),
            phase=Phase.REVIEW,
            skill="review",
        ),
        Called(
            tool="debug",
            arguments={**about, "error": "ValueError: invalid literal for int()"},
            turns=(
                (read("calc.py"), give_result(runner_output="HYPOTHESIS 1", message="A text is no number.")),
            ),
            phase=Phase.DEBUG,
            skill="debug",
            verified=False,
        ),
        Called(
            tool="spec",
            arguments={**about, "requirements": "Texts of digits are added."},
            turns=((write("docs/spec.md", SPEC), give_result(message="Sums.", file_path="docs/spec.md")),),
            phase=Phase.SPEC,
            skill="spec",
            changed=("docs/spec.md",),
            files={"docs/spec.md": SPEC},
        ),
    )


def _looked_back(about: Mapping[str, Any]) -> tuple[Called, ...]:
    notes, pairs = json.dumps({"notes": [NOTE]}), json.dumps([PAIR])
    return (
        Called(
            tool="retrospective",
            arguments=about,
            turns=((give_result(runner_output=notes, message="One note."),),),
            phase=Phase.RETROSPECTIVE,
            skill="retrospective",
        ),
        Called(
            tool="trainer",
            arguments=about,
            turns=(
                (give_result(runner_output=pairs, message="1 sft candidate found"),),
                (
                    write(f"training-data/sft/{SESSION}.jsonl", json.dumps(RECORD) + "\n"),
                    give_result(message="1 sft pair written"),
                ),
            ),
            phase=Phase.TRAINER,
            skill="trainer",
        ),
    )


@contextlib.asynccontextmanager
async def stdio_client(user: LocalSession, **more: str) -> AsyncIterator[Client]:
    """A client of `overlord mcp`, which it starts in the user's checkout."""
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "overlord", "mcp"], cwd=user.repo, env=user.environment(more)
    )
    async with Client(parameters, mode="legacy", read_timeout_seconds=120) as made:
        yield made


async def answer_of(client: Client, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool answers in the end."""
    found = await client.call_tool(tool, dict(arguments))
    assert not found.is_error, words_of(found)
    answer: dict[str, Any] = found.structured_content or {}
    while answer.get("status") == "running":
        answer = (await client.call_tool("wait", {"call": answer["call"]})).structured_content or {}
    return answer


def words_of(found: types.CallToolResult) -> str:
    return "".join(part.text for part in found.content if isinstance(part, types.TextContent))
