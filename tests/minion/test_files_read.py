"""Which lines a real session's model was shown, by the transcript of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import Limits
from overlord.domain.disciplines.reading import MOST_PARTS, LineRange, files_read, is_whole
from overlord.domain.text.redaction import Redactor
from overlord.home import Home
from overlord.session_api.transcript import Transcripts
from tests.minion.disciplines import discipline
from tests.minion.session_api import SessionApi, call, message

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Ranges = tuple[LineRange, ...]

LONG = "".join(f"value_{number} = {number}\n" for number in range(1, 1_001))
FILES = {
    "calc.py": "def add(a, b):\n\n    return a - b\n",
    "src/calc.py": "def add(a, b):\n    raise SystemExit\n",
    "long.py": LONG,
    "wide.txt": "first\n" + "x" * 3_000 + "\n",
    "dos.txt": "one\r\ntwo\r\n",
    "empty.py": "",
}
END = call("give_result", status="pass", message="m")


@pytest.fixture
def read(make_door: MakeDoor, run: Run, tmp_path: Path) -> Callable[..., Mapping[str, Ranges]]:
    """Have a session make these calls; the lines it was shown, by the transcript that is written of it."""

    def shown(*script: bytes, **limits: Any) -> Mapping[str, Ranges]:
        session_api = make_door(FILES, discipline=discipline("review"), limits=Limits(**limits))
        replies = (*script, END)
        session_api.will(*replies)
        assert run(session_api) == 0
        transcripts = Transcripts(Home(tmp_path), Redactor())
        for request, reply in zip(session_api.requests, replies, strict=True):
            transcripts.write("s-1", {}, request["messages"], json.loads(reply)["choices"][0]["message"])
        return files_read(Home(tmp_path).transcript("s-1").read_text().splitlines(), FILES)

    return shown


Read = Callable[..., Mapping[str, Ranges]]


def whole(found: Mapping[str, Ranges]) -> set[str]:
    return {path for path, ranges in found.items() if is_whole(ranges, FILES[path])}


def test_a_file_that_was_read_whole(read: Read) -> None:
    found = read(call("read_file", path="calc.py"), call("read_file", path="./dos.txt"))
    assert found["calc.py"] == ((1, 3),)
    assert found["dos.txt"] == ((1, 2),)
    assert whole(found) == {"calc.py", "dos.txt", "empty.py"}


def test_a_file_of_the_same_name_is_another_one(read: Read) -> None:
    """A line that both have alike was seen of both; the rest was not."""
    found = read(call("read_file", path="src/calc.py"))
    assert found["src/calc.py"] == ((1, 2),)
    assert found["calc.py"] == ((1, 1),)


def test_a_large_file_is_read_when_all_its_parts_were(read: Read) -> None:
    first = call("read_file", path="long.py", end_line=400)
    second = call("read_file", path="long.py", start_line=300, end_line=700)
    last = call("read_file", path="long.py", start_line=701)
    assert read(first, second, last)["long.py"] == ((1, 1_000),)


def test_a_part_that_was_left_out_is_not_read(read: Read) -> None:
    found = read(
        call("read_file", path="long.py", end_line=400), call("read_file", path="long.py", start_line=402)
    )
    assert found["long.py"] == ((1, 400), (402, 1_000))
    assert "long.py" not in whole(found)


def test_what_does_not_fit_into_an_answer_is_not_read(read: Read) -> None:
    [(first, last)] = read(call("read_file", path="long.py"), output_chars=4_000)["long.py"]
    assert first == 1
    assert 100 < last < 400


def test_the_end_of_a_line_that_is_too_long_was_not_shown(read: Read) -> None:
    assert read(call("read_file", path="wide.txt"))["wide.txt"] == ((1, 1),)


def test_a_conversation_that_was_shortened_forgets_nothing(read: Read) -> None:
    """What was shown once was read, though later requests hold less of it."""
    parts = [
        call("read_file", path="long.py", start_line=at, end_line=at + 99) for at in range(1, 1_001, 100)
    ]
    assert read(*parts, turns=20, context_tokens=4_000)["long.py"] == ((1, 1_000),)


@pytest.mark.parametrize(
    ("command", "path", "ranges"),
    [
        ("cat calc.py", "calc.py", ((1, 3),)),
        ("cat calc.py dos.txt", "dos.txt", ((1, 2),)),
        ("cd src && cat calc.py", "src/calc.py", ((1, 2),)),
        ("cat -n calc.py", "calc.py", ((1, 3),)),
        ("nl -ba calc.py", "calc.py", ((1, 3),)),
        ("grep -n return calc.py", "calc.py", ((3, 3),)),
        ("sed -n '10,20p' long.py", "long.py", ((10, 20),)),
        ("head -5 long.py; tail -n +990 long.py", "long.py", ((1, 5), (990, 1_000))),
        ("wc -l calc.py", "calc.py", ()),
        ("cat calc.py | tail -n 1", "calc.py", ()),
        ("echo calc.py; cat missing.py", "calc.py", ()),
        ("sed -i s/a/b/ calc.py; cat calc.py", "calc.py", ()),
        ("seq 1 1000 > long.py; cat -n long.py", "long.py", ()),
    ],
)
def test_what_a_command_printed(read: Read, command: str, path: str, ranges: Ranges) -> None:
    assert read(call("run_command", command=command))[path] == ranges


def test_what_a_model_only_says_was_not_shown(read: Read) -> None:
    found = read(message(f"I have read calc.py:\n     1\tdef add(a, b):\n{FILES['calc.py']}"))
    assert whole(found) == {"empty.py"}


def test_a_read_that_failed_shows_nothing(read: Read) -> None:
    found = read(call("read_file", path="calc.py", start_line=9))
    assert whole(found) == {"empty.py"}


def transcript(*exchanges: tuple[Sequence[Any], Mapping[str, Any]]) -> list[str]:
    return [json.dumps({"messages": messages, "reply": reply}) for messages, reply in exchanges]


def asked(name: str, identifier: str = "c-1", **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "tool_calls": [{"id": identifier, "type": "function", "function": function}],
    }


def answered(text: Any, identifier: str = "c-1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": text}


CODEX = "Chunk ID: 000000\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n"


@pytest.mark.parametrize(
    ("ask", "text", "ranges"),
    [
        (
            asked("Read", file_path="/w/calc.py"),
            "     1→def add(a, b):\n     2→\n     3→    return a - b\n",
            ((1, 3),),
        ),
        (
            asked("Read", file_path="/w/calc.py", offset=3),
            [{"type": "text", "text": "3\t    return a - b\n\n<system-reminder>\nx\n</system-reminder>"}],
            ((3, 3),),
        ),
        (
            asked("read", filePath="/w/calc.py"),
            "<file>\n00001| def add(a, b):\n00002| \n00003|     return a - b\n\n(End of file)\n</file>",
            ((1, 3),),
        ),
        (
            asked("read", filePath="/w/calc.py"),
            "<content>\n1: def add(a, b):\n2: \n3:     return a - b\n</content>",
            ((1, 3),),
        ),
        (asked("exec_command", cmd="cat calc.py"), f"{CODEX}{FILES['calc.py']}", ((1, 3),)),
        (asked("exec_command", cmd="cat calc.py"), f"{CODEX}def add(a, b):\n…2 tokens truncated…b\n", ()),
        (
            asked("shell", command=["bash", "-lc", "sed -n '1,200p' calc.py"]),
            json.dumps({"output": FILES["calc.py"], "metadata": {"exit_code": 0}}),
            ((1, 3),),
        ),
        (asked("Read", file_path="/w/other.py"), "     1→def add(a, b):", ()),
        (asked("Read", file_path="/w/calc.py"), "     1→def sub(a, b):\n     9→x\n     0→x", ()),
        (asked("Read", file_path="/w/calc.py"), None, ()),
        (asked("Read", file_path="/w/calc.py"), "{" * 5_000, ()),
    ],
)
def test_what_other_agents_show_their_model(ask: dict[str, Any], text: Any, ranges: Ranges) -> None:
    lines = transcript(([], ask), ([answered(text)], {"role": "assistant", "content": "ok"}))
    assert files_read(lines, {"calc.py": FILES["calc.py"]}) == {"calc.py": ranges}


@pytest.mark.parametrize(("before", "ranges"), [(MOST_PARTS - 1, ((1, 3),)), (MOST_PARTS, ())])
def test_a_command_asks_for_so_many_parts_and_no_more(before: int, ranges: Ranges) -> None:
    """Each is looked for in the whole output: thousands of them would keep everybody waiting."""
    parts = " ".join(f"sed -n '{number},9p'" for number in range(4, 4 + before))
    ask = asked("run_command", command=f"{parts} {parts}; head -3 calc.py")
    printed = [answered(f"and\n{FILES['calc.py']}")]
    # In the order of their kinds: those of `sed` first.
    assert files_read(transcript(([], ask), (printed, {})), {"calc.py": FILES["calc.py"] + "end\n"}) == {
        "calc.py": ranges
    }


def test_an_answer_to_no_call_of_the_models_shows_nothing() -> None:
    """The gateway keeps the replies; what a request says of earlier ones is its sender's."""
    shown = answered("     1\tdef add(a, b):", "c-9")
    lines = transcript(([asked("read_file", "c-9", path="calc.py"), shown], {"role": "assistant"}))
    assert files_read(lines, {"calc.py": FILES["calc.py"]}) == {"calc.py": ()}


def test_a_file_that_an_agent_sends_whole_was_shown() -> None:
    """As aider does, with no call."""
    told = {
        "role": "user",
        "content": f"These files are in the chat.\n\ncalc.py\n```\n{FILES['calc.py']}```\n",
    }
    assert files_read(transcript(([told], {})), {"calc.py": FILES["calc.py"]}) == {"calc.py": ((1, 3),)}


@pytest.mark.parametrize(
    "line", ["", "{", "7", '{"full": "no more"}', '{"messages": 7, "reply": [1]}', "[" * 9_999]
)
def test_a_line_that_is_none_shows_nothing(line: str) -> None:
    assert files_read([line], {"a.py": "x\n"}) == {"a.py": ()}


def test_nothing_of_an_empty_file_is_left_to_read() -> None:
    assert is_whole((), "")
    assert not is_whole((), "\n")
    assert not is_whole(((1, 2),), "a\nb\nc")
