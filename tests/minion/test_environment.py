"""Sessions in an environment: the repository's own Python, its packages from the session's tree, and nobody fooled."""

import sys
import sysconfig
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from minion.checks.toolchain import plan
from minion.errors import BadStart
from minion.protocol import CheckStep, StepOutcome
from minion.setup.environment import Environment
from tests.minion.setups import VENV, Done, Place, installed, place, project, set_up

FINDER = """\
from __future__ import annotations
import sys
from importlib.machinery import ModuleSpec, PathFinder

MAPPING: dict[str, str] = {mapping!r}
NAMESPACES: dict[str, list[str]] = {namespaces!r}
PATH_PLACEHOLDER = '__editable__.x-1.0.finder' + ".__path_hook__"

def install():
    raise RuntimeError("still here")
"""


def setuptools(name: str, mapping: dict[str, str], namespaces: dict[str, list[str]]) -> dict[str, str]:
    """What setuptools leaves for a project whose packages are not all of one directory."""
    finder = f"__editable___{name}_1_0_finder"
    lines = f"import {finder}; {finder}.install()"
    text = FINDER.format(mapping=mapping, namespaces=namespaces)
    return {f"__editable__.{name}-1.0.pth": lines, f"{finder}.py": text}


HATCHLING = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "three"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["src/three"]
"""
HOOK = "import sys\nsys.path.append('@/py')\nSOURCES = {'a': \"@\"}\n"
NOSY = "import os\nIS_NOTHING = os.path.samefile('/dev/stdin', os.devnull)\n"
PROJECTS = {
    **project(
        "one",
        setuptools("one", {"one": "@/one", "single": "@/single"}, {}),
        entry_points="[console_scripts]\\none-says = one:main\\n",
    ),
    "one/one/__init__.py": "WORD = 'base'\ndef main():\n    print(WORD)\n",
    "one/single.py": "WORD = 'base'\n",
    **project("two", {"__editable__.two-1.0.pth": "@/src\n", "other.pth": "@/more/\n/somewhere/else\n"}),
    "two/src/two/__init__.py": "WORD = 'base'\n",
    "two/src/shared/two.py": "WORD = 'base'\n",
    "two/more/second.py": "WORD = 'base'\n",
    "three/pyproject.toml": HATCHLING,
    "three/src/three/__init__.py": "WORD = 'base'\n",
    **project(
        "four",
        setuptools(
            "four",
            {"shared.four": "@/lib/shared/four", "renamed": "@/lib/old"},
            {"shared": ["@/lib/shared"]},
        ),
    ),
    "four/lib/shared/four/__init__.py": "WORD = 'base'\n",
    "four/lib/old/__init__.py": "WORD = 'base'\n",
    "four/lib/old/deep.py": "WORD = 'base'\n",
    **project("five", {"five_hook.pth": "import five_hook\n", "five_hook.py": HOOK}),
    "five/py/five.py": "WORD = 'base'\n",
    **project("nosy", {"nosy.pth": "import nosy\n", "nosy.py": NOSY}),
    # One that is itself a plug-in of the runner.
    **project("plug", {"plug.pth": "@/src\n"}, entry_points="[pytest11]\\nplug = plug\\n"),
    "plug/src/plug.py": "import pytest\nWORD = 'base'\n@pytest.fixture\ndef plugged():\n    return WORD\n",
}
MODULES = (
    "one",
    "single",
    "two",
    "shared.two",
    "second",
    "three",
    "shared.four",
    "renamed",
    "renamed.deep",
    "five",
)
CHANGED = {name: text.replace("'base'", "'changed'") for name, text in PROJECTS.items()}

MakePlace = Callable[..., Place]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    names = ("one", "two", "three", "four", "five", "nosy", "plug")
    return set_up(
        tmp_path_factory.mktemp("environment"),
        {**PROJECTS, **project("six", {"six.py": ""})},
        VENV,
        installed(*(word for name in names for word in ("-e", f"./{name}")), "./six"),
        "echo 'VERSION = 1' >one/one/_version.py; mkdir -p one/node_modules/left; touch one/node_modules/left/pad.js",
        variables={"ANSWER": "{environment}/x", "PYTHONPATH": "stolen", "HOME": "/nowhere"},
        path=("venv/bin", "programs"),
    )


@pytest.fixture
def here(done: Done, tmp_path: Path) -> MakePlace:
    def make(files: Mapping[str, str], **more: str) -> Place:
        return place(tmp_path, done.environment, {**files, **more})

    return make


def test_every_editable_install_follows_the_sessions_tree(here: MakePlace) -> None:
    program = "import importlib, sys\nfor name in sys.argv[1:]:\n    print(name, importlib.import_module(name).WORD)\n"
    shown = here(CHANGED).run("python", "-c", program, *MODULES)
    assert shown.output.splitlines() == [f"{name} changed" for name in MODULES]


def test_without_a_tree_nothing_of_one_is_found(done: Done, tmp_path: Path) -> None:
    variables = {**done.environment.around({"PATH": "/usr/bin:/bin"}, None)}
    assert "MINION_TREE" not in variables
    nowhere = place(tmp_path, done.environment, {})
    assert "No module named 'one'" in nowhere.run("python", "-c", "import one").output


def test_metadata_and_programs_of_editable_installs_are_there(here: MakePlace) -> None:
    made = here(CHANGED)
    program = "from importlib.metadata import version\nprint([version(n) for n in ('one', 'two', 'three', 'four', 'five')])"
    assert made.run("python", "-c", program).output == "['1.0', '1.0', '1.0', '1.0', '1.0']\n"
    assert made.run("one-says").output == "changed\n"


def test_setup_says_what_it_found(done: Done) -> None:
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    said = done.finish.output
    assert said.startswith(f"Python {python}, pytest {pytest.__version__}.\nEditable: ")
    assert "six is installed as a copy" in said
    assert "Kept for every tree: one/node_modules (spread)." in said


def test_commands_are_given_the_environments_programs_and_variables(done: Done, here: MakePlace) -> None:
    made = here({})
    given = made.variables()
    assert given["ANSWER"] == f"{done.directory}/x"
    assert given["PATH"].split(":")[:3] == [
        f"{done.directory}/venv/bin",
        f"{done.directory}/programs",
        str(Path(sys.executable).parent),
    ]
    assert (given["HOME"], given["MINION_TREE"]) == (str(made.root / "home"), str(made.tree))
    assert made.run("sh", "-c", "command -v pytest").output == f"{done.directory}/venv/bin/pytest\n"


def test_what_setup_made_beside_the_commit_is_in_every_tree(here: MakePlace) -> None:
    made = here(CHANGED)
    assert (made.tree / "one/one/_version.py").read_text() == "VERSION = 1\n"
    assert (made.tree / "one/node_modules/left/pad.js").exists()
    assert not list(made.tree.rglob("*.egg-info"))
    assert not (made.tree / "one/build").exists()


TEST_ALL = "import importlib\nimport pytest\n@pytest.mark.parametrize('name', {names!r})\ndef test_word(name):\n    assert importlib.import_module(name).WORD == 'changed'\n"


def test_the_guarded_pytest_runs_on_the_environments_python(done: Done, here: MakePlace) -> None:
    probe = f"import sys\ndef test_python():\n    assert sys.prefix == {str(done.directory / 'venv')!r}\n"
    probe += (
        "def test_the_socket_was_gone_when_python_started():\n    import nosy\n    assert nosy.IS_NOTHING\n"
    )
    probe += "def test_plug_in(plugged):\n    assert plugged == 'changed'\n"
    files = {**CHANGED, "test_all.py": TEST_ALL.format(names=MODULES), "test_python.py": probe}
    checked = here(files).check()
    assert checked.exit_code == 0, checked.output
    alone = ("test_python", "test_plug_in", "test_the_socket_was_gone_when_python_started")
    assert checked.cases == dict.fromkeys((*alone, *(f"test_word[{name}]" for name in MODULES)), True)


LIE = "import os; os._exit(0)\n"


@pytest.mark.parametrize(
    "forgery",
    [
        {"sitecustomize.py": LIE, "usercustomize.py": LIE},
        {"one/sitecustomize.py": LIE, "two/src/sitecustomize.py": LIE, "three/src/usercustomize.py": LIE},
        {"two/src/pytest.py": LIE, "two/src/_pytest/__init__.py": LIE, "two/src/pluggy.py": LIE},
        {"pytest.py": LIE, "stolen/pytest.py": LIE, "stolen/encodings/__init__.py": LIE, "stolen/json.py": LIE},
        {"two/src/colorama.py": LIE, "two/src/py/__init__.py": LIE, "two/src/attr.py": LIE, "two/src/pygments.py": LIE},
        {
            "two/src/evil.py": LIE,
            "two/src/evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
            "two/src/evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        },
    ],
    ids=["root", "roots", "runner", "PYTHONPATH", "optional", "metadata"],
)  # fmt: skip
def test_nothing_of_the_tree_runs_before_its_tests(here: MakePlace, forgery: dict[str, str]) -> None:
    broken = "import two\ndef test_two():\n    assert two.WORD == 'right'\n"
    checked = here({**PROJECTS, **forgery, "test_two.py": broken}).check("pytest", "test_two.py")
    assert (checked.exit_code, checked.cases) == (1, {"test_two": False}), checked.output


def test_programs_of_the_environment_run_nothing_of_the_tree_at_their_start(here: MakePlace) -> None:
    forged = {"sitecustomize.py": LIE, "two/src/sitecustomize.py": LIE, "one/usercustomize.py": LIE}
    assert here({**PROJECTS, **forged}).run("one-says").output == "base\n"


def test_programs_that_tests_start_are_plain_ones(here: MakePlace) -> None:
    probe = (
        "import multiprocessing, os, subprocess, sys\n"
        "def word(_):\n    import two\n    return two.WORD, sys.flags.no_site, os.environ.get('PYTHONPATH')\n"
        "def test_spawned():\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        assert pool.map(word, [1]) == [('changed', 0, 'stolen')]\n"
        "def test_copied_flags():\n"
        "    flags = subprocess._args_from_interpreter_flags()\n"
        "    words = [sys.executable, *flags, '-c', 'import two; print(two.WORD)']\n"
        "    assert subprocess.check_output(words) == b'changed\\n'\n"
        "def test_python_path():\n    assert 'stolen' in sys.path\n"
    )
    checked = here({**CHANGED, "test_start.py": probe}).check()
    assert checked.cases == dict.fromkeys(("test_spawned", "test_copied_flags", "test_python_path"), True), (
        checked.output
    )


def test_a_repositorys_own_pytest_is_the_one_that_runs(tmp_path: Path) -> None:
    parts = "pytest _pytest pluggy iniconfig packaging pygments"
    pluggy = f"pluggy-{version('pluggy')}.dist-info"
    site = f"$MINION_ENVIRONMENT/venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    copy = f"cd {sysconfig.get_path('purelib')}; cp -r {parts} {pluggy} {site}"
    done = set_up(tmp_path / "made", {"x": ""}, VENV, copy)
    probe = (
        f"import pytest\ndef test_own():\n    assert pytest.__file__.startswith({str(done.directory)!r})\n"
    )
    made = place(tmp_path / "here", done.environment, {"test_own.py": probe})
    assert made.check().cases == {"test_own": True}
    assert "1 passed" in made.run("pytest").output


def test_a_repository_whose_libraries_pytest_cannot_run_on_has_no_toolchain(tmp_path: Path) -> None:
    old = project("pluggy", {"pluggy.py": "raise ImportError('this is an old one')\n"})
    done = set_up(tmp_path, old, VENV, installed("./pluggy"))
    assert "pytest cannot be imported there" in done.finish.output
    assert "this is an old one" in done.finish.output
    step = CheckStep(name="tests", command=("pytest",))
    assert plan(step, tmp_path, tmp_path, done.environment) is StepOutcome.NO_TOOLCHAIN


@pytest.mark.parametrize("written", [None, "", "[]", '{"overlay": [{"path": 1}]}'])
def test_an_environment_without_its_record_is_none(tmp_path: Path, written: str | None) -> None:
    if written is not None:
        (tmp_path / "environment.json").write_text(written)
    with pytest.raises(BadStart, match="MINION_ENVIRONMENT names no finished environment"):
        Environment.of({"MINION_ENVIRONMENT": str(tmp_path)})
    assert Environment.of({}) is None


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ('{"version": [3, 8], "runs_pytest": true}', ("-S", "-B")),
        ('{"version": [3, 14], "runs_pytest": true}', ("-P", "-S")),
        ('{"version": [3, 14], "runs_pytest": false}', StepOutcome.NO_TOOLCHAIN),
    ],
)
def test_the_runner_suits_the_environments_python(
    tmp_path: Path, python: str, expected: tuple[str, ...] | StepOutcome
) -> None:
    (tmp_path / "environment.json").write_text(f'{{"python": {python}}}')
    made = plan(
        CheckStep(name="tests", command=("pytest",)),
        tmp_path,
        tmp_path,
        Environment.of({"MINION_ENVIRONMENT": str(tmp_path)}),
    )
    if isinstance(made, StepOutcome):
        assert made is expected
    else:
        assert made.arguments[:3] == (f"{tmp_path}/venv/bin/python", *expected)
