"""Finding: lines by a regular expression (ripgrep, or git when there is none), files by a glob."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from minion import shell
from minion.errors import ToolError
from minion.session import Session
from minion.tools.tool import Kind, Parameter, Tool

MOST_LINES = 200
MOST_FILES = 500
LONGEST_LINE = 300
SEARCH_TIMEOUT_S = 30.0
NOT_WALKED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"})


def search_files(
    session: Session, *, pattern: str, path: str = ".", glob: str = "", ignore_case: bool = False
) -> str:
    if "\0" in pattern + glob:
        raise ToolError("What is searched for holds a NUL character; \\x00 in the pattern finds one.")
    place = session.territory.readable(path)
    if not place.exists():
        raise ToolError(f"{path} does not exist.")
    within = session.territory.name(place)
    found = shutil.which("rg", path=session.command_environment["PATH"])
    command = _ripgrep if found else _git_grep
    terms = session.brief.terms
    hidden = terms.secret_paths if terms is not None else ()
    done = shell.run(
        command(pattern, within, glob, ignore_case=ignore_case, hidden=hidden),
        directory=session.territory.root,
        environment=session.command_environment,
        timeout_s=SEARCH_TIMEOUT_S,
        keep_bytes=2_000_000,
    )
    if done.exit_code is None:
        raise ToolError(f"The search took longer than {SEARCH_TIMEOUT_S:.0f} s; narrow it with path or glob.")
    if done.exit_code > 1:
        raise ToolError(f"The search failed: {done.output[-500:].strip()}")
    return _few(done.output.splitlines(), MOST_LINES, "lines") or "No line matches."


def _ripgrep(pattern: str, within: str, glob: str, *, ignore_case: bool, hidden: Sequence[str]) -> list[str]:
    words = [
        "rg",
        "--line-number",
        "--no-heading",
        "--with-filename",
        "--color=never",
        "--hidden",
        "--sort=path",
    ]
    words += [f"--max-columns={LONGEST_LINE}", "--max-columns-preview", "--glob=!.git"]
    words += [f"--glob={glob}"] if glob else []
    words += [f"--glob=!/{path.lstrip('/')}" for path in hidden]
    words += ["--ignore-case"] if ignore_case else []
    return [*words, "--regexp", pattern, "--", within]


def _git_grep(pattern: str, within: str, glob: str, *, ignore_case: bool, hidden: Sequence[str]) -> list[str]:
    words = ["git", "grep", "--untracked", "--line-number", "-I", "--perl-regexp", "--no-color"]
    words += ["--ignore-case"] if ignore_case else []
    place = within if not glob else f":(glob){'' if within == '.' else within + '/'}**/{glob.lstrip('/')}"
    names = [path.strip("/") for path in hidden]
    without = [f":(exclude,glob){name}{below}" for name in names for below in ("", "/**")]
    return [*words, "-e", pattern, "--", place, *without]


def glob_files(session: Session, *, pattern: str, path: str = ".") -> str:
    place = session.territory.readable(path)
    if not place.is_dir():
        raise ToolError(f"{path} is not a directory.")
    try:
        wanted = re.compile(expression(pattern))
    except re.error as error:
        raise ToolError(f"{pattern!r} is not a glob: {error}.") from error
    names = (os.path.relpath(file, place) for file in _walk(place))
    matching = sorted(session.territory.name(place / name) for name in names if wanted.fullmatch(name))
    matching = [name for name in matching if not session.territory.is_hidden(name)]
    return _few(matching, MOST_FILES, "files") or "No file matches."


def _walk(top: Path) -> Iterator[Path]:
    for directory, below, files in os.walk(top):
        below[:] = [name for name in below if name not in NOT_WALKED]
        yield from (Path(directory, name) for name in files)


def expression(glob: str) -> str:
    """A glob as a regular expression: `**` crosses directories, and a glob without `/` matches names anywhere."""
    glob = glob.removeprefix("./")
    if "/" not in glob:
        glob = f"**/{glob}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]]+\])", glob)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(meaning.get(part) or _class_or_text(part) for part in parts)


def _class_or_text(part: str) -> str:
    if part.startswith("[") and part.endswith("]"):
        negated = part.startswith("[!")
        inner = part[2 if negated else 1 : -1].replace("\\", r"\\").replace("^", r"\^").replace("[", r"\[")
        return f"[{'^' if negated else ''}{inner}]"
    return re.escape(part)


def _few(lines: list[str], most: int, what: str) -> str:
    shown = [
        line if len(line) <= 2 * LONGEST_LINE else line[: 2 * LONGEST_LINE] + " …" for line in lines[:most]
    ]
    if len(lines) > most:
        shown.append(f"[{len(lines) - most:,} more {what}; narrow the search]")
    return "\n".join(shown)


TOOLS = (
    Tool(
        name="search_files",
        meaning="Search files for a regular expression; prints path:line:text. Ignored files are left out.",
        run=search_files,
        parameters=(
            Parameter(name="pattern", meaning="Regular expression.", required=True),
            Parameter(name="path", meaning="File or directory to search; the root when left out."),
            Parameter(name="glob", meaning="Only files whose name matches, such as *.py."),
            Parameter(name="ignore_case", meaning="Whether case does not matter.", kind=Kind.FLAG),
        ),
    ),
    Tool(
        name="glob_files",
        meaning="List files by a glob, such as src/**/*.py; one without / matches file names anywhere.",
        run=glob_files,
        parameters=(
            Parameter(name="pattern", meaning="The glob.", required=True),
            Parameter(name="path", meaning="Directory to look in; the root when left out."),
        ),
    ),
)
