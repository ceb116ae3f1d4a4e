"""Reading and writing files: what a model is shown, and that nothing leaves the workspace."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from minion.errors import ToolError
from minion.protocol import Limits, Scope
from minion.session import Session
from minion.tools.registry import TOOLS
from minion.tools.tool import Submission
from tests.minion.conftest import make_session

Use = Callable[..., str]


@pytest.fixture
def root(session: Session) -> Path:
    return session.workspace.root


def test_lines_are_numbered_and_a_range_says_where_it_stands(use: Use, root: Path) -> None:
    (root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    assert (
        use("read_file", path="long.txt", start_line=2, end_line=3)
        == "     2\tline 2\n     3\tline 3\n[lines 2-3 of 100]"
    )
    assert use("read_file", path="long.txt", start_line="99").endswith("   100\tline 100")


def test_a_long_file_is_cut_at_a_line_and_says_how_to_read_on(tmp_path: Path) -> None:
    session = make_session(tmp_path, {"a": "b"}, limits=Limits(output_chars=200))
    (session.workspace.root / "long.txt").write_text("0123456789\n" * 100)
    shown = str(TOOLS["read_file"].run(session, path="long.txt"))
    assert shown.endswith("[lines 1-11 of 100; read on with start_line=12]")


def test_a_line_of_ten_megabytes_is_cut(use: Use, root: Path) -> None:
    (root / "wide.txt").write_text("x" * 10_000_000)
    shown = use("read_file", path="wide.txt")
    assert len(shown) < 3_000
    assert "9,998,000 more characters in this line" in shown


def test_bytes_that_are_not_utf8_are_shown_and_survive_an_edit(use: Use, root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9\nold\n")
    assert "not UTF-8" in use("read_file", path="latin.txt")
    use("edit_file", path="latin.txt", old="old", new="new")
    assert (root / "latin.txt").read_bytes() == b"caf\xe9\nnew\n"


def test_crlf_is_kept_by_an_edit(use: Use, root: Path) -> None:
    (root / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    assert "CRLF" in use("read_file", path="dos.txt")
    use("edit_file", path="dos.txt", old="one\ntwo", new="1\n2")
    assert (root / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_an_empty_file_says_so(use: Use, root: Path) -> None:
    (root / "empty").touch()
    assert use("read_file", path="empty") == "(the file is empty)"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("missing.py", "No such file"),
        (".", "is a directory"),
        ("binary", "binary file of 3 bytes"),
        ("pipe", "not a regular file"),
        ("huge", "look at parts of it with run_command"),
        ("a\0b", "NUL"),
    ],
)
def test_what_cannot_be_read_is_refused(use: Use, root: Path, path: str, said: str) -> None:
    (root / "binary").write_bytes(b"a\0b")
    os.mkfifo(root / "pipe")
    with (root / "huge").open("wb") as huge:
        huge.truncate(10**9)
    with pytest.raises(ToolError, match=said):
        use("read_file", path=path)


def test_a_range_beyond_the_file_is_refused(use: Use) -> None:
    with pytest.raises(ToolError, match="has only 2 lines"):
        use("read_file", path="calc.py", start_line=9)
    with pytest.raises(ToolError, match="must not be before"):
        use("read_file", path="calc.py", start_line=2, end_line=1)
    with pytest.raises(ToolError, match="at least 1"):
        use("read_file", path="calc.py", start_line=0)


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/etc/passwd", "link.txt", "links/secret", "a/../../x", "loop"]
)
@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file"])
def test_no_file_tool_leaves_the_workspace(
    use: Use, root: Path, tmp_path: Path, path: str, tool: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("canary")
    (root / "link.txt").symlink_to(outside / "secret")
    (root / "links").symlink_to(outside)
    (root / "loop").symlink_to(root / "loop")
    more = {"write_file": {"content": "x"}, "edit_file": {"old": "canary", "new": "x"}}.get(tool, {})
    with pytest.raises(ToolError):
        use(tool, path=path, **more)
    assert (outside / "secret").read_text() == "canary"
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.parametrize("tool", ["list_directory", "search_files", "glob_files", "run_command"])
def test_no_directory_outside_is_used(use: Use, root: Path, tmp_path: Path, tool: str) -> None:
    (root / "out").symlink_to(tmp_path)
    name = "directory" if tool == "run_command" else "path"
    more = {"run_command": {"command": "pwd"}}.get(tool, {"pattern": "x"} if tool != "list_directory" else {})
    for path in ("..", "out", "/"):
        with pytest.raises(ToolError, match="outside the workspace"):
            use(tool, **{name: path}, **more)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".GIT/hooks/x",
        "sub/.git/config",
        ".nebulus/skills/a.yaml",
        ".github/workflows/ci.yml",
        "lnk/x",
    ],
)
def test_protected_paths_are_never_written(use: Use, root: Path, path: str) -> None:
    (root / "lnk").symlink_to(root / ".git")
    with pytest.raises(ToolError):
        use("write_file", path=path, content="x")
    assert not (root / ".git" / "x").exists()


def test_a_link_inside_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    session = make_session(tmp_path, {"src/a.py": "a", "b.py": "b"}, scope=Scope(patterns=("src/**",)))
    (session.workspace.root / "src" / "link.py").symlink_to("../b.py")
    with pytest.raises(ToolError, match=r"b\.py is outside this session's scope \(src/\*\*\)"):
        TOOLS["write_file"].run(session, path="src/link.py", content="x")
    TOOLS["write_file"].run(session, path="src/new/c.py", content="c")
    assert (session.workspace.root / "src/new/c.py").read_text() == "c"


def test_a_file_is_created_and_replaced(use: Use, root: Path) -> None:
    assert use("write_file", path="deep/er/new.py", content="a\nb\n") == "Created deep/er/new.py (2 lines)."
    assert (
        use("write_file", path=f"{root}/deep/er/new.py", content="")
        == f"Replaced {root}/deep/er/new.py (0 lines)."
    )
    with pytest.raises(ToolError, match="is a directory"):
        use("write_file", path="deep", content="")
    with pytest.raises(ToolError, match=r"File exists: .*/calc\.py"):
        use("write_file", path="calc.py/x", content="")
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        use("write_file", path="pipe", content="x")


def test_text_no_file_can_hold_is_refused(use: Use) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        use("write_file", path="x", content="\ud800")


def test_an_edit_must_match_once(use: Use, root: Path) -> None:
    (root / "twice.txt").write_text("a = 1\nb = 2\na = 1\n")
    with pytest.raises(ToolError, match=r"occurs 2 times in twice.txt, at lines 1, 3\. Nothing was changed"):
        use("edit_file", path="twice.txt", old="a = 1", new="a = 2")
    assert use("edit_file", path="twice.txt", old="b = 2\na = 1", new="b = 3") == (
        "Edited twice.txt at line 2: 2 lines became 1."
    )
    assert (root / "twice.txt").read_text() == "a = 1\nb = 3\n"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("return a - b", None),
        ("\treturn a - b\n", "indented differently: line 2 is '    return a - b'"),
        ("def add(a, b):\n  pass", "the lines after it differ: line 1"),
        ("    return a + b", r"The closest is line 2: '    return a - b'"),
        ("zebra crossing", "No line of it looks like 'zebra crossing'"),
        ("\n\n\n", "holds only white space"),
        ("", "old is empty"),
    ],
)
def test_an_edit_that_does_not_match_says_what_is_there(use: Use, old: str, said: str | None) -> None:
    if said is None:
        use("edit_file", path="calc.py", old=old, new="return a + b")
        return
    with pytest.raises(ToolError, match=said):
        use("edit_file", path="calc.py", old=old, new="x")


def test_a_directory_is_listed_with_sizes_links_and_depth(use: Use, root: Path) -> None:
    (root / "src/deep").mkdir(parents=True)
    (root / "src/deep/a.py").write_text("abc")
    (root / "link").symlink_to("calc.py")
    (root / os.fsdecode(b"caf\xe9")).touch()
    assert use("list_directory").splitlines() == [
        ".git/",
        "caf?  0",
        "calc.py  32",
        "link -> calc.py",
        "src/",
    ]
    assert use("list_directory", path="src", depth=9) == "deep/\n  a.py  3"
    assert use("list_directory", path="src/deep", depth=1) == "a.py  3"
    with pytest.raises(ToolError, match="is not a directory"):
        use("list_directory", path="calc.py")
    with pytest.raises(ToolError, match="does not exist"):
        use("list_directory", path="nowhere")


def test_a_crowded_directory_is_cut(use: Use, root: Path) -> None:
    (root / "many").mkdir()
    for number in range(600):
        (root / "many" / f"{number:03}").touch()
    lines = use("list_directory", path="many").splitlines()
    assert len(lines) == 501
    assert "only the first 500" in lines[-1]


def test_globs_cross_directories_and_skip_what_is_nobodys(use: Use, root: Path) -> None:
    for name in ("src/a.py", "src/deep/b.py", "src/deep/c.txt", "node_modules/x.py", "test_[1].py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    assert use("glob_files", pattern="*.py").split() == [
        "calc.py",
        "src/a.py",
        "src/deep/b.py",
        "test_[1].py",
    ]
    assert use("glob_files", pattern="src/**/*.py").split() == ["src/a.py", "src/deep/b.py"]
    assert use("glob_files", pattern="src/*.py").split() == ["src/a.py"]
    assert use("glob_files", pattern="*.[!p]*", path="src").split() == ["src/deep/c.txt"]
    assert use("glob_files", pattern="src/**").split() == ["src/a.py", "src/deep/b.py", "src/deep/c.txt"]
    assert use("glob_files", pattern="?.rs") == "No file matches."
    with pytest.raises(ToolError, match="not a glob"):
        use("glob_files", pattern="[z-a]")


@pytest.mark.parametrize("without_ripgrep", [False, True], ids=["ripgrep", "git"])
def test_a_search_names_file_and_line(
    session: Session, use: Use, tmp_path: Path, without_ripgrep: bool
) -> None:
    if without_ripgrep:
        only_git = tmp_path / "bin"
        only_git.mkdir()
        (only_git / "git").symlink_to("/usr/bin/git")
        session.command_environment = {**session.command_environment, "PATH": str(only_git)}
    root = session.workspace.root
    (root / "src").mkdir()
    (root / "src/new.py").write_text("def Sub(a, b):\n    return a - b\n")
    (root / "src/wide.txt").write_text("needle" + "x" * 5_000 + "\n")
    assert use("search_files", pattern=r"def \w+\(").splitlines()[-1].endswith("src/new.py:1:def Sub(a, b):")
    assert use("search_files", pattern="def sub", ignore_case="true").endswith("src/new.py:1:def Sub(a, b):")
    assert use("search_files", pattern="return", path="src", glob="*.py") == "src/new.py:2:    return a - b"
    assert len(use("search_files", pattern="needle")) < 1_000
    assert use("search_files", pattern="nowhere to be found") == "No line matches."
    with pytest.raises(ToolError, match="search failed"):
        use("search_files", pattern="(")
    with pytest.raises(ToolError, match="does not exist"):
        use("search_files", pattern="x", path="nowhere")


def test_a_search_with_many_hits_is_cut(use: Use, root: Path) -> None:
    (root / "many.txt").write_text("hit\n" * 1_000)
    assert use("search_files", pattern="hit").endswith("[800 more lines; narrow the search]")


def test_every_tool_of_the_session_has_a_schema_a_model_can_read() -> None:
    names = "read_file list_directory search_files glob_files write_file edit_file run_command"
    names += " list_skills use_skill ask_question task_complete task_blocked"
    assert list(TOOLS) == names.split()
    for schema in (tool.schema() for tool in TOOLS.values()):
        parameters = schema["function"]["parameters"]
        assert set(parameters["required"]) <= set(parameters["properties"])
        assert all(item["description"] for item in parameters["properties"].values())


@pytest.mark.parametrize(
    ("tool", "given", "read"),
    [
        ("read_file", {"path": "a", "start_line": 2.0, "end_line": None}, {"path": "a", "start_line": 2}),
        ("list_directory", {"depth": 99}, {"depth": 4}),
        (
            "ask_question",
            {"question": "q", "options": '["a", "b"]'},
            {"question": "q", "options": ("a", "b")},
        ),
        ("ask_question", {"question": "q", "options": "a"}, {"question": "q", "options": ("a",)}),
        ("search_files", {"pattern": "x", "ignore_case": "True"}, {"pattern": "x", "ignore_case": True}),
    ],
)
def test_arguments_are_read_forgivingly(tool: str, given: dict[str, object], read: dict[str, object]) -> None:
    assert TOOLS[tool].read(given) == read


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("read_file", {}, "read_file needs path"),
        ("read_file", {"path": "a", "start_line": True}, "start_line must be an integer, not a boolean"),
        ("read_file", {"path": "a", "start_line": "two"}, "not a string"),
        (
            "ask_question",
            {"question": "q", "kind": "order"},
            "must be one of question, decision, scope, not 'order'",
        ),
        ("ask_question", {"question": "q", "options": [1]}, "options must be a list of strings"),
        ("search_files", {"pattern": "x", "ignore_case": 1}, "must be true or false"),
        ("list_skills", {"all": 1}, "it takes no arguments"),
    ],
)
def test_arguments_that_make_no_sense_are_named(tool: str, given: dict[str, object], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        TOOLS[tool].read(given)


def test_a_push_that_is_refused_is_told_to_the_model(session: Session, tmp_path: Path) -> None:
    (session.workspace.root / "calc.py").write_text("x = 1\n")
    (tmp_path / "far/repo.git").rename(tmp_path / "far/gone.git")
    with pytest.raises(ToolError, match="could not be committed and pushed: git push"):
        TOOLS["task_complete"].run(session, summary="done")
    (tmp_path / "far/gone.git").rename(tmp_path / "far/repo.git")
    assert isinstance(TOOLS["task_complete"].run(session, summary="done"), Submission)
