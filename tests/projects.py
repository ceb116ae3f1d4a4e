"""Real projects of different build systems, each with a small change that a scripted model makes to it."""

import os
from dataclasses import dataclass

from overlord.embedded.play import Turn, run, write
from tests.sdists import Sdist


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project, and a small change to it: a function at the end of a file, and a test of it."""

    sdist: Sdist
    found: str
    """What the setup says it found."""
    source: str
    tests: str
    """The directory of the tests."""
    code: str
    asserted: str
    has_no_tests: bool = False

    @property
    def function(self) -> str:
        return self.code.removeprefix("def ").partition("(")[0]

    @property
    def test(self) -> str:
        return f"{self.tests}/test_{self.function}.py".removeprefix("./")

    @property
    def change(self) -> tuple[Turn, Turn]:
        """What the model does."""
        return run(f"cat >>{self.source} <<'END'\n\n\n{self.code}END"), write(self.test, self._test_file)

    @property
    def _test_file(self) -> str:
        module = self.source.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return (
            f"from __future__ import annotations\n\nfrom pathlib import Path\n\nfrom {module} import {self.function}\n\n\n"
            f"def test_{self.function}() -> None:\n    assert {self.asserted}\n\n\n"
            "def test_there_is_no_network() -> None:\n"
            '    assert [place.name for place in Path("/sys/class/net").iterdir()] == ["lo"]\n'
        )


PLUGGY = Project(
    sdist=Sdist(
        name="pluggy",
        version="1.6.0",
        sha256="7dcc130b76258d33b90f61b658791dede3486c3e6bfb003ee5c9bfb396dd22f3",
        generated=("src/pluggy/_version.py",),
    ),
    found="Python project built with setuptools (pyproject.toml)",
    source="src/pluggy/_tracing.py",
    tests="testing",
    code='def joined(tags: Sequence[str]) -> str:\n    """The name of a tracer below these tags."""\n    return ":".join(tags)\n',
    asserted='joined(["a", "b"]) == "a:b"',
)
"""setuptools with setuptools_scm; pytest itself needs it, and its tests need pytest."""
ITSDANGEROUS = Project(
    sdist=Sdist(
        name="itsdangerous",
        version="2.2.0",
        sha256="e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173",
    ),
    found="Python project built with flit_core (pyproject.toml)",
    source="src/itsdangerous/encoding.py",
    tests="tests/test_itsdangerous",
    code='def is_base64(value: str | bytes) -> bool:\n    """Whether it can be decoded."""\n    try:\n'
    "        base64_decode(value)\n    except BadData:\n        return False\n    return True\n",
    asserted='is_base64("YQ") and not is_base64("1")',
)
"""flit, with pinned requirement files; its freezegun fails on the newest Pythons, at base as ever after."""
PROJECTS = (
    PLUGGY,
    ITSDANGEROUS,
    # hatchling with hatch-vcs, and an extra for tests
    Project(
        sdist=Sdist(
            name="platformdirs",
            version="4.3.6",
            sha256="357fb2acbc885b0419afd3ce3ed34564c13c9b95c89360cd9563f73aa5e2b907",
            generated=("src/platformdirs/version.py",),
        ),
        found="Python project built with hatchling (pyproject.toml)",
        source="src/platformdirs/unix.py",
        tests="tests",
        code='def is_below(path: str, directory: str) -> bool:\n    """:return: whether a path is inside a directory"""\n'
        "    return Path(directory) in Path(path).parents\n",
        asserted='is_below("/a/b", "/a")',
    ),
    # poetry-core, with groups of Poetry's own kind that ask each Python for something else
    Project(
        sdist=Sdist(
            name="cleo",
            version="2.1.0",
            sha256="0b2c880b5d13660a7ea651001fb4acb527696c01f15c9ee650f377aa543fd523",
        ),
        found="Python project built with poetry (pyproject.toml)",
        source="src/cleo/color.py",
        tests="tests",
        code="def is_named(color: str) -> bool:\n    return color in Color.COLORS\n",
        asserted='is_named("red")',
    ),
    # pdm-backend, with groups of PDM's own kind
    Project(
        sdist=Sdist(
            name="dep-logic",
            version="0.7.2",
            sha256="2a3c49526075b0bc6825f0ea8c2d9f464de48b7b85f3f3d2900b4e5950fefedf",
        ),
        found="Python project built with pdm (pyproject.toml)",
        source="src/dep_logic/utils.py",
        tests="tests",
        code='def major(version: str) -> str:\n    """The first part of a version."""\n    return version_split(version)[0]\n',
        asserted='major("3.12.1") == "3"',
    ),
    # a setup.py of its own, no pyproject.toml, tests at the root, and nothing that says what they need
    Project(
        sdist=Sdist(
            name="six",
            version="1.17.0",
            sha256="ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81",
        ),
        found="Python project built with setuptools (setup.py and setup.cfg)",
        source="six.py",
        tests=".",
        code='def is_text(value):\n    """Whether it is text, on either Python."""\n    return isinstance(value, text_type)\n',
        asserted='is_text("") and not is_text(b"")',
    ),
    # uv.lock, and an extension in C: the compiler is a Debian package
    Project(
        sdist=Sdist(
            name="markupsafe",
            version="3.0.4",
            sha256="2e9ad7dd851bf45fab9f75cbff4cb493fee9979e8d8c7c9c3ee119022518edd6",
        ),
        found="it compiles extensions, with build-essential, python3-dev",
        source="src/markupsafe/_native.py",
        tests="tests",
        code='def is_compiled() -> bool:\n    """Whether the extension is there."""\n    from . import _speedups\n\n'
        '    return _speedups.__file__.endswith(".so")\n',
        asserted="is_compiled()",
    ),
    # uv_build, and no tests at all
    Project(
        sdist=Sdist(
            name="junitparser",
            version="5.0.3",
            sha256="f824ec1b7afbf2fd3b6813b87967b02fcda750e135d27be17cae497147419a04",
        ),
        found="Python project built with uv_build (pyproject.toml)",
        source="src/junitparser/xunit2.py",
        tests="tests",
        code='def is_suite(tag: str) -> bool:\n    """Whether an element of this name holds others."""\n'
        '    return tag in {"testsuite", "testsuites"}\n',
        asserted='is_suite("testsuite") and not is_suite("testcase")',
        has_no_tests=True,
    ),
)
QUICK = ("itsdangerous", "platformdirs", "six", "junitparser")
"""Those that compile nothing and download little, each of another build system."""
TAKEN = tuple(
    project for project in PROJECTS if os.environ.get("REAL_PROJECTS") == "all" or project.sdist.name in QUICK
)
"""Those that are built now: all of them take minutes, so that is for `make soak`."""
