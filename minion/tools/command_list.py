"""Which programs a session may start with run_command, where its contract lists them.

Every simple command of the line has to begin with a listed program, or with one of `ALWAYS`, which start nothing. A program
that starts another one as its business (`env`, `xargs`, `timeout`, …) has to be listed itself, and then what it starts as well.
What cannot be told is refused: a variable as the program, `eval`, functions, a changed PATH. Nothing of a refused line is run.

It is a limit on the tool, and no wall: a listed `pytest` runs the repository's code, which a session may have written, and a
listed `make`, `git`, `find` or `python` starts whatever it is told to. The wall is the container; what counts is the judge.
"""

import re
from collections.abc import Callable, Collection, Sequence

from minion.errors import ToolError
from minion.tools.command_line import RESERVED, commands_of
from minion.tools.shell_words import UnreadableLine, Word

ALWAYS = (
    "cd",
    "pwd",
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "wc",
    "echo",
    "test",
    "[",
    "true",
    "false",
    ":",
    "export",
    "set",
    "exit",
    "break",
    "continue",
)
"""What is always allowed, because it starts nothing. Not find, sed, awk, xargs and env: these can start programs."""

_NEVER = RESERVED | frozenset(
    [
        ".",
        "alias",
        "bg",
        "bind",
        "builtin",
        "caller",
        "compgen",
        "complete",
        "compopt",
        "coproc",
        "declare",
        "dirs",
        "disown",
        "enable",
        "eval",
        "fc",
        "fg",
        "function",
        "getopts",
        "hash",
        "history",
        "jobs",
        "let",
        "local",
        "logout",
        "mapfile",
        "popd",
        "pushd",
        "read",
        "readarray",
        "readonly",
        "return",
        "select",
        "shift",
        "shopt",
        "source",
        "suspend",
        "times",
        "trap",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "wait",
        "[[",
    ]
)
"""bash's own that run text, change what a name means, or set a variable they are given the name of."""
_CLOSED_VARIABLES = re.compile(
    r"(PATH|ENV|IFS|CDPATH|PS[0-9]|PROMPT_COMMAND|SHELL|SHELLOPTS|BASHOPTS|PAGER|EDITOR|VISUAL|BROWSER|FCEDIT|LESSOPEN|LESSCLOSE"
    r"|EXECIGNORE|GLOBIGNORE|FUNCNEST|POSIXLY_CORRECT|LC_[A-Z]+|LANG|LANGUAGE|TEXTDOMAIN\w*|LD_\w+|BASH\w*|GIT_\w+|DYLD_\w+)"
)
"""Variables that decide which program a name means, how a line is read, or what a program starts by itself."""
_UNARY = frozenset(["-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h", "-n", "-z"])
_BINARY = frozenset(["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"])
_DURATION = re.compile(r"[0-9.]+[smhd]?")


def check_commands(line: str, listed: Collection[str]) -> None:
    """Whether a line starts only listed programs. Raises ToolError with the list where it does not, or that cannot be told."""
    try:
        for words in commands_of(line):
            _check(words, listed)
    except UnreadableLine as error:
        raise ToolError(
            f"Nothing was run: it cannot be told which programs this line starts, because {error}. "
            f"Write it more simply, or one command at a time. {may_start(listed)}"
        ) from None


def may_start(listed: Collection[str]) -> str:
    """The list, as the model is told it."""
    programs = ", ".join(listed) or "nothing else"
    return f"run_command may start in this session: {programs}. Always allowed: {', '.join(ALWAYS)}."


def _check(words: Sequence[Word], listed: Collection[str]) -> None:
    """One simple command with the assignments before it."""
    rest = list(words)
    while rest and (name := rest[0].assigned):
        _check_variable(name)
        rest.pop(0)
    if rest:
        _check_program(rest, listed)


def _check_variable(name: str) -> None:
    if _CLOSED_VARIABLES.fullmatch(name):
        raise UnreadableLine(f"it sets {name}, which can decide what is started")


def _check_program(words: Sequence[Word], listed: Collection[str], *, within: str = "") -> None:
    """What begins with a program. `within` is the one that starts it."""
    program, *rest = words
    if not program.is_plain or not program.text:
        raise UnreadableLine(
            f"a program is not written as a plain name ({program.text[:40] or 'it is expanded'})"
        )
    name = program.text
    if name in _NEVER:
        raise UnreadableLine(f"it uses `{name}`")
    if name not in listed and name not in ALWAYS:
        raise ToolError(f"Nothing was run: {name[:100]!r} may not be started. {may_start(listed)}")
    if within == "xargs" and name in _STARTERS:
        raise UnreadableLine(f"xargs would add to the words of {name}")
    if name in _ARGUMENTS:
        _ARGUMENTS[name](rest)
    if name in _STARTERS and (started := _STARTERS[name](rest)):
        _check_program(started, listed, within=name)


def _check_test(words: Sequence[Word]) -> None:
    """Its -v runs what stands in an array's subscript, so a value must never come to stand where an operator does."""
    literal = [word.text if word.is_plain else "" for word in words]
    if {"-v", "-R"} & set(literal):
        raise UnreadableLine("it uses -v of test")
    shape = literal[literal[:1] == ["!"] :]
    if all(word.is_plain for word in words):
        return
    if not all(word.is_plain or word.is_whole for word in words):
        raise UnreadableLine("test has a value that is not in double quotes")
    known = (
        len(shape) == 1
        or (len(shape) == 2 and shape[0] in _UNARY)
        or (len(shape) == 3 and shape[1] in _BINARY)
    )
    if not known:
        raise UnreadableLine("it uses test with a value and more than one plain comparison")


def _check_export(words: Sequence[Word]) -> None:
    for word in words:
        name = word.assigned or word.text
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.A) or not (
            word.is_plain or (word.assigned and word.is_whole)
        ):
            raise UnreadableLine("export has more than plain names, with values in double quotes")
        _check_variable(name)


def _check_set(words: Sequence[Word]) -> None:
    given = " ".join(word.text for word in words)
    if not all(word.is_plain for word in words) or not re.fullmatch(r"-[eux]+|-[eux]*o pipefail", given):
        raise UnreadableLine("set has more than -e, -u, -x and -o pipefail")


def _check_printf(words: Sequence[Word]) -> None:
    if not words or not words[0].is_plain or words[0].text.startswith("-"):
        raise UnreadableLine("printf has options, or a format that is not written plainly")


_ARGUMENTS: dict[str, Callable[[Sequence[Word]], None]] = {
    "test": _check_test,
    "[": lambda words: _check_test(words[:-1]),
    "export": _check_export,
    "set": _check_set,
    "printf": _check_printf,
}
"""bash's own that are allowed with some words only."""


def _after(words: Sequence[Word], options: str, values: str = "") -> Sequence[Word]:
    """What follows the options of a program that starts others. `values` are those that take the next word along.

    Raises UnreadableLine for any other option.
    """
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.is_plain and values and re.fullmatch(values, option.text):
            if not rest or not rest.pop(0).is_plain:
                raise UnreadableLine(f"the value of {option.text} is not written plainly")
        elif not option.is_plain or not options or not re.fullmatch(options, option.text):
            raise UnreadableLine(f"it is not known what the option {option.text[:40]} does here")
    return rest


def _after_env(words: Sequence[Word]) -> Sequence[Word]:
    rest = list(_after(words, r"-i|--ignore-environment"))
    while rest and (name := rest[0].assigned):
        _check_variable(name)
        if not rest.pop(0).is_whole:
            raise UnreadableLine(f"the value of {name} is not in double quotes")
    if rest and "=" in rest[0].text:
        raise UnreadableLine("env sets a variable that is not written plainly")
    return rest


def _after_command(words: Sequence[Word]) -> Sequence[Word]:
    if words and words[0].is_plain and words[0].text in ("-v", "-V"):
        return ()
    return _after(words, "")


def _after_timeout(words: Sequence[Word]) -> Sequence[Word]:
    rest = _after(words, r"--preserve-status|--foreground|-v|--verbose|(--kill-after|--signal)=\w+", r"-[ks]")
    if not rest or not rest[0].is_plain or not _DURATION.fullmatch(rest[0].text):
        raise UnreadableLine("timeout has no plain duration")
    return rest[1:]


_STARTERS: dict[str, Callable[[Sequence[Word]], Sequence[Word]]] = {
    "env": _after_env,
    "command": _after_command,
    "exec": lambda words: _after(words, ""),
    "time": lambda words: _after(words, "-p"),
    "nohup": lambda words: _after(words, ""),
    "nice": lambda words: _after(words, r"-[0-9]+|--adjustment=-?[0-9]+", "-n"),
    "timeout": _after_timeout,
    "sudo": lambda words: _after(words, ""),
    "xargs": lambda words: _after(
        words, r"-0|-r|-t|-[nPL][0-9]+|--null|--no-run-if-empty|--max-(args|procs)=[0-9]+", "-[nPL]"
    ),
}
"""Programs whose business is to start another one, and what of their words that begins with."""
