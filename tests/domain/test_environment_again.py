"""What real projects taught detection: versions that come from tags, and dependencies meant for one Python only."""

from overlord.domain.environments.poetry import poetry_requirement
from overlord.domain.environments.recipe import detect

SCM = """\
[build-system]
requires = ["setuptools>=65", "setuptools_scm[toml]>=8"]
build-backend = "setuptools.build_meta"
[project]
name = "pluggy"
dynamic = ["version"]
optional-dependencies.testing = ["pytest"]
"""
POETRY = """\
[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
[tool.poetry.group.dev.dependencies]
pytest = "^7.1"
mypy = [{version = "^1.0", python = "<3.8"}, {version = "^1.5", python = ">=3.8"}]
"""


def _installs(**files: str) -> list[str]:
    contents = {name.replace("_", "."): text.encode() for name, text in files.items()}
    return list(detect(contents, contents).plan.commands[1:])


def test_a_project_without_its_tags_does_not_decide_which_releases_its_tests_get() -> None:
    assert _installs(pyproject_toml=SCM) == [
        "uv pip install --requirements pyproject.toml --extra testing",
        "uv pip install --no-deps --editable .",
    ]


def test_a_version_that_a_setup_py_takes_from_tags_is_seen_too() -> None:
    assert _installs(setup_py="from setuptools import setup\nsetup(use_scm_version=True)\n") == [
        "uv pip install --requirements setup.py",
        "uv pip install --no-deps --editable .",
    ]


def test_a_version_that_is_written_down_needs_no_detour() -> None:
    written = SCM.replace('dynamic = ["version"]', 'version = "1.6"').replace(
        ', "setuptools_scm[toml]>=8"', ""
    )
    assert _installs(pyproject_toml=written) == ["uv pip install --editable '.[testing]'"]


def test_what_poetry_asks_of_each_python_is_asked_of_that_one() -> None:
    assert [poetry_requirement("mypy", value) for value in ({"version": "^1.0", "python": "<3.8"},)] == [
        "mypy>=1.0,<2 ; python_full_version < '3.8'"
    ]
    [command] = _installs(pyproject_toml=POETRY)
    assert "mypy>=1.0,<2" in command and "mypy>=1.5,<2" in command and "pytest>=7.1,<8" in command


def test_pythons_that_cannot_be_told_are_not_asked_about() -> None:
    assert poetry_requirement("mypy", {"version": "^1.0", "python": "*"}) == "mypy>=1.0,<2"
