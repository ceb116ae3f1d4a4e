"""The list of programs a session may start: what it lets through, and what bash itself would have run of it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minion.errors import ToolError
from minion.tools.command_list import check_commands

LISTED = ("pytest", "ruff", "env", "command", "exec", "time", "nohup", "timeout", "xargs", "nice", "sudo")
BASH = shutil.which("bash") or "bash"

HOSTILE = (
    # One after the other, and inside each other.
    "evil",
    "pytest; evil",
    "pytest && evil",
    "pytest || evil",
    "false | evil",
    "pytest |& evil",
    "pytest & evil",
    "pytest\nevil",
    "pytest;evil;",
    "(evil)",
    "( (evil) )",
    "{ evil; }",
    "! evil",
    "! ! evil",
    "if evil; then pytest; fi",
    "if true; then evil; fi",
    "if false; then pytest; elif evil; then true; else true; fi",
    "if false; then true; else evil; fi",
    "while evil; do break; done",
    "until evil; do break; done",
    "for x in a; do evil; done",
    "for x do evil; done",
    "for x in $(evil); do pytest; done",
    "case a in a) evil;; esac",
    "case a in (b|a) true; evil ;; esac",
    "case $(evil) in *) pytest;; esac",
    "case a in b) ;; a) pytest;; esac; evil",
    "case a in a) pytest;; esac\nevil",
    "case a in (esac) evil;; a) evil;; esac",
    "if (true) then evil; fi",
    # Substitutions.
    "pytest $(evil)",
    'pytest "$(evil)"',
    'pytest "a $(pytest $(evil)) b"',
    "pytest `evil`",
    'pytest "`evil`"',
    "pytest `pytest \\`evil\\``",
    "pytest <(evil)",
    "pytest >(evil)",
    "pytest a<(evil)",
    "pytest > $(evil)",
    "pytest < <(evil)",
    "pytest ${x:-$(evil)}",
    "pytest ${x:=`evil`}",
    'pytest "${x-"$(evil)"}"',
    "pytest $((1 + $(evil)))",
    "x='a[$(evil)]'; pytest $((x))",
    "x='a[$(evil)]'; pytest $[x]",
    "x='a[$(evil)]'; pytest ${!x}",
    "x='$(evil)'; pytest ${x@P}",
    "x='a[$(evil)]'; test -v \"$x\"",
    "o=-v; x='a[$(evil)]'; test $o \"$x\"",
    'o=-v; x=\'a[$(evil)]\'; [ "$o" "$x" ]',
    "x='a -a -v b[$(evil)]'; [ -n $x ]",
    "x='a[$(evil)]'; [[ -v $x ]]",
    "x='a[$(evil)]'; [[ $x -eq 1 ]]",
    "(( $(evil) ))",
    "((x = 1)); evil",
    "A=$(evil)",
    "A=$(evil) pytest",
    "export A=$(evil)",
    "export A=`evil`",
    "printf -v 'a[$(evil)]' x",
    "read 'a[$(evil)]' <<< 1",
    "pytest <<< $(evil)",
    "cat <<E\n$(evil)\nE",
    "cat <<E\n`evil`\nE",
    "cat <<E\n'$(evil)'\nE",
    "cat <<E\nE\nevil",
    "cat <<'E'\nE\nevil",
    "cat <<-E\n\tE\nevil",
    "cat <<E; evil\nE",
    "cat <<E\na \\\nE\n'$(evil)'\nE",
    "cat <<A <<B\nA\n$(evil)\nB",
    "cat <<$\na \\\nE\n'$(evil)'\n$",
    'cat <<"E\nF"\nE\nevil\nF',
    "pytest $(cat <<E\n)\nE\nevil)",
    # Spelled otherwise.
    "'evil'",
    '"evil"',
    "e'vi'l",
    "\\evil",
    "ev\\il",
    "e\\\nvil",
    'e""vil',
    "$'evil'",
    "$'\\x65vil'",
    '$"evil"',
    "x=evil; $x",
    'x=evil; "$x"',
    "x=evil; ${x}",
    "$(echo evil)",
    "`echo evil`",
    "{evil,pytest}",
    "ev[i]l",
    "ev?l",
    "e*",
    "evi{l,}",
    "./evil",
    "$PWD/evil",
    "~/evil",
    "./pytest",
    "../bin/evil",
    "pytest\\\n; evil",
    "pytest $\\\n(evil)",
    'pytest "$\\\n(evil)"',
    "pytest <\\\n(evil)",
    "pytest # '\nevil # '",
    "pytest #\\\nevil",
    "pytest '#' ; evil",
    "pytest a#b ; evil",
    "pytest $'a\\'; evil #'; evil",
    'pytest "a\\""; evil ""',
    "pytest 'a\\'; evil ''",
    "pytest \\'; evil \\'",
    'pytest \\"; evil \\"',
    "pytest \\\\; evil",
    "pytest \t;\tevil",
    "pytest \x0b; evil",
    "pytest\r\nevil",
    # Through something that starts others, or changes what a name means.
    "env evil",
    "env A=1 evil",
    "env -i evil",
    "env -S 'evil'",
    "env -u A evil",
    "env PATH=. pytest",
    "x='1 evil'; env A=$x pytest",
    "command evil",
    "command -p evil",
    "command env evil",
    "exec evil",
    "exec -a pytest evil",
    "time evil",
    "time -p evil",
    "time { evil; }",
    "time ! evil",
    "time (evil)",
    "nohup evil",
    "timeout 5 evil",
    "timeout -k 1 5 evil",
    "timeout -s KILL 5 evil",
    "timeout --signal=KILL 5 evil",
    "timeout $x 5 evil",
    "nice evil",
    "nice -n 5 evil",
    "sudo evil",
    "sudo -u root evil",
    "echo a | xargs evil",
    "echo a | xargs -n1 evil",
    "echo evil | xargs -I pytest pytest",
    "echo evil | xargs env",
    "echo evil | xargs timeout 5",
    "echo evil | xargs -I{} {}",
    "A=1 evil",
    "A=1 B=2 evil",
    ">f evil",
    "2>&1 evil",
    ">f A=1 evil",
    "pytest >f; evil",
    "pytest &>f; evil",
    "pytest 2>&1 & evil",
    "{PATH}>f pytest",
    "pytest >&'$(evil)'",
    "x='$(evil)'; pytest >&$x",
    "pytest <&'$(evil)'",
    "PATH=. pytest",
    "PATH+=:. pytest",
    "export PATH=.; pytest",
    "export -f pytest",
    "x='1 PATH=.'; command export A=$x; pytest",
    "for PATH in .; do pytest; done",
    "BASH_ENV=f pytest",
    "LD_PRELOAD=./x.so pytest",
    "PS4='$(evil)'; set -x; pytest",
    "set -k; pytest PATH=.",
    "IFS=x; pytest",
    "eval evil",
    "eval 'ev''il'",
    "builtin eval evil",
    "command eval evil",
    "source f",
    ". ./f",
    "alias pytest=evil",
    "pytest() { evil; }; pytest",
    "function pytest { evil; }; pytest",
    "function pytest\n{\nevil\n}\npytest",
    "hash -p ./evil pytest; pytest",
    "trap evil EXIT",
    "coproc evil",
    "enable -n test; test",
    "mapfile -C evil -c 1 x <f",
    "jobs -x evil",
    "declare -n x=PATH; x=.; pytest",
    "select x in a; do evil; done <<< 1",
    "a=($(evil))",
    "a[$(evil)]=1",
    "a[0]=1 evil",
    "bash -c evil",
    "sh -c 'evil'",
    "find . -exec evil ;",
    "sed 1e f",
    "awk 'BEGIN{system(\"evil\")}'",
    "python -m pytest",
    # What bash takes no better.
    "pytest 'a",
    'pytest "a',
    "pytest `a",
    "pytest $(a",
    "(pytest",
    "pytest)",
    "pytest \\",
    "cat <<E\na",
    "$(",
    "case a in",
    "for",
    ">",
    "ü",
    "(" * 300,
    "$(" * 300,
    "x" * 30_000,
)

HARMLESS = (
    "",
    "pytest",
    "pytest -q tests/a.py::test_b[1-x] -k 'a and b'",
    "cd src && pytest -q 2>&1 | tail -20",
    "PYTHONPATH=src pytest",
    "ruff check . ; ruff format --check .",
    "if pytest; then echo good; else echo bad; fi",
    'for name in a b; do pytest "$name" || break; done',
    "case $HOME in /*) echo absolute ;; *) pytest ;; esac",
    "while read_is_no_program=1 pytest; do break; done",
    "(cd src; pytest) && echo done",
    "{ pytest; ruff check; } > out.txt 2>&1",
    "! grep -q evil *.py",
    "cat <<'E' > note.txt\nevil; $(evil) `evil`\nE\npytest",
    "cat <<E\nthe value of $HOME\nE",
    'echo "evil $(pwd) ${HOME} ${x:-none} $? \\$(evil)"',
    "echo 'evil; $(evil)'",
    "echo evil # evil",
    "echo \\\n  evil",
    "timeout 5 pytest -q",
    "env A=1 pytest",
    "echo a.py | xargs -n 1 pytest",
    "command -v evil",
    "time pytest",
    "set -euo pipefail; pytest",
    "export A=1 B; pytest",
    '[ -f a.py ] && [ "$x" = evil ] || test -n "$x"',
    "exit 0",
)


def passes(line: str) -> bool:
    try:
        check_commands(line, LISTED)
    except ToolError as error:
        assert "Nothing was run" in str(error)
        assert "pytest, ruff" in str(error)
        return False
    return True


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for PATH whose programs write down their name; those that start others are the machine's own."""
    home = tmp_path_factory.mktemp("programs")
    path = home / "bin"
    path.mkdir()
    for name in ("pytest", "ruff", "evil", "bash", "sh", "sed", "awk", "find", "python", "sudo"):
        for place in (path, home):
            (place / name).write_text(f'#!{BASH}\necho "{name}" >> {home}/log\n')
            (place / name).chmod(0o755)
    (home / "f").write_text("evil\n")
    for name in ("env", "nohup", "timeout", "xargs", "nice", "ls", "cat", "head", "tail", "grep", "wc"):
        if found := shutil.which(name):
            (path / name).symlink_to(found)
    return home


def started(programs: Path, line: str) -> set[str]:
    """What bash starts of a line."""
    log = programs / "log"
    log.write_text("")
    work = programs / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in ("evil", "pytest", "f"):
        shutil.copy2(programs / name, work)
    subprocess.run(
        [BASH, "-c", line],
        cwd=work,
        env={"PATH": str(programs / "bin"), "HOME": str(work), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return set(log.read_text().split())


@pytest.mark.parametrize("line", HOSTILE)
def test_a_line_that_starts_anything_else_is_refused(line: str) -> None:
    assert not passes(line)


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_of_listed_programs_is_run_and_starts_nothing_else(programs: Path, line: str) -> None:
    assert passes(line)
    assert started(programs, line) <= {"pytest", "ruff"}


def test_the_hostile_lines_are_hostile(programs: Path) -> None:
    """Most of them do start it in bash: they are no lines that are refused for nothing."""
    lines = [line for line in HOSTILE if "evil" in line and "\0" not in line and len(line) < 200]
    ran = [line for line in lines if "evil" in started(programs, line)]
    assert len(ran) > 100


PIECES = st.sampled_from(
    [
        *(
            "evil",
            "pytest",
            "ruff",
            "echo",
            "true",
            "env",
            "command",
            "xargs",
            "timeout 1",
            "time",
            "test",
            "export",
        ),
        *(" ", " ", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "! ", "\t", "\\\n", " \\\n"),
        *(
            "'",
            '"',
            "\\",
            "`",
            "$",
            "$(",
            "${",
            "}",
            "${x:-",
            "$x",
            "$'",
            "#",
            " #",
            "\\'",
            '\\"',
            "[",
            " ]",
            "*",
        ),
        *(
            "<",
            ">",
            "<(",
            ">(",
            "<<E\n",
            "<<'E'\n",
            "<<-E\n",
            "\nE\n",
            "E",
            "<<<",
            "2>&1",
            "&>f",
            ">f ",
            "{x}>f ",
        ),
        *(
            "if ",
            " then ",
            " fi",
            "; do ",
            "; done",
            "for x in ",
            "for x ",
            "case a in a) ",
            ";;",
            " esac",
        ),
        *(
            "A=1 ",
            "A=",
            "x=evil;",
            "x='a[$(evil)]';",
            "a[",
            "]=1",
            "PATH=. ",
            "-v ",
            "-n ",
            "=",
            "eval ",
            ". ./f",
            "é",
        ),
    ]
)
ENOUGH = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@ENOUGH
@given(st.lists(PIECES, min_size=1, max_size=14).map("".join))
def test_what_passes_never_starts_what_is_not_listed(programs: Path, line: str) -> None:
    if "evil" in line and passes(line):
        assert started(programs, line) <= {"pytest", "ruff"}


BEFORE = st.sampled_from(
    [
        "",
        "pytest; ",
        "pytest && ",
        "A=1 ",
        "! ",
        "( ",
        "{ ",
        "env ",
        "time ",
        ">f ",
        "if ",
        "$(",
        "timeout 5 ",
    ]
)


@ENOUGH
@given(
    BEFORE,
    st.tuples(
        *(st.sampled_from([s, f"'{s}'", f'"{s}"', f"\\{s}", f"$'{s}'", f"{s}''", f"\\\n{s}"]) for s in "evil")
    ),
)
def test_no_spelling_of_a_name_passes_as_a_program(before: str, spelled: tuple[str, ...]) -> None:
    assert not passes(before + "".join(spelled))
    assert not passes(f"{before}{''.join(spelled)} )")
    assert not passes(f"{before}{''.join(spelled)}; }}")
