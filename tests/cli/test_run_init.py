"""`overlord init`: what is seen in a repository, and the files that are written only when they are asked for."""

from pathlib import Path

import pytest

from overlord.domain.checks.file import parse_checks
from overlord.domain.environments.file import parse_environment
from tests.cli.conftest import Overlord
from tests.local import git, made
from tests.world import CALC

PROJECT = {
    **CALC,
    "pyproject.toml": '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n\n'
    '[project]\nname = "calc"\nversion = "1"\n\n[project.optional-dependencies]\ntest = ["pytest"]\n\n[tool.ruff.lint]\nselect = ["E"]\n',
}


def test_a_repository_is_explained_and_left_as_it_is(overlord: Overlord, tmp_path: Path) -> None:
    repo = made(tmp_path / "calc", PROJECT)
    said = overlord("init", "--survey", str(repo / "tests"))
    assert said.code == 0, said.err
    assert "language  Python (2 files)" in said.out
    assert "tests     python -m pytest; 1 test file" in said.out
    assert "lint      ruff, as it is configured" in said.out
    assert "hatchling" in said.out
    assert "Nothing was written" in said.out
    assert git(repo, "status", "--porcelain") == ""


def test_layout_documents_and_kind_are_said(overlord: Overlord, tmp_path: Path) -> None:
    documents = {f"docs/{number}.md": "x" * 300_000 for number in range(8)}
    repo = made(tmp_path / "calc", {**PROJECT, **documents, "README.md": "# Calc\n"})
    said = overlord("init", "--survey", str(repo))
    assert "kind      library: pyproject.toml describes a package that others can install." in said.out
    assert "layout    docs/ (8 files)" in said.out
    assert "documents README.md, docs/0.md, docs/1.md, docs/2.md, docs/3.md, docs/4.md and 3 more" in said.out
    assert '"kind": "library"' in overlord("init", "--survey", str(repo), "--json").out


def test_files_are_written_when_asked_for_and_never_over_others(overlord: Overlord, tmp_path: Path) -> None:
    repo = made(tmp_path / "calc", PROJECT)
    (repo / ".nebulus").mkdir()
    (repo / ".nebulus" / "checks.yaml").write_text("tests: pytest -q\n")
    said = overlord("init", str(repo), "--write")
    assert f"{repo}/.nebulus/environment.yaml was written." in said.out
    assert f"{repo}/.nebulus/checks.yaml is there already, and was left as it is." in said.out
    written = (repo / ".nebulus" / "environment.yaml").read_bytes()
    assert parse_environment(written) == parse_environment(b"{}"), "it says what is so, and changes nothing"
    (repo / ".nebulus" / "checks.yaml").unlink()
    assert "checks.yaml was written." in overlord("init", str(repo), "--write").out
    found = parse_checks((repo / ".nebulus" / "checks.yaml").read_bytes())
    assert found is not None and (found.tests, found.lint) == (None, None)


def test_a_repositorys_own_files_count(overlord: Overlord, tmp_path: Path) -> None:
    repo = made(
        tmp_path / "calc", {**CALC, ".nebulus/checks.yaml": "tests: make test\nlint: 'make lint | tee x'\n"}
    )
    said = overlord("init", "--survey", str(repo))
    assert "tests     make test (.nebulus/checks.yaml)" in said.out
    assert "lint      make lint | tee x (.nebulus/checks.yaml)" in said.out
    assert "its own .nebulus files are used" in said.out


def test_what_cannot_be_explained_is_refused(overlord: Overlord, tmp_path: Path) -> None:
    assert overlord("init", "--survey", str(tmp_path)).code == 4
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    assert overlord("init", "--survey", str(empty)).code == 5
    broken = made(tmp_path / "broken", {".nebulus/checks.yaml": "tset: x\n"})
    said = overlord("init", "--survey", str(broken))
    assert (said.code, ".nebulus/checks.yaml: unknown key 'tset'" in said.err) == (5, True)
    linked = made(tmp_path / "linked")
    (linked / ".nebulus").symlink_to(tmp_path)
    assert overlord("init", str(linked), "--write").code == 5
    git(tmp_path, "clone", "--quiet", "--bare", str(linked), "bare")
    assert overlord("init", "--survey", str(tmp_path / "bare")).code == 0
    assert overlord("init", str(tmp_path / "bare"), "--write").code == 5


@pytest.mark.parametrize("name", ["a\x1b[2Jb.py", "\u202eevil.py", "[red]x[/].py"])
def test_names_are_text_and_nothing_a_terminal_obeys(overlord: Overlord, tmp_path: Path, name: str) -> None:
    repo = made(tmp_path / "calc", {name: ""})
    said = overlord("init", "--survey", str(repo))
    assert said.code == 0
    assert "\x1b" not in said.out and "\u202e" not in said.out
