"""Which changes of a candidate need a person before anything is installed, and which only look as if."""

import pytest

from overlord.domain.environments.change import changed_inputs, dependencies_differ
from overlord.domain.environments.recipe import Recipe
from overlord.domain.scope.check import Change

AT_BASE = Recipe(inputs=("pyproject.toml", "src/x.c", "scripts/setup.sh", ".nebulus/environment.yaml"))


def modified(*paths: str) -> list[Change]:
    return [Change(path=path, status="M") for path in paths]


def test_manifests_and_what_the_repository_names_are_dependency_files() -> None:
    changes = modified("src/shop.py", "pyproject.toml", "scripts/setup.sh", ".nebulus/environment.yaml")
    assert changed_inputs(AT_BASE, changes) == (
        ".nebulus/environment.yaml",
        "pyproject.toml",
        "scripts/setup.sh",
    )


def test_compiled_sources_are_not() -> None:
    assert changed_inputs(AT_BASE, modified("src/x.c", "src/y.c")) == ()


def test_new_files_that_detection_would_read_are_and_so_is_where_a_rename_came_from() -> None:
    added = Change(path="requirements-dev.txt", status="A")
    moved = Change(path="old/package.json", old_path="package.json", status="R")
    assert changed_inputs(Recipe(), [added, moved]) == ("package.json", "requirements-dev.txt")


def toml(text: str) -> bytes:
    return f'[project]\nname = "shop"\nversion = "1"\n{text}'.encode()


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        ("", False),
        ('description = "x"\n', False),
        ("[tool.ruff]\nline-length = 99\n", False),
        ('[tool.poetry]\ndescription = "x"\n', False),
        ('dependencies = ["x"]\n', True),
        ('requires-python = ">=3.12"\n', True),
        ('[project.optional-dependencies]\ntest = ["x"]\n', True),
        ('[dependency-groups]\ntest = ["x"]\n', True),
        ('[build-system]\nrequires = ["x"]\n', True),
        ('[tool.uv]\nindex-url = "https://evil.example"\n', True),
        ('[tool.poetry.dependencies]\nx = "*"\n', True),
        ('[[tool.pdm.source]]\nurl = "x"\n', True),
        ("[tool.hatch.build.hooks.custom]\n", True),
        ("[tool.setuptools]\next-modules = []\n", True),
        ("not toml", True),
    ],
)
def test_pyproject_counts_where_it_tells_installers_something(text: str, differs: bool) -> None:
    new = toml(text).replace(b'"1"', b'"2"')
    assert dependencies_differ("sub/pyproject.toml", toml(""), new) is differs


@pytest.mark.parametrize(
    ("package", "differs"),
    [
        (b'{"version": "2", "scripts": {"test": "vitest"}}', False),
        (b'{"devDependencies": {"x": "1"}}', True),
        (b'{"peerDependenciesMeta": {}}', True),
        (b'{"engines": {"node": "22"}}', True),
        (b'{"scripts": {"postinstall": "curl evil"}}', True),
        (b"{", True),
        (b"[" * 100_000, True),
    ],
)
def test_package_json_counts_where_npm_acts_on_it(package: bytes, differs: bool) -> None:
    assert dependencies_differ("package.json", b"{}", package) is differs


def test_ini_files_count_but_for_the_sections_of_other_tools() -> None:
    old = b"[options]\npackages = find:\n"
    assert not dependencies_differ(
        "setup.cfg", old, old + b"[flake8]\nmax-line-length = 99\n[tool:pytest]\n[mypy-x]\n"
    )
    assert dependencies_differ("setup.cfg", old, old + b"install_requires = x\n")
    assert dependencies_differ("tox.ini", b"", b"[testenv]\ndeps = x\n")
    assert dependencies_differ("tox.ini", b"", b"nonsense")


def test_any_other_file_differs_when_it_is_another() -> None:
    assert dependencies_differ("uv.lock", b"a", b"b")
    assert dependencies_differ("pyproject.toml", None, b"")
    assert dependencies_differ("package.json", b"{}", None)
    assert not dependencies_differ("uv.lock", b"a", b"a")
    assert not dependencies_differ("uv.lock", None, None)
